//! Keys: the tree of names, the history of one, its pointers and details.

mod details;
mod history;
mod state;
mod tree;
mod update;
mod view;

pub(crate) use state::{Slim, State};
pub(crate) use update::{fetch, open, scope, subject, take, typing, update};
pub(crate) use view::draw;

use crate::model::KeyId;

/// Every key that is known, by name.
pub(crate) fn all(state: &State) -> Vec<KeyId> {
    state.rows.iter().map(|row| row.key.clone()).collect()
}
