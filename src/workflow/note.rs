//! The note that a kill without one owes for a day.

use super::apply::promotion;
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Code, Promotion, Refusal, Subject};
use crate::rules::access::Need;
use crate::wire::promotions::Rationale;
use serde_json::json;
use uuid::Uuid;

/// POST /v1/promotions/{id}/note.
#[derive(Debug, Clone)]
pub struct NotePromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}

impl Verb for NotePromotion {
    type Answer = Promotion;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Promotion>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let (key, row) = promotion(work, self.id).await?;
        work.allow(Need::Note, Some(&key), Some(&row.environment))?;
        if row.note_due_at.is_none() {
            return Err(Refusal::new(Code::WrongState, "no note is owed here").current(&row));
        }
        if self.body.dry_run {
            return Ok(Outcome::unchanged(row));
        }
        work.conn.promotion_note_set(row.promotion_id, &self.body.rationale).await?;
        let row = Promotion { rationale: self.body.rationale.clone(), note_due_at: None, ..row };
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "rationale": row.rationale,
        });
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(row, Action::PromotionNote, subject, &detail))
    }
}
