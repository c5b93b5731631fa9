//! `resolve(key, environment, unit)` on a snapshot: no database, no write.

use super::{KeyState, Servable, Snapshot};
use crate::model::{ConfigKey, Environment, EnvironmentPointer, KeyId, Refusal, Resolution, ResolutionReason, Step};
use std::sync::Arc;

/// What a unit gets, borrowing from the snapshot; [`Choice::resolution`] makes the answer of it.
#[derive(Debug)]
pub struct Choice<'a> {
    /// The key.
    pub key: &'a ConfigKey,
    /// The pointer.
    pub pointer: &'a EnvironmentPointer,
    /// What is served; none = use the code's default.
    pub served: Option<&'a Arc<Servable>>,
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
        let _ = (key, environment, unit, explain, KeyState::content);
        unimplemented!()
    }
}

impl Choice<'_> {
    /// The answer, content and fragment bodies included.
    pub fn resolution(&self, stale: bool) -> Resolution {
        let served = self.served;
        Resolution {
            key_id: self.key.key_id.clone(),
            environment: self.pointer.environment.clone(),
            digest: served.map(|s| s.digest),
            reason: self.reason,
            variant: None,
            content: served.map(|s| s.content.clone()),
            fragments: served.map(|s| s.fragments.clone()).unwrap_or_default(),
            revision: self.pointer.revision,
            killed: self.pointer.killed,
            stale,
            bucket: self.bucket,
            unit_hash: self.unit_hash.clone(),
            steps: self.steps.clone(),
        }
    }
}
