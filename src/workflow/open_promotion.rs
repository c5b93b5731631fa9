//! Opening a promotion: the wish, its plan and baseline, and the statement that approvers will sign (R8, R9, R11).

use crate::model::Promotion;
use crate::wire::promotions::{self as wire, DryRun};
use serde::{Deserialize, Serialize};

/// POST /v1/promotions.
#[derive(Debug, Clone)]
pub struct OpenPromotion {
    /// The request.
    pub body: wire::OpenPromotion,
}

/// The answer: the promotion (201), or with `dry_run` what it would be (200).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Opened {
    /// What would be opened, and what stands in its way.
    DryRun(Box<DryRun>),
    /// The opened promotion.
    Promotion(Box<Promotion>),
}
