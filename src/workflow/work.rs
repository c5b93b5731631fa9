//! What a verb works with inside its transaction, and what it gives back.

use crate::clock::Clock;
use crate::model::{
    Action, Actor, ActorKind, Code, ConfigKey, Digest, Environment, KeyId, MOST_TEXT, Policy, Refusal, Subject, Timestamp,
    Version,
};
use crate::rules::access::{self, Caller, Need};
use crate::rules::hidden::is_blank;
use crate::snapshot::{Change, Meter, Snapshot};
use crate::storage::Conn;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use uuid::Uuid;

/// One change of the registry: decides and writes, in the transaction that it is given. It may run again when the engine
/// asks for it (a deadlock), so it keeps nothing outside that transaction.
pub trait Verb: Send + Sync + 'static {
    /// What the caller gets.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Decides and writes. An outcome without an event changes nothing: its transaction is rolled back (dry runs, repeats).
    ///
    /// # Errors
    /// Why not; then nothing is written.
    fn act(&self, work: &mut Work<'_>) -> impl Future<Output = Result<Outcome<Self::Answer>, Refusal>> + Send;

    /// What a denied attempt is recorded about (`access.denied`); none where the act is not a protected one.
    fn protects(&self) -> Option<Subject> {
        None
    }

    /// Whether a retry is answered from what the first one kept. A kill says no: it looks again and acts.
    fn replays(&self) -> bool {
        true
    }

    /// Whether it only holds back (or only records): such verbs work while the registry is read-only.
    fn holds_back(&self) -> bool {
        false
    }

    /// What is kept for a retry: the answer, but for secrets.
    fn keep(answer: &Self::Answer) -> Value {
        serde_json::to_value(answer).unwrap_or(Value::Null)
    }
}

/// What a verb did.
#[derive(Debug, Clone)]
pub struct Outcome<A> {
    /// What the caller gets.
    pub answer: A,
    /// Whether something was made (201) or not (200).
    pub created: bool,
    /// The one audit event; none where nothing changed.
    pub event: Option<Deed>,
    /// What the snapshot is to learn.
    pub changes: Vec<Change>,
}

/// What the audit event says.
#[derive(Debug, Clone)]
pub struct Deed {
    /// What was done.
    pub action: Action,
    /// To what.
    pub subject: Subject,
    /// The particulars.
    pub detail: Map<String, Value>,
}

impl<A> Outcome<A> {
    /// Nothing changed.
    pub fn unchanged(answer: A) -> Self {
        Self { answer, created: false, event: None, changes: Vec::new() }
    }

    /// Something changed. `detail` is an object of anything with serde; what is not an object stands under `value`.
    pub fn done(answer: A, action: Action, subject: Subject, detail: &impl Serialize) -> Self {
        let detail = match serde_json::to_value(detail) {
            Ok(Value::Object(members)) => members,
            Ok(other) => Map::from_iter([("value".to_owned(), other)]),
            Err(_) => Map::new(),
        };
        Self { answer, created: false, event: Some(Deed { action, subject, detail }), changes: Vec::new() }
    }

    /// The same, as something that was made (201).
    pub fn created(mut self) -> Self {
        self.created = true;
        self
    }

    /// The same, with what the snapshot is to learn.
    pub fn changing(mut self, changes: impl IntoIterator<Item = Change>) -> Self {
        self.changes.extend(changes);
        self
    }
}

/// A verb's surroundings. The audit head is locked: nothing else is written until this transaction ends.
#[derive(Debug)]
pub struct Work<'t> {
    /// The transaction.
    pub conn: Conn<'t>,
    /// Who acts.
    pub caller: &'t Caller,
    /// The policy in force, as of this transaction.
    pub policy: Arc<Policy>,
    /// SHA-256 of its TOML.
    pub policy_digest: Digest,
    /// This moment; never before the newest event's.
    pub at: Timestamp,
    /// The number that this verb's event will have.
    pub seq: u64,
    /// Where ids and random bytes come from.
    pub clock: &'t Clock,
    /// How much pointers are used.
    pub meter: &'t Meter,
    /// The newest published state; it may be some commits behind. Decide on what `conn` reads.
    pub snapshot: Arc<Snapshot>,
    pub(super) denied: Option<String>,
}

impl<'t> Work<'t> {
    /// Whether the caller has a right; a refusal is remembered, so that the attempt at a protected act is recorded. The
    /// registry itself (`system:…`, for which no token is ever made) has every right.
    ///
    /// # Errors
    /// `not_found` where the caller may not know of the key; `forbidden` for all else.
    pub fn allow(&mut self, need: Need, key: Option<&ConfigKey>, environment: Option<&Environment>) -> Result<(), Refusal> {
        if self.caller.actor.kind == ActorKind::System {
            return Ok(());
        }
        let allowed = access::allowed(&self.policy, self.caller, need, key, environment);
        if allowed.is_err() {
            self.denied = Some(need.to_string());
        }
        allowed
    }

    /// A key that the caller may know of.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn key(&mut self, key: &KeyId) -> Result<ConfigKey, Refusal> {
        let found = self.conn.key_get(key).await?;
        self.known(found)
    }

    /// A key that was read, where the caller may know of it.
    ///
    /// # Errors
    /// `not_found`.
    pub fn known(&self, found: Option<ConfigKey>) -> Result<ConfigKey, Refusal> {
        let found = found.ok_or_else(Refusal::not_found)?;
        let system = self.caller.actor.kind == ActorKind::System;
        if system || access::sees(&self.policy, self.caller, &found) { Ok(found) } else { Err(Refusal::not_found()) }
    }

    /// A version and its key, where the caller may know of them.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn version(&mut self, digest: &Digest) -> Result<(ConfigKey, Version), Refusal> {
        let version = self.conn.version_get(digest).await?.ok_or_else(Refusal::not_found)?;
        let key = self.key(&version.key_id).await?;
        Ok((key, version))
    }

    /// A refusal by a rule that only this verb knows, remembered like those of [`Work::allow`].
    pub fn deny(&mut self, attempt: &str, detail: impl Into<String>) -> Refusal {
        self.denied = Some(attempt.to_owned());
        Refusal::new(Code::Forbidden, detail)
    }

    /// Whether the policy has a group of that name.
    ///
    /// # Errors
    /// `invalid` at `path`, with the groups that there are.
    pub fn group(&self, path: &str, name: &str) -> Result<(), Refusal> {
        if self.policy.groups.contains_key(name) {
            return Ok(());
        }
        let known: Vec<&str> = self.policy.groups.keys().map(String::as_str).collect();
        Err(Refusal::invalid(path, "names a group that the policy does not have").hint(format!("groups: {}", known.join(", "))))
    }

    /// Who acts.
    pub fn actor(&self) -> &'t Actor {
        &self.caller.actor
    }

    /// A fresh UUID v7.
    pub fn uuid(&self) -> Uuid {
        self.clock.uuid()
    }
}

/// A text that people must give: not blank, no U+0000, not endless.
///
/// # Errors
/// `invalid` at `path`.
pub fn not_blank(path: &str, text: &str) -> Result<(), Refusal> {
    if is_blank(text) {
        return Err(Refusal::invalid(path, format!("{} is blank", path.trim_start_matches('/')))
            .hint("say why, for those who read it later"));
    }
    no_nul(path, text)
}

/// A text without U+0000, which PostgreSQL's texts cannot hold, and of no more than [`MOST_TEXT`].
///
/// # Errors
/// `invalid` at `path`.
pub fn no_nul(path: &str, text: &str) -> Result<(), Refusal> {
    if text.len() > MOST_TEXT {
        let refusal = Refusal::invalid(path, format!("is {} bytes long, more than {MOST_TEXT}", text.len()));
        return Err(refusal.hint("say it shorter, and link to the rest"));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(path, "holds U+0000, which only content may").hint("take the character out"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_reasons_are_refused_with_their_place() {
        for blank in ["", " ", "\n\t ", "\u{a0}\u{2003}", "\u{200b}\u{2060}\u{feff}"] {
            let refusal = not_blank("/rationale", blank).unwrap_err();
            assert_eq!((refusal.code, refusal.path.as_deref()), (Code::Invalid, Some("/rationale")), "{blank:?}");
        }
        assert!(not_blank("/rationale", " why ").is_ok());
        assert!(not_blank("/rationale", "a\0b").is_err());
        assert!(not_blank("/rationale", &"a".repeat(MOST_TEXT)).is_ok());
        let refusal = no_nul("/note", &"a".repeat(MOST_TEXT + 1)).unwrap_err();
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::Invalid, Some("/note")));
    }

    #[test]
    fn a_detail_is_always_an_object() {
        let outcome = Outcome::done((), Action::KeyCreate, Subject(String::new()), &3);
        assert_eq!(outcome.event.unwrap().detail["value"], 3);
    }
}
