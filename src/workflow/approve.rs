//! A person's approval, rejection, override, comment or retraction (R6, R9, R11).

use crate::wire::promotions::Vote;
use uuid::Uuid;

/// POST /v1/promotions/{id}/approvals.
#[derive(Debug, Clone)]
pub struct CastVote {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Vote,
}
