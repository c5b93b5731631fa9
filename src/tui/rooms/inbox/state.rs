//! What Inbox knows: entries in a fixed order, newer ones that wait, ghosts of those that went.

use crate::model::PromotionState;
use crate::tui::effect::InboxLists;
use crate::tui::field::{Field, Lines};
use crate::tui::rooms::marks::Marks;
use crate::tui::rooms::throttle::Throttle;
use crate::wire::promotions::PromotionView;
use uuid::Uuid;

/// Why an entry is in the Inbox, in the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    /// My approval counts.
    Approve,
    /// All is met and I may apply it.
    Apply,
    /// Mine, and others blocked it.
    Blocked,
    /// A review or a note that I owe.
    Owed,
    /// Waits for others.
    Others,
}

impl Section {
    /// Whether it waits for this person.
    pub(crate) fn is_mine(self) -> bool {
        self != Self::Others
    }
    /// The heading above its entries.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Approve => "for your approval",
            Self::Apply => "ready to apply",
            Self::Blocked => "yours, blocked by others",
            Self::Owed => "owed after the fact",
            Self::Others => "waiting for others",
        }
    }
    /// `waits`: the registry says that it waits for this person; `owed`: that something is owed after the fact.
    fn of(view: &PromotionView, owed: bool, waits: bool) -> Self {
        let mine = &view.mine;
        let rejected = || super::words::rejections(view).next().is_some();
        match () {
            () if owed || mine.owes_note => Self::Owed,
            () if view.promotion.state != PromotionState::Open => Self::Others,
            () if mine.opened && rejected() => Self::Blocked,
            () if !mine.can_approve.is_empty() => Self::Approve,
            () if mine.can_apply && view.readiness.is_ready() && (waits || !view.promotion.is_timed()) => Self::Apply,
            // Due, and held up by others.
            () if waits && mine.opened && view.promotion.at_time.is_some() => Self::Blocked,
            () => Self::Others,
        }
    }
}

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The section in which it is listed.
    pub(crate) section: Section,
    /// The section in which it belongs as of the last answer: it goes there when the person asks for it.
    pub(crate) due: Section,
    /// The promotion.
    pub(crate) view: PromotionView,
    /// Whether it is gone from the registry's list: shown while selected, and nothing can be done with it.
    pub(crate) ghost: bool,
}

impl Entry {
    /// Selection is by this.
    pub(crate) fn id(&self) -> Uuid {
        self.view.promotion.promotion_id
    }
}

/// Everything of this room.
#[derive(Debug)]
pub(crate) struct State {
    /// The rows as they are shown.
    pub(crate) entries: Vec<Entry>,
    /// New ones, which wait until the person asks for them.
    pub(crate) newer: Vec<Entry>,
    /// The selected row.
    pub(crate) selected: Option<Uuid>,
    /// Whether anything was loaded yet.
    pub(crate) loaded: bool,
    /// Whether that was all.
    pub(crate) whole: bool,
    /// The next answer may put the rows in a new order: the person asked for it.
    pub(crate) reorder: bool,
    /// Words that a row must contain.
    pub(crate) filter: Field,
    /// Whether the filter has the keys.
    pub(crate) typing: bool,
    /// How far the preview was scrolled.
    pub(crate) scrolled: usize,
    /// Whether the preview has the keys.
    pub(crate) in_preview: bool,
    /// When to fetch.
    pub(crate) throttle: Throttle,
    /// Rows that are marked.
    pub(crate) marks: Marks<Uuid>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            newer: Vec::new(),
            selected: None,
            loaded: false,
            whole: false,
            reorder: true,
            filter: Field::new(Lines::One),
            typing: false,
            scrolled: 0,
            in_preview: false,
            throttle: Throttle::default(),
            marks: Marks::default(),
        }
    }
}

impl State {
    /// The rows that the filter leaves.
    pub(crate) fn visible(&self) -> Vec<&Entry> {
        let filter = self.filter.text().to_lowercase();
        self.entries.iter().filter(|e| super::words::matches(&e.view, &filter)).collect()
    }

    /// The selected row, and which of the visible ones it is.
    pub(crate) fn current(&self) -> Option<(usize, &Entry)> {
        let rows = self.visible();
        let at = rows.iter().position(|e| Some(e.id()) == self.selected).or(if rows.is_empty() { None } else { Some(0) })?;
        Some((at, rows[at]))
    }

    /// Selects the visible row `at`; a ghost that is left goes.
    pub(crate) fn select(&mut self, at: usize) {
        let id = self.visible().get(at).map(|e| e.id());
        if id != self.selected {
            self.scrolled = 0;
            self.selected = id;
            let selected = self.selected;
            self.entries.retain(|e| !e.ghost || Some(e.id()) == selected);
        }
    }

    /// Takes what the registry answered. Rows never change places under the cursor: known ones are updated where they are,
    /// new ones wait, a selected one that went becomes a ghost.
    pub(crate) fn take(&mut self, lists: InboxLists) {
        let owed = lists.owed.into_iter().map(|view| (view, true, false));
        let waiting = lists.waiting.into_iter().map(|view| (view, false, true));
        let others = lists.others.into_iter().map(|view| (view, false, false));
        let grows = self.loaded && !self.whole;
        self.whole = lists.whole;
        let mut fresh: Vec<Entry> = Vec::new();
        for (view, owed, waits) in owed.chain(waiting).chain(others) {
            if !fresh.iter().any(|e| e.id() == view.promotion.promotion_id) {
                let section = Section::of(&view, owed, waits);
                fresh.push(Entry { section, due: section, view, ghost: false });
            }
        }
        if self.reorder || !self.loaded || self.entries.is_empty() {
            let (at, was_mine) = self.current().map_or((0, false), |(at, e)| (at, e.section.is_mine()));
            self.entries = fresh;
            self.newer.clear();
            self.sort();
            // The rest of a list takes its places among what came first.
            self.reorder = !self.whole;
            self.loaded = true;
            // What the person just settled goes to the others; the cursor stays for the next one.
            let settled = was_mine && self.current().is_some_and(|(_, e)| !e.section.is_mine());
            if settled || (grows && at == 0) || self.current().is_none_or(|(_, e)| Some(e.id()) != self.selected) {
                let last = self.visible().len().saturating_sub(1);
                self.select(at.min(last));
            }
            return;
        }
        self.loaded = true;
        let selected = self.selected;
        for entry in &mut self.entries {
            match fresh.iter().position(|f| f.id() == entry.id()) {
                Some(at) => {
                    let found = fresh.swap_remove(at);
                    (entry.view, entry.due, entry.ghost) = (found.view, found.due, false);
                }
                None => entry.ghost = true,
            }
        }
        self.entries.retain(|e| !e.ghost || Some(e.id()) == selected);
        self.newer = fresh;
        let there = |id: &Uuid| self.entries.iter().any(|e| e.id() == *id && !e.ghost);
        self.marks.keep(there);
    }

    /// How many rows wait: new ones, and listed ones that belong elsewhere by now.
    pub(crate) fn waiting(&self) -> usize {
        self.newer.len() + self.entries.iter().filter(|e| e.section != e.due && !e.ghost).count()
    }

    /// Inserts the rows that wait, in their places.
    pub(crate) fn insert_newer(&mut self) {
        self.entries.append(&mut self.newer);
        self.entries.iter_mut().for_each(|e| e.section = e.due);
        self.sort();
    }

    fn sort(&mut self) {
        // Newest first within a section.
        self.entries.sort_by_key(|e| (e.section, std::cmp::Reverse((e.view.promotion.at, e.id()))));
    }
}
