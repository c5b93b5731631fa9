//! Opening a closed or outdated promotion anew, on what is true now (R9).

use crate::wire::promotions::Rationale;
use uuid::Uuid;

/// POST /v1/promotions/{id}/renew.
#[derive(Debug, Clone)]
pub struct RenewPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}
