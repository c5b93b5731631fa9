//! Applying a promotion: readiness once more, compare-and-swap, one event; the losers become stale (R8, R10).

use super::facts::{Asked, Facts, gather, rule_of};
use super::moving::{self, Move, MoveDetail};
use super::open_promotion::pointer_after;
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{
    Act, Action, Code, ConfigKey, Environment, Policy, Promotion, PromotionState, ReadinessStatus, Refusal, Subject, Version,
};
use crate::rules::access::{self, Caller, Need};
use crate::rules::hidden::is_blank;
use crate::rules::readiness::Door;
use crate::snapshot::Change;
use crate::wire::promotions::{DryRun, Moved, Rationale};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// POST /v1/promotions/{id}/apply.
#[derive(Debug, Clone)]
pub struct ApplyPromotion {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Rationale,
}

/// The answer: what moved, or with `dry_run` what would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Applied {
    /// What would be applied, and what stands in its way.
    DryRun(Box<DryRun>),
    /// What moved.
    Moved(Box<Moved>),
}

impl Verb for ApplyPromotion {
    type Answer = Applied;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Applied>, Refusal> {
        no_nul("/rationale", &self.body.rationale)?;
        let (key, row) = promotion(work, self.id).await?;
        may_apply(work, &key, &row)?;
        still_open(work, &row).await?;
        let facts = facts(work, key, row.clone()).await?;
        unmoved(work, &facts, &row).await?;
        let readiness = facts.readiness();
        if self.body.dry_run {
            let pointer = pointer_after(&facts, &row);
            return Ok(Outcome::unchanged(Applied::DryRun(Box::new(DryRun { promotion: row, readiness, pointer }))));
        }
        let rationale = if is_blank(&self.body.rationale) { row.rationale.clone() } else { self.body.rationale.clone() };
        let Outcome { answer, created, event, changes } = take_effect(work, facts, row, &rationale).await?;
        Ok(Outcome { answer: Applied::Moved(Box::new(answer)), created, event, changes })
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::promotion(self.id))
    }
}

/// Who may let it take effect: whoever may apply there; where the glass was broken, also whoever may break it.
fn may_apply(work: &mut Work<'_>, key: &ConfigKey, row: &Promotion) -> Result<(), Refusal> {
    if row.break_glass && breaks_glass(&work.policy, work.caller, key, &row.environment).is_ok() {
        return Ok(());
    }
    let need = if row.act == Act::Revive { Need::Revive } else { Need::Apply };
    work.allow(need, Some(key), Some(&row.environment))
}

/// Whether the caller may break the glass there.
///
/// # Errors
/// The policy has no such environment; `forbidden` with who may.
pub(super) fn breaks_glass(policy: &Policy, caller: &Caller, key: &ConfigKey, environment: &Environment) -> Result<(), Refusal> {
    access::breaks_glass(policy, caller, &rule_of(policy, key, environment)?, key, environment)
}

/// Applies what is ready: the row, the version's state, the pointer or safe default, the losers, the one event.
///
/// # Errors
/// `policy_unmet` with what is missing; `pointer_moved` or `already_applied` where another was first.
pub(super) async fn take_effect(
    work: &mut Work<'_>,
    facts: Facts,
    row: Promotion,
    rationale: &str,
) -> Result<Outcome<Moved>, Refusal> {
    let readiness = facts.readiness();
    let unmet: Vec<_> = readiness.unmet().cloned().collect();
    if !unmet.is_empty() {
        return Err(Refusal::new(Code::PolicyUnmet, "the promotion is not ready")
            .unmet(unmet)
            .hint("see what is missing, and who can meet it"));
    }
    let overridden = readiness.0.iter().any(|item| item.status == ReadinessStatus::Overridden);
    let row = as_applied(work, row, overridden);
    if row.environment.is_safe_default() {
        move_safe_default(work, facts, row, rationale).await
    } else {
        move_pointer(work, facts, row, rationale).await
    }
}

/// A promotion and its key, where the caller may know of them.
pub(super) async fn promotion(work: &mut Work<'_>, id: Uuid) -> Result<(ConfigKey, Promotion), Refusal> {
    let (row, key) = work.conn.promotion_and_key(id).await?;
    let row = row.ok_or_else(Refusal::not_found)?;
    Ok((work.known(key)?, row))
}

/// The facts of a promotion that was opened.
pub(super) async fn facts(work: &mut Work<'_>, key: ConfigKey, row: Promotion) -> Result<Facts, Refusal> {
    let to = target(work, &row).await?;
    let (door, environment) = (Door::of(row.act, &row.environment), row.environment.clone());
    gather(&mut work.conn, &work.policy, work.at, Asked { door, key, environment, to, promotion: Some(row) }).await
}

async fn target(work: &mut Work<'_>, row: &Promotion) -> Result<Version, Refusal> {
    let Some(digest) = row.to_digest else { return Err(Refusal::not_found()) };
    work.conn.version_get(&digest).await?.ok_or_else(Refusal::not_found)
}

/// Refuses what is applied or closed; a promotion that lost names the winner.
async fn still_open(work: &mut Work<'_>, row: &Promotion) -> Result<(), Refusal> {
    match row.state {
        PromotionState::Open => Ok(()),
        PromotionState::Applied => Err(Refusal::new(Code::AlreadyApplied, "the promotion was applied before").current(row)),
        PromotionState::Stale if lost(work, row).await? => Err(moving::moved_away(work, &row.key_id, &row.environment).await),
        state => Err(closed(row, state)),
    }
}

/// `promotion_closed`, with what became of it.
pub(super) fn closed(row: &Promotion, state: PromotionState) -> Refusal {
    let why = row.closed_reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    Refusal::new(Code::PromotionClosed, format!("the promotion is {state}{why}"))
        .hint("renew it if it is still wanted")
        .current(row)
}

/// Whether what serves has moved since the promotion was opened.
async fn lost(work: &mut Work<'_>, row: &Promotion) -> Result<bool, Refusal> {
    if row.environment.is_safe_default() {
        let key = work.conn.key_get(&row.key_id).await?;
        return Ok(key.is_some_and(|key| key.safe_default_digest != row.from_digest));
    }
    let pointer = work.conn.pointer_get(&row.key_id, &row.environment).await?;
    Ok(pointer.map_or(0, |pointer| pointer.revision) != row.pointer_revision)
}

/// Compare before swap, so that a loser hears of the winner rather than of a list.
async fn unmoved(work: &mut Work<'_>, facts: &Facts, row: &Promotion) -> Result<(), Refusal> {
    let stands = if row.environment.is_safe_default() {
        facts.asked.key.safe_default_digest == row.from_digest
    } else {
        let (digest, revision) = facts.pointer.as_ref().map_or((None, 0), |pointer| (Some(pointer.digest), pointer.revision));
        digest == row.from_digest && revision == row.pointer_revision
    };
    if stands { Ok(()) } else { Err(moving::moved_away(work, &row.key_id, &row.environment).await) }
}

/// A revive, an override and broken glass are reviewed afterwards by another person.
fn as_applied(work: &Work<'_>, row: Promotion, overridden: bool) -> Promotion {
    let review_owed = overridden || row.act == Act::Revive || row.break_glass;
    let by = work.caller.actor.clone();
    Promotion { state: PromotionState::Applied, applied_at: Some(work.at), applied_by: Some(by), review_owed, ..row }
}

async fn move_pointer(work: &mut Work<'_>, facts: Facts, row: Promotion, rationale: &str) -> Result<Outcome<Moved>, Refusal> {
    let Facts { pointer, asked, content, .. } = facts;
    let before = pointer.as_ref();
    let after = crate::rules::promotion::applied(&row, before, asked.to.digest, work.at);
    let action = if row.act == Act::Revive { Action::PointerRevive } else { Action::PromotionApply };
    let moved = Move { before, after, promotion: row, action, rationale };
    moving::move_opened(work, moved, &asked.to, content).await
}

async fn move_safe_default(
    work: &mut Work<'_>,
    facts: Facts,
    row: Promotion,
    rationale: &str,
) -> Result<Outcome<Moved>, Refusal> {
    let Promotion { promotion_id, applied_by, review_owed, .. } = &row;
    let by = applied_by.as_ref().unwrap_or(&work.caller.actor);
    if !work.conn.promotion_apply_set(*promotion_id, work.at, by, *review_owed).await? {
        return Err(moving::not_open(&row));
    }
    moving::publish(work, &facts.asked.to.digest, facts.asked.to.state).await?;
    let key = ConfigKey { safe_default_digest: row.to_digest, ..facts.asked.key };
    work.conn.key_safe_default_set(&key.key_id, row.to_digest).await?;
    let staled = moving::stale_others(work, &row).await?;
    let content = moving::content_change(work, &key.key_id, &facts.asked.to.digest).await?;
    let detail = serde_json::to_value(MoveDetail::new(&row, rationale, None, &staled)).unwrap_or_default();
    let subject = Subject::promotion(row.promotion_id);
    let answer = Moved { promotion: row, pointer: None, seq: Some(work.seq), staled };
    let changes = std::iter::once(Change::Key(Box::new(key))).chain(content);
    Ok(Outcome::done(answer, Action::PromotionApply, subject, &detail).changing(changes))
}
