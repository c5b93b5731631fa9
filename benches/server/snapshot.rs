//! Resolving from the snapshot and publishing a change to it, alone, with 100,000 keys beside 100: how the work grows when the
//! keys no longer fit the processor's caches. What a caller feels of it, `pages` measures.

use super::setup::{content, production};
use countersign::model::{BasisPoints, ChainHead, ConfigKey, Digest, EnvironmentPointer, KeyId, PlanStep, Timestamp, UnitType};
use countersign::rules::canonical::content_digest;
use countersign::snapshot::{Change, Pepper, Servable, Snapshot, SnapshotCell};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Instant;

pub fn run() {
    println!("the snapshot alone, 100,000 keys beside 100");
    let (few, many) = (timed(100), timed(100_000));
    println!("  resolve {:.2}x   publish {:.2}x", many.0 / few.0, many.1 / few.1);
}

fn key_of(number: usize) -> KeyId {
    format!("bench.ns{}.k{number}", number % 97).parse().unwrap()
}

fn pointer(key: &KeyId, digest: Digest, revision: i64) -> Change {
    Change::Pointer(Box::new(EnvironmentPointer {
        key_id: key.clone(),
        environment: production(),
        digest,
        rollout_pct: BasisPoints::new(5000).unwrap(),
        killed: false,
        updated_at: Timestamp(revision),
        revision,
        baseline_digest: None,
        held: false,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
    }))
}

fn head(seq: u64) -> ChainHead {
    ChainHead { seq, event_id: Digest::ZERO, at: Timestamp(0) }
}

fn filled(keys: usize) -> Snapshot {
    let mut changes = Vec::new();
    for key in (0..keys).map(key_of) {
        let content = content(&key, "You are a helpful assistant.");
        let digest = content_digest(&content);
        changes.push(Change::Key(Box::new(ConfigKey {
            namespace: key.namespace().into(),
            key_id: key.clone(),
            owning_group: "owners".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest: None,
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        })));
        let fragments = BTreeMap::new();
        changes.push(Change::Content(Box::new(Servable { digest, number: 1, content, fragments, quarantined: false })));
        changes.push(pointer(&key, digest, 1));
    }
    Snapshot::empty(Pepper([7; 32])).after(head(1), changes)
}

/// Nanoseconds of a resolve, answer written, and of a publication until readers see it; the best of several rounds.
fn timed(keys: usize) -> (f64, f64) {
    const TIMES: usize = 20_000;
    let snapshot = filled(keys);
    // A stride through all keys, so that a large map cannot live in the cache by luck.
    let asked: Vec<KeyId> = (0..TIMES).map(|n| key_of((n * 7919) % keys)).collect();
    let environment = production();
    let digests: Vec<Digest> = asked.iter().map(|key| snapshot.pointer(key, &environment).unwrap().digest).collect();
    let (mut resolve, mut publish) = (f64::MAX, f64::MAX);
    for _ in 0..7 {
        let began = Instant::now();
        for key in &asked {
            black_box(snapshot.resolve(key, &environment, Some("unit-17"), false).unwrap().unwrap().json(false).unwrap());
        }
        resolve = resolve.min(began.elapsed().as_secs_f64() * 1e9 / 20_000.0);
        let cell = SnapshotCell::new(snapshot.clone(), Timestamp(0));
        let changes: Vec<_> = asked.iter().zip(&digests).zip(2..).map(|((k, d), n)| (n, vec![pointer(k, *d, 2)])).collect();
        let began = Instant::now();
        for (seq, change) in changes {
            cell.publish(head(seq), change);
        }
        publish = publish.min(began.elapsed().as_secs_f64() * 1e9 / 20_000.0);
    }
    println!("  {keys:>6} keys: resolve {resolve:.0} ns, publish {publish:.0} ns");
    (resolve, publish)
}
