//! Rollouts: pointers below 100 % or killed, with plan and step.

mod state;
mod update;
mod view;

pub(crate) use state::State;
pub(crate) use update::{open, subject, typing, update};
pub(crate) use view::draw;

/// How many there are; none before they are known.
pub(crate) fn count(state: &State) -> Option<usize> {
    state.loaded.then(|| state.rows.iter().chain(&state.newer).filter(|r| !r.ghost).count())
}
