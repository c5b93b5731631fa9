//! The note that a kill without one owes for a day.

use crate::wire::promotions::Rationale;
use uuid::Uuid;

/// POST /v1/promotions/{id}/note.
#[derive(Debug, Clone)]
pub struct NotePromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}
