//! Audit: the trail of events, and the dock.

mod state;
mod update;
mod view;

pub(crate) use state::State;
pub(crate) use update::{open, subject, update};
pub(crate) use view::draw;
