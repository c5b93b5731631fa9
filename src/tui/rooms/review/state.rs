//! What Review knows.

use super::page::{Options, Page};
use super::places::{self, Places};
use super::reading::Reading;
use crate::model::approval::HiddenSpan;
use crate::model::diff::ContentDiff;
use crate::model::{Digest, PromotionState};
use crate::rules::prose::Unit;
use crate::tui::action::Action;
use crate::tui::effect::Failure;
use crate::tui::field::{Field, Lines};
use crate::tui::msg::{ReviewPane, ReviewTarget, Seen};
use crate::wire::promotions::PromotionView;
use crate::wire::versions::VersionView;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// What the text pane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Face {
    /// The difference.
    #[default]
    Diff,
    /// Gates, readiness, votes, rationale, comments.
    Gates,
    /// The pinned fragments.
    Fragments,
    /// Invisible characters in what was added.
    Hidden,
}

/// What the new version is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Base {
    /// What served when the promotion was opened, or what was asked for: the only one that counts for an approval.
    #[default]
    Given,
    /// What this person last voted on.
    LastReviewed(Digest),
    /// What the attempt before wanted to serve.
    Previous(Digest),
}

/// The switches of the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switches {
    /// What is marked.
    pub(crate) unit: Unit,
    /// Side by side.
    pub(crate) split: bool,
    /// Long lines are wrapped.
    pub(crate) wrap: bool,
    /// Fragments are expanded.
    pub(crate) effective: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self { unit: Unit::Word, split: false, wrap: true, effective: false }
    }
}

/// The versions and what was worked out of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compared {
    /// What is compared from.
    pub(crate) from: Option<Arc<VersionView>>,
    /// What is compared to.
    pub(crate) to: Option<Arc<VersionView>>,
    /// The difference, and the switches and base it belongs to.
    pub(crate) diff: Option<(Arc<ContentDiff>, Unit, bool)>,
    /// Invisible characters in what was added.
    pub(crate) hidden: Vec<HiddenSpan>,
    /// The base that the versions were read for.
    pub(crate) base: Base,
}

/// Everything of this room.
#[derive(Debug)]
pub(crate) struct State {
    /// What is shown.
    pub(crate) target: Option<ReviewTarget>,
    /// The promotion, where there is one.
    pub(crate) promotion: Option<Box<PromotionView>>,
    /// The versions.
    pub(crate) compared: Compared,
    /// Bases to compare with, once asked for; the first is [`Base::Given`].
    pub(crate) bases: Vec<Base>,
    /// Which of them.
    pub(crate) base: usize,
    /// What the text pane shows.
    pub(crate) face: Face,
    /// The switches of the difference.
    pub(crate) switches: Switches,
    /// Where the reader is, by base and by whether fragments are expanded.
    pub(super) readings: BTreeMap<(Option<Base>, bool), Reading>,
    /// Where the other faces are scrolled to.
    pub(crate) scroll: usize,
    /// Invisible characters that were accepted.
    pub(crate) acknowledged: Vec<HiddenSpan>,
    /// How many lines of the list of invisible characters were painted, from its first on.
    pub(crate) listed: usize,
    /// Why there is nothing to show.
    pub(crate) failure: Option<Failure>,
    /// The size of the room, as of the last message.
    pub(crate) size: (u16, u16),
    /// Whether the window is too small for anything to be drawn here.
    pub(crate) small: bool,
    /// Whether the text has the whole room.
    pub(crate) zoom: bool,
    /// Whether the content is confidential and was not asked for: it is not fetched.
    pub(crate) closed: bool,
    /// What is searched for in the text; nothing while it is blank.
    pub(crate) find: Field,
    /// Whether the search has the keys.
    pub(crate) finding: bool,
    /// What was seen of other promotions since the terminal was opened, with the digests that were compared.
    pub(crate) kept: BTreeMap<Uuid, (Ends, Seen)>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            target: None,
            promotion: None,
            compared: Compared::default(),
            bases: Vec::new(),
            base: 0,
            face: Face::default(),
            switches: Switches::default(),
            readings: BTreeMap::new(),
            scroll: 0,
            acknowledged: Vec::new(),
            listed: 0,
            failure: None,
            size: (0, 0),
            small: false,
            zoom: false,
            closed: false,
            find: Field::new(Lines::One),
            finding: false,
            kept: BTreeMap::new(),
        }
    }
}

/// From and to of a comparison.
pub(crate) type Ends = (Option<Digest>, Option<Digest>);

fn ends(view: &PromotionView) -> Ends {
    (view.promotion.from_digest, view.promotion.to_digest)
}

impl State {
    /// The base that is compared with.
    pub(crate) fn current_base(&self) -> Base {
        self.bases.get(self.base).copied().unwrap_or(Base::Given)
    }
    fn slot(&self) -> (Option<Base>, bool) {
        (Some(self.current_base()).filter(|b| *b != Base::Given), self.switches.effective)
    }
    /// Where the reader is in what is shown.
    pub(crate) fn reading(&self) -> Option<&Reading> {
        self.readings.get(&self.slot())
    }
    /// The same, to be moved.
    pub(crate) fn reading_mut(&mut self) -> &mut Reading {
        self.readings.entry(self.slot()).or_default()
    }
    /// The reading that counts for an approval: from what serves, as it was submitted.
    pub(crate) fn counted(&self) -> Option<&Reading> {
        self.readings.get(&(None, false))
    }
    /// How a page for the present size and switches is made.
    pub(crate) fn options(&self) -> Options {
        let split = self.switches.split && self.size.0 >= places::SPLIT_FROM;
        Options {
            unit: self.switches.unit,
            width: places::columns(self.size.0, split),
            above: if self.zoom { (0, 0) } else { (places::rows_above(self.size.1), places::across(self.size.0)) },
            split,
            wrap: self.switches.wrap,
            effective: self.switches.effective,
            colour: false,
        }
    }
    /// Rows that stand above the text.
    pub(crate) fn rows_above(&self) -> usize {
        self.rows_above_with(self.reading().and_then(Reading::page).map(|page| &**page))
    }
    /// The same once `page` is shown.
    fn rows_above_with(&self, page: Option<&Page>) -> usize {
        let structure = page.filter(|p| p.structure_is_above()).map_or(1, |p| p.structure.len().max(1));
        structure + usize::from(self.warns_of_hidden()) + usize::from(self.promotion.is_some()) + usize::from(self.speaks_of_me())
    }
    /// How the room is divided.
    pub(crate) fn places(&self) -> Places {
        places::divide(self.size.1, self.rows_above(), self.zoom)
    }
    /// A page arrived: it keeps what was read of the one before.
    pub(crate) fn lay(&mut self, page: Arc<Page>) {
        let height = places::divide(self.size.1, self.rows_above_with(Some(&page)), self.zoom).lines();
        self.reading_mut().lay(page, height);
    }
    /// Whether a row says that there are invisible characters or look-alikes.
    pub(crate) fn warns_of_hidden(&self) -> bool {
        !self.compared.hidden.is_empty() || self.lookalikes() > 0
    }
    /// Whether both contents may be read.
    pub(crate) fn is_readable(&self) -> bool {
        let readable = |version: &Option<Arc<VersionView>>| version.as_ref().is_none_or(|v| v.content.is_some());
        self.compared.to.is_some() && readable(&self.compared.to) && readable(&self.compared.from)
    }
    /// How many look-alikes there are.
    pub(crate) fn lookalikes(&self) -> usize {
        self.compared.diff.as_ref().map_or(0, |diff| diff.0.lookalikes.len())
    }
    /// Whether a row says why this person cannot approve, or that they approved this digest elsewhere.
    pub(crate) fn speaks_of_me(&self) -> bool {
        self.promotion.as_ref().is_some_and(|p| p.mine.approve_refused.is_some() || p.mine.approved_before.is_some())
    }
    /// What was seen and acknowledged: what an approval needs.
    pub(crate) fn what_was_seen(&self) -> Option<Seen> {
        let counted = self.counted()?;
        counted.page()?;
        let total = counted.total() + counted.unpainted_above();
        Some(Seen { changes: counted.seen(), total, acknowledged: self.acknowledged.clone() })
    }
    /// What was seen of a promotion, in front or before, as long as it compares the same versions.
    pub(crate) fn seen_of(&self, view: &PromotionView) -> Option<Seen> {
        let id = view.promotion.promotion_id;
        let in_front = self.promotion.as_ref().filter(|shown| shown.promotion.promotion_id == id && ends(shown) == ends(view));
        let now = in_front.and_then(|_| self.what_was_seen());
        let before = self.kept.get(&id).filter(|(kept, _)| *kept == ends(view)).map(|(_, seen)| seen.clone());
        // One that is opened again is read anew; what was read before still counts.
        before.into_iter().chain(now).max_by_key(|seen| seen.changes)
    }
    /// Remembers what was seen of the promotion in front, before another one comes there.
    pub(crate) fn keep_seen(&mut self) {
        if let (Some(view), Some(seen)) = (&self.promotion, self.what_was_seen()) {
            self.kept.insert(view.promotion.promotion_id, (ends(view), seen));
        }
    }
    /// How many invisible characters still have to be acknowledged, where the policy asks for it.
    pub(crate) fn unacknowledged(&self) -> usize {
        let asks = self.promotion.as_ref().is_some_and(|p| p.rule.acknowledges_hidden());
        let owed = self.promotion.as_ref().map(|p| &*p.hidden).unwrap_or_default();
        if asks { owed.iter().filter(|span| !self.acknowledged.contains(span)).count() } else { 0 }
    }
}

/// Why an action cannot be done, if so.
pub(crate) fn off(state: &State, action: Action) -> Option<String> {
    let promotion = state.promotion.as_deref();
    let open = || match promotion {
        None => Some("no promotion is open here".to_owned()),
        Some(p) if p.promotion.state != PromotionState::Open => Some(format!("it is {}", p.promotion.state)),
        Some(_) => None,
    };
    match action {
        Action::ReviewApprove => open().or_else(|| cannot_approve(state)),
        Action::ReviewReject => open(),
        Action::ReviewComment if promotion.is_none() => Some("no promotion is open here".into()),
        Action::ReviewWithdraw => {
            open().or_else(|| promotion.filter(|p| !p.mine.opened).map(|_| "someone else opened it".into()))
        }
        Action::ReviewSettle if !promotion.is_some_and(|p| p.mine.can_review || p.mine.owes_note) => {
            Some("nothing is owed here".into())
        }
        Action::ReviewSplit if state.size.0 < places::SPLIT_FROM => Some(format!("needs {} columns", places::SPLIT_FROM)),
        Action::ReviewHidden if !state.warns_of_hidden() => Some("none".into()),
        _ => None,
    }
}

/// Whether this person owes a review or a note of what is shown.
pub(crate) fn owed(state: &State) -> bool {
    let owes = |view: &PromotionView| view.promotion.state != PromotionState::Open && off(state, Action::ReviewSettle).is_none();
    state.promotion.as_deref().is_some_and(owes)
}

fn cannot_approve(state: &State) -> Option<String> {
    let mine = &state.promotion.as_ref()?.mine;
    if let Some(why) = &mine.approve_refused {
        return Some(why.clone());
    }
    if mine.can_approve.is_empty() {
        return Some("no approval gate waits for you".into());
    }
    if state.closed {
        return Some("its content is confidential: R shows it".into());
    }
    if state.small {
        return Some("the window is too small to show what you would approve".into());
    }
    if let Some(failure) = &state.failure {
        return Some(failure.text.clone());
    }
    let Some(reading) = state.counted().filter(|reading| reading.page().is_some()) else {
        return Some("the change is not loaded yet".into());
    };
    if !state.is_readable() {
        return Some("its content is not yours to read".into());
    }
    // Asking to approve passes what stands on the screen.
    let (seen, total) = (reading.seen_when_passed(), reading.total() + reading.unpainted_above());
    if seen < total {
        return Some(format!("{} of {total} changes not seen yet", total - seen));
    }
    match state.unacknowledged() {
        0 => None,
        1 => Some("acknowledge 1 invisible character: i, then A".into()),
        n => Some(format!("acknowledge {n} invisible characters: i, then A")),
    }
}

/// The face of a pane that was asked for from outside.
pub(crate) fn face(pane: ReviewPane) -> Face {
    match pane {
        ReviewPane::Diff => Face::Diff,
        ReviewPane::Gates => Face::Gates,
        ReviewPane::Fragments => Face::Fragments,
    }
}

/// Whether the search has the keys.
pub(crate) fn typing(state: &State) -> bool {
    state.finding
}

/// Whether esc has somewhere to go back to inside the room.
pub(crate) fn goes_back(state: &State) -> bool {
    state.face != Face::Diff || !state.find.is_blank()
}
