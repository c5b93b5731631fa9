//! `fragment`: named, content-addressed text that versions pin by digest.

use super::{Actor, Digest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A row of `fragment`; `digest = SHA-256(JCS({"name","body"}))`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fragment {
    /// Row id.
    pub fragment_id: Uuid,
    /// Content address.
    pub digest: Digest,
    /// One key segment, or several joined by dots.
    pub name: String,
    /// The policy's group that owns it.
    pub owning_group: String,
    /// The text.
    pub body: String,
    /// Who wrote it (cannot approve versions that pin it).
    pub author: Actor,
    /// When.
    pub created_at: Timestamp,
}
