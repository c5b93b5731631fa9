//! Applying a promotion: readiness once more, compare-and-swap, one event; the losers become stale (R8, R10).

use crate::wire::promotions::{DryRun, Moved, Rationale};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// POST /v1/promotions/{id}/apply.
#[derive(Debug, Clone)]
pub struct ApplyPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}

/// The answer: what moved, or with `dry_run` what would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Applied {
    /// What would be applied, and what stands in its way.
    DryRun(Box<DryRun>),
    /// What moved.
    Moved(Box<Moved>),
}
