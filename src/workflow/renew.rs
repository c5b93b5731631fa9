//! Opening a closed or outdated promotion anew, on what is true now (R9).

use super::apply::promotion;
use super::open_promotion::{detail, prepare};
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Act, Action, Code, Promotion, PromotionState, ReadinessKind, Refusal, Subject};
use crate::rules::hidden::is_blank;
use crate::wire::promotions::{OpenPromotion, Rationale};
use serde_json::json;
use uuid::Uuid;

/// POST /v1/promotions/{id}/renew.
#[derive(Debug, Clone)]
pub struct RenewPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request; the old rationale unless it gives one.
    pub body: Rationale,
}

impl Verb for RenewPromotion {
    type Answer = Promotion;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Promotion>, Refusal> {
        no_nul("/rationale", &self.body.rationale)?;
        let (key, old) = promotion(work, self.id).await?;
        if old.state == PromotionState::Applied {
            return Err(Refusal::new(Code::AlreadyApplied, "the promotion was applied: open another one").current(&old));
        }
        let body = self.wish(work, &old).await?;
        let facts = prepare(work, &body).await?;
        let Some(mut row) = facts.asked.promotion.clone() else { return Err(Refusal::not_found()) };
        row.supersedes = Some(old.promotion_id);
        if self.body.dry_run {
            return Ok(Outcome::unchanged(row));
        }
        if old.state == PromotionState::Open {
            let facts = super::apply::facts(work, key, old.clone()).await?;
            if !facts.readiness().unmet().any(|item| item.kind == ReadinessKind::Pointer) {
                return Err(Refusal::new(Code::WrongState, "nothing has changed: the promotion is still open").current(&old));
            }
            let reason = format!("renewed by {} #{}", work.actor(), work.seq);
            work.conn.promotion_close(old.promotion_id, PromotionState::Stale, &reason).await?;
        }
        work.conn.promotion_missed_seen(old.promotion_id).await?;
        work.conn.promotion_put(&row).await?;
        let mut said = detail(&row);
        if let Some(members) = said.as_object_mut() {
            members.insert("renews".into(), json!(old.promotion_id));
            members.insert("changed".into(), json!(changed(&old, &row)));
        }
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(row, Action::PromotionRenew, subject, &said).created())
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::promotion(self.id))
    }
}

impl RenewPromotion {
    /// The old wish, to be judged on what is true now.
    async fn wish(&self, work: &mut Work<'_>, old: &Promotion) -> Result<OpenPromotion, Refusal> {
        let Some(to_digest) = old.to_digest else { return Err(Refusal::not_found()) };
        let rationale = if is_blank(&self.body.rationale) { &old.rationale } else { &self.body.rationale };
        let revive = old.act == Act::Revive;
        // A rollout that the old one named is still named by its renewal, as long as it runs.
        let running = match old.supersedes {
            Some(named) => {
                let decided = work.conn.applied_decided(&old.key_id, &old.environment).await?;
                decided.map(|row| row.promotion_id).filter(|id| *id == named)
            }
            None => None,
        };
        Ok(OpenPromotion {
            key_id: old.key_id.clone(),
            environment: old.environment.clone(),
            to_digest,
            rationale: rationale.clone(),
            percent: None,
            plan: Some(old.plan.clone()),
            supersedes: running,
            change: old.change.clone(),
            revive,
            baseline: old.baseline_digest.filter(|baseline| revive && Some(*baseline) != old.safe_default_digest),
            at_time: old.at_time.filter(|at| *at > work.at),
            when_ready: old.when_ready,
            break_glass: false,
            dry_run: false,
        })
    }
}

/// What differs: of the statement, and of how it is applied. A time that has passed, and broken glass, are not renewed.
fn changed(old: &Promotion, new: &Promotion) -> Vec<&'static str> {
    let members = [
        ("from", old.from_digest != new.from_digest),
        ("baseline", old.baseline_digest != new.baseline_digest),
        ("plan", old.plan != new.plan),
        ("safe_default", old.safe_default_digest != new.safe_default_digest),
        ("policy_digest", old.policy_digest != new.policy_digest),
        ("at_time", old.at_time != new.at_time),
        ("break_glass", old.break_glass != new.break_glass),
    ];
    members.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}
