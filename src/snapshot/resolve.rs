//! `resolve(key, environment, unit)` on a snapshot: no database, no write.

use super::{KeyState, Piece, Servable, Snapshot};
use crate::model::{ConfigKey, Content, Digest, Environment, EnvironmentPointer, KeyId, Refusal, ResolutionReason, Step};
use crate::rules::bucketing::unit_hash;
use crate::rules::resolution::{Chosen, Facts, resolve};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// What a unit gets, borrowing from the snapshot; [`Choice::json`] makes the answer of it.
#[derive(Debug)]
pub struct Choice<'a> {
    /// The key.
    pub key: &'a ConfigKey,
    /// The pointer.
    pub pointer: &'a EnvironmentPointer,
    /// What is served; none = use the code's default.
    pub served: Option<&'a Servable>,
    /// Why.
    pub reason: ResolutionReason,
    /// The unit's bucket, where one decided.
    pub bucket: Option<u16>,
    /// The unit's pseudonym.
    pub unit_hash: Option<String>,
    /// Each step, only when explained.
    pub steps: Vec<Step>,
}

impl Snapshot {
    /// What `unit` gets. None where there is no such key or no pointer.
    ///
    /// # Errors
    /// A unit that is empty or longer than 512 bytes.
    pub fn resolve(
        &self,
        key: &KeyId,
        environment: &Environment,
        unit: Option<&str>,
        explain: bool,
    ) -> Result<Option<Choice<'_>>, Refusal> {
        let Some(state) = self.state(key) else { return Ok(None) };
        let Some(pointer) = state.pointer(environment) else { return Ok(None) };
        let unit_hash = unit.map(|unit| unit_hash(&self.pepper.0, state.key.unit_type, unit)).transpose()?;
        let choice = choice(state, pointer, unit_hash.as_deref(), explain);
        Ok(Some(Choice { unit_hash, ..choice }))
    }
}

impl KeyState {
    /// What the unit with a pseudonym gets; the pseudonym is of the key's unit type. Beside it is the room for what is written of
    /// that outcome: nothing but the state, the environment and the reason decides what is served. None where there is no pointer.
    pub(crate) fn look(
        &self,
        environment: &Environment,
        unit_hash: Option<&str>,
    ) -> Option<(Choice<'_>, Option<&OnceLock<Piece>>)> {
        let place = self.pointers.iter().position(|pointer| pointer.environment == *environment)?;
        let choice = choice(self, &self.pointers[place], unit_hash, false);
        let room = self.kept.room(self.pointers.len(), place, choice.reason);
        Some((choice, room))
    }
}

/// What a unit gets; its pseudonym is not told again.
fn choice<'a>(state: &'a KeyState, pointer: &'a EnvironmentPointer, unit: Option<&str>, explain: bool) -> Choice<'a> {
    // A digest that has no content here cannot be served, so it counts as one that may not.
    let quarantined = |digest: &Digest| state.content(digest).is_none_or(|content| content.quarantined);
    let distrusted = state.distrusted.contains(&pointer.environment);
    let facts = Facts { key: &state.key, pointer, quarantined: &quarantined, distrusted, unit_hash: unit, explain };
    let Chosen { digest, reason, bucket, steps } = resolve(&facts);
    let served = digest.and_then(|digest| state.content(&digest));
    Choice { key: &state.key, pointer, served, reason, bucket, unit_hash: None, steps }
}

impl Choice<'_> {
    /// The answer as JSON (a `Resolution`), content and fragment bodies included, without a copy of either.
    ///
    /// # Errors
    /// None: every part is plain data.
    pub fn json(&self, stale: bool) -> serde_json::Result<Vec<u8>> {
        // Most contents are texts; what is larger lets the answer grow.
        let text = self.served.and_then(|served| served.content.body.as_str()).map_or(0, str::len);
        let mut bytes = Vec::with_capacity(1024 + text + text / 16);
        let none = BTreeMap::new();
        let answer = Answer {
            key_id: &self.key.key_id,
            environment: &self.pointer.environment,
            digest: self.served.map(|served| served.digest),
            reason: self.reason,
            variant: None,
            content: self.served.map(|served| &served.content),
            fragments: self.served.map_or(&none, |served| &served.fragments),
            revision: self.pointer.revision,
            killed: self.pointer.killed,
            stale,
            bucket: self.bucket,
            unit_hash: self.unit_hash.as_deref(),
            steps: &self.steps,
        };
        serde_json::to_writer(&mut bytes, &answer)?;
        Ok(bytes)
    }
}

/// A `Resolution` that borrows.
#[derive(Serialize)]
struct Answer<'a> {
    key_id: &'a KeyId,
    environment: &'a Environment,
    digest: Option<Digest>,
    reason: ResolutionReason,
    variant: Option<&'a str>,
    content: Option<&'a Content>,
    fragments: &'a BTreeMap<String, String>,
    revision: i64,
    killed: bool,
    stale: bool,
    bucket: Option<u16>,
    unit_hash: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Step]>::is_empty")]
    steps: &'a [Step],
}

#[cfg(test)]
mod tests {
    use super::super::tests::{key_changes, prod, share, snapshot};
    use super::*;
    use crate::model::{BasisPoints, Resolution};
    use crate::rules::canonical;

    fn read(choice: &Choice<'_>) -> Resolution {
        serde_json::from_slice(&choice.json(true).unwrap()).unwrap()
    }

    fn reasons(snapshot: &Snapshot, key: &KeyId) -> (ResolutionReason, Option<Digest>) {
        let choice = snapshot.resolve(key, &prod(), Some("u1"), false).unwrap().unwrap();
        let answer = read(&choice);
        assert_eq!(answer.content.as_ref().map(canonical::content_digest), answer.digest, "what serves is what its digest says");
        assert_eq!(answer.reason, choice.reason);
        (answer.reason, answer.digest)
    }

    #[test]
    fn a_key_without_pointer_resolves_to_nothing_and_a_unit_must_have_a_length() {
        let (snapshot, key, _) = snapshot();
        assert!(snapshot.resolve(&key, &"stage".parse().unwrap(), None, false).unwrap().is_none());
        assert!(snapshot.resolve(&"no.such".parse().unwrap(), &prod(), None, false).unwrap().is_none());
        assert!(snapshot.resolve(&key, &prod(), Some(""), false).is_err());
        assert!(snapshot.resolve(&key, &prod(), Some(&"u".repeat(513)), false).is_err());
    }

    #[test]
    fn a_kill_answers_the_safe_default_and_a_quarantined_one_is_no_value() {
        let (base, key, [_, safe]) = snapshot();
        let killed = |snapshot: &Snapshot, on| {
            let mut pointer = (**snapshot.pointer(&key, &prod()).unwrap()).clone();
            pointer.killed = on;
            snapshot.after(share::next(snapshot), vec![super::super::Change::Pointer(Box::new(pointer))])
        };
        let dead = killed(&base, true);
        assert_eq!(reasons(&dead, &key), (ResolutionReason::Killed, Some(safe)));
        let marked = dead.after(share::next(&dead), vec![super::super::Change::Quarantine(key.clone(), safe, true)]);
        assert_eq!(reasons(&marked, &key), (ResolutionReason::KilledNoDefault, None));
        assert_eq!(reasons(&dead, &key), (ResolutionReason::Killed, Some(safe)), "the older snapshot is as it was");
    }

    #[test]
    fn explaining_names_every_step_and_answers_the_same() {
        let (base, key, _) = snapshot();
        let half = base.after(share::next(&base), key_changes(&key, BasisPoints::new(5000).unwrap()));
        for unit in 0..100 {
            let unit = format!("unit-{unit}");
            let plain = half.resolve(&key, &prod(), Some(&unit), false).unwrap().unwrap();
            let explained = half.resolve(&key, &prod(), Some(&unit), true).unwrap().unwrap();
            assert_eq!((plain.reason, plain.bucket), (explained.reason, explained.bucket));
            assert!(plain.steps.is_empty() && !explained.steps.is_empty());
            assert_eq!(read(&plain).content, read(&explained).content);
        }
    }
}
