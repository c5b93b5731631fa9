//! Audit: the trail of events, one record, the chain; and the dock under every other room.

mod filter;
mod record;
mod slim;
mod state;
mod update;
mod view;

pub(crate) use state::State;
pub(crate) use update::{open, subject, typing, update};
pub(crate) use view::{draw, draw_dock};
