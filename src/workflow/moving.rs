//! What every move of a pointer shares: the applied row, compare-and-swap, stale promotions, the event, the snapshot's changes.

use super::work::{Outcome, Work};
use crate::model::{
    Act, Action, BasisPoints, Code, ConfigKey, Content, Digest, Environment, EnvironmentPointer, KeyId, Promotion,
    PromotionState, Refusal, Subject, Version, VersionState,
};
use crate::rules::hidden::Bodies;
use crate::rules::statement::{Statement, policy_digest};
use crate::rules::{canonical, policy};
use crate::snapshot::{Change, Servable, servable};
use crate::storage::{Moving, StorageError};
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
    let (found, pointer) = work.conn.pointer_place(key, environment).await?;
    let key = work.known(found?)?;
    let pointer = pointer?.ok_or_else(Refusal::not_found)?;
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
    let staled = write(work, &moved, false, false).await?;
    finish(work, moved, staled, Vec::new()).await
}

/// Writes what was opened and approved before, with its one event; `to` becomes published by it. `content` is what `to` holds,
/// as this transaction read it.
pub(super) async fn move_opened(
    work: &mut Work<'_>,
    moved: Move<'_>,
    to: &Version,
    content: Option<(Content, Bodies)>,
) -> Result<Outcome<Moved>, Refusal> {
    let staled = write(work, &moved, true, to.state != VersionState::Published).await?;
    let read = content.map(|(content, fragments)| Servable {
        digest: to.digest,
        number: to.number,
        content,
        fragments,
        quarantined: to.quarantine.is_some(),
    });
    finish(work, moved, staled, read.into_iter().collect()).await
}

/// Compare-and-swap of the pointer on digest and revision, the row, the losers; those are given back.
///
/// # Errors
/// `pointer_moved` with the winner; `already_applied`.
async fn write(work: &mut Work<'_>, moved: &Move<'_>, opened: bool, publishes: bool) -> Result<Vec<Uuid>, Refusal> {
    let Move { before, after, promotion, .. } = moved;
    let reason = loses_to(work, promotion);
    let moving = Moving { before: *before, after, promotion, opened, publishes, reason: &reason };
    let taken = work.conn.move_put(&moving).await?;
    if !taken.swapped {
        return Err(moved_away(work, &after.key_id, &after.environment).await);
    }
    if taken.marked { Ok(taken.staled) } else { Err(not_open(promotion)) }
}

/// `already_applied`.
pub(super) fn not_open(promotion: &Promotion) -> Refusal {
    Refusal::new(Code::AlreadyApplied, "the promotion is not open any more").current(promotion)
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

/// The outcome of a move, with its one event. `read` are contents that the transaction has read already.
async fn finish(
    work: &mut Work<'_>,
    moved: Move<'_>,
    staled: Vec<Uuid>,
    mut read: Vec<Servable>,
) -> Result<Outcome<Moved>, Refusal> {
    let Move { before, after, promotion, action, rationale } = moved;
    let mut changes = vec![Change::Pointer(Box::new(after.clone()))];
    // What the pointer named before is held already: a kill reads no content at all.
    let named = before.map(|before| [Some(before.digest), before.baseline_digest]).unwrap_or_default();
    for digest in [Some(after.digest), after.baseline_digest].into_iter().filter(|digest| !named.contains(digest)).flatten() {
        let found = read.iter().position(|found| found.digest == digest).map(|place| read.swap_remove(place));
        changes.extend(match found {
            Some(found) => Some(as_digest_says(found)?),
            None => content_change(work, &after.key_id, &digest).await?,
        });
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
    let Promotion { key_id, environment, promotion_id, .. } = promotion;
    let reason = loses_to(work, promotion);
    work.conn.promotion_stale_others(key_id, environment, Some(*promotion_id), &reason).await
}

/// What those are told that lose to a promotion.
fn loses_to(work: &Work<'_>, promotion: &Promotion) -> String {
    format!("{} by {} #{}", promotion.act, work.caller.actor, work.seq)
}

/// Content that is not what its digest says never comes to serve (R4).
fn as_digest_says(found: Servable) -> Result<Change, Refusal> {
    if canonical::content_digest(&found.content) != found.digest {
        return Err(StorageError::Corrupt(format!("the content of {} is not what its digest says", found.digest)).into());
    }
    Ok(Change::Content(Box::new(found)))
}

/// The content of a digest that comes to serve, unless the snapshot surely holds it.
pub(super) async fn content_change(work: &mut Work<'_>, key: &KeyId, digest: &Digest) -> Result<Option<Change>, Refusal> {
    // A snapshot that lags may be about to drop what it holds.
    let current = work.snapshot.head().seq + 1 == work.seq;
    if current && work.snapshot.servable(key, digest).is_some() {
        return Ok(None);
    }
    servable(&mut work.conn, digest).await?.map(as_digest_says).transpose()
}

/// A version that was applied is published, for good.
pub(super) async fn publish(work: &mut Work<'_>, digest: &Digest, state: VersionState) -> Result<(), StorageError> {
    if state != VersionState::Published {
        work.conn.version_state_set(digest, VersionState::Published).await?;
    }
    Ok(())
}
