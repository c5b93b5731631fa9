//! What Rollouts knows.

use crate::model::{BasisPoints, Digest, Environment, EnvironmentPointer, KeyId, PlanStep, ReadinessItem, Version};
use crate::tui::field::{Field, Lines};
use crate::tui::rooms::marks::Marks;
use crate::tui::rooms::throttle::Throttle;
use crate::wire::pointers::PointerView;

/// A row: a pointer, perhaps one that is done meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Rolling {
    /// The pointer.
    pub(crate) view: PointerView,
    /// Whether it reached 100 % or was revived meanwhile: shown while selected.
    pub(crate) ghost: bool,
}

impl Rolling {
    /// Selection is by this.
    pub(crate) fn id(&self) -> (&KeyId, &Environment) {
        (&self.view.pointer.key_id, &self.view.pointer.environment)
    }
    /// Which step of the plan it stands on, from 1, and how many there are.
    pub(crate) fn step(&self) -> (usize, usize) {
        let pointer = &self.view.pointer;
        let at = pointer.plan.iter().take_while(|s| s.0 <= pointer.rollout_pct).count();
        (at, pointer.plan.len())
    }
    /// What keeps the registry from taking the next step, whose turn has come.
    pub(crate) fn waits(&self) -> impl Iterator<Item = &ReadinessItem> {
        self.view.next.iter().filter(|next| next.auto).flat_map(|next| &next.waits)
    }
    /// The plan's next step.
    pub(crate) fn next(&self) -> Option<&PlanStep> {
        let pointer = &self.view.pointer;
        pointer.plan.iter().find(|s| s.0 > pointer.rollout_pct)
    }
}

/// Everything of this room.
#[derive(Debug)]
pub(crate) struct State {
    /// Killed ones first, then held ones, then the smallest share, as of the last time that the person asked for the order.
    pub(crate) rows: Vec<Rolling>,
    /// New ones, which wait until the person asks for them.
    pub(crate) newer: Vec<Rolling>,
    /// The next answer may put the rows in a new order.
    pub(crate) reorder: bool,
    /// The selected row.
    pub(crate) selected: Option<(KeyId, Environment)>,
    /// Whether anything was loaded yet.
    pub(crate) loaded: bool,
    /// When to fetch.
    pub(crate) throttle: Throttle,
    /// Rows that are marked.
    pub(crate) marks: Marks<(KeyId, Environment)>,
    /// Words that a row must contain.
    pub(crate) filter: Field,
    /// Whether the filter has the keys.
    pub(crate) typing: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            newer: Vec::new(),
            reorder: false,
            selected: None,
            loaded: false,
            throttle: Throttle::default(),
            marks: Marks::default(),
            filter: Field::new(Lines::One),
            typing: false,
        }
    }
}

impl State {
    /// The rows that the filter leaves.
    pub(crate) fn visible(&self) -> Vec<&Rolling> {
        let filter = self.filter.text().to_lowercase();
        let fits = |row: &&Rolling| {
            let text = format!("{} {}", row.view.pointer.key_id, row.view.pointer.environment);
            filter.split_whitespace().all(|word| text.contains(word))
        };
        self.rows.iter().filter(fits).collect()
    }

    /// The selected row, and which of the visible ones it is.
    pub(crate) fn current(&self) -> Option<(usize, &Rolling)> {
        let selected = self.selected.as_ref().map(|(key, environment)| (key, environment));
        let rows = self.visible();
        let at = rows.iter().position(|r| Some(r.id()) == selected);
        let at = at.or(if rows.is_empty() { None } else { Some(0) })?;
        Some((at, rows[at]))
    }

    /// Selects a visible row; a ghost that is left goes.
    pub(crate) fn select(&mut self, at: usize) {
        let own = |r: &&Rolling| (r.view.pointer.key_id.clone(), r.view.pointer.environment.clone());
        self.selected = self.visible().get(at).map(own);
        let selected = self.selected.clone();
        self.rows.retain(|r| !r.ghost || selected.as_ref().is_some_and(|(k, e)| r.id() == (k, e)));
    }

    /// Takes what the registry answered. Rows never change places under the cursor: known ones are updated where they are,
    /// new ones wait, the selected row stays as a ghost where it is done.
    pub(crate) fn take(&mut self, views: Vec<PointerView>) {
        let selected = self.current().map(|(_, row)| (row.view.pointer.key_id.clone(), row.view.pointer.environment.clone()));
        let mut fresh: Vec<Rolling> = views.into_iter().map(|view| Rolling { view, ghost: false }).collect();
        for row in &mut self.rows {
            match fresh.iter().position(|found| found.id() == row.id()) {
                Some(at) => *row = fresh.remove(at),
                None => row.ghost = true,
            }
        }
        self.rows.retain(|row| !row.ghost || selected.as_ref().is_some_and(|(k, e)| row.id() == (k, e)));
        self.newer = fresh;
        if self.reorder || !self.loaded || self.rows.is_empty() {
            self.insert_newer();
        }
        self.reorder = false;
        self.loaded = true;
        let there = |id: &(KeyId, Environment)| self.rows.iter().any(|r| !r.ghost && r.id() == (&id.0, &id.1));
        self.marks.keep(there);
        if self.current().is_some_and(|(_, r)| Some(r.id()) != self.selected.as_ref().map(|(k, e)| (k, e))) {
            self.select(0);
        }
    }
}

impl State {
    /// A pointer moved: its row says so at once, with the numbers of versions that are known, and no way back that is not.
    pub(crate) fn moved(&mut self, pointer: &EnvironmentPointer) {
        let id = (&pointer.key_id, &pointer.environment);
        if let Some(row) = self.rows.iter_mut().chain(&mut self.newer).find(|row| row.id() == id) {
            let view = &mut row.view;
            let known = [view.version.take(), view.baseline.take(), view.safe_default.clone()];
            view.version = find(&known, pointer.digest);
            view.baseline = pointer.baseline_digest.and_then(|digest| find(&known, digest));
            // Where a rollback would go to now, only the registry knows.
            view.rollback_to = view.rollback_to.filter(|_| view.pointer.digest == pointer.digest);
            view.pointer.clone_from(pointer);
        }
    }

    /// Inserts the rows that wait, and puts all in order.
    pub(crate) fn insert_newer(&mut self) {
        self.rows.append(&mut self.newer);
        self.rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id().cmp(&b.id())));
    }
}

fn find(known: &[Option<Version>], digest: Digest) -> Option<Version> {
    known.iter().flatten().find(|version| version.digest == digest).cloned()
}

fn rank(row: &Rolling) -> (bool, bool, bool, BasisPoints) {
    let pointer = &row.view.pointer;
    (row.ghost, !pointer.killed, !pointer.held, pointer.rollout_pct)
}
