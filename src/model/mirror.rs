//! A mirror: all that a relay needs to answer as its registry would, whole and signed.

use super::bundle::BundledFragment;
use super::{Actor, ChainHead, ConfigKey, Content, Digest, Environment, EnvironmentPointer, Role, Timestamp, Token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `format` of mirrors as they are described here.
pub const MIRROR_FORMAT: &str = "countersign-mirror/1";

/// A mirror with what proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignedMirror {
    /// What a relay needs.
    pub mirror: Mirror,
    /// `sha256(JCS(mirror))`.
    pub digest: Digest,
    /// A checkpoint of the audit chain whose line `mirror DIGEST` names `digest`; a signed note.
    pub checkpoint: String,
    /// The public key that signed it, `NAME+HEX+BASE64`. It proves nothing by itself: compare it with one that came another way.
    pub key: String,
}

/// What a registry serves where the relay may resolve, and who may ask for it there. Confidential keys are never in it, and no
/// secret is: neither the unit pepper nor a token, only their hashes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mirror {
    /// [`MIRROR_FORMAT`].
    pub format: String,
    /// `event_id` of the registry's first audit event.
    pub registry: Digest,
    /// The registry's name, for people.
    pub name: String,
    /// The newest audit event that it includes.
    pub head: ChainHead,
    /// When it was made.
    pub made_at: Timestamp,
    /// Fingerprint of the pepper under which units become pseudonyms.
    pub pepper: Digest,
    /// The policy's environments, in its order.
    pub environments: Vec<String>,
    /// The grants of those who own `tokens`.
    pub grants: Vec<MirroredGrant>,
    /// The groups that `grants` name, with those members alone who own `tokens`.
    pub groups: BTreeMap<String, Vec<Actor>>,
    /// The tokens that only resolve, and are neither revoked nor expired.
    pub tokens: Vec<MirroredToken>,
    /// The keys, sorted by name.
    pub keys: Vec<MirroredKey>,
    /// The contents that `keys` name, by digest (SHA-256 of the content's canonical JSON).
    pub contents: BTreeMap<Digest, Content>,
    /// The fragments that `contents` pin, by digest (SHA-256 of the canonical JSON of `{"name", "body"}`).
    pub fragments: BTreeMap<Digest, BundledFragment>,
}

/// `[[role]]` of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredGrant {
    /// `person:…`, `service:…` or `group:…`.
    pub who: String,
    /// The role.
    pub role: Role,
    /// A namespace pattern; null = everywhere.
    pub namespace: Option<String>,
    /// An environment; null = everywhere.
    pub environment: Option<String>,
}

/// A token as it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredToken {
    /// The row.
    pub token: Token,
    /// SHA-256 of the token's whole text.
    pub hash: Digest,
}

/// Everything about one key that resolving needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MirroredKey {
    /// The key.
    pub key: ConfigKey,
    /// Its pointers, sorted by environment.
    pub pointers: Vec<EnvironmentPointer>,
    /// Which of the digests that serve, or may serve at once, carry the quarantine mark; sorted.
    pub quarantined: Vec<Digest>,
    /// Where a kill does not serve the safe default, since it was itself killed there; sorted.
    pub distrusted: Vec<Environment>,
}

impl MirroredKey {
    /// The digests that serve, or may serve at once: of pointers, baselines, the safe default.
    pub fn named(&self) -> impl Iterator<Item = Digest> {
        let pointers = self.pointers.iter().flat_map(|pointer| [Some(pointer.digest), pointer.baseline_digest]);
        pointers.chain([self.key.safe_default_digest]).flatten()
    }
}
