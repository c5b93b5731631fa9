//! The job that closes open promotions that are too old (R11).

/// Run by the server every minute: one promotion a run, the oldest first; the answer says which, so that the job runs again until none is left.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpirePromotions;
