//! Shares of a plan by hand (R28): the next, the one before, and what may be skipped (nothing, upwards).

use crate::model::{BasisPoints, Code, EnvironmentPointer, PlanStep, Refusal, Timestamp};

/// The first step of `plan` above `share`.
pub fn next(plan: &[PlanStep], share: BasisPoints) -> Option<PlanStep> {
    plan.iter().copied().find(|step| step.0 > share)
}

/// The last step of `plan` below `share`.
pub fn previous(plan: &[PlanStep], share: BasisPoints) -> Option<PlanStep> {
    plan.iter().copied().rfind(|step| step.0 < share)
}

/// Whether a rollout runs: alive, below 100 %, with a step left.
pub fn runs(pointer: &EnvironmentPointer) -> bool {
    !pointer.killed && pointer.rollout_pct < BasisPoints::ALL && next(&pointer.plan, pointer.rollout_pct).is_some()
}

/// When the bake of `share` is over, counted from `since`; none where no step is left.
pub fn next_step_at(plan: &[PlanStep], share: BasisPoints, since: Timestamp) -> Option<Timestamp> {
    next(plan, share)?;
    let bake = plan.iter().rfind(|step| step.0 <= share).and_then(|step| step.1);
    Some(since.plus_seconds(bake.unwrap_or(0)))
}

/// The share of a step up: the plan's next, which `to` must name where it is given.
///
/// # Errors
/// No step is left, or `to` is not the next one (skipping ahead is another promotion).
pub fn up(pointer: &EnvironmentPointer, to: Option<BasisPoints>) -> Result<BasisPoints, Refusal> {
    let Some(PlanStep(share, _)) = next(&pointer.plan, pointer.rollout_pct) else {
        return Err(Refusal::new(Code::WrongState, format!("the plan has no step above {} %", pointer.rollout_pct))
            .hint("open a promotion with a larger share"));
    };
    match to {
        Some(to) if to <= pointer.rollout_pct => {
            Err(Refusal::invalid("/to", format!("{to} % is not above {} %", pointer.rollout_pct)).hint("say `down` to step down"))
        }
        Some(to) if to != share => {
            Err(Refusal::invalid("/to", format!("the approved plan's next step is {share} %, not {to} %"))
                .hint("skipping ahead is another promotion: open one"))
        }
        _ => Ok(share),
    }
}

/// The share of a step down: the plan's one before, or any smaller `to`.
///
/// # Errors
/// Nothing is below, `to` is not below, or the rollout is complete (then a rollback is the way).
pub fn down(pointer: &EnvironmentPointer, to: Option<BasisPoints>) -> Result<BasisPoints, Refusal> {
    if pointer.rollout_pct == BasisPoints::ALL {
        return Err(Refusal::new(Code::WrongState, "the rollout is complete: there is no baseline left to step down to")
            .hint("roll back instead"));
    }
    match to {
        Some(to) if to < pointer.rollout_pct => Ok(to),
        Some(to) => Err(Refusal::invalid("/to", format!("{to} % is not below {} %", pointer.rollout_pct))),
        None => previous(&pointer.plan, pointer.rollout_pct).map(|step| step.0).ok_or_else(|| {
            Refusal::new(Code::WrongState, format!("the plan has no step below {} %", pointer.rollout_pct))
                .hint("name a share with `to`, 0 for nobody, or roll back")
        }),
    }
}

/// Whether `plan` is one: 1 to 100 steps, shares rising, bake times whole and positive, none in the last.
///
/// # Errors
/// `invalid` with the path of the bad step.
pub fn check(plan: &[PlanStep]) -> Result<(), Refusal> {
    if plan.is_empty() || plan.len() > 100 {
        return Err(Refusal::invalid("/plan", "a plan has 1 to 100 steps"));
    }
    for (at, step) in plan.iter().enumerate() {
        let last = at + 1 == plan.len();
        let problem = match (step.1, plan.get(at + 1)) {
            (_, Some(after)) if after.0 <= step.0 => "shares must rise from step to step",
            (None, Some(_)) => "every step but the last needs a bake time in seconds",
            (Some(_), None) if last => "the last step has no bake time: null",
            (Some(bake), _) if bake <= 0 => "a bake time is a positive number of seconds",
            _ => continue,
        };
        return Err(Refusal::invalid(format!("/plan/{at}"), problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(percent: f64) -> BasisPoints {
        BasisPoints::from_percent(percent).unwrap()
    }

    fn plan(steps: &[(f64, Option<i64>)]) -> Vec<PlanStep> {
        steps.iter().map(|(percent, bake)| PlanStep(share(*percent), *bake)).collect()
    }

    fn pointer(percent: f64) -> EnvironmentPointer {
        EnvironmentPointer {
            key_id: "support.greeting".parse().unwrap(),
            environment: "production".parse().unwrap(),
            digest: crate::model::Digest([1; 32]),
            rollout_pct: share(percent),
            killed: false,
            updated_at: Timestamp(0),
            revision: 1,
            baseline_digest: None,
            held: false,
            plan: plan(&[(5.0, Some(60)), (25.0, Some(120)), (100.0, None)]),
            next_step_at: None,
        }
    }

    #[test]
    fn up_takes_the_plans_next_step_and_skips_nothing() {
        let at = |percent: f64, to: Option<f64>| up(&pointer(percent), to.map(share)).map_err(|r| r.code);
        for (from, to, want) in [
            (5.0, None, Ok(share(25.0))),
            (5.0, Some(25.0), Ok(share(25.0))),
            (0.0, None, Ok(share(5.0))),
            (12.5, None, Ok(share(25.0))),
            (25.0, None, Ok(share(100.0))),
            (5.0, Some(100.0), Err(Code::Invalid)),
            (5.0, Some(10.0), Err(Code::Invalid)),
            (25.0, Some(5.0), Err(Code::Invalid)),
            (100.0, None, Err(Code::WrongState)),
        ] {
            assert_eq!(at(from, to), want, "{from} -> {to:?}");
        }
    }

    #[test]
    fn down_takes_the_step_before_or_any_smaller_share_but_never_leaves_a_complete_rollout() {
        let at = |percent: f64, to: Option<f64>| down(&pointer(percent), to.map(share)).map_err(|r| r.code);
        for (from, to, want) in [
            (25.0, None, Ok(share(5.0))),
            (25.0, Some(12.5), Ok(share(12.5))),
            (25.0, Some(0.0), Ok(share(0.0))),
            (5.0, None, Err(Code::WrongState)),
            (25.0, Some(25.0), Err(Code::Invalid)),
            (25.0, Some(100.0), Err(Code::Invalid)),
            (100.0, Some(25.0), Err(Code::WrongState)),
        ] {
            assert_eq!(at(from, to), want, "{from} -> {to:?}");
        }
    }

    #[test]
    fn a_bake_counts_from_the_last_change_and_ends_with_the_plan() {
        let plan = pointer(5.0).plan;
        let at = |percent: f64| next_step_at(&plan, share(percent), Timestamp(0)).map(|t| t.0 / 1_000_000);
        assert_eq!([at(0.0), at(5.0), at(12.5), at(25.0), at(100.0)], [Some(0), Some(60), Some(60), Some(120), None]);
    }

    #[test]
    fn plans_rise_and_bake_in_every_step_but_the_last() {
        let bad = |steps: &[(f64, Option<i64>)]| check(&plan(steps)).unwrap_err().path.unwrap();
        assert_eq!(bad(&[]), "/plan");
        assert_eq!(bad(&[(25.0, Some(60)), (25.0, None)]), "/plan/0");
        assert_eq!(bad(&[(5.0, None), (25.0, None)]), "/plan/0");
        assert_eq!(bad(&[(5.0, Some(0)), (25.0, None)]), "/plan/0");
        assert_eq!(bad(&[(5.0, Some(60)), (25.0, Some(60))]), "/plan/1");
        assert!(check(&pointer(5.0).plan).is_ok());
        assert!(check(&plan(&[(12.5, None)])).is_ok());
    }
}
