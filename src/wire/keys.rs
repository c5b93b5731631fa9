//! Envelopes of keys.

use crate::model::{ConfigKey, Digest, EnvironmentPointer, KeyId, KeyNames, Promotion, UnitType, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// POST /v1/keys
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateKey {
    /// The name.
    pub key_id: KeyId,
    /// A group of the policy.
    pub owning_group: String,
    /// What is bucketed.
    #[serde(default)]
    pub unit_type: UnitType,
    /// Hide its existence from those without the right.
    #[serde(default)]
    pub confidential: bool,
    /// For people.
    #[serde(default)]
    pub description: String,
}

/// PATCH /v1/keys/{key}: only what is given changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateKey {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Hide from lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// false -> true at once; true -> false takes two people of the owning group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidential: Option<bool>,
    /// A new owner takes one person of each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owning_group: Option<String>,
    /// Refused once a pointer exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_type: Option<UnitType>,
}

/// GET /v1/keys query.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListKeys {
    /// A pattern like `support.**`, or a part of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<KeyNames>,
    /// Only keys with this model pin in what serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_pin: Option<String>,
    /// Only keys with this text in what serves: bodies and fragments, letter for letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where `model_pin` and `text` must serve; anywhere unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Show archived keys too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Items per page, 1 to 1000; 100 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One row of the key list: GET /v1/keys. Ordered by key_id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyRow {
    /// The key.
    #[serde(flatten)]
    pub key: ConfigKey,
    /// How many versions it has (discarded ones left out).
    pub versions: i64,
    /// When a version was last saved or a pointer last moved.
    pub changed_at: crate::model::Timestamp,
    /// Its pointers.
    pub pointers: Vec<EnvironmentPointer>,
}

/// GET /v1/keys/{key}/history: pointer history of a key, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyHistory {
    /// The key.
    pub key: ConfigKey,
    /// All versions, newest first (drafts for those who may see them).
    pub versions: Vec<VersionRow>,
    /// Pointers in the policy's order of environments.
    pub pointers: Vec<EnvironmentPointer>,
    /// The latest 100 promotions, newest first.
    pub promotions: Vec<Promotion>,
}

/// A version with what a list shows beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionRow {
    /// The version.
    #[serde(flatten)]
    pub version: Version,
    /// Newest verdict of each gate.
    pub gates: Vec<GateSign>,
    /// Where it serves: `production 100%`, `safe default`, `baseline of staging`.
    pub serving: Vec<String>,
}

/// A gate in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateSign {
    /// The gate.
    pub gate_name: String,
    /// Its newest status.
    pub status: crate::model::GateStatus,
}

/// A selector, always with its key: what `KEY@SEL` names after the `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The whole digest.
    Digest(Digest),
    /// A unique prefix of at least 6 hex digits.
    Prefix(String),
    /// `vN`
    Number(i64),
    /// An environment's name: its pointer's digest.
    Environment(String),
}

impl std::str::FromStr for Selector {
    type Err = crate::model::IdError;
    /// Reads the kind from the text alone; what could be two kinds (a hex word that is also an environment) is a prefix,
    /// which the policy keeps apart by refusing such environment names.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("sha256:") {
            return text.parse().map(Self::Digest);
        }
        if let Some(number) = text.strip_prefix('v').and_then(|n| n.parse::<i64>().ok()) {
            return Ok(Self::Number(number));
        }
        if looks_like_prefix(text) {
            return Ok(Self::Prefix(text.to_owned()));
        }
        text.parse::<crate::model::Environment>().map(|e| Self::Environment(e.to_string())).map_err(|_| crate::model::IdError {
            what: "selector",
            problem: "is not a digest, 6 or more of its hex digits, vN, or an environment".into(),
        })
    }
}

/// Whether a word reads as the beginning of a digest: 6 to 64 lower-case hex digits.
pub fn looks_like_prefix(text: &str) -> bool {
    (6..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}
