//! `version`: immutable content, named by its digest.

use super::{Actor, Digest, KeyId, Timestamp, Variable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// How the body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// A literal string.
    Text,
    /// A string in the template subset.
    Template,
    /// A list of messages `{"role","content"}` or placeholders `{"placeholder"}`.
    Chat,
    /// Any JSON.
    Json,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Template => "template",
            Self::Chat => "chat",
            Self::Json => "json",
        })
    }
}

impl FromStr for Format {
    type Err = super::IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "template" => Ok(Self::Template),
            "chat" => Ok(Self::Chat),
            "json" => Ok(Self::Json),
            _ => Err(super::IdError { what: "format", problem: "is not text, template, chat or json".into() }),
        }
    }
}

/// What a digest names: exactly eight members, all always present. `digest = SHA-256(JCS(content))`, JCS = RFC 8785.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// The key that this content belongs to.
    pub key: KeyId,
    /// How `body` is to be read.
    pub format: Format,
    /// A string (text, template), a list (chat) or any JSON (json).
    pub body: Value,
    /// The model that this content was made for.
    #[serde(default)]
    pub model_pin: Option<String>,
    /// Model parameters and the like.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Pinned fragments by name.
    #[serde(default)]
    pub fragments: BTreeMap<String, Digest>,
    /// Declared variables, in the order sent.
    #[serde(default)]
    pub variables: Vec<Variable>,
    /// The content schema: always 1.
    #[serde(default = "one")]
    pub schema: u32,
}

fn one() -> u32 {
    1
}

/// Where a version stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// Saved; cannot be promoted.
    Draft,
    /// Submitted for review.
    Review,
    /// Served somewhere by an applied promotion, for good.
    Published,
}

impl fmt::Display for VersionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Draft => "draft",
            Self::Review => "review",
            Self::Published => "published",
        })
    }
}

impl FromStr for VersionState {
    type Err = super::IdError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "draft" => Ok(Self::Draft),
            "review" => Ok(Self::Review),
            "published" => Ok(Self::Published),
            _ => Err(super::IdError { what: "state", problem: "is not draft, review or published".into() }),
        }
    }
}

/// A mark that keeps a version from coming to serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quarantine {
    /// Who set it; another person lifts it.
    pub by: Actor,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// A row of `version` without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Version {
    /// The primary key: the content's digest.
    pub digest: Digest,
    /// The key it belongs to.
    pub key_id: KeyId,
    /// Ordinal in its key from 1 (`v1`, `v2` …), for people only.
    pub number: i64,
    /// Who wrote it first.
    pub author: Actor,
    /// Who submitted or imported it, where that is not the author.
    pub submitter: Option<Actor>,
    /// Why it exists; never blank.
    pub rationale: String,
    /// The model it was made for (also in the content).
    pub model_pin: Option<String>,
    /// How the body is to be read (also in the content).
    pub format: Format,
    /// draft, review or published.
    pub state: VersionState,
    /// When it was first saved (for imports: the commit's date).
    pub created_at: Timestamp,
    /// Set while quarantined.
    pub quarantine: Option<Quarantine>,
    /// Hidden by its author; saving the content again revives it.
    pub discarded: bool,
    /// Everyone who saved this content (R1), the first author included; sorted.
    pub authors: Vec<Actor>,
}
