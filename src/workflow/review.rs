//! The review afterwards of a kill, its undoing, a revive or an override, by another person (R5, R13).

use crate::wire::promotions::Rationale;
use uuid::Uuid;

/// POST /v1/promotions/{id}/review.
#[derive(Debug, Clone)]
pub struct ReviewPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}
