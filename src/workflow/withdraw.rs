//! Taking an open promotion back, or letting one go that the registry was to apply and could not: by its actor or an admin (R11).

use super::apply::{closed, promotion};
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Action, Code, ConfigKey, Promotion, PromotionState, Refusal, Subject};
use crate::rules::access::{Need, allowed};
use crate::rules::policy::same_person;
use crate::wire::promotions::Rationale;
use serde_json::json;
use uuid::Uuid;

/// POST /v1/promotions/{id}/withdraw.
#[derive(Debug, Clone)]
pub struct WithdrawPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}

impl Verb for WithdrawPromotion {
    type Answer = Promotion;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Promotion>, Refusal> {
        no_nul("/rationale", &self.body.rationale)?;
        let (key, row) = promotion(work, self.id).await?;
        work.allow(Need::Withdraw, Some(&key), Some(&row.environment))?;
        if !same_person(&work.policy, work.actor(), &row.actor) && !is_admin(work, &key) {
            return Err(Refusal::new(Code::Forbidden, format!("only {} who opened it, or an admin, can withdraw it", row.actor)));
        }
        match row.state {
            PromotionState::Open => {}
            PromotionState::Applied => {
                return Err(Refusal::new(Code::AlreadyApplied, "the promotion was applied before")
                    .current(&row)
                    .hint("roll back instead"));
            }
            _ if row.missed => return self.let_go(work, row).await,
            state => return Err(closed(&row, state)),
        }
        if self.body.dry_run {
            return Ok(Outcome::unchanged(row));
        }
        let reason = format!("withdrawn by {} #{}", work.actor(), work.seq);
        work.conn.promotion_close(row.promotion_id, PromotionState::Withdrawn, &reason).await?;
        let row = Promotion { state: PromotionState::Withdrawn, closed_reason: Some(reason), ..row };
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "to": row.to_digest,
            "rationale": self.body.rationale,
        });
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(row, Action::PromotionWithdraw, subject, &detail))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::promotion(self.id))
    }
}

impl WithdrawPromotion {
    /// What was missed is owed no longer; it stays what it became.
    async fn let_go(&self, work: &mut Work<'_>, row: Promotion) -> Result<Outcome<Promotion>, Refusal> {
        let row = Promotion { missed: false, ..row };
        if self.body.dry_run {
            return Ok(Outcome::unchanged(row));
        }
        work.conn.promotion_missed_seen(row.promotion_id).await?;
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "to": row.to_digest,
            "rationale": self.body.rationale, "state": row.state,
        });
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(row, Action::PromotionWithdraw, subject, &detail))
    }
}

fn is_admin(work: &Work<'_>, key: &ConfigKey) -> bool {
    allowed(&work.policy, work.caller, Need::Policy, Some(key), None).is_ok()
}
