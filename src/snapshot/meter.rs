//! Counts resolves: how much a pointer is used, so that a person knows what a kill reaches.

use crate::model::{Actor, Environment, KeyId, Timestamp};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Slots of ten seconds: the running one and the six before it.
const SLOTS: usize = 7;
const SLOT_SECONDS: i64 = 10;
/// More different callers than this an hour are not listed.
const MOST_CALLERS: usize = 100;
const SHARDS: usize = 64;

/// What a pointer's resolves were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    /// Resolves in the last minute.
    pub per_minute: u64,
    /// Who resolved in the last hour; sorted.
    pub callers: Vec<Actor>,
}

#[derive(Debug, Default)]
struct Counter {
    /// Number of the running slot since 1970.
    slot: i64,
    counts: [u32; SLOTS],
    /// Since the process began.
    total: u64,
    callers: Vec<(Actor, i64)>,
}

type Shard = HashMap<KeyId, Vec<(Environment, Counter)>>;

/// Counts resolves by key and environment. Only pointers that exist are to be counted, which bounds it.
#[derive(Debug)]
pub struct Meter {
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
}

impl Default for Meter {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }
}

impl Meter {
    /// Counts one resolve by `caller`.
    pub fn count(&self, key: &KeyId, environment: &Environment, caller: &Actor, now: Timestamp) {
        let mut shard = self.shard(key);
        let counters = match shard.get_mut(key) {
            Some(counters) => counters,
            None => shard.entry(key.clone()).or_default(),
        };
        let at = counters.iter().position(|(e, _)| e == environment).unwrap_or_else(|| {
            counters.push((environment.clone(), Counter::default()));
            counters.len() - 1
        });
        if let Some((_, counter)) = counters.get_mut(at) {
            counter.count(caller, now);
        }
    }

    /// What was counted.
    pub fn usage(&self, key: &KeyId, environment: &Environment, now: Timestamp) -> Usage {
        let mut shard = self.shard(key);
        let counters = shard.get_mut(key).map(Vec::as_mut_slice).unwrap_or_default();
        counters.iter_mut().find(|(e, _)| e == environment).map(|(_, counter)| counter.usage(now)).unwrap_or_default()
    }

    /// All resolves since the process began, by environment.
    pub fn totals(&self) -> BTreeMap<Environment, u64> {
        let mut totals = BTreeMap::new();
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            for (environment, counter) in shard.values().flatten() {
                *totals.entry(environment.clone()).or_default() += counter.total;
            }
        }
        totals
    }

    fn shard(&self, key: &KeyId) -> MutexGuard<'_, Shard> {
        let at = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counter {
    fn count(&mut self, caller: &Actor, now: Timestamp) {
        self.turn(now);
        self.counts[0] = self.counts[0].saturating_add(1);
        self.total += 1;
        let second = now.0 / 1_000_000;
        if let Some((_, seen)) = self.callers.iter_mut().find(|(held, _)| held == caller) {
            *seen = second;
        } else if self.callers.len() < MOST_CALLERS {
            self.callers.push((caller.clone(), second));
        }
    }

    fn usage(&mut self, now: Timestamp) -> Usage {
        self.turn(now);
        let hour_ago = now.0 / 1_000_000 - 3600;
        self.callers.retain(|(_, seen)| *seen > hour_ago);
        let mut callers: Vec<Actor> = self.callers.iter().map(|(caller, _)| caller.clone()).collect();
        callers.sort();
        // The oldest slot counts by the part of it that is less than a minute old.
        let passed = now.0.rem_euclid(SLOT_SECONDS * 1_000_000);
        let part = u64::try_from(SLOT_SECONDS * 1_000_000 - passed).unwrap_or(0);
        let oldest = u64::from(self.counts[SLOTS - 1]) * part / 10_000_000;
        let whole: u64 = self.counts[..SLOTS - 1].iter().map(|count| u64::from(*count)).sum();
        Usage { per_minute: whole + oldest, callers }
    }

    /// Makes the slot of `now` the running one; a clock that went back leaves the slots alone.
    fn turn(&mut self, now: Timestamp) {
        let slot = now.0.div_euclid(SLOT_SECONDS * 1_000_000);
        let by = usize::try_from(slot - self.slot).unwrap_or(0).min(SLOTS);
        if by > 0 {
            self.counts.copy_within(0..SLOTS - by, by);
            self.counts[..by].fill(0);
            self.slot = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp(1_000_000_000_000 + seconds * 1_000_000)
    }

    #[test]
    fn resolves_of_the_last_minute_count_and_older_ones_do_not() {
        let (meter, key, prod) = (Meter::default(), "a.b".parse().unwrap(), "prod".parse().unwrap());
        let count = |second| meter.count(&key, &prod, &Actor::service("web"), at(second));
        let per_minute = |second| meter.usage(&key, &prod, at(second)).per_minute;
        (0..30).for_each(count);
        assert_eq!(per_minute(30), 30);
        assert_eq!(per_minute(65), 25);
        assert_eq!(per_minute(95), 0);
        assert_eq!(meter.usage(&key, &"dev".parse().unwrap(), at(30)), Usage::default());
        assert_eq!(meter.totals(), BTreeMap::from([(prod, 30)]), "those of before count in the total");
    }

    #[test]
    fn callers_of_the_last_hour_are_listed_once_and_sorted() {
        let (meter, key, prod) = (Meter::default(), "a.b".parse().unwrap(), "prod".parse().unwrap());
        for (name, second) in [("web", 0), ("api", 1000), ("web", 1001)] {
            meter.count(&key, &prod, &Actor::service(name), at(second));
        }
        let names = |second| meter.usage(&key, &prod, at(second)).callers.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(1002), ["service:api", "service:web"]);
        assert_eq!(names(4600), ["service:web"]);
        assert!(names(9000).is_empty());
    }

    #[test]
    fn a_clock_that_goes_back_loses_nothing() {
        let (meter, key, prod) = (Meter::default(), "a.b".parse().unwrap(), "prod".parse().unwrap());
        meter.count(&key, &prod, &Actor::service("web"), at(100));
        meter.count(&key, &prod, &Actor::service("web"), at(40));
        assert_eq!(meter.usage(&key, &prod, at(100)).per_minute, 2);
    }
}
