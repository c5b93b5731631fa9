//! What every move of a pointer shares: the applied row, compare-and-swap, stale promotions, the event, the snapshot's changes.

use super::work::{Outcome, Work};
use crate::model::{
    Act, Action, BasisPoints, Code, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Promotion, PromotionState,
    Refusal, Subject, VersionState,
};
use crate::rules::statement::{Statement, policy_digest};
use crate::rules::{canonical, policy};
use crate::snapshot::{Change, servable};
use crate::storage::StorageError;
use crate::wire::promotions::Moved;
use serde::Serialize;
use uuid::Uuid;

/// `detail` of every event that moves a pointer (R14), or a safe default (then `pointer` is null).
#[derive(Debug, Serialize)]
pub(super) struct MoveDetail<'a> {
    promotion_id: Uuid,
    act: Act,
    key_id: &'a KeyId,
    environment: &'a Environment,
    rationale: &'a str,
    pointer: Option<&'a EnvironmentPointer>,
    staled: &'a [Uuid],
    stopped_experiment: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<crate::model::KillReason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    safe_default: Option<Digest>,
}

impl<'a> MoveDetail<'a> {
    pub(super) fn new(
        promotion: &'a Promotion,
        rationale: &'a str,
        after: Option<&'a EnvironmentPointer>,
        staled: &'a [Uuid],
    ) -> Self {
        Self {
            promotion_id: promotion.promotion_id,
            act: promotion.act,
            key_id: &promotion.key_id,
            environment: &promotion.environment,
            rationale,
            pointer: after,
            staled,
            stopped_experiment: None,
            reason: promotion.reason,
            safe_default: promotion.to_digest.filter(|_| promotion.environment.is_safe_default()),
        }
    }
}

/// A pointer with its key, as the transaction found them.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) key: ConfigKey,
    pub(super) pointer: EnvironmentPointer,
}

/// Finds a pointer that the caller may know of.
pub(super) async fn place(work: &mut Work<'_>, key: &KeyId, environment: &Environment) -> Result<Place, Refusal> {
    let key = work.key(key).await?;
    let pointer = work.conn.pointer_get(&key.key_id, environment).await?.ok_or_else(Refusal::not_found)?;
    Ok(Place { key, pointer })
}

/// Refuses where the pointer is not at the revision that the person saw.
pub(super) fn seen(pointer: &EnvironmentPointer, revision: Option<i64>) -> Result<(), Refusal> {
    match revision {
        Some(seen) if seen != pointer.revision => {
            Err(Refusal::new(Code::PointerMoved, format!("the pointer is at revision {}, you saw {seen}", pointer.revision))
                .hint("look again, then decide")
                .current(pointer))
        }
        _ => Ok(()),
    }
}

/// Refuses on a killed pointer.
pub(super) fn alive(pointer: &EnvironmentPointer) -> Result<(), Refusal> {
    if pointer.killed {
        return Err(Refusal::new(Code::Killed, "the pointer is killed").hint("only a revive serves again").current(pointer));
    }
    Ok(())
}

/// What is done at once to a pointer: the row of its promotion is made and applied in one step.
#[derive(Debug, Clone)]
pub(super) struct AtOnce<'a> {
    pub(super) act: Act,
    pub(super) to: Option<Digest>,
    pub(super) share: BasisPoints,
    pub(super) rationale: &'a str,
}

/// The applied row of an act that is done at once.
pub(super) fn row(work: &Work<'_>, place: &Place, done: &AtOnce<'_>, after: &EnvironmentPointer) -> Promotion {
    let Place { key, pointer } = place;
    // A kill must work in an environment that the policy no longer has.
    let rule = policy::rule(&work.policy, &key.key_id, &pointer.environment);
    let mut row = Promotion {
        promotion_id: work.uuid(),
        key_id: key.key_id.clone(),
        from_digest: Some(pointer.digest),
        to_digest: done.to,
        environment: pointer.environment.clone(),
        actor: work.caller.actor.clone(),
        kind: done.act.kind(),
        at: work.at,
        act: done.act,
        state: PromotionState::Applied,
        rationale: done.rationale.to_owned(),
        reason: None,
        rollout_pct: done.share,
        plan: after.plan.clone(),
        baseline_digest: after.baseline_digest,
        safe_default_digest: key.safe_default_digest,
        pointer_revision: pointer.revision,
        policy_digest: rule.as_ref().map_or(Digest::ZERO, policy_digest),
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: None,
        applied_at: Some(work.at),
        applied_by: Some(work.caller.actor.clone()),
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    };
    row.statement = Statement::of(&row).digest();
    row
}

/// What a dry run of an act answers.
pub(super) fn would(row: Promotion, after: EnvironmentPointer) -> Outcome<Moved> {
    Outcome::unchanged(Moved { promotion: row, pointer: Some(after), seq: None, staled: Vec::new() })
}

/// A move that was decided.
#[derive(Debug)]
pub(super) struct Move<'a> {
    pub(super) before: Option<&'a EnvironmentPointer>,
    pub(super) after: EnvironmentPointer,
    pub(super) promotion: Promotion,
    pub(super) action: Action,
    /// What the event says why; the promotion's own rationale unless the act has one.
    pub(super) rationale: &'a str,
}

/// Writes an act that is done at once, with its one event about the key.
pub(super) async fn move_now(work: &mut Work<'_>, moved: Move<'_>) -> Result<Outcome<Moved>, Refusal> {
    swap(work, moved.before, &moved.after).await?;
    work.conn.promotion_put(&moved.promotion).await?;
    finish(work, moved).await
}

/// Compare-and-swap of the pointer on digest and revision.
///
/// # Errors
/// `pointer_moved` with the winner.
pub(super) async fn swap(
    work: &mut Work<'_>,
    before: Option<&EnvironmentPointer>,
    after: &EnvironmentPointer,
) -> Result<(), Refusal> {
    let swapped = match before {
        Some(before) => work.conn.pointer_swap(after, &before.digest, before.revision).await?,
        None => match work.conn.pointer_put(after).await {
            Ok(()) => true,
            Err(StorageError::Unique(_)) => false,
            Err(other) => return Err(other.into()),
        },
    };
    if swapped { Ok(()) } else { Err(moved_away(work, &after.key_id, &after.environment).await) }
}

/// `pointer_moved`, with what was applied meanwhile.
pub(super) async fn moved_away(work: &mut Work<'_>, key: &KeyId, environment: &Environment) -> Refusal {
    let refusal = Refusal::new(Code::PointerMoved, "another change won: what serves there is no longer what this was opened on")
        .hint("look at the winner; renew the promotion if it is still wanted");
    match work.conn.promotion_last_applied(key, environment).await {
        Ok(Some(winner)) => refusal.current(&winner),
        _ => refusal,
    }
}

/// Makes the pointer's other open promotions stale and gives the outcome with its one event.
pub(super) async fn finish(work: &mut Work<'_>, moved: Move<'_>) -> Result<Outcome<Moved>, Refusal> {
    let Move { before, after, promotion, action, rationale } = moved;
    let staled = stale_others(work, &promotion).await?;
    let mut changes = vec![Change::Pointer(Box::new(after.clone()))];
    // What the pointer named before is held already: a kill reads no content at all.
    let named = before.map(|before| [Some(before.digest), before.baseline_digest]).unwrap_or_default();
    for digest in [Some(after.digest), after.baseline_digest].into_iter().filter(|digest| !named.contains(digest)).flatten() {
        changes.extend(content_change(work, &after.key_id, &digest).await?);
    }
    let subject = match action {
        Action::PromotionApply => Subject::promotion(promotion.promotion_id),
        _ => Subject::key(&promotion.key_id),
    };
    let detail = serde_json::to_value(MoveDetail::new(&promotion, rationale, Some(&after), &staled)).unwrap_or_default();
    let answer = Moved { promotion, pointer: Some(after), seq: Some(work.seq), staled };
    Ok(Outcome::done(answer, action, subject, &detail).changing(changes))
}

/// Makes every other open promotion of the promotion's pointer stale; their ids.
pub(super) async fn stale_others(work: &mut Work<'_>, promotion: &Promotion) -> Result<Vec<Uuid>, StorageError> {
    let Promotion { key_id, environment, promotion_id, act, .. } = promotion;
    let reason = format!("{act} by {} #{}", work.caller.actor, work.seq);
    work.conn.promotion_stale_others(key_id, environment, Some(*promotion_id), &reason).await
}

/// The content of a digest that comes to serve, unless the snapshot surely holds it. Content that is not what its digest says
/// never comes to serve (R4).
pub(super) async fn content_change(work: &mut Work<'_>, key: &KeyId, digest: &Digest) -> Result<Option<Change>, Refusal> {
    // A snapshot that lags by a commit may be about to drop what it holds.
    let current = work.snapshot.head().seq + 1 == work.seq;
    if current && work.snapshot.servable(key, digest).is_some() {
        return Ok(None);
    }
    let Some(found) = servable(&mut work.conn, digest).await? else { return Ok(None) };
    if canonical::content_digest(&found.content) != *digest {
        return Err(StorageError::Corrupt(format!("the content of {digest} is not what its digest says")).into());
    }
    Ok(Some(Change::Content(Box::new(found))))
}

/// A version that was applied is published, for good.
pub(super) async fn publish(work: &mut Work<'_>, digest: &Digest, state: VersionState) -> Result<(), StorageError> {
    if state != VersionState::Published {
        work.conn.version_state_set(digest, VersionState::Published).await?;
    }
    Ok(())
}
