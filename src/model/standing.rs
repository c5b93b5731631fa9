//! What became of a digest at a pointer.

/// What the applied promotions of one pointer say of one digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// It came to serve everybody: at 100 % by a promote, step, rollback or revive. A kill taken back does not count.
    pub reached_all: bool,
    /// A rollback left it.
    pub rolled_away: bool,
    /// It was killed, and has not come to serve again since, by a promote, a revive or a kill taken back.
    pub killed_away: bool,
}
