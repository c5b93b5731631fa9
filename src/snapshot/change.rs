//! What a commit changed, as after-states, and how it enters a snapshot.

use super::{HeldToken, Kept, KeyState, Servable, Snapshot};
use crate::model::{ChainHead, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Policy};
use std::sync::Arc;

/// One after-state. A list of them is what a commit publishes: those of one key together, `Key` first.
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

    /// Something changed in an environment with this commit.
    pub(super) fn note(&mut self, environment: &Environment, seq: u64) {
        self.places.insert(environment.clone(), seq);
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
        // The key that is being changed, outside of the map: it is found once and put back once.
        let mut open: Option<KeyState> = None;
        for change in changes {
            next.note(open.as_ref(), &change, head.seq);
            match change {
                Change::ReadOnly(why) => next.read_only = why,
                Change::Policy(policy, digest) => (next.policy, next.policy_digest) = (policy, digest),
                Change::Token(held) => {
                    next.tokens.insert(held.token.token_id.clone(), Arc::from(held));
                }
                Change::Key(key) => {
                    next.open(&mut open, &key.key_id);
                    match &mut open {
                        Some(state) => state.take_key(Arc::from(key)),
                        None => open = Some(KeyState::new(Arc::from(key))),
                    }
                }
                Change::Pointer(pointer) => {
                    next.open(&mut open, &pointer.key_id);
                    if let Some(state) = &mut open {
                        state.take_pointer(Arc::from(pointer));
                    }
                }
                Change::Content(servable) => {
                    next.open(&mut open, &servable.content.key);
                    if let Some(state) = &mut open {
                        state.take_content(Arc::from(servable));
                    }
                }
                Change::Quarantine(key, digest, quarantined) => {
                    next.open(&mut open, &key);
                    let held = open.as_mut().and_then(|state| state.contents.iter_mut().find(|c| c.digest == digest));
                    if let Some(held) = held {
                        Arc::make_mut(held).quarantined = quarantined;
                    }
                }
            }
        }
        next.close(open);
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
    fn note(&mut self, held: Option<&KeyState>, change: &Change, seq: u64) {
        let open = |id: &KeyId| {
            let state = held.filter(|state| state.key.key_id == *id).or_else(|| self.state(id).map(Arc::as_ref));
            state.is_some_and(|state| !state.key.confidential)
        };
        match change {
            Change::Pointer(pointer) if open(&pointer.key_id) => {
                self.moved.note(&pointer.environment, seq);
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

    /// Makes `open` the state of `key`, none where there is no such key; what was open before is put back.
    fn open(&mut self, open: &mut Option<KeyState>, key: &KeyId) {
        if open.as_ref().is_none_or(|state| state.key.key_id != *key) {
            let found = self.state(key).map(|state| (**state).clone());
            self.close(std::mem::replace(open, found));
        }
    }

    fn close(&mut self, open: Option<KeyState>) {
        if let Some(mut state) = open {
            state.drop_unnamed();
            self.keys.insert(state);
        }
    }
}

impl KeyState {
    pub(super) fn new(key: Arc<ConfigKey>) -> Self {
        Self { key, pointers: Vec::new(), contents: Vec::new(), distrusted: Vec::new(), kept: Kept::default() }
    }

    fn take_key(&mut self, key: Arc<ConfigKey>) {
        // Another safe default was approved as such, whatever became of it before.
        if key.safe_default_digest != self.key.safe_default_digest {
            self.distrusted.clear();
        }
        self.key = key;
    }

    fn take_pointer(&mut self, pointer: Arc<EnvironmentPointer>) {
        // What serves, or is killed, is the safe default itself: that decides whether a kill may serve it from now on.
        if self.key.safe_default_digest == Some(pointer.digest) {
            self.distrusted.retain(|place| *place != pointer.environment);
            if pointer.killed {
                self.distrusted.push(pointer.environment.clone());
            }
        }
        match self.pointers.iter_mut().find(|p| p.environment == pointer.environment) {
            Some(held) => *held = pointer,
            None => self.pointers.push(pointer),
        }
    }

    fn take_content(&mut self, content: Arc<Servable>) {
        match self.contents.iter_mut().find(|c| c.digest == content.digest) {
            Some(held) => *held = content,
            None => self.contents.push(content),
        }
    }

    /// Drops the contents that neither a pointer nor the safe default names any more.
    fn drop_unnamed(&mut self) {
        let Self { key, pointers, contents, .. } = self;
        contents.retain(|content| {
            let digest = Some(content.digest);
            key.safe_default_digest == digest || pointers.iter().any(|p| Some(p.digest) == digest || p.baseline_digest == digest)
        });
    }
}
