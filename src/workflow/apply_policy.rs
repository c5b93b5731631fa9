//! Putting another policy in force; open promotions whose rule it changes become stale.

use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Code, Policy, PromotionState, Refusal, Role, Subject};
use crate::rules::access::Need;
use crate::rules::canonical::sha256;
use crate::rules::{policy, statement};
use crate::snapshot::Change;
use crate::storage::PolicyRow;
use crate::wire::world as wire;
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

/// So many open promotions are looked at in one go.
const BATCH: u32 = 500;

/// POST /v1/policy.
#[derive(Debug, Clone)]
pub struct ApplyPolicy {
    /// The request.
    pub body: wire::ApplyPolicy,
}

impl Verb for ApplyPolicy {
    type Answer = wire::PolicyText;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<wire::PolicyText>, Refusal> {
        work.allow(Need::Policy, None, None)?;
        let new = policy::read(&self.body.source)?;
        let digest = sha256(self.body.source.as_bytes());
        let answer = wire::PolicyText { source: self.body.source.clone(), digest };
        if !new.roles.iter().any(|grant| grant.role == Role::Admin) {
            return Err(Refusal::new(Code::Invalid, "this policy leaves nobody who may change it")
                .hint("add a [[role]] with role = \"admin\""));
        }
        if self.body.dry_run || digest == work.policy_digest {
            return Ok(Outcome::unchanged(answer));
        }
        not_blank("/rationale", &self.body.rationale)?;
        let row = PolicyRow {
            digest,
            source: self.body.source.clone(),
            actor: work.actor().clone(),
            rationale: self.body.rationale.clone(),
            at: work.at,
        };
        work.conn.policy_put(&row).await?;
        let staled = stale(work, &new).await?;
        let detail = json!({
            "digest": digest, "before": work.policy_digest, "rationale": self.body.rationale, "staled": staled,
        });
        let subject = Subject(format!("policy:{digest}"));
        let change = Change::Policy(Arc::new(new), digest);
        Ok(Outcome::done(answer, Action::PolicyApply, subject, &detail).changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject(format!("policy:{}", sha256(self.body.source.as_bytes()))))
    }
}

/// Closes the open promotions that were judged by a rule that is another now (R11).
async fn stale(work: &mut Work<'_>, new: &Policy) -> Result<Vec<Uuid>, Refusal> {
    let reason = format!("policy changed by {} #{}", work.actor(), work.seq);
    let mut staled = Vec::new();
    let mut after = None;
    loop {
        let open = work.conn.promotion_open_list(after, BATCH).await?;
        let Some(last) = open.last() else { return Ok(staled) };
        after = Some(last.promotion_id);
        for promotion in open {
            let rule = policy::rule(new, &promotion.key_id, &promotion.environment);
            if rule.is_none_or(|rule| statement::policy_digest(&rule) != promotion.policy_digest) {
                work.conn.promotion_close(promotion.promotion_id, PromotionState::Stale, &reason).await?;
                staled.push(promotion.promotion_id);
            }
        }
    }
}
