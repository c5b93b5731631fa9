//! API tokens: what the registry keeps of them (never the secret).

use super::promotion::words;
use super::{Actor, Environment, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

words! {
    /// What a token may do of what its actor may do.
    Scope ("scope") {
        /// Everything its actor may.
        Full = "full",
        /// Only reads.
        Read = "read",
        /// Only kill.
        Kill = "kill",
        /// Only resolve, and follow pointers: an application.
        Service = "service",
        /// Only resolve, without pseudonyms of units and nothing confidential: a browser.
        Public = "public",
    }
}

/// A row of `token` without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// `cs_` and 10 base32 letters; not secret.
    pub token_id: String,
    /// For whom it acts.
    pub actor: Actor,
    /// The person who made it and answers for it.
    pub owner: Actor,
    /// What it may do.
    pub scope: Scope,
    /// The only environment in which it acts and resolves; none = all of its actor's.
    pub environment: Option<Environment>,
    /// For people.
    pub note: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it stops working.
    pub expires_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}
