//! Envelopes of tokens and callers.

use crate::model::oidc::LoginOffer;
use crate::model::{Actor, Environment, Scope, Token};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// POST /v1/tokens
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// Oneself, or a service; an admin may make one for any person or service of the policy.
    pub actor: Actor,
    /// What it may do.
    #[serde(default = "full")]
    pub scope: Scope,
    /// The only environment in which it acts and resolves; all of its actor's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// Days until it expires, 1 to 3650; 90 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_days: Option<u32>,
    /// For people.
    #[serde(default)]
    pub note: String,
}

impl CreateToken {
    /// One with all that its actor may, for as long as is usual.
    pub fn of(actor: Actor) -> Self {
        Self { actor, scope: Scope::Full, environment: None, expires_days: None, note: String::new() }
    }
}

fn full() -> Scope {
    Scope::Full
}

/// The answer: the only time that the secret is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// The row.
    #[serde(flatten)]
    pub token: Token,
    /// `cs_…`: id, secret and checksum.
    pub secret: String,
}

/// GET /v1/login: asked without a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginOffers {
    /// Issuers that `login --oidc` can use.
    pub issuers: Vec<LoginOffer>,
}

/// GET /v1/me
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// The caller.
    pub actor: Actor,
    /// The token's id.
    pub token_id: String,
    /// What the token may do.
    pub scope: Scope,
    /// The only environment in which the token acts; none = all of its actor's.
    #[serde(default)]
    pub environment: Option<Environment>,
    /// How the caller proved who it is: `token`, or `oidc:` and the issuer's name.
    #[serde(default)]
    pub login: String,
    /// Groups of the policy.
    pub groups: Vec<String>,
    /// Grants: role, namespace pattern or null, environment or null.
    pub roles: Vec<Grant>,
}

/// One role of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The role.
    pub role: crate::model::Role,
    /// Where; null = everywhere.
    pub namespace: Option<String>,
    /// Where; null = everywhere.
    pub environment: Option<String>,
}
