//! Before a pointer changes: who would move, and who loses what.

use super::resolution::{Facts, resolve};
use crate::model::{BasisPoints, ConfigKey, Digest, EnvironmentPointer};
use std::collections::BTreeMap;

/// A pointer before (none where there is none yet) and after a change.
pub struct Change<'a> {
    /// The key.
    pub key: &'a ConfigKey,
    /// As it is.
    pub before: Option<&'a EnvironmentPointer>,
    /// As it would be.
    pub after: &'a EnvironmentPointer,
    /// Whether a digest is quarantined.
    pub quarantined: &'a dyn Fn(&Digest) -> bool,
    /// Whether the safe default was itself killed here and not approved since.
    pub distrusted: bool,
}

/// What units get before and after; none = no value.
pub type Flow = (Option<Digest>, Option<Digest>);

impl Change<'_> {
    /// What each of the given units gets before and after, by the one function that resolves, and how many fare so.
    pub fn units<'u>(&self, unit_hashes: impl Iterator<Item = &'u str>) -> BTreeMap<Flow, u64> {
        let mut flows = BTreeMap::new();
        for unit_hash in unit_hashes {
            let gets = |pointer| resolve(&self.facts(pointer, Some(unit_hash))).digest;
            *flows.entry((self.before.and_then(&gets), gets(self.after))).or_default() += 1;
        }
        flows
    }

    /// What share of all units to expect in each flow. The shares of one digest lie one inside the other (R16); those of two
    /// digests are drawn apart.
    pub fn expected(&self) -> BTreeMap<Flow, BasisPoints> {
        const WHOLE: u32 = 10_000;
        let share = |pointer: &EnvironmentPointer| u32::from(if pointer.killed { 0 } else { pointer.rollout_pct.get() });
        let (out, after_out) = (self.before.and_then(|pointer| self.outside(pointer)), self.outside(self.after));
        let (inside, after_inside) = (self.before.map(|pointer| pointer.digest), Some(self.after.digest));
        let (a, b) = (self.before.map_or(0, share), share(self.after));
        let both = if self.before.is_some_and(|before| before.digest == self.after.digest) { a.min(b) } else { a * b / WHOLE };
        let parts = [
            ((inside, after_inside), both),
            ((inside, after_out), a - both),
            ((out, after_inside), b - both),
            ((out, after_out), WHOLE + both - a - b),
        ];
        let mut flows: BTreeMap<Flow, u32> = BTreeMap::new();
        for (flow, part) in parts.into_iter().filter(|(_, part)| *part > 0) {
            *flows.entry(flow).or_default() += part;
        }
        let points =
            |part: u32| u16::try_from(part).ok().and_then(|part| BasisPoints::new(part).ok()).unwrap_or(BasisPoints::ALL);
        flows.into_iter().map(|(flow, part)| (flow, points(part))).collect()
    }

    /// What a unit outside the share gets.
    fn outside(&self, pointer: &EnvironmentPointer) -> Option<Digest> {
        let nobody = EnvironmentPointer { rollout_pct: BasisPoints::ZERO, ..pointer.clone() };
        resolve(&self.facts(&nobody, None)).digest
    }

    fn facts<'f>(&'f self, pointer: &'f EnvironmentPointer, unit_hash: Option<&'f str>) -> Facts<'f> {
        let Self { key, quarantined, distrusted, .. } = *self;
        Facts { key, pointer, quarantined, distrusted, unit_hash, explain: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Timestamp, UnitType};
    use crate::rules::bucketing::unit_hash;

    fn pointer(digest: u8, percent: f64, baseline: Option<u8>, killed: bool) -> EnvironmentPointer {
        EnvironmentPointer {
            key_id: "a.b".parse().unwrap(),
            environment: "production".parse().unwrap(),
            digest: Digest([digest; 32]),
            rollout_pct: BasisPoints::from_percent(percent).unwrap(),
            killed,
            updated_at: Timestamp(0),
            revision: 3,
            baseline_digest: baseline.map(|baseline| Digest([baseline; 32])),
            held: false,
            plan: Vec::new(),
            next_step_at: None,
        }
    }

    fn key() -> ConfigKey {
        ConfigKey {
            key_id: "a.b".parse().unwrap(),
            namespace: "a".into(),
            owning_group: "g".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest: Some(Digest([9; 32])),
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        }
    }

    #[test]
    fn the_units_fare_as_it_was_to_be_expected() {
        let units: Vec<String> = (0..20_000).map(|n| unit_hash(&[3; 32], UnitType::User, &format!("u{n}")).unwrap()).collect();
        for (before, after, flows) in [
            (Some(pointer(1, 5.0, Some(2), false)), pointer(1, 25.0, Some(2), false), 3),
            (Some(pointer(1, 25.0, Some(2), false)), pointer(1, 5.0, Some(2), false), 3),
            (Some(pointer(1, 50.0, Some(2), false)), pointer(3, 20.0, Some(2), false), 4),
            (Some(pointer(1, 50.0, Some(2), false)), pointer(2, 100.0, None, false), 2),
            (Some(pointer(1, 40.0, None, true)), pointer(4, 30.0, Some(9), false), 2),
            (None, pointer(1, 10.0, None, false), 2),
            (Some(pointer(1, 100.0, None, false)), pointer(1, 100.0, None, true), 1),
        ] {
            let key = key();
            let change = Change { key: &key, before: before.as_ref(), after: &after, quarantined: &|_| false, distrusted: false };
            let (counted, expected) = (change.units(units.iter().map(String::as_str)), change.expected());
            assert_eq!(counted.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{after:?}");
            assert_eq!(expected.len(), flows, "{expected:?}");
            assert_eq!(counted.values().sum::<u64>(), 20_000);
            assert_eq!(expected.values().map(|share| u32::from(share.get())).sum::<u32>(), 10_000);
            for (flow, units) in counted {
                // Four standard deviations of a share of 20,000 are at most 1.5 %.
                let percent = f64::from(u32::try_from(units).unwrap()) / 200.0;
                assert!((percent - f64::from(expected[&flow].get()) / 100.0).abs() < 1.5, "{flow:?}: {percent}");
            }
        }
    }

    #[test]
    fn raising_a_share_takes_the_digest_from_nobody() {
        let key = key();
        let (before, after) = (pointer(1, 5.0, Some(2), false), pointer(1, 60.0, Some(2), false));
        let change = Change { key: &key, before: Some(&before), after: &after, quarantined: &|_| false, distrusted: false };
        let lost = (Some(before.digest), Some(Digest([2; 32])));
        assert!(!change.expected().contains_key(&lost));
    }
}
