//! What people see of promotions and pointers: rows with all that a decision needs.

use super::command::Registry;
use super::facts::{Asked, Facts, gather};
use crate::model::approval::HiddenSpan;
use crate::model::{
    Act, Approval, BasisPoints, ConfigKey, Digest, EnvironmentPointer, EnvironmentRule, GateVerdict, Policy, Promotion,
    PromotionState, Readiness, ReadinessKind, ReadinessStatus, Refusal, Timestamp, Version,
};
use crate::rules::access::{self, Caller, Need, allowed};
use crate::rules::policy::{self, group_members, group_of, person_of, same_person};
use crate::rules::promotion::{self, UNDO_SECONDS, undoable};
use crate::rules::readiness::{Ballot, Door};
use crate::rules::rollout;
use crate::snapshot::Snapshot;
use crate::storage::{Conn, StorageError};
use crate::wire::pointers::{NextStep, PointerView, Reach};
use crate::wire::promotions::{Mine, PromotionView};
use std::collections::BTreeMap;

/// A promotion with everything that a reviewer needs, as the caller stands to it. The caller has been found to see the key.
///
/// # Errors
/// The key is gone; the database is away.
pub async fn promotion(
    registry: &Registry,
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    caller: &Caller,
    row: Promotion,
) -> Result<PromotionView, Refusal> {
    let key = key_of(conn, snapshot, &row).await?;
    let to = version(conn, row.to_digest).await?;
    let from = version(conn, row.from_digest).await?;
    let reach = reach(registry, &key, &row.environment);
    let confidential = key.confidential;
    let rule = policy::rule(snapshot.policy(), &key.key_id, &row.environment);
    let Judged { rule, pointer, readiness, approvals, verdicts, hidden, mine } = match (to.clone(), rule) {
        (Some(to), Some(_)) => {
            let (door, environment) = (Door::of(row.act, &row.environment), row.environment.clone());
            judged(registry, conn, snapshot, caller, Asked { door, key, environment, to, promotion: Some(row.clone()) }).await?
        }
        // A kill without safe default, or an environment that the policy no longer has: nothing is judged.
        (_, rule) => owed_alone(conn, snapshot, caller, &key, &row, rule).await?,
    };
    Ok(PromotionView {
        confidential,
        promotion: row,
        to,
        from,
        rule,
        pointer,
        readiness,
        approvals,
        verdicts,
        hidden,
        mine,
        reach,
    })
}

/// What is to be said of a promotion beside its rows.
struct Judged {
    rule: EnvironmentRule,
    pointer: Option<EnvironmentPointer>,
    readiness: Readiness,
    approvals: Vec<Approval>,
    verdicts: Vec<GateVerdict>,
    hidden: Vec<HiddenSpan>,
    mine: Mine,
}

/// A promotion about which there is, or was, something to decide.
async fn judged(
    registry: &Registry,
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    caller: &Caller,
    asked: Asked,
) -> Result<Judged, Refusal> {
    let open = asked.promotion.as_ref().is_some_and(|row| row.state == PromotionState::Open);
    let facts = gather(conn, snapshot.policy(), registry.clock.now(), asked).await?;
    let readiness = if open { facts.readiness() } else { Readiness::default() };
    let mut mine = mine(snapshot.policy(), caller, &facts, &readiness);
    if let Some(row) = &facts.asked.promotion {
        let before = conn.approval_before(&caller.actor, &facts.asked.to.digest, row.promotion_id).await?;
        mine.approved_before = before.map(|(environment, at)| (environment.to_string(), at));
    }
    let Facts { rule, pointer, approvals, verdicts, hidden, .. } = facts;
    Ok(Judged { rule, pointer, readiness, approvals, verdicts, hidden, mine })
}

/// A promotion about which nothing is to be decided but what is owed afterwards.
async fn owed_alone(
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    caller: &Caller,
    key: &ConfigKey,
    row: &Promotion,
    rule: Option<EnvironmentRule>,
) -> Result<Judged, Refusal> {
    let pointer = conn.pointer_get(&key.key_id, &row.environment).await?;
    let approvals = conn.approval_list(row.promotion_id).await?;
    let policy = snapshot.policy();
    let mut mine = Mine { opened: same_person(policy, &row.actor, &caller.actor), ..Mine::default() };
    owed(policy, caller, key, row, &approvals, &mut mine);
    Ok(Judged {
        rule: rule.unwrap_or_else(|| no_rule(row.environment.as_str())),
        pointer,
        readiness: Readiness::default(),
        approvals,
        verdicts: Vec::new(),
        hidden: Vec::new(),
        mine,
    })
}

/// The rule of an environment that the policy does not have: nothing set.
fn no_rule(name: &str) -> EnvironmentRule {
    EnvironmentRule {
        name: name.to_owned(),
        protected: None,
        after: None,
        soak: None,
        plan: None,
        gates: None,
        approvals: None,
        freeze: None,
        safe_default: None,
        expires: None,
        acknowledge_hidden: None,
        advance: None,
        break_glass: None,
        guards: None,
        alias: None,
        gate: BTreeMap::new(),
    }
}

async fn key_of(conn: &mut Conn<'_>, snapshot: &Snapshot, row: &Promotion) -> Result<ConfigKey, Refusal> {
    match conn.key_get(&row.key_id).await? {
        Some(key) => Ok(key),
        None => snapshot.key(&row.key_id).map(|key| (**key).clone()).ok_or_else(Refusal::not_found),
    }
}

async fn version(conn: &mut Conn<'_>, digest: Option<Digest>) -> Result<Option<Version>, StorageError> {
    match digest {
        Some(digest) => conn.version_get(&digest).await,
        None => Ok(None),
    }
}

pub(super) fn reach(registry: &Registry, key: &ConfigKey, environment: &crate::model::Environment) -> Reach {
    let usage = registry.meter.usage(&key.key_id, environment, registry.clock.now());
    Reach { per_minute: usage.per_minute, services: usage.callers.iter().map(ToString::to_string).collect() }
}

/// What the caller can do about a promotion now.
fn mine(policy: &Policy, caller: &Caller, facts: &Facts, readiness: &Readiness) -> Mine {
    let Some(row) = &facts.asked.promotion else { return Mine::default() };
    let may = |need: Need| allowed(policy, caller, need, Some(&facts.asked.key), Some(&row.environment)).is_ok();
    let mut mine = Mine { opened: same_person(policy, &row.actor, &caller.actor), ..Mine::default() };
    owed(policy, caller, &facts.asked.key, row, &facts.approvals, &mut mine);
    if row.state != PromotionState::Open {
        return mine;
    }
    mine.can_apply = may(if row.act == Act::Revive { Need::Revive } else { Need::Apply })
        || (row.break_glass && access::breaks_glass(policy, caller, &facts.rule, &facts.asked.key, &row.environment).is_ok());
    let barred = barred(caller, facts, readiness);
    if barred.is_none() && may(Need::Override) {
        mine.can_override = overridable(policy, caller, facts, readiness);
    }
    mine.approve_refused = match barred {
        Some(why) => Some(why),
        None if !may(Need::Approve) => Some("you do not have the role approver here".to_owned()),
        None => {
            let (gates, refused) = approvable(policy, caller, facts);
            mine.can_approve = gates;
            refused
        }
    };
    mine
}

/// Why the caller can approve or override nothing here, whatever the gate.
fn barred(caller: &Caller, facts: &Facts, readiness: &Readiness) -> Option<String> {
    if !caller.actor.is_person() {
        return Some("only persons approve".to_owned());
    }
    if let Some(outdated) = readiness.unmet().find(|item| item.kind == ReadinessKind::Pointer) {
        return Some(outdated.reason.clone());
    }
    super::approve::barring(&facts.serving(), caller)
}

/// Approval gates that wait for the caller's approval, else why there are none.
fn approvable(policy: &Policy, caller: &Caller, facts: &Facts) -> (Vec<String>, Option<String>) {
    let me = person_of(policy, &caller.actor);
    let serving = facts.serving();
    let ballot = Ballot::count(&serving);
    let met_by_me = |gate: &str| ballot.meeting(gate).iter().any(|vote| person_of(policy, &vote.approver) == me);
    let rules = facts.rule.approvals.as_deref().unwrap_or_default();
    let mine = |group: &str| group_members(policy, group).iter().any(|member| person_of(policy, member) == me);
    let of_mine: Vec<_> = rules.iter().filter(|rule| mine(group_of(&rule.group, &facts.asked.key))).collect();
    if rules.is_empty() {
        return (Vec::new(), Some("the policy asks for no approvals here".to_owned()));
    }
    if of_mine.is_empty() {
        let groups: Vec<&str> = rules.iter().map(|rule| group_of(&rule.group, &facts.asked.key)).collect();
        return (Vec::new(), Some(format!("you are not in {}", groups.join(" or "))));
    }
    if let Some(met) =
        rules.iter().map(|rule| rule.gate.as_str()).chain(facts.rule.gate.keys().map(String::as_str)).find(|gate| met_by_me(gate))
    {
        return (Vec::new(), Some(format!("you meet {met} already; one person meets one requirement")));
    }
    let open = |gate: &str, count: u32| ballot.meeting(gate).len() < usize::try_from(count).unwrap_or(usize::MAX);
    let rejected = |gate: &str| ballot.rejecting(gate).contains(&&me);
    let gates: Vec<String> = of_mine
        .iter()
        .filter(|rule| open(&rule.gate, rule.count) || rejected(&rule.gate))
        .map(|rule| rule.gate.clone())
        .collect();
    let refused = gates.is_empty().then(|| "others have given the approvals that are asked for".to_owned());
    (gates, refused)
}

/// Evaluation gates that are shut and that the caller's group may override.
fn overridable(policy: &Policy, caller: &Caller, facts: &Facts, readiness: &Readiness) -> Vec<String> {
    let me = person_of(policy, &caller.actor);
    let may = |gate: &str| {
        let group = facts.rule.gate.get(gate).and_then(|gate| gate.override_group.as_deref());
        group.is_some_and(|group| group_members(policy, group).iter().any(|member| person_of(policy, member) == me))
    };
    let shut = readiness.0.iter().filter(|item| {
        item.kind == ReadinessKind::Gate && matches!(item.status, ReadinessStatus::Unmet | ReadinessStatus::Pending)
    });
    shut.filter(|item| may(&item.name)).map(|item| item.name.clone()).collect()
}

/// What is owed after the fact, and by whom.
fn owed(policy: &Policy, caller: &Caller, key: &ConfigKey, row: &Promotion, votes: &[Approval], mine: &mut Mine) {
    let may = |need: Need| allowed(policy, caller, need, Some(key), Some(&row.environment)).is_ok();
    mine.can_review =
        row.review_owed && caller.actor.is_person() && may(Need::CloseReview) && !super::review::did(policy, row, votes, caller);
    let mine_to_note = match &row.applied_by {
        Some(by) if by.is_person() => same_person(policy, by, &caller.actor),
        _ => true,
    };
    mine.owes_note = row.note_due_at.is_some() && mine_to_note && may(Need::Note);
}

/// A pointer with what people need to see and to move it, as the caller stands to it. The caller has been found to see the key.
///
/// # Errors
/// The key is gone; the database is away.
pub async fn pointer(
    registry: &Registry,
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    caller: &Caller,
    pointer: EnvironmentPointer,
) -> Result<PointerView, Refusal> {
    let key = conn.key_get(&pointer.key_id).await?.ok_or_else(Refusal::not_found)?;
    let (id, environment) = (&key.key_id, &pointer.environment);
    let last = conn.promotion_last_applied(id, environment).await?;
    let decided = conn.applied_decided(id, environment).await?;
    let rule = policy::rule(snapshot.policy(), id, environment);
    let safe = match key.safe_default_digest {
        Some(safe) if conn.applied_distrusted(id, environment, &safe).await? => None,
        safe => safe,
    };
    let back = if pointer.killed { None } else { conn.applied_back(id, environment, &pointer.digest).await? };
    Ok(PointerView {
        unit_type: key.unit_type,
        safe_default_digest: safe,
        version: version(conn, Some(pointer.digest)).await?,
        baseline: version(conn, pointer.baseline_digest).await?,
        safe_default: version(conn, safe).await?,
        protected: rule.is_some_and(|rule| rule.is_protected()),
        reach: reach(registry, &key, &pointer.environment),
        moved_by: last.as_ref().and_then(|row| row.applied_by.as_ref()).map(ToString::to_string),
        open_promotions: conn.promotion_open_count(id, environment).await?,
        rollback_to: back,
        undo_kill_until: undo_until(snapshot.policy(), caller, &key, &pointer, last, registry.clock.now()),
        running: running(&pointer, decided),
        next: next(registry, conn, snapshot, &key, &pointer).await?,
        pointer,
    })
}

/// The plan's next step: when, by whom, and what it waits for once its bake is over.
async fn next(
    registry: &Registry,
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    key: &ConfigKey,
    pointer: &EnvironmentPointer,
) -> Result<Option<NextStep>, Refusal> {
    let (step, rule) =
        (rollout::next(&pointer.plan, pointer.rollout_pct), policy::rule(snapshot.policy(), &key.key_id, &pointer.environment));
    let (Some(step), Some(rule)) = (step.filter(|_| rollout::runs(pointer)), rule) else { return Ok(None) };
    let now = registry.clock.now();
    let baked = pointer.next_step_at.is_some_and(|at| at <= now);
    let waits = if baked {
        super::step::facts(conn, snapshot.policy(), now, key, pointer).await?.readiness().unmet().cloned().collect()
    } else {
        Vec::new()
    };
    Ok(Some(NextStep { to: step.0, at: pointer.next_step_at, auto: rule.advances(), waits }))
}

fn running(pointer: &EnvironmentPointer, decided: Option<Promotion>) -> Option<uuid::Uuid> {
    let below = !pointer.killed && (rollout::runs(pointer) || pointer.rollout_pct < BasisPoints::ALL);
    promotion::running(pointer, decided).filter(|_| below).map(|row| row.promotion_id)
}

/// Until when the caller can take its kill back.
fn undo_until(
    policy: &Policy,
    caller: &Caller,
    key: &ConfigKey,
    pointer: &EnvironmentPointer,
    last: Option<Promotion>,
    now: Timestamp,
) -> Option<Timestamp> {
    let kill = undoable(pointer, last, now).ok()?;
    let by_me = kill.applied_by.as_ref().is_some_and(|by| same_person(policy, by, &caller.actor));
    let may = allowed(policy, caller, Need::UndoKill, Some(key), Some(&pointer.environment)).is_ok();
    kill.applied_at.filter(|_| by_me && may).map(|at| at.plus_seconds(UNDO_SECONDS))
}
