//! Verifying the audit chain beside plain SHA-256 over the same bytes, on one core; `PROVE=full` verifies 1,000,000 events in place
//! of 100,000.

use countersign::model::audit::AuditBody;
use countersign::model::{Action, Actor, AuditEvent, ChainHead, Subject, Timestamp};
use countersign::rules::canonical::{canonical, sha256};
use countersign::rules::chain::{EMPTY, seal, verify};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

/// How many come at once, as to who verifies a registry page by page.
const PAGE: u32 = 1_000;

pub fn run() {
    println!("verifying the chain beside SHA-256 of the same bytes (bar: 4 at most)");
    let all = if std::env::var("PROVE").is_ok_and(|value| value == "full") { 1_000_000 } else { 100_000 };
    let (mut ours, mut plain, mut size, mut head) = (0.0, 0.0, 0, EMPTY);
    // The best of a few rounds of each page.
    for from in (0..all).step_by(PAGE as usize) {
        let page = events(head, from);
        let hashed: Vec<Vec<u8>> = page.iter().flat_map(bytes).collect();
        size += hashed.iter().map(Vec::len).sum::<usize>();
        plain += best(|| {
            for bytes in &hashed {
                black_box(sha256(bytes));
            }
        });
        let verified = || page.iter().try_fold(head, |head, event| verify(&head, event)).unwrap();
        ours += best(|| {
            black_box(verified());
        });
        head = verified();
    }
    assert_eq!(head.seq, u64::from(all));
    let (each, floor, size) = (ours * 1e9 / f64::from(all), plain * 1e9 / f64::from(all), size / all as usize);
    println!("  {all} events of {size} bytes: verify {each:.0} ns each, SHA-256 {floor:.0} ns: {:.2}", ours / plain);
}

/// Seconds.
fn best(mut work: impl FnMut()) -> f64 {
    let times = (0..5).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    });
    times.fold(f64::MAX, f64::min)
}

/// A page of events as a registry has them: one in three moves a pointer, the others say a little.
fn events(mut head: ChainHead, from: u32) -> Vec<AuditEvent> {
    let mut events = Vec::new();
    for number in from..from + PAGE {
        let (action, detail) = if number % 3 == 0 {
            let digest = sha256(&number.to_be_bytes());
            let pointer = json!({
                "key_id": format!("support.team{number}.system"), "environment": "production", "digest": digest, "rollout_pct": 12.5,
                "killed": false, "updated_at": Timestamp(1_700_000_000_000_000), "revision": number, "baseline_digest": null,
                "held": false, "plan": [[12.5, 1800], [100, null]], "next_step_at": null,
            });
            let detail = json!({
                "promotion_id": "01940000-0000-7000-8000-000000000000", "act": "promote", "rationale": "It answers shorter.\nAgreed.",
                "pointer": pointer, "staled": [], "stopped_experiment": null,
            });
            (Action::PromotionApply, detail)
        } else {
            (
                Action::PromotionApprove,
                json!({ "gate": "review", "verdict": "approve", "rationale": "Read it; the tone is right." }),
            )
        };
        let body = AuditBody {
            actor: Actor::person("ana"),
            action,
            subject: Subject("promotion:01940000-0000-7000-8000-000000000000".into()),
            detail: detail.as_object().unwrap().clone(),
            nonce: format!("{number:032x}"),
        };
        let event = seal(&head, Timestamp(1_700_000_000_000_000 + i64::from(number)), body);
        head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
        events.push(event);
    }
    events
}

/// The bytes that an event's two hashes are over.
fn bytes(event: &AuditEvent) -> [Vec<u8>; 2] {
    let link = json!({ "seq": event.seq, "at": event.at, "prev_hash": event.prev_hash, "body_hash": event.body_hash });
    [canonical(event.body.as_ref().unwrap()), canonical(&link)]
}
