//! What answers without a database: keys, pointers, contents, tokens and policy in one immutable value (R18).
//!
//! A [`Snapshot`] never changes; a [`SnapshotCell`] holds the newest one. What a commit changed is published as a list of
//! [`Change`]s, in the order of the audit chain, and costs O(log n): the maps are persistent, so old and new share almost all.

mod cell;
mod change;
pub mod meter;
mod resolve;

pub use cell::{Freshness, SnapshotCell};
pub use change::Change;
pub use meter::Meter;
pub use resolve::Choice;

use crate::model::{ChainHead, ConfigKey, Content, Digest, Environment, EnvironmentPointer, KeyId, Policy, Token};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The 32 secret bytes under which units become pseudonyms (R15); `Debug` shows nothing of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pepper(pub [u8; 32]);

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// A content that serves or may serve at once: a pointer's digest, its baseline, the safe default.
#[derive(Debug, Clone, PartialEq)]
pub struct Servable {
    /// Its name.
    pub digest: Digest,
    /// The content.
    pub content: Content,
    /// Bodies of the pinned fragments by name.
    pub fragments: BTreeMap<String, String>,
    /// Whether it carries the quarantine mark.
    pub quarantined: bool,
}

/// A token as it is checked: the row, and the SHA-256 of the token's whole text.
#[derive(Clone, PartialEq, Eq)]
pub struct HeldToken {
    /// The row.
    pub token: Token,
    /// SHA-256 of the whole text, `cs_` and checksum included.
    pub hash: Digest,
}

impl fmt::Debug for HeldToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldToken({})", self.token.token_id)
    }
}

/// Everything about one key that resolving needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyState {
    pub(crate) key: Arc<ConfigKey>,
    pub(crate) pointers: Vec<Arc<EnvironmentPointer>>,
    pub(crate) contents: Vec<Arc<Servable>>,
}

/// One consistent state of the registry. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) policy: Arc<Policy>,
    pub(crate) policy_digest: Digest,
    pub(crate) keys: imbl::HashMap<KeyId, Arc<KeyState>>,
    pub(crate) tokens: imbl::HashMap<String, Arc<HeldToken>>,
    pub(crate) pepper: Pepper,
    pub(crate) head: ChainHead,
    pub(crate) genesis: Option<Digest>,
}

impl Snapshot {
    /// A registry in which nothing has happened yet.
    pub fn empty(pepper: Pepper) -> Self {
        let head = ChainHead { seq: 0, event_id: Digest::ZERO, at: crate::model::Timestamp(0) };
        Self {
            policy: Arc::default(),
            policy_digest: Digest::ZERO,
            keys: imbl::HashMap::new(),
            tokens: imbl::HashMap::new(),
            pepper,
            head,
            genesis: None,
        }
    }
    /// The policy in force.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }
    /// SHA-256 of the policy's TOML bytes.
    pub fn policy_digest(&self) -> Digest {
        self.policy_digest
    }
    /// A key, confidential or not: ask `rules::access::sees` before showing it.
    pub fn key(&self, key: &KeyId) -> Option<&Arc<ConfigKey>> {
        self.keys.get(key).map(|state| &state.key)
    }
    /// All keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<ConfigKey>> {
        self.keys.values().map(|state| &state.key)
    }
    /// A pointer.
    pub fn pointer(&self, key: &KeyId, environment: &Environment) -> Option<&Arc<EnvironmentPointer>> {
        self.keys.get(key)?.pointer(environment)
    }
    /// All pointers, in no order.
    pub fn pointers(&self) -> impl Iterator<Item = &Arc<EnvironmentPointer>> {
        self.keys.values().flat_map(|state| &state.pointers)
    }
    /// A content of a key that serves or may serve at once.
    pub fn servable(&self, key: &KeyId, digest: &Digest) -> Option<&Arc<Servable>> {
        self.keys.get(key)?.content(digest)
    }
    /// A token by its id (`cs_` and 10 letters).
    pub fn token(&self, token_id: &str) -> Option<&Arc<HeldToken>> {
        self.tokens.get(token_id)
    }
    /// The secret under which units become pseudonyms.
    pub fn pepper(&self) -> &Pepper {
        &self.pepper
    }
    /// The newest audit event that this state includes.
    pub fn head(&self) -> ChainHead {
        self.head
    }
    /// `event_id` of the first audit event: which registry this is.
    pub fn genesis(&self) -> Option<Digest> {
        self.genesis
    }
}

impl KeyState {
    pub(crate) fn pointer(&self, environment: &Environment) -> Option<&Arc<EnvironmentPointer>> {
        self.pointers.iter().find(|p| p.environment == *environment)
    }
    pub(crate) fn content(&self, digest: &Digest) -> Option<&Arc<Servable>> {
        self.contents.iter().find(|c| c.digest == *digest)
    }
}
