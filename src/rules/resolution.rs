//! What a unit gets, and why (R15-R17).

use super::bucketing::{Domain, bucket, inside, rollout_salt};
use crate::model::{BasisPoints, ConfigKey, Digest, EnvironmentPointer, ResolutionReason, Step};

/// What resolving looks at.
pub struct Facts<'a> {
    /// The key: its safe default.
    pub key: &'a ConfigKey,
    /// The pointer.
    pub pointer: &'a EnvironmentPointer,
    /// Whether a digest is quarantined.
    pub quarantined: &'a dyn Fn(&Digest) -> bool,
    /// The unit's hash, where a unit was given.
    pub unit_hash: Option<&'a str>,
    /// Whether to say each step.
    pub explain: bool,
}

/// What resolving found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// What is served; none = use the code's default.
    pub digest: Option<Digest>,
    /// Why.
    pub reason: ResolutionReason,
    /// The unit's bucket, where one decided.
    pub bucket: Option<u16>,
    /// Each step, when explained.
    pub steps: Vec<Step>,
}

/// What a unit gets. Server, command line and terminal ask this one function (R17).
///
/// Killed: the safe default, or no value. A share below 100 %: the digest for units inside, the baseline for the rest and
/// for callers without a unit (never a random pick). Else the digest. A quarantined safe default or baseline is no value; a
/// quarantined digest that serves goes on serving.
pub fn resolve(facts: &Facts<'_>) -> Chosen {
    let pointer = facts.pointer;
    let mut trace = Trace { on: facts.explain, steps: Vec::new() };
    trace.say("pointer", || {
        format!("{} in {} at {} %, revision {}", pointer.digest, pointer.environment, pointer.rollout_pct, pointer.revision)
    });
    if pointer.killed {
        return trace.end(killed(facts));
    }
    trace.say("killed", || "no".into());
    if pointer.rollout_pct == BasisPoints::ALL {
        trace.say("rollout", || "100 %: everybody gets the digest".into());
        return trace.end((Some(pointer.digest), ResolutionReason::Static, None, "the pointer's digest".into()));
    }
    let Some(unit_hash) = facts.unit_hash else {
        let (baseline, why) = baseline(facts);
        let nobody = pointer.rollout_pct == BasisPoints::ZERO;
        let reason = match (nobody, baseline) {
            (true, Some(_)) => ResolutionReason::Baseline,
            (true, None) => ResolutionReason::NoBaseline,
            (false, _) => ResolutionReason::UnitMissing,
        };
        trace.say("unit", || {
            if nobody { "none, and at 0 % none is needed" } else { "none was given, so it is outside the share" }.into()
        });
        return trace.end((baseline, reason, None, why));
    };
    let drawn = bucket(Domain::Rollout, &rollout_salt(&pointer.key_id, &pointer.environment, &pointer.digest), unit_hash);
    let share = pointer.rollout_pct.get();
    if inside(drawn, pointer.rollout_pct) {
        trace.say("rollout", || format!("bucket {drawn} is below {share}: inside the share"));
        return trace.end((Some(pointer.digest), ResolutionReason::Rollout, Some(drawn), "the pointer's digest".into()));
    }
    trace.say("rollout", || format!("bucket {drawn} is not below {share}: outside the share"));
    let (baseline, why) = baseline(facts);
    let reason = if baseline.is_some() { ResolutionReason::Baseline } else { ResolutionReason::NoBaseline };
    trace.end((baseline, reason, Some(drawn), why))
}

type Outcome = (Option<Digest>, ResolutionReason, Option<u16>, String);

fn killed(facts: &Facts<'_>) -> Outcome {
    let none = |why: &str| (None, ResolutionReason::KilledNoDefault, None, format!("killed; {why}: no value"));
    match facts.key.safe_default_digest {
        None => none("the key has no safe default"),
        Some(safe) if safe == facts.pointer.digest => none("the safe default is the killed digest itself"),
        Some(safe) if (facts.quarantined)(&safe) => none("the safe default is quarantined"),
        Some(safe) => (Some(safe), ResolutionReason::Killed, None, "killed; the safe default".into()),
    }
}

fn baseline(facts: &Facts<'_>) -> (Option<Digest>, String) {
    match facts.pointer.baseline_digest {
        None => (None, "there is no baseline: no value".into()),
        Some(baseline) if (facts.quarantined)(&baseline) => (None, "the baseline is quarantined: no value".into()),
        Some(baseline) => (Some(baseline), "the baseline".into()),
    }
}

struct Trace {
    on: bool,
    steps: Vec<Step>,
}

impl Trace {
    fn say(&mut self, step: &str, found: impl FnOnce() -> String) {
        if self.on {
            self.steps.push(Step { step: step.into(), found: found() });
        }
    }

    fn end(mut self, (digest, reason, bucket, why): Outcome) -> Chosen {
        self.say("answer", || digest.map_or_else(|| why.clone(), |digest| format!("{why}: {digest}")));
        Chosen { digest, reason, bucket, steps: self.steps }
    }
}
