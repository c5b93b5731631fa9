//! The audit chain: sealing and verifying events (R14, R25, R26).

use super::canonical::{sha256, write_members, write_text};
use crate::model::audit::AuditBody;
use crate::model::{Action, AuditEvent, ChainHead, Digest, Environment, EnvironmentPointer, KeyId, Timestamp};
use serde::Deserialize as _;
use std::collections::BTreeMap;

/// The head of a chain that has no event yet.
pub const EMPTY: ChainHead = ChainHead { seq: 0, event_id: Digest::ZERO, at: Timestamp(0) };

/// Where a chain breaks, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the audit chain breaks at #{seq}: {why}")]
pub struct Break {
    /// Number of the first event that does not fit.
    pub seq: u64,
    /// What does not fit, a lower-case fragment.
    pub why: String,
}

/// `body_hash = sha256(JCS{actor, action, subject, detail, nonce})`.
pub fn body_hash(body: &AuditBody) -> Digest {
    // Written member by member in their canonical order: a chain is verified event by event, a million of them.
    let mut out = Vec::with_capacity(1024);
    for (before, text) in [("{\"action\":", body.action.as_str()), (",\"actor\":", &body.actor.to_string())] {
        out.extend_from_slice(before.as_bytes());
        write_text(text, &mut out);
    }
    out.extend_from_slice(b",\"detail\":");
    write_members(&body.detail, &mut out);
    for (before, text) in [(",\"nonce\":", &body.nonce), (",\"subject\":", &body.subject.0)] {
        out.extend_from_slice(before.as_bytes());
        write_text(text, &mut out);
    }
    out.push(b'}');
    sha256(&out)
}

/// `event_id = sha256(JCS{seq, at, prev_hash, body_hash})`.
pub fn event_id(seq: u64, at: Timestamp, prev_hash: &Digest, body_hash: &Digest) -> Digest {
    sha256(format!(r#"{{"at":"{at}","body_hash":"{body_hash}","prev_hash":"{prev_hash}","seq":{seq}}}"#).as_bytes())
}

/// The event that follows `head`; its time is `at`, or the head's where the clock ran backwards (R25).
pub fn seal(head: &ChainHead, at: Timestamp, body: AuditBody) -> AuditEvent {
    let at = at.max(head.at);
    let seq = head.seq + 1;
    let hash = body_hash(&body);
    AuditEvent {
        seq,
        event_id: event_id(seq, at, &head.event_id, &hash),
        at,
        prev_hash: head.event_id,
        body_hash: hash,
        body: Some(body),
        redacted: false,
    }
}

/// The head after `event`, when `event` is whole and follows `head`.
///
/// # Errors
/// The event's number (for a gap or another order: the number that was expected) and what does not fit.
pub fn verify(head: &ChainHead, event: &AuditEvent) -> Result<ChainHead, Break> {
    let expected = head.seq.saturating_add(1);
    let broken = |seq: u64, why: String| Err(Break { seq, why });
    if event.seq != expected {
        return broken(expected, format!("event #{} stands in its place", event.seq));
    }
    if event.prev_hash != head.event_id {
        return broken(event.seq, format!("it follows {}, but the event before is {}", event.prev_hash, head.event_id));
    }
    if event.at < head.at {
        return broken(event.seq, format!("its time {} is before that of the event before, {}", event.at, head.at));
    }
    match &event.body {
        Some(body) if body_hash(body) != event.body_hash => {
            return broken(event.seq, "what it says is not what was hashed".into());
        }
        None if !event.redacted => return broken(event.seq, "its body is missing".into()),
        _ => {}
    }
    let hashed = event_id(event.seq, event.at, &event.prev_hash, &event.body_hash);
    if hashed != event.event_id {
        return broken(event.seq, format!("its hash is {hashed}, not {}", event.event_id));
    }
    Ok(ChainHead { seq: event.seq, event_id: event.event_id, at: event.at })
}

/// Every pointer as the events' after-states leave it (R14).
pub fn fold<'a>(events: impl IntoIterator<Item = &'a AuditEvent>) -> BTreeMap<(KeyId, Environment), EnvironmentPointer> {
    let mut pointers = BTreeMap::new();
    for body in events.into_iter().filter_map(|event| event.body.as_ref()) {
        if !moves_a_pointer(body.action) {
            continue;
        }
        let after = body.detail.get("pointer").and_then(|after| EnvironmentPointer::deserialize(after).ok());
        if let Some(after) = after {
            pointers.insert((after.key_id.clone(), after.environment.clone()), after);
        }
    }
    pointers
}

/// Whether events of this action carry `detail.pointer`, the whole state of a pointer after them.
pub fn moves_a_pointer(action: Action) -> bool {
    matches!(
        action,
        Action::PromotionApply
            | Action::PointerStep
            | Action::PointerHold
            | Action::PointerResume
            | Action::PointerRollback
            | Action::PointerKill
            | Action::PointerUndoKill
            | Action::PointerRevive
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Actor, Subject};
    use crate::rules::canonical::digest_of;
    use serde_json::{Map, json};

    fn body(action: Action, detail: &serde_json::Value) -> AuditBody {
        AuditBody {
            actor: Actor::person("ana"),
            action,
            subject: Subject("key:a.b".into()),
            detail: detail.as_object().cloned().unwrap_or_default(),
            nonce: "0".repeat(32),
        }
    }

    fn sealed(count: u64) -> Vec<AuditEvent> {
        let mut head = EMPTY;
        let mut out = Vec::new();
        for n in 1..=count {
            let event = seal(&head, Timestamp(i64::try_from(n).unwrap() * 1000), body(Action::KeyUpdate, &json!({ "n": n })));
            head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
            out.push(event);
        }
        out
    }

    /// The first break of a chain, as (seq, why).
    fn broken(events: &[AuditEvent]) -> (u64, String) {
        let mut head = EMPTY;
        for event in events {
            match verify(&head, event) {
                Ok(next) => head = next,
                Err(found) => return (found.seq, found.why),
            }
        }
        panic!("the chain verifies")
    }

    #[test]
    fn hashes_are_over_the_canonical_form() {
        let detail = json!({ "z": [1, 2.5, null], "a": { "\u{1f600}": "\"\n\u{1}", "\u{fb33}": true } });
        let body = AuditBody { actor: Actor::person("ana"), ..body(Action::PointerKill, &detail) };
        assert_eq!(body_hash(&body), digest_of(&body));
        let (at, one, two) = (Timestamp(1_700_000_000_123_456), Digest([1; 32]), Digest([2; 32]));
        let link = json!({ "seq": 7, "at": at, "prev_hash": one, "body_hash": two });
        assert_eq!(event_id(7, at, &one, &two), digest_of(&link));
    }

    #[test]
    fn a_whole_chain_verifies_and_its_first_event_follows_zero() {
        let events = sealed(5);
        assert_eq!(events[0].prev_hash, Digest::ZERO);
        let head = events.iter().try_fold(EMPTY, |head, event| verify(&head, event)).unwrap();
        assert_eq!((head.seq, head.event_id, head.at), (5, events[4].event_id, Timestamp(5000)));
    }

    #[test]
    fn a_changed_body_breaks_the_chain_at_its_number() {
        let mut events = sealed(5);
        events[2].body.as_mut().unwrap().detail.insert("n".into(), json!(4));
        assert_eq!(broken(&events), (3, "what it says is not what was hashed".into()));
    }

    #[test]
    fn a_changed_actor_nonce_action_or_subject_breaks_the_chain() {
        let change: [fn(&mut AuditBody); 4] = [
            |b| b.actor = Actor::person("eve"),
            |b| b.nonce = "1".repeat(32),
            |b| b.action = Action::KeyCreate,
            |b| b.subject = Subject("key:a.c".into()),
        ];
        for change in change {
            let mut events = sealed(3);
            change(events[1].body.as_mut().unwrap());
            assert_eq!(broken(&events).0, 2);
        }
    }

    #[test]
    fn a_changed_body_with_its_hash_made_to_fit_breaks_the_event_hash() {
        let mut events = sealed(5);
        events[2].body = Some(body(Action::KeyUpdate, &json!({ "n": 4 })));
        events[2].body_hash = body_hash(events[2].body.as_ref().unwrap());
        assert!(broken(&events).1.starts_with("its hash is sha256:"), "{:?}", broken(&events));
        assert_eq!(broken(&events).0, 3);
    }

    #[test]
    fn an_event_that_was_sealed_anew_breaks_the_chain_at_the_next() {
        let mut events = sealed(5);
        let head = ChainHead { seq: 2, event_id: events[1].event_id, at: events[1].at };
        events[2] = seal(&head, Timestamp(3000), body(Action::KeyUpdate, &json!({ "n": 4 })));
        let (seq, why) = broken(&events);
        assert_eq!(seq, 4);
        assert!(why.starts_with("it follows "), "{why}");
    }

    #[test]
    fn a_missing_event_is_named_by_its_number() {
        let mut events = sealed(5);
        events.remove(2);
        assert_eq!(broken(&events), (3, "event #4 stands in its place".into()));
    }

    #[test]
    fn events_in_another_order_break_the_chain() {
        let mut events = sealed(5);
        events.swap(1, 2);
        assert_eq!(broken(&events), (2, "event #3 stands in its place".into()));
    }

    #[test]
    fn an_event_given_twice_breaks_the_chain() {
        let mut events = sealed(3);
        let twice = events[1].clone();
        events.insert(2, twice);
        assert_eq!(broken(&events), (3, "event #2 stands in its place".into()));
    }

    #[test]
    fn renumbered_events_break_the_chain() {
        let mut events = sealed(5);
        events.remove(1);
        for (event, seq) in events.iter_mut().zip(1..) {
            event.seq = seq;
        }
        assert_eq!(broken(&events).0, 2);
    }

    #[test]
    fn a_changed_time_breaks_the_chain() {
        let mut events = sealed(3);
        events[1].at = Timestamp(2001);
        assert!(broken(&events).1.starts_with("its hash is"));
        events[1].at = Timestamp(1);
        assert!(broken(&events).1.contains("is before that of the event before"));
    }

    #[test]
    fn a_body_may_be_withheld_only_where_that_is_said() {
        let mut events = sealed(3);
        events[1].body = None;
        assert_eq!(broken(&events), (2, "its body is missing".into()));
        events[1].redacted = true;
        assert!(events.iter().try_fold(EMPTY, |head, event| verify(&head, event)).is_ok());
    }

    #[test]
    fn time_never_runs_backwards_even_when_the_clock_does() {
        let head = ChainHead { seq: 1, event_id: Digest::ZERO, at: Timestamp(500) };
        let event = seal(&head, Timestamp(400), body(Action::KeyUpdate, &json!({})));
        assert_eq!(event.at, Timestamp(500));
        assert!(verify(&head, &event).is_ok());
    }

    #[test]
    fn folding_the_after_states_rebuilds_every_pointer() {
        let pointer = |environment: &str, revision: i64| EnvironmentPointer {
            key_id: "a.b".parse().unwrap(),
            environment: environment.parse().unwrap(),
            digest: Digest::ZERO,
            rollout_pct: crate::model::BasisPoints::ALL,
            killed: false,
            updated_at: Timestamp(revision),
            revision,
            baseline_digest: None,
            held: false,
            plan: Vec::new(),
            next_step_at: None,
        };
        let mut events = Vec::new();
        for (action, after) in [
            (Action::PromotionApply, pointer("dev", 1)),
            (Action::PromotionApply, pointer("production", 1)),
            (Action::PointerKill, EnvironmentPointer { killed: true, ..pointer("production", 2) }),
            // What does not move a pointer does not count, whatever its detail holds.
            (Action::PromotionApprove, pointer("dev", 9)),
        ] {
            let detail = json!({ "pointer": after });
            events.push(seal(&EMPTY, Timestamp(0), body(action, &detail)));
        }
        events.push(seal(&EMPTY, Timestamp(0), AuditBody { detail: Map::new(), ..body(Action::PromotionApply, &json!({})) }));
        let folded = fold(&events);
        assert_eq!(folded.len(), 2);
        assert_eq!(folded[&("a.b".parse().unwrap(), "dev".parse().unwrap())], pointer("dev", 1));
        assert!(folded[&("a.b".parse().unwrap(), "production".parse().unwrap())].killed);
    }
}
