//! What Review does with what happens.

use super::reading::Scroll;
use super::state::{Base, Compared, Face, State, face, off};
use super::work::{Work, Worked};
use super::{faces, places};
use crate::model::{Digest, Timestamp};
use crate::tui::action::Action;
use crate::tui::effect::{Answer, Effect, Failure, FailureKind, Query, Slot};
use crate::tui::field::{Field, Lines};
use crate::tui::frame;
use crate::tui::keymap::{Key, KeyCode};
use crate::tui::msg::{DialogKind, Followed, Msg, Notice, ReviewPane, ReviewTarget};
use crate::tui::state::{Cx, Subject};
use crate::wire::promotions::{ListPromotions, PromotionView};
use crate::wire::versions::VersionView;
use std::sync::Arc;

/// The room comes to the front with something to show: fetch it.
pub(crate) fn open(state: &mut State, target: ReviewTarget, cx: &mut Cx) -> Vec<Effect> {
    let pane = match &target {
        ReviewTarget::Promotion(_, pane) | ReviewTarget::Version { pane, .. } => *pane,
        ReviewTarget::Pair { .. } => ReviewPane::Diff,
    };
    // The same change again keeps what was read of it.
    if state.target.as_ref().is_none_or(|known| subject_of(known) != subject_of(&target)) {
        state.keep_seen();
        *state = State { switches: state.switches, kept: std::mem::take(&mut state.kept), ..State::default() };
    }
    state.size = places::body(cx);
    state.face = face(pane);
    state.scroll = 0;
    state.failure = None;
    state.target = Some(target);
    fetch(state, cx)
}

/// What two targets have in common when they show the same.
fn subject_of(target: &ReviewTarget) -> (Option<uuid::Uuid>, Option<Digest>, Option<Digest>) {
    match target {
        ReviewTarget::Promotion(id, _) => (Some(*id), None, None),
        ReviewTarget::Pair { from, to, .. } => (None, *from, Some(*to)),
        ReviewTarget::Version { digest, .. } => (None, None, Some(*digest)),
    }
}

fn fetch(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    state.closed = is_closed(state, cx);
    let query = match &state.target {
        Some(ReviewTarget::Promotion(id, _)) => return vec![cx.slots.load(Slot::Review, Query::Promotion(*id))],
        _ if state.closed => return Vec::new(),
        Some(ReviewTarget::Pair { from, to, .. }) => Query::Pair(*from, *to),
        Some(ReviewTarget::Version { digest, .. }) => Query::Pair(None, *digest),
        None => return Vec::new(),
    };
    vec![cx.slots.load(Slot::Diff, query)]
}

/// Whether what is shown is of a confidential key that the person has not asked to see.
fn is_closed(state: &State, cx: &Cx) -> bool {
    subject(state).key.is_some_and(|key| cx.session.is_closed(&key))
}

/// A message for this room.
pub(crate) fn update(state: &mut State, msg: &Msg, cx: &mut Cx) -> Vec<Effect> {
    let size = places::body(cx);
    let zoom = cx.screen.zoom;
    state.small = frame::is_too_small(cx.screen.width, cx.screen.height);
    let mut effects = Vec::new();
    if (state.size, state.zoom) != (size, zoom) {
        (state.size, state.zoom, state.listed) = (size, zoom, 0);
        effects.extend(work(state, cx));
    }
    effects.extend(match msg {
        Msg::Chosen(action) => act(state, *action, cx),
        Msg::Pressed(key) if state.finding => typed(state, *key),
        Msg::Pasted(text) if state.finding => {
            state.find.paste(text);
            Vec::new()
        }
        Msg::Painted => {
            // A frame that is behind the state says nothing about what stands in the window now.
            if cx.screen.settled && painted(state, cx.now) { vec![Effect::WakeAt(cx.now)] } else { Vec::new() }
        }
        Msg::Loaded { answer: Ok(answer), .. } => loaded(state, answer, cx),
        Msg::Loaded { slot: Slot::Review | Slot::Diff, answer: Err(failure), .. } => {
            failed(state, failure);
            Vec::new()
        }
        Msg::Worked { generation, result } => {
            if cx.slots.accept(Slot::Work, *generation) {
                worked(state, result, cx).into_iter().collect()
            } else {
                Vec::new()
            }
        }
        Msg::Followed(followed) => follow(state, followed, cx),
        _ => Vec::new(),
    });
    effects
}

/// Only what stands in the frame that reached the terminal counts, and only while the difference itself is shown. True
/// where the hints have to be drawn again: another change can be passed now.
fn painted(state: &mut State, now: Timestamp) -> bool {
    let places = state.places();
    let height = places.lines();
    if state.small || state.failure.is_some() || state.compared.to.is_none() {
        return false;
    }
    if state.face == Face::Hidden && state.scroll <= state.listed {
        state.listed = state.listed.max(state.scroll + height).min(faces::lines(state, now).len());
    }
    if state.face != Face::Diff {
        return false;
    }
    let reading = state.reading_mut();
    let before = reading.seen_when_passed();
    reading.paint(height, places.above > 0);
    reading.seen_when_passed() != before
}

// --- answers ---

/// What cannot be read, or is not what its digest says, is not shown; while the registry is away what was read stays.
fn failed(state: &mut State, failure: &Failure) {
    let away = matches!(failure.kind, FailureKind::Unreachable | FailureKind::Timeout);
    if !away || state.compared.to.is_none() {
        state.failure = Some(failure.clone());
    }
}

fn loaded(state: &mut State, answer: &Answer, cx: &mut Cx) -> Vec<Effect> {
    match answer {
        Answer::Promotion(view) => promotion(state, view, cx),
        Answer::Pair(from, to) => {
            state.failure = None;
            state.compared = Compared {
                from: from.clone().map(|v| Arc::new(*v)),
                to: Some(Arc::new((**to).clone())),
                hidden: std::mem::take(&mut state.compared.hidden),
                diff: None,
                base: state.current_base(),
            };
            work(state, cx).into_iter().collect()
        }
        Answer::Promotions(list) => bases(state, list, cx),
        _ => Vec::new(),
    }
}

fn promotion(state: &mut State, view: &PromotionView, cx: &mut Cx) -> Vec<Effect> {
    let Some(ReviewTarget::Promotion(id, _)) = &state.target else { return Vec::new() };
    if *id != view.promotion.promotion_id {
        return Vec::new();
    }
    state.failure = None;
    state.promotion = Some(Box::new(view.clone()));
    state.closed = is_closed(state, cx);
    let shown = state.compared.to.as_ref().map(|v| v.version.digest);
    match view.promotion.to_digest {
        Some(to) if shown != Some(to) && !state.closed => {
            vec![cx.slots.load(Slot::Diff, Query::Pair(view.promotion.from_digest, to))]
        }
        _ => Vec::new(),
    }
}

/// Asks for a page of the present size and switches, and for the marks where they are not known.
fn work(state: &State, cx: &mut Cx) -> Option<Effect> {
    // Versions that were read for another base are not what this one shows.
    let to = state.compared.to.clone().filter(|_| state.compared.base == state.current_base())?;
    Some(ask_for(state, state.options(), to, cx))
}

fn ask_for(state: &State, options: super::page::Options, to: Arc<VersionView>, cx: &mut Cx) -> Effect {
    let known =
        state.compared.diff.clone().filter(|(_, unit, effective)| (*unit, *effective) == (options.unit, options.effective));
    let work = Work { from: state.compared.from.clone(), to, options, known: known.map(|known| known.0) };
    Effect::Work { generation: cx.slots.next(Slot::Work), work: Box::new(work) }
}

/// The first pass is shown at once; the second one brings the colours of the source, where there are some.
fn worked(state: &mut State, worked: &Worked, cx: &mut Cx) -> Option<Effect> {
    let options = worked.page.options;
    state.compared.diff = Some((worked.diff.clone(), options.unit, options.effective));
    if state.current_base() == Base::Given {
        if state.compared.hidden != worked.hidden {
            state.listed = 0;
        }
        state.compared.hidden.clone_from(&worked.hidden);
    }
    if options.effective != state.switches.effective {
        return None;
    }
    state.lay(worked.page.clone());
    let to = state.compared.to.clone().filter(|_| worked.page.colourable)?;
    Some(ask_for(state, super::page::Options { colour: true, ..options }, to, cx))
}

/// The bases to compare with, from the key's promotions; then on to the next one.
fn bases(state: &mut State, list: &[PromotionView], cx: &mut Cx) -> Vec<Effect> {
    let Some(current) = state.promotion.as_deref() else { return Vec::new() };
    let mut found = vec![Base::Given];
    let not_shown =
        |digest: &Digest| Some(*digest) != current.promotion.to_digest && Some(*digest) != current.promotion.from_digest;
    let me = cx.session.me.as_ref().map(|me| &me.actor);
    let voted = list.iter().flat_map(|p| p.approvals.iter().map(move |a| (a, p.promotion.to_digest)));
    let last =
        voted.filter(|(a, _)| Some(&a.approver) == me && !a.gate.is_empty()).max_by_key(|(a, _)| a.at).and_then(|(_, to)| to);
    found.extend(last.filter(not_shown).map(Base::LastReviewed));
    let earlier =
        list.iter().filter(|p| p.promotion.at < current.promotion.at && p.promotion.environment == current.promotion.environment);
    let previous = earlier.max_by_key(|p| p.promotion.at).and_then(|p| p.promotion.to_digest);
    found.extend(previous.filter(not_shown).map(Base::Previous));
    state.bases = found;
    next_base(state, cx)
}

fn next_base(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    if state.bases.len() < 2 {
        return vec![say("there is no other base: you reviewed nothing of this key, and nothing was attempted before")];
    }
    state.base = (state.base + 1) % state.bases.len();
    // What is being worked out for the base before is not laid out as this one.
    cx.slots.next(Slot::Work);
    let given = state.promotion.as_ref().and_then(|p| p.promotion.from_digest);
    let (from, words) = match state.current_base() {
        Base::Given => (given, "compared with what serves"),
        Base::LastReviewed(digest) => {
            (Some(digest), "compared with what you last reviewed; an approval needs the comparison with what serves")
        }
        Base::Previous(digest) => {
            (Some(digest), "compared with the previous attempt; an approval needs the comparison with what serves")
        }
    };
    let Some(to) = state.compared.to.as_ref().map(|v| v.version.digest) else { return Vec::new() };
    vec![say(words), cx.slots.load(Slot::Diff, Query::Pair(from, to))]
}

/// News about this change: fetch it again, what was read stays.
fn follow(state: &mut State, followed: &Followed, cx: &mut Cx) -> Vec<Effect> {
    let (Followed::Audit(event), Some(view)) = (followed, &state.promotion) else { return Vec::new() };
    let Some(body) = &event.body else { return Vec::new() };
    let subjects = [
        Some(crate::model::Subject::promotion(view.promotion.promotion_id)),
        Some(crate::model::Subject::key(&view.promotion.key_id)),
        view.promotion.to_digest.as_ref().map(crate::model::Subject::digest),
    ];
    let policy = body.subject.0.starts_with("policy:");
    if policy || subjects.iter().flatten().any(|subject| *subject == body.subject) { fetch(state, cx) } else { Vec::new() }
}

// --- actions ---

fn act(state: &mut State, action: Action, cx: &mut Cx) -> Vec<Effect> {
    if let Some(effects) = switch(state, action, cx) {
        return effects;
    }
    match action {
        Action::ReviewApprove => approve(state),
        Action::ReviewReject => ask(state, DialogKind::RequestChanges, action),
        Action::ReviewComment => ask(state, DialogKind::Comment, action),
        Action::ReviewWithdraw => ask(state, DialogKind::Withdraw, action),
        Action::ReviewSettle => {
            let note = state.promotion.as_ref().is_some_and(|p| p.mine.owes_note);
            ask(state, if note { DialogKind::SettleNote } else { DialogKind::SettleReview }, action)
        }
        Action::ReviewBase if state.promotion.is_none() => {
            vec![say("this was opened with its base: choose another in the history")]
        }
        Action::ReviewBase if state.bases.is_empty() => {
            let key = state.promotion.as_ref().map(|p| p.promotion.key_id.clone());
            vec![cx.slots.load(Slot::Content, Query::Promotions(ListPromotions { key, ..ListPromotions::default() }))]
        }
        Action::ReviewBase => next_base(state, cx),
        Action::Refetch => fetch(state, cx),
        Action::Find => {
            (state.face, state.finding) = (Face::Diff, true);
            Vec::new()
        }
        Action::Back if state.face == Face::Diff => {
            lose(state);
            Vec::new()
        }
        Action::Back => {
            state.face = Face::Diff;
            state.scroll = 0;
            Vec::new()
        }
        _ if state.face == Face::Diff => read(state, action),
        _ => scroll(state, action, cx.now),
    }
}

/// Faces and switches.
fn switch(state: &mut State, action: Action, cx: &mut Cx) -> Option<Vec<Effect>> {
    let face = match action {
        Action::ReviewDiff => Face::Diff,
        Action::ReviewGates => Face::Gates,
        Action::ReviewFragments => Face::Fragments,
        Action::ReviewHidden => Face::Hidden,
        Action::ReviewAcknowledge => return Some(acknowledge(state, cx.now)),
        Action::ReviewSplit => {
            if let Some(why) = off(state, action) {
                return Some(vec![say(&format!("side by side {why}"))]);
            }
            state.switches.split = !state.switches.split;
            return Some(work(state, cx).into_iter().collect());
        }
        Action::ReviewUnit => {
            state.switches.unit = state.switches.unit.next();
            return Some(work(state, cx).into_iter().collect());
        }
        Action::ReviewWrap => {
            state.switches.wrap = !state.switches.wrap;
            return Some(work(state, cx).into_iter().collect());
        }
        Action::ReviewEffective => {
            state.switches.effective = !state.switches.effective;
            return Some(work(state, cx).into_iter().collect());
        }
        _ => return None,
    };
    if state.face == Face::Diff {
        state.reading_mut().pass();
    }
    // The same key again leads back.
    state.face = if state.face == face { Face::Diff } else { face };
    state.scroll = 0;
    Some(Vec::new())
}

fn acknowledge(state: &mut State, now: Timestamp) -> Vec<Effect> {
    if state.face != Face::Hidden {
        return vec![say("open the list of invisible characters first (i): only what was listed is acknowledged")];
    }
    if state.current_base() != Base::Given {
        return vec![say("go back to the comparison with what serves (b): an approval counts against that")];
    }
    if state.listed < faces::lines(state, now).len() {
        return vec![say("scroll to the end of the list first (j, ctrl-d): only what was listed is acknowledged")];
    }
    state.acknowledged.clone_from(&state.compared.hidden);
    let count = state.acknowledged.len();
    let words = if count == 1 { "1 invisible character".to_owned() } else { format!("{count} invisible characters") };
    vec![say(&format!("acknowledged {words}: your approval will say so"))]
}

fn approve(state: &mut State) -> Vec<Effect> {
    if state.face == Face::Diff {
        state.reading_mut().pass();
    }
    ask(state, DialogKind::Approve, Action::ReviewApprove)
}

fn ask(state: &State, kind: DialogKind, action: Action) -> Vec<Effect> {
    if let Some(why) = off(state, action) {
        return vec![say(&format!("cannot {}: {why}", action.title()))];
    }
    let Some(mut request) = subject(state).dialog(kind) else { return Vec::new() };
    if kind == DialogKind::Comment && state.face == Face::Diff {
        request.anchor = state.reading().and_then(super::reading::Reading::paragraph).map(|p| p.anchor);
    }
    vec![Effect::Tell(Box::new(Msg::DialogAsked(Box::new(request))))]
}

/// Moves in the difference.
fn read(state: &mut State, action: Action) -> Vec<Effect> {
    let height = state.places().lines();
    if let (Action::ReviewNext | Action::ReviewPrevious, false) = (action, state.find.is_blank()) {
        return find(state, action == Action::ReviewNext);
    }
    let page = isize::try_from(height.max(2)).unwrap_or(2);
    let reading = state.reading_mut();
    let by = |reading: &mut super::reading::Reading, by| reading.scroll(Scroll::By(by), height);
    match action {
        Action::Down => by(reading, 1),
        Action::Up => by(reading, -1),
        Action::HalfDown => by(reading, page / 2),
        Action::HalfUp => by(reading, -(page / 2)),
        Action::PageDown => by(reading, page - 1),
        Action::PageUp => by(reading, 1 - page),
        Action::Top => reading.scroll(Scroll::Top, height),
        Action::Bottom => reading.scroll(Scroll::Bottom, height),
        Action::ReviewFold => reading.toggle_fold(height),
        Action::ReviewFoldAll => reading.toggle_folds(height),
        Action::ReviewNextParagraph => reading.go_to_paragraph(true, height),
        Action::ReviewPreviousParagraph => reading.go_to_paragraph(false, height),
        Action::ReviewNext if !reading.next(height) => return vec![say(&end(reading))],
        Action::ReviewPrevious if !reading.previous(height) => return vec![say("this is the first change")],
        Action::ReviewNextUnseen if !reading.go_to_unseen(true, height) => return vec![say("every change was seen")],
        Action::ReviewPreviousUnseen if !reading.go_to_unseen(false, height) => return vec![say("every change was seen")],
        Action::ReviewSeen if !reading.mark_seen(height) => {
            return vec![say("not painted whole yet: read it to its end first (n, or W when lines are cut)")];
        }
        _ => {}
    }
    Vec::new()
}

/// A key for the search: enter goes to the first match, esc gives it up.
fn typed(state: &mut State, key: Key) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => lose(state),
        KeyCode::Enter | KeyCode::Tab | KeyCode::Down => {
            state.finding = false;
            state.reading_mut().lose();
            return if state.find.is_blank() { Vec::new() } else { find(state, true) };
        }
        _ => drop(state.find.key(&key)),
    }
    Vec::new()
}

fn lose(state: &mut State) {
    state.finding = false;
    state.find = Field::new(Lines::One);
    state.reading_mut().lose();
}

fn find(state: &mut State, forward: bool) -> Vec<Effect> {
    let (words, height) = (state.find.text(), state.places().lines());
    match state.reading_mut().find(&words, forward, height) {
        Some((at, of)) => vec![say(&format!("match {at} of {of}: n next, N previous, esc ends the search"))],
        None => vec![say("nothing here holds these words; esc ends the search")],
    }
}

fn end(reading: &super::reading::Reading) -> String {
    match reading.total() - reading.seen() {
        0 => "this was the last change; every change was seen".into(),
        n => format!("this is the last change; {n} not seen yet (]u goes there)"),
    }
}

/// Moves in the other faces.
fn scroll(state: &mut State, action: Action, now: Timestamp) -> Vec<Effect> {
    let height = state.places().lines();
    let half = (height / 2).max(1);
    state.scroll = match action {
        Action::Down | Action::ReviewNext => state.scroll.saturating_add(1),
        Action::Up | Action::ReviewPrevious => state.scroll.saturating_sub(1),
        Action::HalfDown => state.scroll.saturating_add(half),
        Action::HalfUp => state.scroll.saturating_sub(half),
        Action::PageDown => state.scroll.saturating_add(height.max(2) - 1),
        Action::PageUp => state.scroll.saturating_sub(height.max(2) - 1),
        Action::Top => 0,
        Action::Bottom => usize::MAX,
        _ => state.scroll,
    }
    .min(faces::last_top(state, height, now));
    Vec::new()
}

fn say(words: &str) -> Effect {
    Effect::Tell(Box::new(Msg::Said(Notice::note(words))))
}

/// What the cursor is on.
pub(crate) fn subject(state: &State) -> Subject {
    let promotion = state.promotion.as_deref();
    let to = state.compared.to.as_deref();
    let target = match &state.target {
        Some(ReviewTarget::Pair { key, to, .. }) => Some((key.clone(), *to)),
        Some(ReviewTarget::Version { key, digest, .. }) => Some((key.clone(), *digest)),
        _ => None,
    };
    Subject {
        key: promotion.map(|p| p.promotion.key_id.clone()).or(target.as_ref().map(|t| t.0.clone())),
        environment: promotion.map(|p| p.promotion.environment.clone()),
        promotion: state.promotion.clone(),
        digest: promotion.and_then(|p| p.promotion.to_digest).or(target.map(|t| t.1)),
        rationale: promotion.map(|p| p.promotion.rationale.clone()).or(to.map(|v| v.version.rationale.clone())),
        seen: state.what_was_seen(),
        ..Subject::default()
    }
}
