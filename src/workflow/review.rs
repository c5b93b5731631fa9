//! The review afterwards of a kill, its undoing, a revive or an override, by another person (R5, R13).

use super::apply::promotion;
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Approval, Code, Policy, Promotion, Refusal, Subject, Verdict};
use crate::rules::access::{Caller, Need};
use crate::wire::promotions::Rationale;
use serde_json::json;
use uuid::Uuid;

/// POST /v1/promotions/{id}/review.
#[derive(Debug, Clone)]
pub struct ReviewPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}

impl Verb for ReviewPromotion {
    type Answer = Promotion;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Promotion>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let (key, row) = promotion(work, self.id).await?;
        work.allow(Need::CloseReview, Some(&key), Some(&row.environment))?;
        if !row.review_owed {
            return Err(Refusal::new(Code::WrongState, "no review is owed here").current(&row));
        }
        if !work.actor().is_person() {
            return Err(Refusal::new(Code::Forbidden, "only a person reviews"));
        }
        let votes = work.conn.approval_list(row.promotion_id).await?;
        if did(&work.policy, &row, &votes, work.caller) {
            return Err(Refusal::new(Code::Forbidden, "you did what is to be reviewed").hint("another person must review it"));
        }
        if self.body.dry_run {
            return Ok(Outcome::unchanged(row));
        }
        let by = work.actor().clone();
        work.conn.promotion_review_set(row.promotion_id, &by, work.at).await?;
        let row = Promotion { reviewed_by: Some(by), reviewed_at: Some(work.at), review_owed: false, ..row };
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "act": row.act,
            "rationale": self.body.rationale,
        });
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(row, Action::PromotionReview, subject, &detail))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::promotion(self.id))
    }
}

/// Whether the caller is one of those whose act is to be reviewed: who opened, who applied, who overrode a gate.
pub(super) fn did(policy: &Policy, row: &Promotion, votes: &[Approval], caller: &Caller) -> bool {
    let overrode = votes.iter().filter(|vote| vote.verdict == Verdict::Override).map(|vote| &vote.approver);
    overrode.chain([&row.actor]).chain(&row.applied_by).any(|who| caller.is_person(policy, who))
}
