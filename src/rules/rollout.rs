//! Shares of a plan by hand (R28): the next, the one before, and what may be skipped (nothing, upwards).

use crate::model::{BasisPoints, EnvironmentPointer, Plan, PlanStep, Refusal, Timestamp};

/// The first step of `plan` above `share`.
pub fn next(plan: &Plan, share: BasisPoints) -> Option<PlanStep> {
    plan.iter().copied().find(|step| step.0 > share)
}

/// The last step of `plan` below `share`.
pub fn previous(plan: &Plan, share: BasisPoints) -> Option<PlanStep> {
    plan.iter().copied().rev().find(|step| step.0 < share)
}

/// Whether a rollout runs: alive, below 100 %, with a step left.
pub fn runs(pointer: &EnvironmentPointer) -> bool {
    !pointer.killed && pointer.rollout_pct < BasisPoints::ALL && next(&pointer.plan, pointer.rollout_pct).is_some()
}

/// When the bake of `share` is over, counted from `now`; none at the plan's end.
pub fn next_step_at(plan: &Plan, share: BasisPoints, now: Timestamp) -> Option<Timestamp> {
    next(plan, share)?;
    let bake = plan.iter().rev().find(|step| step.0 <= share).and_then(|step| step.1);
    Some(now.plus_seconds(bake.unwrap_or(0)))
}

/// The share of a step up: the plan's next, which `to` must name where it is given.
///
/// # Errors
/// No step is left, or `to` is not the next one (skipping ahead is another promotion).
pub fn up(pointer: &EnvironmentPointer, to: Option<BasisPoints>) -> Result<BasisPoints, Refusal> {
    let _ = (pointer, to);
    unimplemented!()
}

/// The share of a step down: the plan's one before, or any smaller `to`.
///
/// # Errors
/// Nothing is below, `to` is not below, or the rollout is complete (then a rollback is the way).
pub fn down(pointer: &EnvironmentPointer, to: Option<BasisPoints>) -> Result<BasisPoints, Refusal> {
    let _ = (pointer, to);
    unimplemented!()
}

/// Whether `plan` is one: not empty, shares rising, bake times whole and positive, none in the last.
///
/// # Errors
/// `invalid` with the path of the bad step.
pub fn check(plan: &Plan) -> Result<(), Refusal> {
    let _ = plan;
    unimplemented!()
}
