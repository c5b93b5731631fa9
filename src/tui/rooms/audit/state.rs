//! What Audit knows: a window of rows by number, fetched where the cursor goes; numbers have no holes, so any row can be
//! placed without its neighbours.

use super::filter::Filter;
use super::slim::Slim;
use crate::model::{AuditEvent, ChainHead};
use crate::tui::field::{Field, Lines};
use std::collections::BTreeMap;

/// Rows that are kept at most; the farthest from the cursor go first.
pub(crate) const KEPT: usize = 3_000;
/// The newest rows are always kept, for the dock.
const NEWEST: u64 = 64;
/// Rows per request.
pub(crate) const PAGE: u32 = 300;

/// What is known of the chain beyond the link line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Verified {
    /// Not asked for.
    #[default]
    Not,
    /// Being verified.
    Running,
    /// Holds from #1 to here.
    To(u64, ChainHead),
    /// Broken.
    Broken(u64),
}

/// A search in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Search {
    /// What a row must be.
    pub(crate) filter: Filter,
    /// Numbers that were found, newest first.
    pub(crate) found: Vec<u64>,
    /// The lowest number that was looked at; 1 when all were.
    pub(crate) down_to: u64,
}

/// Everything of this room.
#[derive(Debug)]
pub(crate) struct State {
    /// Rows by number.
    pub(crate) rows: BTreeMap<u64, Slim>,
    /// The newest number that is known.
    pub(crate) head: u64,
    /// The cursor; none follows the newest.
    pub(crate) at: Option<u64>,
    /// While paused: the newest number that is shown.
    pub(crate) paused: Option<u64>,
    /// The filter being typed.
    pub(crate) line: Field,
    /// Whether the filter has the keys.
    pub(crate) typing: bool,
    /// The filter in force.
    pub(crate) search: Option<Search>,
    /// Whether the record pane is open.
    pub(crate) reading: bool,
    /// The whole event under the cursor.
    pub(crate) record: Option<AuditEvent>,
    /// How far the record was scrolled.
    pub(crate) scrolled: usize,
    /// The chain.
    pub(crate) verified: Verified,
    /// Whether the first page came.
    pub(crate) loaded: bool,
}

impl Default for State {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            head: 0,
            at: None,
            paused: None,
            line: Field::new(Lines::One),
            typing: false,
            search: None,
            reading: false,
            record: None,
            scrolled: 0,
            verified: Verified::Not,
            loaded: false,
        }
    }
}

impl State {
    /// The newest number that is shown.
    pub(crate) fn top(&self) -> u64 {
        self.paused.unwrap_or(self.head)
    }

    /// How many rows the list has.
    pub(crate) fn len(&self) -> usize {
        match &self.search {
            Some(search) => search.found.len(),
            None => usize::try_from(self.top()).unwrap_or(usize::MAX),
        }
    }

    /// The number of row `n` from the top.
    pub(crate) fn number(&self, n: usize) -> Option<u64> {
        match &self.search {
            Some(search) => search.found.get(n).copied(),
            None => self.top().checked_sub(n as u64).filter(|seq| *seq > 0),
        }
    }

    /// Which row from the top the cursor is on.
    pub(crate) fn position(&self) -> usize {
        let Some(at) = self.at else { return 0 };
        match &self.search {
            Some(search) => search.found.partition_point(|seq| *seq > at).min(search.found.len().saturating_sub(1)),
            None => usize::try_from(self.top().saturating_sub(at)).unwrap_or(usize::MAX),
        }
    }

    /// The number under the cursor.
    pub(crate) fn current(&self) -> Option<u64> {
        self.number(self.position())
    }

    /// Puts the cursor on row `n` from the top; the top row follows what comes.
    pub(crate) fn select(&mut self, n: usize) {
        self.at = if n == 0 && self.paused.is_none() { None } else { self.number(n.min(self.len().saturating_sub(1))) };
        self.scrolled = 0;
    }

    /// Takes rows, from the stream or a page.
    pub(crate) fn take<'e>(&mut self, events: impl IntoIterator<Item = &'e AuditEvent>) {
        for event in events {
            self.head = self.head.max(event.seq);
            self.rows.insert(event.seq, Slim::of(event));
        }
        self.trim();
    }

    /// A new event of the stream: it also joins what the filter found.
    pub(crate) fn live(&mut self, event: &AuditEvent) {
        self.take([event]);
        let row = self.rows.get(&event.seq);
        if let (Some(search), Some(row)) = (&mut self.search, row)
            && self.paused.is_none()
            && search.filter.admits(row)
            && search.found.first().is_none_or(|first| *first < row.seq)
        {
            search.found.insert(0, row.seq);
        }
    }

    /// Forgets the rows that are farthest from the cursor.
    fn trim(&mut self) {
        let newest = self.head.saturating_sub(NEWEST);
        let at = self.current().unwrap_or(self.head);
        while self.rows.len() > KEPT {
            let lowest = self.rows.keys().next().copied().unwrap_or(0);
            let highest = self.rows.range(..=newest).next_back().map_or(0, |(seq, _)| *seq);
            let far = if at.abs_diff(lowest) >= at.abs_diff(highest) { lowest } else { highest };
            if self.rows.remove(&far).is_none() {
                return;
            }
        }
    }

    /// The highest number among `seqs` that is not here yet.
    pub(crate) fn missing(&self, seqs: impl Iterator<Item = u64>) -> Option<u64> {
        seqs.filter(|seq| !self.rows.contains_key(seq)).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::audit::AuditBody;
    use crate::model::{Action, Actor, Digest, Subject, Timestamp};

    pub(crate) fn event(seq: u64, actor: &str) -> AuditEvent {
        let body = AuditBody {
            actor: Actor::person(actor),
            action: Action::PointerKill,
            subject: Subject("key:a.b".into()),
            detail: serde_json::Map::new(),
            nonce: String::new(),
        };
        AuditEvent {
            seq,
            event_id: Digest::ZERO,
            at: Timestamp(0),
            prev_hash: Digest::ZERO,
            body_hash: Digest::ZERO,
            body: Some(body),
            redacted: false,
        }
    }

    #[test]
    fn two_million_events_fill_no_more_memory_than_a_few_thousand() {
        let mut state = State::default();
        for seq in 1..=200_000 {
            state.live(&event(seq, "ana"));
            assert!(state.rows.len() <= KEPT);
        }
        assert_eq!(state.len(), 200_000);
        assert!(state.rows.contains_key(&200_000));
    }

    #[test]
    fn the_cursor_stays_on_its_event_while_others_come() {
        let mut state = State::default();
        state.take(&[event(1, "ana"), event(2, "ana"), event(3, "ana")]);
        assert_eq!(state.current(), Some(3));
        state.live(&event(4, "bob"));
        assert_eq!(state.current(), Some(4), "at the top it follows");
        state.select(1);
        assert_eq!(state.current(), Some(3));
        state.live(&event(5, "bob"));
        assert_eq!((state.current(), state.position()), (Some(3), 2));
        state.paused = Some(5);
        state.live(&event(6, "bob"));
        assert_eq!((state.top(), state.number(0)), (5, Some(5)));
    }

    #[test]
    fn any_row_is_placed_without_its_neighbours() {
        let mut state = State { head: 70_000, ..State::default() };
        state.select(69_999);
        assert_eq!(state.current(), Some(1));
        assert_eq!(state.missing((1..=30).rev()), Some(30));
    }

    #[test]
    fn what_comes_joins_what_was_found() {
        let mut state = State::default();
        state.take(&[event(1, "ana"), event(2, "bob")]);
        state.search = Some(Search { filter: Filter::read("actor:bob").unwrap(), found: vec![2], down_to: 1 });
        state.live(&event(3, "ana"));
        state.live(&event(4, "bob"));
        assert_eq!(state.search.as_ref().unwrap().found, [4, 2]);
    }
}
