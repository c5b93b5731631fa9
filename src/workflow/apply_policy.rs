//! Putting another policy in force, by two admins where the one in force asks for it; open promotions whose rule it changes
//! become stale.

use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Actor, ActorKind, Code, Digest, Policy, PromotionState, Refusal, Role, Subject, Timestamp};
use crate::rules::access::{Caller, Need, allowed};
use crate::rules::canonical::sha256;
use crate::rules::{policy, statement};
use crate::snapshot::Change;
use crate::storage::{AuditFilter, Direction, PolicyRow};
use crate::wire::world as wire;
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

/// The second admin applies the same file within a day.
const WISH_SECONDS: i64 = 24 * 3600;
/// So many wishes for one file are looked through.
const WISHES: u32 = 200;
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
        let answer = wire::PolicyText { source: self.body.source.clone(), digest, waits_until: None };
        if !new.roles.iter().any(|grant| grant.role == Role::Admin) {
            return Err(Refusal::new(Code::Invalid, "this policy leaves nobody who may change it")
                .hint("add a [[role]] with role = \"admin\""));
        }
        if self.body.dry_run || digest == work.policy_digest {
            return Ok(Outcome::unchanged(answer));
        }
        not_blank("/rationale", &self.body.rationale)?;
        let first = if work.policy.second_admin { self.first_admin(work, digest).await? } else { None };
        match &first {
            None if work.policy.second_admin && work.actor().kind != ActorKind::System => return self.wish(work, answer),
            Some(first) if !first.is_another => {
                let waits_until = Some(first.at.plus_seconds(WISH_SECONDS));
                return Ok(Outcome::unchanged(wire::PolicyText { waits_until, ..answer }));
            }
            _ => {}
        }
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
            "first_admin": first.map(|first| first.actor),
        });
        let subject = Subject(format!("policy:{digest}"));
        let change = Change::Policy(Arc::new(new), digest);
        Ok(Outcome::done(answer, Action::PolicyApply, subject, &detail).changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject(format!("policy:{}", sha256(self.body.source.as_bytes()))))
    }
}

/// Who asked first for the same change of the same policy, and when.
struct FirstAdmin {
    actor: Actor,
    at: Timestamp,
    /// Whether that is somebody else than the caller.
    is_another: bool,
}

impl ApplyPolicy {
    /// Another admin who asked for it within a day and still is one, else the caller where it asked itself.
    async fn first_admin(&self, work: &mut Work<'_>, digest: Digest) -> Result<Option<FirstAdmin>, Refusal> {
        let filter = AuditFilter {
            subject: Some(format!("policy:{digest}")),
            action: Some(Action::PolicyApply),
            since: Some(work.at.plus_seconds(-WISH_SECONDS)),
            direction: Direction::Newest,
            limit: WISHES,
            ..AuditFilter::default()
        };
        let mut own = None;
        for event in work.conn.audit_list(&filter).await?.into_iter().rev() {
            let (at, Some(body)) = (event.at, event.body) else { continue };
            // A wish on another policy than the one in force is another change.
            if body.detail.get("wish_on") != Some(&json!(work.policy_digest)) || work.at.seconds_since(at) >= WISH_SECONDS {
                continue;
            }
            let owner = body.detail.get("owner").and_then(|owner| serde_json::from_value(owner.clone()).ok());
            if std::iter::once(&body.actor).chain(&owner).any(|who| work.caller.is_person(&work.policy, who)) {
                own = own.or(Some(FirstAdmin { actor: body.actor, at, is_another: false }));
            } else if is_admin(&work.policy, &body.actor) {
                return Ok(Some(FirstAdmin { actor: body.actor, at, is_another: true }));
            }
        }
        Ok(own)
    }

    /// Records the first admin's wish; nothing else changes.
    fn wish(&self, work: &mut Work<'_>, answer: wire::PolicyText) -> Result<Outcome<wire::PolicyText>, Refusal> {
        if !work.actor().is_person() {
            return Err(work.deny("change the policy", "changing this policy takes two people").hint("ask two admins"));
        }
        let waits_until = work.at.plus_seconds(WISH_SECONDS);
        let detail = json!({
            "digest": answer.digest, "wish_on": work.policy_digest, "rationale": self.body.rationale,
            "waits_for": "a second admin, with the same file", "waits_until": waits_until, "owner": work.caller.other_owner(),
        });
        let subject = Subject(format!("policy:{}", answer.digest));
        Ok(Outcome::done(wire::PolicyText { waits_until: Some(waits_until), ..answer }, Action::PolicyApply, subject, &detail))
    }
}

fn is_admin(policy: &Policy, actor: &Actor) -> bool {
    let caller = Caller::whole(actor.clone());
    actor.is_person() && allowed(policy, &caller, Need::Policy, None, None).is_ok()
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
