//! What a promotion does to a pointer, or why not: the wish, the pointer after each act, and what may follow a kill (R8, R13, R28).

mod rollback;

use super::rollout::{self, next_step_at};
use crate::model::{
    Act, BasisPoints, Code, ConfigKey, Digest, Environment, EnvironmentPointer, EnvironmentRule, Plan, PlanStep, Promotion,
    Refusal, Timestamp,
};
use uuid::Uuid;

pub use rollback::{proven, rollback_named, rollback_walked};

/// How long a kill can be taken back by the person who gave it, in seconds.
pub const UNDO_SECONDS: i64 = 600;
/// How long the note of a kill may be owed, in seconds.
pub const NOTE_SECONDS: i64 = 24 * 3600;

/// What a person wishes, and everything that the wish is judged by.
pub struct Opening<'a> {
    /// The key.
    pub key: &'a ConfigKey,
    /// Where.
    pub environment: &'a Environment,
    /// The merged rule.
    pub rule: &'a EnvironmentRule,
    /// The pointer as it is.
    pub pointer: Option<&'a EnvironmentPointer>,
    /// The applied promotion whose rollout runs.
    pub running: Option<Uuid>,
    /// Whether a digest must not serve as baseline: quarantined, discarded or unknown.
    pub unfit: &'a dyn Fn(&Digest) -> bool,
    /// Whether `baseline` served everybody here before and is still good ([`proven`]).
    pub proven: bool,
    /// What shall serve.
    pub to: Digest,
    /// Serve again after a kill.
    pub revive: bool,
    /// `[[P, null]]`.
    pub percent: Option<BasisPoints>,
    /// The steps.
    pub plan: Option<&'a Plan>,
    /// For a revive: what units outside the share get.
    pub baseline: Option<Digest>,
    /// The running rollout that this one replaces.
    pub supersedes: Option<Uuid>,
}

/// What the row of the promotion will say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// promote or revive.
    pub act: Act,
    /// What serves until then.
    pub from: Option<Digest>,
    /// The steps; never empty.
    pub plan: Plan,
    /// What units outside the share will get.
    pub baseline: Option<Digest>,
    /// The pointer's revision; 0 where there is none.
    pub revision: i64,
}

/// Judges a wish: the plan, the baseline, whether anything would change and nothing runs that it does not name.
///
/// # Errors
/// `invalid` with the path, `no_change`, `rollout_in_progress`, `wrong_state` (nothing to revive).
pub fn open(opening: &Opening<'_>) -> Result<Wish, Refusal> {
    let plan = plan(opening)?;
    let share = plan.first().map_or(BasisPoints::ALL, |step| step.0);
    if opening.environment.is_safe_default() {
        return open_safe_default(opening, plan);
    }
    if opening.revive {
        revivable(opening)?;
    } else {
        promotable(opening, share)?;
    }
    let baseline = if share == BasisPoints::ALL { None } else { baseline(opening)? };
    let act = if opening.revive { Act::Revive } else { Act::Promote };
    let (from, revision) = opening.pointer.map_or((None, 0), |pointer| (Some(pointer.digest), pointer.revision));
    Ok(Wish { act, from, plan, baseline, revision })
}

fn plan(opening: &Opening<'_>) -> Result<Plan, Refusal> {
    let plan = match (opening.percent, opening.plan, &opening.rule.plan) {
        (Some(_), Some(_), _) => return Err(Refusal::invalid("/plan", "give `percent` or `plan`, not both")),
        (Some(percent), None, _) => vec![PlanStep(percent, None)],
        (None, Some(plan), _) => plan.clone(),
        (None, None, Some(plan)) if !opening.environment.is_safe_default() => plan.clone(),
        (None, None, _) => vec![PlanStep(BasisPoints::ALL, None)],
    };
    rollout::check(&plan)?;
    Ok(plan)
}

fn open_safe_default(opening: &Opening<'_>, plan: Plan) -> Result<Wish, Refusal> {
    if opening.revive {
        return Err(Refusal::invalid("/revive", "a safe default is not killed: there is nothing to revive"));
    }
    if opening.baseline.is_some() {
        return Err(Refusal::invalid("/baseline", "a safe default has no baseline"));
    }
    if plan != [PlanStep(BasisPoints::ALL, None)] {
        return Err(Refusal::invalid("/plan", "a safe default moves for everybody at once: leave `percent` and `plan` out"));
    }
    let from = opening.key.safe_default_digest;
    if from == Some(opening.to) {
        return Err(Refusal::new(Code::NoChange, "this is the safe default already"));
    }
    Ok(Wish { act: Act::Promote, from, plan, baseline: None, revision: 0 })
}

fn revivable(opening: &Opening<'_>) -> Result<(), Refusal> {
    match opening.pointer {
        Some(pointer) if pointer.killed => Ok(()),
        Some(pointer) => Err(Refusal::new(Code::WrongState, "the pointer is not killed: there is nothing to revive")
            .hint("open an ordinary promotion")
            .current(pointer)),
        None => Err(Refusal::new(Code::WrongState, "nothing was ever served there: there is nothing to revive")),
    }
}

fn promotable(opening: &Opening<'_>, share: BasisPoints) -> Result<(), Refusal> {
    if opening.baseline.is_some() {
        return Err(Refusal::invalid("/baseline", "only a revive names its baseline"));
    }
    let Some(pointer) = opening.pointer else {
        return match opening.supersedes {
            Some(_) => Err(Refusal::invalid("/supersedes", "no rollout runs there")),
            None => Ok(()),
        };
    };
    if pointer.digest == opening.to && !pointer.killed {
        if pointer.rollout_pct == BasisPoints::ALL {
            return Err(Refusal::new(Code::NoChange, "this digest serves everybody there already").current(pointer));
        }
        if pointer.rollout_pct == share {
            return Err(Refusal::new(Code::NoChange, format!("this digest has {share} % there already")).current(pointer));
        }
    }
    let named = opening.supersedes.is_some() && opening.supersedes == opening.running;
    if opening.supersedes.is_some() && !named {
        return Err(Refusal::invalid("/supersedes", "that is not the rollout that runs there").current(pointer));
    }
    if rollout::runs(pointer) && !named {
        let refusal = Refusal::new(Code::RolloutInProgress, format!("a rollout runs there, at {} %", pointer.rollout_pct));
        let refusal = match opening.running {
            Some(running) => refusal.hint(format!("to replace it, send `supersedes`: \"{running}\"; or wait, or roll back")),
            None => refusal,
        };
        return Err(refusal.current(pointer));
    }
    Ok(())
}

/// What units outside the share get: the usual baseline unless a revive names another; never the killed or an unfit digest.
fn baseline(opening: &Opening<'_>) -> Result<Option<Digest>, Refusal> {
    let Some(pointer) = opening.pointer else { return Ok(None) };
    let fit = |digest: &Digest| !(opening.unfit)(digest) && (!pointer.killed || pointer.digest != *digest);
    if let Some(named) = opening.baseline {
        if !fit(&named) {
            return Err(Refusal::invalid("/baseline", "the baseline must be neither the killed digest nor quarantined"));
        }
        if opening.key.safe_default_digest != Some(named) && !opening.proven {
            return Err(Refusal::invalid(
                "/baseline",
                "the baseline must have served everybody here before, or be the safe default",
            ));
        }
        return Ok(Some(named));
    }
    Ok(usual_baseline(opening.key, pointer, opening.revive).filter(fit))
}

/// The baseline that nobody named: promote from 100 %: the old digest; from a partial rollout: its baseline; revive: the safe
/// default.
pub fn usual_baseline(key: &ConfigKey, pointer: &EnvironmentPointer, revive: bool) -> Option<Digest> {
    match (revive, pointer.rollout_pct) {
        (true, _) => key.safe_default_digest,
        (false, BasisPoints::ALL) => Some(pointer.digest),
        (false, _) => pointer.baseline_digest,
    }
}

/// The pointer after an applied promote or revive. Only a revive clears `killed`.
pub fn applied(promotion: &Promotion, pointer: Option<&EnvironmentPointer>, to: Digest, now: Timestamp) -> EnvironmentPointer {
    // The share is the approved plan's first: it alone stands under the statement.
    let share = promotion.plan.first().map_or(promotion.rollout_pct, |step| step.0);
    EnvironmentPointer {
        key_id: promotion.key_id.clone(),
        environment: promotion.environment.clone(),
        digest: to,
        rollout_pct: share,
        killed: pointer.is_some_and(|pointer| pointer.killed) && promotion.act != Act::Revive,
        updated_at: now,
        revision: pointer.map_or(0, |pointer| pointer.revision) + 1,
        baseline_digest: promotion.baseline_digest.filter(|_| share < BasisPoints::ALL),
        held: false,
        next_step_at: next_step_at(&promotion.plan, share, now),
        plan: promotion.plan.clone(),
    }
}

/// The pointer after a step, up or down, to `share`. The baseline ends with the rollout.
pub fn stepped(pointer: &EnvironmentPointer, share: BasisPoints, now: Timestamp) -> EnvironmentPointer {
    EnvironmentPointer {
        rollout_pct: share,
        baseline_digest: pointer.baseline_digest.filter(|_| share < BasisPoints::ALL),
        next_step_at: next_step_at(&pointer.plan, share, now).filter(|_| !pointer.held),
        ..changed(pointer, now)
    }
}

/// The pointer after hold (`held`) or resume. The bake starts anew with a resume.
pub fn held(pointer: &EnvironmentPointer, held: bool, now: Timestamp) -> EnvironmentPointer {
    let next_step_at = next_step_at(&pointer.plan, pointer.rollout_pct, now).filter(|_| !held);
    EnvironmentPointer { held, next_step_at, ..changed(pointer, now) }
}

/// The pointer after a rollback: everybody, no baseline, held until a person promotes again (R12).
pub fn rolled_back(pointer: &EnvironmentPointer, to: Digest, now: Timestamp) -> EnvironmentPointer {
    EnvironmentPointer {
        digest: to,
        rollout_pct: BasisPoints::ALL,
        baseline_digest: None,
        held: true,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
        ..changed(pointer, now)
    }
}

/// The pointer after a kill: digest, share, baseline and plan stay (R13).
pub fn killed(pointer: &EnvironmentPointer, now: Timestamp) -> EnvironmentPointer {
    EnvironmentPointer { killed: true, next_step_at: None, ..changed(pointer, now) }
}

/// The pointer after a kill was taken back: as it was before the kill. `settled`: when it was last changed by anything but a kill
/// or its taking back, which the bake counts from.
pub fn undone(pointer: &EnvironmentPointer, settled: Option<Timestamp>, now: Timestamp) -> EnvironmentPointer {
    let next = settled.and_then(|since| next_step_at(&pointer.plan, pointer.rollout_pct, since));
    EnvironmentPointer { killed: false, next_step_at: next.filter(|_| !pointer.held), ..changed(pointer, now) }
}

fn changed(pointer: &EnvironmentPointer, now: Timestamp) -> EnvironmentPointer {
    EnvironmentPointer { updated_at: now, revision: pointer.revision + 1, ..pointer.clone() }
}

/// Whether an applied row is a kill taken back: of act revive like a revive, but with the kill's reason, and no approvals.
pub fn is_undo(row: &Promotion) -> bool {
    row.act == Act::Revive && row.reason.is_some()
}

/// What a row did, in a word: a kill that was taken back is no revive.
pub fn said(row: &Promotion) -> &'static str {
    if is_undo(row) { "undo-kill" } else { row.act.as_str() }
}

/// The applied promote or revive whose rollout `pointer` shows; none after a rollback. `decided`: the promote, revive or rollback
/// that was applied last.
pub fn running(pointer: &EnvironmentPointer, decided: Option<Promotion>) -> Option<Promotion> {
    decided.filter(|row| row.act != Act::Rollback && row.to_digest == Some(pointer.digest))
}

/// Why a kill that was sent late is refused: the pointer was revived after the person decided. The revision that the person saw
/// tells exactly; without it the moment does. `revived`: the revive, or kill taken back, that was applied last.
pub fn outdated_kill(revived: Option<Promotion>, issued_at: Option<Timestamp>, seen: Option<i64>) -> Option<Promotion> {
    revived.filter(|row| match (seen, issued_at) {
        (Some(seen), _) => row.pointer_revision >= seen,
        (None, Some(issued)) => row.applied_at.is_some_and(|at| at > issued),
        (None, None) => false,
    })
}

/// What a kill serves instead: the safe default, unless it is the killed digest or unfit.
pub fn kill_serves(
    pointer: &EnvironmentPointer,
    safe_default: Option<Digest>,
    unfit: impl Fn(&Digest) -> bool,
) -> Option<Digest> {
    safe_default.filter(|digest| *digest != pointer.digest && !unfit(digest))
}

/// The kill that the pointer shows, where it can be taken back now: the newest change (`last`), within ten minutes. Whether the
/// same person asks is the caller's to look at.
///
/// # Errors
/// `wrong_state`: not killed, too late, or something else changed.
pub fn undoable(pointer: &EnvironmentPointer, last: Option<Promotion>, now: Timestamp) -> Result<Promotion, Refusal> {
    let refused = |why: &str| Refusal::new(Code::WrongState, why).hint("a revive brings it back").current(pointer);
    if !pointer.killed {
        return Err(Refusal::new(Code::WrongState, "the pointer is not killed").current(pointer));
    }
    let kill = last.filter(|row| row.act == Act::Kill && row.pointer_revision == pointer.revision - 1);
    let kill = kill.ok_or_else(|| refused("something else changed since the kill"))?;
    match kill.applied_at {
        Some(at) if now.seconds_since(at) < UNDO_SECONDS => Ok(kill),
        _ => Err(refused("a kill can be taken back within ten minutes only")),
    }
}

#[cfg(test)]
mod tests;
