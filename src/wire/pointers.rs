//! Envelopes of pointers: kill, rollback, steps; and of resolving.

use crate::model::{
    BasisPoints, Digest, Environment, EnvironmentPointer, KeyPattern, KillReason, Moment, ReadinessItem, Resolution, Timestamp,
    UnitType, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a pointer is used, counted by the server's own resolves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Reach {
    /// Resolves in the last whole minute.
    pub per_minute: u64,
    /// Actors that resolved it in the last hour; sorted.
    pub services: Vec<String>,
}

/// GET /v1/pointers item, and GET /v1/keys/{key}/pointers/{environment}.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointerView {
    /// The row.
    #[serde(flatten)]
    pub pointer: EnvironmentPointer,
    /// What is bucketed.
    pub unit_type: UnitType,
    /// What everybody gets while killed: the key's safe default, unless it was itself killed here and not approved since.
    pub safe_default_digest: Option<Digest>,
    /// The version of `digest`.
    pub version: Option<Version>,
    /// The version of the baseline.
    pub baseline: Option<Version>,
    /// The version of the safe default.
    pub safe_default: Option<Version>,
    /// Whether the environment is protected for this key.
    pub protected: bool,
    /// Resolves.
    pub reach: Reach,
    /// Who last moved it.
    pub moved_by: Option<String>,
    /// Open promotions of this pointer (a kill or rollback makes them stale).
    pub open_promotions: i64,
    /// The digest that a rollback would go to.
    pub rollback_to: Option<Digest>,
    /// Until when the caller can take its kill back.
    pub undo_kill_until: Option<Timestamp>,
    /// The applied promotion whose rollout runs (what `supersedes` names).
    pub running: Option<uuid::Uuid>,
    /// The plan's next step, while a rollout runs.
    #[serde(default)]
    pub next: Option<NextStep>,
}

/// The next share of a running rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NextStep {
    /// The share.
    pub to: BasisPoints,
    /// When its turn comes; none while held.
    pub at: Option<Timestamp>,
    /// Whether the registry takes it by itself.
    pub auto: bool,
    /// What it waits for, once its turn has come.
    pub waits: Vec<ReadinessItem>,
}

/// GET /v1/pointers query. Ordered by key, then environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPointers {
    /// Only of this environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only of keys that this pattern covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<KeyPattern>,
    /// `partial`: only below 100 % or killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// Items per page, 1 to 1000; 100 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// POST …/kill
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kill {
    /// Why.
    pub reason: KillReason,
    /// May be left out now; then owed within 24 h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When the person decided; a kill sent late is refused when a revive is newer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued_at: Option<Timestamp>,
    /// The revision that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_revision: Option<i64>,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// POST /v1/kill: many at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KillMany {
    /// Where.
    pub environment: Environment,
    /// These keys, a double once; excludes `namespace`. What is no key's name is an outcome, and stops none of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// All keys that this pattern covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<KeyPattern>,
    /// How many pointers the person saw, or how many `keys` there are; 412 when it differs.
    pub expected_count: u32,
    /// Why.
    pub reason: KillReason,
    /// May be left out now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One outcome of [`KillMany`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KillOutcome {
    /// The key, as it was named.
    pub key_id: String,
    /// What happened, when it worked.
    pub moved: Option<super::promotions::Moved>,
    /// What happened, when not.
    pub problem: Option<super::Problem>,
}

/// POST …/undo-kill, /hold, /resume
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Act {
    /// Why; not blank for undo-kill and resume.
    #[serde(default)]
    pub rationale: String,
    /// The revision that the person saw: 409 `pointer_moved` when it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_revision: Option<i64>,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// POST …/rollback
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rollback {
    /// To this digest; the one that R12 finds unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_digest: Option<Digest>,
    /// Why; not blank.
    pub rationale: String,
    /// The revision that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_revision: Option<i64>,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// POST …/step
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepTo {
    /// The share; the plan's next (or, with `down`, the one before) unless given. Must stand in the plan to go up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<BasisPoints>,
    /// Down instead of up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub down: bool,
    /// Why; not blank.
    pub rationale: String,
    /// The revision that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_revision: Option<i64>,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// POST /v1/environments/{environment}/resolve/{key} and /explain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// The unit, 1 to 512 bytes; never stored, never logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// POST /v1/environments/{environment}/resolve/{key}/as-of: either `seq` or `time`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsOf {
    /// After the audit event with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// At this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// The unit, 1 to 512 bytes; never stored, never logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// What a unit got then, and why, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedAsOf {
    /// The newest audit event that counted.
    pub as_of: Moment,
    /// The answer.
    #[serde(flatten)]
    pub resolution: Resolution,
}
