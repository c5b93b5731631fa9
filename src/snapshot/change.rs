//! What a commit changed, as after-states, and how it enters a snapshot.

use super::{HeldToken, KeyState, Servable, Snapshot, Written};
use crate::model::{ChainHead, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Policy};
use std::sync::Arc;

/// One after-state. A list of them, in any order but `Key` before what belongs to the key, is what a commit publishes.
#[derive(Debug, Clone)]
pub enum Change {
    /// Another policy is in force.
    Policy(Arc<Policy>, Digest),
    /// A key was made or changed (its safe default included).
    Key(Box<ConfigKey>),
    /// A pointer was made or moved. Contents that it newly names come as [`Change::Content`] in the same list.
    Pointer(Box<EnvironmentPointer>),
    /// A content that now may serve: of a pointer, a baseline, a safe default. Contents that nothing names are dropped.
    Content(Box<Servable>),
    /// The quarantine mark was set or lifted (versions that cannot serve are ignored).
    Quarantine(KeyId, Digest, bool),
    /// A token was made or revoked.
    Token(Box<HeldToken>),
    /// Why nothing may be changed; none where all may.
    ReadOnly(Option<Arc<str>>),
}

/// Numbers of the commits that last changed what serves, by environment and everywhere.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moved {
    places: imbl::HashMap<Environment, u64>,
    everywhere: u64,
}

impl Moved {
    /// Everything may have changed with this commit.
    pub(super) fn all(seq: u64) -> Self {
        Self { places: imbl::HashMap::new(), everywhere: seq }
    }

    pub(super) fn at(&self, environment: &Environment) -> u64 {
        self.places.get(environment).copied().unwrap_or(0).max(self.everywhere)
    }
}

impl Snapshot {
    /// The state after a commit whose newest audit event is `head`. O(changes x log n).
    #[must_use]
    pub fn after(&self, head: ChainHead, changes: Vec<Change>) -> Self {
        let mut next = self.clone();
        let mut touched: Vec<KeyId> = Vec::new();
        for change in changes {
            next.note(&change, head.seq);
            if let Some(key) = next.enter(change) {
                touched.push(key);
            }
        }
        touched.sort();
        touched.dedup();
        for key in &touched {
            next.drop_unnamed(key);
        }
        if !Arc::ptr_eq(&next.policy, &self.policy) {
            next.policy = next.with_members(&next.policy, head.at);
        }
        if head.seq == 1 {
            next.genesis = Some(head.event_id);
        }
        next.head = head;
        next
    }

    /// Notes where a change may be seen, before it is entered.
    fn note(&mut self, change: &Change, seq: u64) {
        let open = |id: &KeyId| self.keys.get(id).is_some_and(|state| !state.key.confidential);
        match change {
            Change::Pointer(pointer) if open(&pointer.key_id) => {
                self.moved.places.insert(pointer.environment.clone(), seq);
            }
            Change::Key(key) if !key.confidential || open(&key.key_id) => self.moved.everywhere = seq,
            Change::Quarantine(id, ..) if open(id) => self.moved.everywhere = seq,
            Change::Policy(..) => self.moved.everywhere = seq,
            // A content serves by what names it.
            Change::Pointer(_)
            | Change::Key(_)
            | Change::Quarantine(..)
            | Change::Content(_)
            | Change::Token(_)
            | Change::ReadOnly(_) => {}
        }
    }

    fn enter(&mut self, change: Change) -> Option<KeyId> {
        match change {
            Change::Policy(policy, digest) => {
                self.policy = policy;
                self.policy_digest = digest;
                None
            }
            Change::ReadOnly(why) => {
                self.read_only = why;
                None
            }
            Change::Token(held) => {
                self.tokens.insert(held.token.token_id.clone(), Arc::from(held));
                None
            }
            Change::Key(key) => {
                let id = key.key_id.clone();
                let key: Arc<ConfigKey> = Arc::from(key);
                if let Some(state) = self.state_mut(&id) {
                    state.key = key;
                } else {
                    let state = KeyState { key, pointers: Vec::new(), contents: Vec::new() };
                    self.keys.insert(id.clone(), Arc::new(state));
                }
                Some(id)
            }
            Change::Pointer(pointer) => {
                let id = pointer.key_id.clone();
                let pointer: Arc<EnvironmentPointer> = Arc::from(pointer);
                let state = self.state_mut(&id)?;
                match state.pointers.iter_mut().find(|p| p.environment == pointer.environment) {
                    Some(held) => *held = pointer,
                    None => state.pointers.push(pointer),
                }
                Some(id)
            }
            Change::Content(servable) => {
                let id = servable.content.key.clone();
                let written = Arc::new(Written::new(*servable));
                let digest = written.servable().digest;
                let state = self.state_mut(&id)?;
                match state.contents.iter_mut().find(|c| c.servable().digest == digest) {
                    Some(held) => *held = written,
                    None => state.contents.push(written),
                }
                Some(id)
            }
            Change::Quarantine(id, digest, quarantined) => {
                let state = self.state_mut(&id)?;
                let held = state.contents.iter_mut().find(|c| c.servable().digest == digest)?;
                Arc::make_mut(held).mark(quarantined);
                None
            }
        }
    }

    fn state_mut(&mut self, key: &KeyId) -> Option<&mut KeyState> {
        self.keys.get_mut(key).map(Arc::make_mut)
    }

    /// Drops the contents that neither a pointer nor the safe default names any more.
    fn drop_unnamed(&mut self, key: &KeyId) {
        let Some(state) = self.state_mut(key) else { return };
        let KeyState { key, pointers, contents } = state;
        contents.retain(|content| {
            let digest = Some(content.servable().digest);
            key.safe_default_digest == digest || pointers.iter().any(|p| Some(p.digest) == digest || p.baseline_digest == digest)
        });
    }
}
