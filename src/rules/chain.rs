//! The audit chain: sealing and verifying events (R14, R25, R26).

use super::canonical::digest_of;
use crate::model::audit::AuditBody;
use crate::model::{Action, AuditEvent, ChainHead, Digest, Environment, EnvironmentPointer, KeyId, Timestamp};
use serde::{Deserialize as _, Serialize};
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
    digest_of(body)
}

/// `event_id = sha256(JCS{seq, at, prev_hash, body_hash})`.
pub fn event_id(seq: u64, at: Timestamp, prev_hash: &Digest, body_hash: &Digest) -> Digest {
    #[derive(Serialize)]
    struct Link<'a> {
        seq: u64,
        at: Timestamp,
        prev_hash: &'a Digest,
        body_hash: &'a Digest,
    }
    digest_of(&Link { seq, at, prev_hash, body_hash })
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
