//! What Inbox knows.

/// Everything of this room.
#[derive(Debug, Default)]
pub(crate) struct State {}
