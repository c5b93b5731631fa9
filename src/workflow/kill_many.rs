//! Killing many keys of an environment: one kill and one event a key.

use super::command::Registry;
use super::kill::KillPointer;
use crate::model::{Code, KeyId, KeyPattern, Refusal};
use crate::rules::access::{Caller, Need, allowed, sees};
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
    let names = meant(registry, caller, &body)?;
    let expected = usize::try_from(body.expected_count).unwrap_or(usize::MAX);
    // Who named a key twice may have counted it twice: what is meant is plain, and a kill is not refused over it.
    if expected != names.len() && (body.keys.is_empty() || expected != body.keys.len()) {
        return Err(Refusal::new(
            Code::PreconditionFailed,
            format!("this would kill {} keys in {}, you expected {}", names.len(), body.environment, body.expected_count),
        )
        .hint("look again, then send the count that you saw")
        .current(&names));
    }
    let mut outcomes = Vec::with_capacity(names.len());
    for name in names {
        let done = match name.parse::<KeyId>() {
            Ok(key) => {
                let one =
                    Kill { reason: body.reason, note: body.note.clone(), issued_at: None, seen_revision: None, dry_run: false };
                let verb = KillPointer { key, environment: body.environment.clone(), body: one };
                registry.run(caller, None, verb).await.map(|done| done.answer)
            }
            Err(why) => {
                Err(Refusal::invalid("/keys", why.to_string()).hint("the others were not held up by it; send this one again"))
            }
        };
        let (moved, problem) = match done {
            Ok(moved) => (Some(moved), None),
            Err(refusal) => (None, Some(problem(refusal))),
        };
        outcomes.push(KillOutcome { key_id: name, moved, problem });
    }
    Ok(outcomes)
}

/// The names that are meant, each once and sorted: those given, or all that a pattern covers, that have a pointer there and that
/// the caller may kill.
fn meant(registry: &Registry, caller: &Caller, body: &KillMany) -> Result<Vec<String>, Refusal> {
    match (&body.namespace, body.keys.is_empty()) {
        (Some(_), false) => Err(Refusal::invalid("/namespace", "give `keys` or `namespace`, not both")),
        (None, true) => Err(Refusal::invalid("/keys", "name keys or a namespace")),
        (None, false) => {
            let mut names = body.keys.clone();
            names.sort();
            names.dedup();
            Ok(names)
        }
        (Some(pattern), true) => Ok(covered(registry, caller, body, pattern)),
    }
}

fn covered(registry: &Registry, caller: &Caller, body: &KillMany, pattern: &KeyPattern) -> Vec<String> {
    let snapshot = registry.snapshot.get();
    let policy = snapshot.policy();
    let may = |key: &KeyId| {
        snapshot.key(key).is_some_and(|key| {
            sees(policy, caller, key) && allowed(policy, caller, Need::Kill, Some(key), Some(&body.environment)).is_ok()
        })
    };
    let here = snapshot.pointers().filter(|pointer| pointer.environment == body.environment);
    let mut names: Vec<String> = here
        .map(|pointer| &pointer.key_id)
        .filter(|key| pattern.covers(key.as_str()) && may(key))
        .map(ToString::to_string)
        .collect();
    names.sort();
    names
}
