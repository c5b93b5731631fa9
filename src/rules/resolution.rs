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
    /// Whether the key's safe default was itself killed here and has not been approved since (here, or as safe default).
    pub distrusted: bool,
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

/// What a unit gets. Server, relay, command line and terminal ask this one function (R17).
///
/// Killed: the safe default, unless it was killed here too, or no value. A share below 100 %: the digest for units inside, the baseline for the rest and
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
        return trace.end((Some(pointer.digest), ResolutionReason::Static, None, "the pointer's digest"));
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
        return trace.end((Some(pointer.digest), ResolutionReason::Rollout, Some(drawn), "the pointer's digest"));
    }
    trace.say("rollout", || format!("bucket {drawn} is not below {share}: outside the share"));
    let (baseline, why) = baseline(facts);
    let reason = if baseline.is_some() { ResolutionReason::Baseline } else { ResolutionReason::NoBaseline };
    trace.end((baseline, reason, Some(drawn), why))
}

/// With why, in words.
type Outcome = (Option<Digest>, ResolutionReason, Option<u16>, &'static str);

fn killed(facts: &Facts<'_>) -> Outcome {
    let none = |why| (None, ResolutionReason::KilledNoDefault, None, why);
    match facts.key.safe_default_digest {
        None => none("killed; the key has no safe default: no value"),
        Some(safe) if safe == facts.pointer.digest => none("killed; the safe default is the killed digest itself: no value"),
        Some(_) if facts.distrusted => none("killed; the safe default was killed here before, and not approved since: no value"),
        Some(safe) if (facts.quarantined)(&safe) => none("killed; the safe default is quarantined: no value"),
        Some(safe) => (Some(safe), ResolutionReason::Killed, None, "killed; the safe default"),
    }
}

fn baseline(facts: &Facts<'_>) -> (Option<Digest>, &'static str) {
    match facts.pointer.baseline_digest {
        None => (None, "there is no baseline: no value"),
        Some(baseline) if (facts.quarantined)(&baseline) => (None, "the baseline is quarantined: no value"),
        Some(baseline) => (Some(baseline), "the baseline"),
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
        self.say("answer", || digest.map_or_else(|| why.to_owned(), |digest| format!("{why}: {digest}")));
        Chosen { digest, reason, bucket, steps: self.steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Timestamp, UnitType};
    use crate::rules::bucketing::unit_hash;
    use ResolutionReason::{Baseline, Killed, KilledNoDefault, NoBaseline, Rollout, Static, UnitMissing};
    use proptest::prelude::*;

    const A: Digest = Digest([1; 32]);
    const B: Digest = Digest([2; 32]);
    const SAFE: Digest = Digest([3; 32]);

    fn key(safe_default_digest: Option<Digest>) -> ConfigKey {
        ConfigKey {
            key_id: "a.b".parse().unwrap(),
            namespace: "a".into(),
            owning_group: "g".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest,
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        }
    }
    fn pointer(points: u16, baseline_digest: Option<Digest>, killed: bool) -> EnvironmentPointer {
        EnvironmentPointer {
            key_id: "a.b".parse().unwrap(),
            environment: "production".parse().unwrap(),
            digest: A,
            rollout_pct: BasisPoints::new(points).unwrap(),
            killed,
            updated_at: Timestamp(0),
            revision: 3,
            baseline_digest,
            held: false,
            plan: Vec::new(),
            next_step_at: None,
        }
    }
    fn got(key: &ConfigKey, pointer: &EnvironmentPointer, unit: Option<&str>, bad: &[Digest]) -> Chosen {
        let hash = unit.map(|unit| unit_hash(&[0; 32], UnitType::User, unit).unwrap());
        let quarantined = |digest: &Digest| bad.contains(digest);
        let unit_hash = hash.as_deref();
        resolve(&Facts { key, pointer, quarantined: &quarantined, distrusted: false, unit_hash, explain: true })
    }

    #[test]
    fn each_state_of_a_pointer_has_its_answer() {
        // A unit inside half of the units, and one outside.
        let in_half = |unit: &&String| got(&key(None), &pointer(5000, None, false), Some(unit), &[]).reason == Rollout;
        let units: Vec<String> = (0..100).map(|n| format!("u{n}")).collect();
        let (inside, outside) = (units.iter().find(in_half).unwrap(), units.iter().find(|u| !in_half(u)).unwrap());
        let (inside, outside) = (Some(inside.as_str()), Some(outside.as_str()));
        let none = None::<&str>;
        for (safe, points, baseline, killed, unit, bad, digest, reason) in [
            (None, 10_000, None, false, none, &[][..], Some(A), Static),
            (None, 10_000, Some(B), false, outside, &[], Some(A), Static),
            (None, 5000, Some(B), false, inside, &[], Some(A), Rollout),
            (None, 5000, Some(B), false, outside, &[], Some(B), Baseline),
            (None, 5000, None, false, outside, &[], None, NoBaseline),
            (None, 5000, Some(B), false, none, &[], Some(B), UnitMissing),
            (None, 5000, None, false, none, &[], None, UnitMissing),
            (None, 0, Some(B), false, inside, &[], Some(B), Baseline),
            (None, 0, Some(B), false, none, &[], Some(B), Baseline),
            (None, 0, None, false, none, &[], None, NoBaseline),
            // A quarantined baseline is no value; a quarantined digest that serves goes on serving.
            (None, 5000, Some(B), false, outside, &[B], None, NoBaseline),
            (None, 5000, Some(B), false, none, &[B], None, UnitMissing),
            (None, 5000, Some(B), false, inside, &[A], Some(A), Rollout),
            (None, 10_000, None, false, none, &[A], Some(A), Static),
            // Killed: the safe default and nothing else, whatever the share.
            (Some(SAFE), 10_000, Some(B), true, inside, &[], Some(SAFE), Killed),
            (Some(SAFE), 5000, Some(B), true, outside, &[], Some(SAFE), Killed),
            (None, 5000, Some(B), true, outside, &[], None, KilledNoDefault),
            (Some(SAFE), 10_000, None, true, none, &[SAFE], None, KilledNoDefault),
            (Some(A), 10_000, None, true, none, &[], None, KilledNoDefault),
        ] {
            let chosen = got(&key(safe), &pointer(points, baseline, killed), unit, bad);
            assert_eq!((chosen.digest, chosen.reason), (digest, reason), "{chosen:?}");
            let drew = matches!(reason, Rollout | Baseline | NoBaseline) && unit.is_some();
            assert_eq!(chosen.bucket.is_some(), drew, "{chosen:?}");
        }
    }

    #[test]
    fn a_kill_does_not_serve_a_safe_default_that_was_killed_before() {
        let key = key(Some(SAFE));
        let reason = |killed, distrusted| {
            let pointer = pointer(10_000, None, killed);
            let facts =
                Facts { key: &key, pointer: &pointer, quarantined: &|_| false, distrusted, unit_hash: None, explain: false };
            resolve(&facts).reason
        };
        assert_eq!([reason(true, true), reason(true, false), reason(false, true)], [KilledNoDefault, Killed, Static]);
    }

    #[test]
    fn explaining_says_each_step_and_changes_no_answer() {
        let (key, pointer) = (key(None), pointer(2500, Some(B), false));
        let explained = got(&key, &pointer, Some("u1"), &[]);
        let steps: Vec<&str> = explained.steps.iter().map(|step| step.step.as_str()).collect();
        assert_eq!(steps, ["pointer", "killed", "rollout", "answer"]);
        let hash = unit_hash(&[0; 32], UnitType::User, "u1").unwrap();
        let unit_hash = Some(hash.as_str());
        let facts = Facts { key: &key, pointer: &pointer, quarantined: &|_| false, distrusted: false, unit_hash, explain: false };
        assert_eq!(resolve(&facts), Chosen { steps: Vec::new(), ..explained });
    }

    proptest! {
        #[test]
        fn nobody_gets_a_killed_digest(unit in proptest::option::of("[a-z]{1,8}"), points in 0_u16..=10_000, safe in 1_u8..4, base in 1_u8..4) {
            let pointer = pointer(points, Some(Digest([base; 32])), true);
            let chosen = got(&key(Some(Digest([safe; 32]))), &pointer, unit.as_deref(), &[]);
            prop_assert_ne!(chosen.digest, Some(A));
        }

        #[test]
        fn a_unit_once_inside_stays_inside(unit in "[a-z]{1,8}", low in 0_u16..=10_000, high in 0_u16..=10_000) {
            let (low, high) = (low.min(high), low.max(high));
            let at = |points| got(&key(None), &pointer(points, Some(B), false), Some(&unit), &[]).digest == Some(A);
            prop_assert!(!at(low) || at(high));
            prop_assert!(at(10_000) && !at(0));
        }
    }
}
