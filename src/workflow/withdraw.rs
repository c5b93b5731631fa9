//! Taking an open promotion back: by its actor or an admin (R11).

use crate::wire::promotions::Rationale;
use uuid::Uuid;

/// POST /v1/promotions/{id}/withdraw.
#[derive(Debug, Clone)]
pub struct WithdrawPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}
