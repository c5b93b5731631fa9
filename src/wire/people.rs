//! Envelopes of tokens and callers.

use crate::model::{Actor, Scope, Token};
use serde::{Deserialize, Serialize};

/// POST /v1/tokens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Oneself, or a service; an admin may make one for any person or service of the policy.
    pub actor: Actor,
    /// What it may do.
    #[serde(default = "full")]
    pub scope: Scope,
    /// Days until it expires, 1 to 3650; 90 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_days: Option<u32>,
    /// For people.
    #[serde(default)]
    pub note: String,
}

fn full() -> Scope {
    Scope::Full
}

/// The answer: the only time that the secret is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreatedToken {
    /// The row.
    #[serde(flatten)]
    pub token: Token,
    /// `cs_…`: id, secret and checksum.
    pub secret: String,
}

/// GET /v1/me
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The caller.
    pub actor: Actor,
    /// The token's id.
    pub token_id: String,
    /// What the token may do.
    pub scope: Scope,
    /// Groups of the policy.
    pub groups: Vec<String>,
    /// Grants: role, namespace pattern or null, environment or null.
    pub roles: Vec<Grant>,
}

/// One role of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The role.
    pub role: crate::model::Role,
    /// Where; null = everywhere.
    pub namespace: Option<String>,
    /// Where; null = everywhere.
    pub environment: Option<String>,
}
