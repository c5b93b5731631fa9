//! A bundle: what one environment serves, whole and signed; an application's fallback when the registry is away.

use super::{Content, Digest, Environment, KeyId, ResolutionReason, Timestamp, UnitType};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The `format` of bundles as they are described here.
pub const BUNDLE_FORMAT: &str = "countersign-bundle/1";

/// A bundle with what proves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignedBundle {
    /// What is served.
    pub bundle: Bundle,
    /// `sha256(JCS(bundle))`.
    pub digest: Digest,
    /// A checkpoint of the audit chain whose line `bundle ENVIRONMENT DIGEST` names `digest`; a signed note.
    pub checkpoint: String,
    /// The public key that signed it, `NAME+HEX+BASE64`. It proves nothing by itself: compare it with one that came another way.
    pub key: String,
}

/// What one environment serves. Confidential keys are never in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bundle {
    /// [`BUNDLE_FORMAT`].
    pub format: String,
    /// `event_id` of the registry's first audit event.
    pub registry: Digest,
    /// The environment.
    pub environment: Environment,
    /// The newest audit event that it includes.
    pub seq: u64,
    /// When it was made.
    pub made_at: Timestamp,
    /// What each key serves.
    pub keys: BTreeMap<KeyId, BundledKey>,
    /// The contents that `keys` names, by digest (SHA-256 of the content's canonical JSON).
    pub contents: BTreeMap<Digest, Content>,
    /// The fragments that `contents` pin, by digest (SHA-256 of the canonical JSON of `{"name", "body"}`).
    pub fragments: BTreeMap<Digest, BundledFragment>,
}

/// What a key serves to a reader that has no unit: while a rollout runs that is its baseline, never a random pick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundledKey {
    /// The content; null = use the code's default.
    pub digest: Option<Digest>,
    /// Why.
    pub reason: ResolutionReason,
    /// The pointer's revision.
    pub revision: i64,
    /// Whether the kill switch is on.
    pub killed: bool,
    /// What is bucketed.
    pub unit_type: UnitType,
}

/// A fragment's revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BundledFragment {
    /// Its name, as templates include it.
    pub name: String,
    /// Its text.
    pub body: String,
}
