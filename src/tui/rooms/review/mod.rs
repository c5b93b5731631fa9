//! Review: a change: difference, gates, fragments, votes, comments.

mod faces;
mod lines;
mod page;
mod places;
mod reading;
mod state;
#[cfg(test)]
mod tests;
mod update;
mod view;
mod work;

pub(crate) use page::first_screen;
pub(crate) use state::{State, goes_back, off, owed, typing};
pub(crate) use update::{open, subject, update};
pub(crate) use view::draw;
pub(crate) use work::{Work, Worked, perform};
