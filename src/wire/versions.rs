//! Envelopes of versions, gates and fragments.

use crate::model::{Actor, Approval, Content, Digest, Environment, Fragment, GateStatus, Period, Promotion, Timestamp, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// POST /v1/keys/{key}/versions: 201 for a new digest, 200 for one that was there (R1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateVersion {
    /// The content; `key` must be the path's.
    pub content: Content,
    /// Why; not blank.
    pub rationale: String,
    /// Role importer only: author `git:NAME`, the moment, and straight to review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// Where an imported version comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// `git:NAME`, or the importing person for a directory.
    pub author: Actor,
    /// The commit's or file's date.
    pub created_at: Timestamp,
}

/// GET /v1/versions/{digest}, and the answer to saving.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VersionView {
    /// The row's columns.
    #[serde(flatten)]
    pub version: Version,
    /// The content; absent where the caller may not read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// The pinned fragments, bodies included.
    pub fragment_bodies: Vec<Fragment>,
    /// Things worth knowing: unused variables, content that another author saved before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// GET /v1/versions/{digest}/served: where this digest served, when, to how many, and who let it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The version's row: its key, author and rationale.
    pub version: Version,
    /// Oldest first.
    pub periods: Vec<Period>,
    /// The approved promotions under which it served, with their votes; oldest first.
    pub approved: Vec<Approved>,
}

/// A promotion that let a digest serve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approved {
    /// The row.
    pub promotion: Promotion,
    /// Its votes, comments left out.
    pub approvals: Vec<Approval>,
}

/// POST /v1/versions/{digest}/submit
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// Open a promotion to this environment in the same transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    /// The promotion's rationale; the version's unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
}

/// The answer to submitting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Submitted {
    /// The version.
    pub version: Version,
    /// The promotion that was opened.
    pub promotion: Option<Promotion>,
}

/// POST /v1/versions/{digest}/discard, /quarantine, /lift
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why; not blank for quarantine and lift.
    #[serde(default)]
    pub rationale: String,
}

/// POST /v1/versions/{digest}/verdicts
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordVerdict {
    /// The evaluation gate.
    pub gate: String,
    /// What was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// `pending` or `error`; from the score unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<GateStatus>,
    /// The threshold that the reporter judged by; refused unless it is the policy's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// For people, up to 4 kB.
    #[serde(default)]
    pub summary: String,
    /// Evidence elsewhere: https only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details_url: Option<String>,
}

/// POST /v1/fragments
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFragment {
    /// One key segment, or several joined by dots.
    pub name: String,
    /// The text.
    pub body: String,
    /// A group of the policy.
    pub owning_group: String,
}

/// One row of GET /v1/fragments/{name}/users: a version that pins some revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FragmentUser {
    /// The version.
    pub version: Version,
    /// The revision that it pins.
    pub fragment_digest: Digest,
    /// Whether that is the newest revision.
    pub newest: bool,
    /// Where it serves.
    pub serving: Vec<String>,
}
