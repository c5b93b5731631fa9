//! The job that closes open promotions that are too old (R11).

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Actor, PromotionState, Refusal, Subject};
use crate::rules::access::Caller;
use serde_json::json;
use uuid::Uuid;

/// Run by the server every minute as [`ExpirePromotions::caller`]: one promotion a run, the oldest first; the answer says which,
/// so that the job runs again until none is left.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpirePromotions;

impl ExpirePromotions {
    /// `system:expiry`.
    pub fn caller() -> Caller {
        Caller::whole(Actor::system("expiry"))
    }
}

impl Verb for ExpirePromotions {
    type Answer = Option<Uuid>;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Option<Uuid>>, Refusal> {
        let Some(row) = work.conn.promotion_expired(work.at, 1).await?.into_iter().next() else {
            return Ok(Outcome::unchanged(None));
        };
        let reason = format!("expired #{}", work.seq);
        work.conn.promotion_close(row.promotion_id, PromotionState::Expired, &reason).await?;
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "to": row.to_digest,
            "expires_at": row.expires_at,
        });
        Ok(Outcome::done(Some(row.promotion_id), Action::PromotionExpire, Subject::promotion(row.promotion_id), &detail))
    }
}
