//! `config_key`: a name under which versions live.

use super::{Digest, KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What a percentage divides: the kind of unit that is bucketed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UnitType {
    /// A person.
    #[default]
    User,
    /// One visit.
    Session,
    /// A customer organisation.
    Tenant,
}

impl fmt::Display for UnitType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Session => "session",
            Self::Tenant => "tenant",
        })
    }
}

impl FromStr for UnitType {
    type Err = super::IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "user" => Ok(Self::User),
            "session" => Ok(Self::Session),
            "tenant" => Ok(Self::Tenant),
            _ => Err(super::IdError { what: "unit_type", problem: "is not user, session or tenant".into() }),
        }
    }
}

/// A row of `config_key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigKey {
    /// The name.
    pub key_id: KeyId,
    /// All segments but the last.
    pub namespace: String,
    /// The policy's group that owns the key.
    pub owning_group: String,
    /// What is bucketed; fixed once a pointer exists.
    pub unit_type: UnitType,
    /// Whether the key's existence is hidden from those without the right.
    pub confidential: bool,
    /// What everybody gets while a pointer is killed.
    pub safe_default_digest: Option<Digest>,
    /// For people.
    pub description: String,
    /// Hidden from lists; still resolvable.
    pub archived: bool,
    /// When the key was made.
    pub created_at: Timestamp,
}
