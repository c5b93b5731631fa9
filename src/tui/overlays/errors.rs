//! The errors overlay.

/// Its state.
#[derive(Debug, Default)]
pub(crate) struct State;
