//! Which audit events a journal keeps beside the database, and what of it an older database has to be told again.
//!
//! A kill that a backup does not know is done again, even where a revive followed it: the backup serves the digest that was
//! killed, and what the revive approved is lost with the rest. Only a kill that was taken back within its ten minutes is not.

use crate::model::restraint::{JournalEntry, Restraint};
use crate::model::{Action, Actor, AuditEvent, Digest, Environment, KeyId, KillReason};
use std::collections::{BTreeMap, BTreeSet};

/// The actions that a journal keeps.
pub const KEPT: &[Action] = &[
    Action::PointerKill,
    Action::PointerUndoKill,
    Action::TokenRevoke,
    Action::VersionQuarantine,
    Action::VersionLift,
    Action::PrivacyErase,
    Action::PolicyApply,
];

/// The line of a journal for an event; none for an event that holds nothing back.
pub fn entry(registry: Digest, event: &AuditEvent) -> Option<JournalEntry> {
    let body = event.body.as_ref()?;
    let text = |name: &str| body.detail.get(name).and_then(serde_json::Value::as_str);
    let named = |kind: &str| body.subject.0.strip_prefix(kind);
    let place = || Some((text("key_id")?.parse::<KeyId>().ok()?, text("environment")?.parse::<Environment>().ok()?));
    let restraint = match body.action {
        Action::PointerKill => {
            let (key_id, environment) = place()?;
            let reason = text("reason").and_then(|reason| reason.parse().ok()).unwrap_or(KillReason::Safety);
            Restraint::Kill { key_id, environment, reason, actor: body.actor.clone() }
        }
        Action::PointerUndoKill => {
            let (key_id, environment) = place()?;
            Restraint::UndoKill { key_id, environment }
        }
        Action::TokenRevoke => Restraint::Revoke { token_id: named("token:")?.to_owned() },
        Action::VersionQuarantine => Restraint::Quarantine {
            digest: named("digest:")?.parse().ok()?,
            rationale: text("rationale").unwrap_or_default().to_owned(),
            actor: body.actor.clone(),
        },
        Action::VersionLift => Restraint::Lift { digest: named("digest:")?.parse().ok()? },
        Action::PrivacyErase => Restraint::Erase { subject: body.subject.0.clone() },
        // The wish of a first admin changes nothing by itself.
        Action::PolicyApply if body.detail.contains_key("wish_on") => return None,
        Action::PolicyApply => Restraint::Policy { subject: body.subject.0.clone() },
        _ => return None,
    };
    Some(JournalEntry { registry, seq: event.seq, event_id: event.event_id, at: event.at, restraint })
}

/// The entries that a database does not have; `has` says whether it has the event of that number and hash. What stands before a
/// settled line that it has is done.
pub fn missing(registry: Digest, journal: &[JournalEntry], has: impl Fn(&JournalEntry) -> bool) -> Vec<JournalEntry> {
    let of_this: Vec<&JournalEntry> = journal.iter().filter(|entry| entry.registry == registry).collect();
    let settled = of_this.iter().rposition(|entry| entry.restraint == Restraint::Settled && has(entry));
    let mut lost: Vec<JournalEntry> = of_this
        .into_iter()
        .skip(settled.map_or(0, |at| at + 1))
        .filter(|entry| entry.restraint != Restraint::Settled && !has(entry))
        .cloned()
        .collect();
    lost.sort_by_key(|entry| (entry.at, entry.seq));
    lost.dedup();
    lost
}

/// What is to be done again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Again {
    /// Pointers to kill, with the reason and who killed.
    pub kills: BTreeMap<(KeyId, Environment), (KillReason, Actor)>,
    /// Tokens to end.
    pub tokens: BTreeSet<String>,
    /// Versions to mark, with why and who marked.
    pub quarantines: BTreeMap<Digest, (String, Actor)>,
    /// Subjects of erasures.
    pub erasures: Vec<String>,
    /// How many policies came into force.
    pub policies: usize,
}

/// What lost entries, in their order, come to.
pub fn again(lost: &[JournalEntry]) -> Again {
    let mut again = Again::default();
    for entry in lost {
        match entry.restraint.clone() {
            Restraint::Kill { key_id, environment, reason, actor } => {
                again.kills.insert((key_id, environment), (reason, actor));
            }
            Restraint::UndoKill { key_id, environment } => {
                again.kills.remove(&(key_id, environment));
            }
            Restraint::Revoke { token_id } => {
                again.tokens.insert(token_id);
            }
            Restraint::Quarantine { digest, rationale, actor } => {
                again.quarantines.insert(digest, (rationale, actor));
            }
            Restraint::Lift { digest } => {
                again.quarantines.remove(&digest);
            }
            Restraint::Erase { subject } => again.erasures.push(subject),
            Restraint::Policy { .. } => again.policies += 1,
            Restraint::Settled => {}
        }
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    const REGISTRY: Digest = Digest([1; 32]);

    fn line(seq: u64, restraint: Restraint) -> JournalEntry {
        let byte = u8::try_from(seq).unwrap();
        JournalEntry { registry: REGISTRY, seq, event_id: Digest([byte; 32]), at: Timestamp(i64::from(byte)), restraint }
    }

    fn kill(seq: u64, key: &str) -> JournalEntry {
        let (key_id, environment) = (key.parse().unwrap(), "live".parse().unwrap());
        line(seq, Restraint::Kill { key_id, environment, reason: KillReason::Safety, actor: Actor::person("ana") })
    }

    fn undo(seq: u64, key: &str) -> JournalEntry {
        line(seq, Restraint::UndoKill { key_id: key.parse().unwrap(), environment: "live".parse().unwrap() })
    }

    /// The numbers that a database lacks which has the events up to `head`, and those in `more`.
    fn lacks(journal: &[JournalEntry], head: u64, more: &[u64]) -> Vec<u64> {
        let has = |entry: &JournalEntry| entry.seq <= head || more.contains(&entry.seq);
        missing(REGISTRY, journal, has).into_iter().map(|entry| entry.seq).collect()
    }

    #[test]
    fn what_a_database_does_not_have_is_missing_in_whatever_order_it_was_written() {
        let journal = [kill(10, "a.b"), kill(21, "a.c"), kill(20, "a.d")];
        assert_eq!(lacks(&journal, 30, &[]), [0; 0]);
        assert_eq!(lacks(&journal, 20, &[]), [21]);
        assert_eq!(lacks(&journal, 9, &[]), [10, 20, 21]);
        let strange = [JournalEntry { registry: Digest([2; 32]), ..kill(10, "a.b") }];
        assert_eq!(lacks(&strange, 0, &[]), [0; 0], "a journal of another registry says nothing");
    }

    #[test]
    fn what_was_settled_in_this_database_is_done_and_in_an_older_one_it_is_not() {
        // Killed at 20; put back to 15, killed again as 40 and settled at 41.
        let journal = [kill(10, "a.b"), kill(20, "a.c"), kill(40, "a.c"), line(41, Restraint::Settled)];
        assert_eq!(lacks(&journal, 15, &[40, 41]), [0; 0]);
        assert_eq!(lacks(&journal, 15, &[]), [20, 40], "put back to 15 once more");
        assert_eq!(lacks(&journal, 15, &[40]), [20], "interrupted before it was settled");
    }

    #[test]
    fn kills_are_done_again_unless_they_were_taken_back() {
        for (journal, killed) in [
            (vec![kill(1, "a.b")], vec!["a.b"]),
            (vec![kill(1, "a.b"), undo(2, "a.b")], vec![]),
            (vec![kill(1, "a.b"), undo(2, "a.b"), kill(3, "a.b")], vec!["a.b"]),
            (vec![undo(2, "a.b"), kill(3, "a.c")], vec!["a.c"]),
        ] {
            let again = again(&journal);
            let keys: Vec<&str> = again.kills.keys().map(|(key, _)| key.as_str()).collect();
            assert_eq!(keys, killed);
        }
    }

    #[test]
    fn a_line_survives_json() {
        for entry in
            [kill(1, "a.b"), undo(2, "a.b"), line(3, Restraint::Settled), line(4, Restraint::Revoke { token_id: "cs_a".into() })]
        {
            let text = serde_json::to_string(&entry).unwrap();
            assert_eq!(serde_json::from_str::<JournalEntry>(&text).unwrap(), entry, "{text}");
        }
    }
}
