//! Rollouts over many units: nobody leaves while a share rises, and what one rollout draws says nothing of another.
//!
//! `PROVE=full` draws 1,000,000 units in place of 20,000.

use countersign::model::{BasisPoints, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Timestamp, UnitType};
use countersign::rules::bucketing::{Domain, bucket, inside, rollout_salt, unit_hash};
use countersign::rules::resolution::{Facts, resolve};

const PEPPER: [u8; 32] = [7; 32];
const NEW: Digest = Digest([2; 32]);
const OLD: Digest = Digest([1; 32]);

fn units() -> usize {
    if std::env::var("PROVE").is_ok_and(|how| how == "full") { 1_000_000 } else { 20_000 }
}

fn hash(n: usize) -> String {
    unit_hash(&PEPPER, UnitType::User, &format!("user-{n}")).unwrap()
}

fn place() -> (KeyId, Environment) {
    ("support.greeting".parse().unwrap(), "production".parse().unwrap())
}

fn percent(percent: u16) -> BasisPoints {
    BasisPoints::new(percent * 100).unwrap()
}

/// How far a count of `n` draws may be from what a chance of `p` lets expect: four standard deviations of a binomial.
fn is_near(count: usize, n: usize, p: f64) -> bool {
    let whole = |n: usize| f64::from(u32::try_from(n).unwrap());
    (whole(count) - whole(n) * p).abs() <= 4.0 * (whole(n) * p * (1.0 - p)).sqrt()
}

#[test]
fn raising_a_share_in_a_hundred_steps_removes_nobody_and_0_is_nobody_and_100_is_everybody() {
    let (key, environment) = place();
    let salt = rollout_salt(&key, &environment, &NEW);
    let drawn: Vec<u16> = (0..units()).map(|n| bucket(Domain::Rollout, &salt, &hash(n))).collect();
    let mut before = vec![false; drawn.len()];
    for step in 0..=100 {
        let now: Vec<bool> = drawn.iter().map(|bucket| inside(*bucket, percent(step))).collect();
        let left = before.iter().zip(&now).filter(|(was, is)| **was && !**is).count();
        assert_eq!(left, 0, "at {step} %");
        let count = now.iter().filter(|is| **is).count();
        match step {
            0 => assert_eq!(count, 0),
            100 => assert_eq!(count, drawn.len()),
            _ => assert!(is_near(count, drawn.len(), f64::from(step) / 100.0), "{count} of {} at {step} %", drawn.len()),
        }
        before = now;
    }
}

#[test]
fn who_resolves_gets_what_the_buckets_say_at_each_step() {
    let (key_id, environment) = place();
    let key = ConfigKey {
        namespace: key_id.namespace().to_owned(),
        key_id: key_id.clone(),
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: Timestamp(0),
    };
    let salt = rollout_salt(&key_id, &environment, &NEW);
    let hashes: Vec<String> = (0..200).map(hash).collect();
    for step in 0..=100 {
        let pointer = EnvironmentPointer {
            key_id: key_id.clone(),
            environment: environment.clone(),
            digest: NEW,
            rollout_pct: percent(step),
            killed: false,
            updated_at: Timestamp(0),
            revision: 1,
            baseline_digest: Some(OLD),
            held: false,
            plan: Vec::new(),
            next_step_at: None,
        };
        for hash in &hashes {
            let facts = Facts {
                key: &key,
                pointer: &pointer,
                quarantined: &|_| false,
                distrusted: false,
                unit_hash: Some(hash),
                explain: false,
            };
            let is_in = inside(bucket(Domain::Rollout, &salt, hash), percent(step));
            assert_eq!(resolve(&facts).digest, Some(if is_in { NEW } else { OLD }), "{hash} at {step} %");
        }
    }
}

#[test]
fn the_tenth_of_one_key_is_not_the_tenth_of_another() {
    let (_, environment) = place();
    let salts: Vec<String> =
        (0..20).map(|n| rollout_salt(&format!("support.k{n}").parse().unwrap(), &environment, &NEW)).collect();
    // One bit a key for each unit that is in its tenth.
    let drawn: Vec<u32> = (0..units())
        .map(|n| {
            let hash = hash(n);
            let is_in = |salt: &String| inside(bucket(Domain::Rollout, salt, &hash), percent(10));
            salts.iter().enumerate().map(|(bit, salt)| u32::from(is_in(salt)) << bit).sum()
        })
        .collect();
    for one in 0..salts.len() {
        for other in 0..one {
            let both = (1 << one) | (1 << other);
            let count = drawn.iter().filter(|bits| **bits & both == both).count();
            assert!(is_near(count, drawn.len(), 0.01), "{count} of {} in both {one} and {other}", drawn.len());
        }
    }
}
