//! Inbox: what waits for the person, what is owed, what waits for others.

mod preview;
mod state;
mod update;
mod view;
pub(crate) mod words;

pub(crate) use state::State;
pub(crate) use update::{off, open, owed, subject, take, typing, update};
pub(crate) use view::draw;

/// How many items wait for the person; none before they are known.
pub(crate) fn waiting(state: &State) -> Option<usize> {
    state.whole.then(|| state.entries.iter().filter(|e| e.due.is_mine() && !e.ghost).count())
}
