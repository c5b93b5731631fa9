//! Review: a change: difference, gates, fragments, votes, comments.

mod lines;
mod page;
mod reading;
mod state;
mod update;
mod view;
mod work;

pub(crate) use state::State;
pub(crate) use update::{goes_back, off, open, subject, typing, update};
pub(crate) use view::draw;
pub(crate) use work::{Work, Worked, perform};
