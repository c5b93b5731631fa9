//! Killing many keys of an environment: one kill and one event a key.

use super::command::Registry;
use super::kill::KillPointer;
use crate::model::{Code, KeyId, Refusal};
use crate::rules::access::{Caller, Need, allowed, sees};
use crate::rules::policy::matches;
use crate::wire::Problem;
use crate::wire::pointers::{Kill, KillMany, KillOutcome};

/// POST /v1/kill. Goes on when one of them fails; `problem` gives a refusal its status.
///
/// # Errors
/// `invalid` without keys or namespace, or with both; `precondition_failed` when the count is not the expected one.
pub async fn kill_many(
    registry: &Registry,
    caller: &Caller,
    body: KillMany,
    problem: impl Fn(Refusal) -> Problem,
) -> Result<Vec<KillOutcome>, Refusal> {
    let keys = meant(registry, caller, &body)?;
    if keys.len() != usize::try_from(body.expected_count).unwrap_or(usize::MAX) {
        return Err(Refusal::new(
            Code::PreconditionFailed,
            format!("this would kill {} keys in {}, you expected {}", keys.len(), body.environment, body.expected_count),
        )
        .hint("look again, then send the count that you saw")
        .current(&keys));
    }
    let mut outcomes = Vec::with_capacity(keys.len());
    for key in keys {
        let one = Kill { reason: body.reason, note: body.note.clone(), issued_at: None, seen_revision: None, dry_run: false };
        let verb = KillPointer { key: key.clone(), environment: body.environment.clone(), body: one };
        let (moved, problem) = match registry.run(caller, None, verb).await {
            Ok(done) => (Some(done.answer), None),
            Err(refusal) => (None, Some(problem(refusal))),
        };
        outcomes.push(KillOutcome { key_id: key, moved, problem });
    }
    Ok(outcomes)
}

/// The keys that are meant, sorted: those named, or all of a pattern that have a pointer there and that the caller may kill.
fn meant(registry: &Registry, caller: &Caller, body: &KillMany) -> Result<Vec<KeyId>, Refusal> {
    let snapshot = registry.snapshot.get();
    match (&body.namespace, body.keys.is_empty()) {
        (Some(_), false) => Err(Refusal::invalid("/namespace", "give `keys` or `namespace`, not both")),
        (None, true) => Err(Refusal::invalid("/keys", "name keys or a namespace")),
        (None, false) => {
            let mut keys = body.keys.clone();
            keys.sort();
            keys.dedup();
            Ok(keys)
        }
        (Some(pattern), true) => {
            let policy = snapshot.policy();
            let may = |key: &KeyId| {
                let key = snapshot.key(key)?;
                let seen = sees(policy, caller, key);
                let may = allowed(policy, caller, Need::Kill, Some(key), Some(&body.environment)).is_ok();
                (seen && may).then_some(())
            };
            let here = snapshot.pointers().filter(|pointer| pointer.environment == body.environment);
            let mut keys: Vec<KeyId> = here
                .map(|pointer| &pointer.key_id)
                .filter(|key| matches(pattern, key.namespace()) && may(key).is_some())
                .cloned()
                .collect();
            keys.sort();
            Ok(keys)
        }
    }
}
