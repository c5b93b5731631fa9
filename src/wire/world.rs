//! Envelopes of environments, the policy and the audit trail.

use crate::model::{Action, Actor, Digest, Environment, EnvironmentRule, KeyId, KeyPattern, Plan, Readiness, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One environment: GET /v1/environments, in the policy's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentView {
    /// The name.
    pub name: String,
    /// Whether dangerous acts ask more here.
    pub protected: bool,
    /// Whose turn is before.
    pub after: Option<String>,
    /// The default plan.
    pub plan: Option<Plan>,
    /// Another name for readers.
    pub alias: Option<String>,
}

/// GET /v1/environments
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct World {
    /// The registry's name for people.
    pub name: String,
    /// In the policy's order.
    pub environments: Vec<EnvironmentView>,
    /// Digest of the policy in force (of its TOML bytes).
    pub policy: Digest,
    /// The server's clock.
    pub now: Timestamp,
    /// `event_id` of the first audit event: which registry this is.
    pub genesis: Option<Digest>,
    /// The groups of the policy by name.
    pub groups: Vec<String>,
    /// Digest of the policy file with which the server was started, where it is not the policy in force: an alarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_file: Option<Digest>,
    /// Why the registry takes nothing but what holds back (kills, holds, quarantines, revocations), where that is so: it was put
    /// back from an older state and is not released yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<String>,
    /// How many pointers and contents of the database are not what the audit trail and their digests say: an alarm. They do not
    /// serve; the server's log names them.
    #[serde(default)]
    pub doubts: u64,
}

/// GET /v1/policy without a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyText {
    /// The TOML in force.
    pub source: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// The answer to a change that waits for a second admin: until when. It is not in force yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Timestamp>,
}

/// GET /v1/policy query.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskPolicy {
    /// With `environment`: the merged rule for this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// With `key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// GET /v1/policy?key=&environment= : the rule, which the caller hashes.
pub type MergedRule = EnvironmentRule;

/// POST /v1/policy/explain
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainPolicy {
    /// The key.
    pub key: KeyId,
    /// The environment, or `@safe-default`.
    pub environment: Environment,
    /// The version whose promotion is looked at; the newest of the key unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_digest: Option<Digest>,
}

/// The answer: the merged rule and where it comes from, who may do what, what a promotion would need now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyExplained {
    /// The key.
    pub key: KeyId,
    /// The environment.
    pub environment: Environment,
    /// Digest of the policy in force (of its TOML bytes).
    pub policy: Digest,
    /// The merged rule.
    pub rule: EnvironmentRule,
    /// Its JCS digest: what promotions sign as `policy_digest`.
    pub policy_digest: Digest,
    /// Each field that is set, in the policy's order of fields.
    pub fields: Vec<FieldOrigin>,
    /// Acts, and who may do them there.
    pub may: Vec<MayDo>,
    /// The version that was looked at; none where the key has no version.
    pub to_digest: Option<Digest>,
    /// What its promotion would need now, if nobody had said anything about it yet.
    pub readiness: Readiness,
}

/// A field of a merged rule and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldOrigin {
    /// The field.
    pub field: String,
    /// Its value, as in the rule.
    pub value: serde_json::Value,
    /// The section that it comes from: `[[environment]] production`, `[[environment.for]] support.**`.
    pub section: String,
    /// The line of the TOML.
    pub line: usize,
}

/// An act and who may do it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MayDo {
    /// What: `open a promotion`, `approve owners` …
    pub act: String,
    /// Actors; sorted.
    pub who: Vec<Actor>,
}

/// POST /v1/policy
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyPolicy {
    /// The TOML.
    pub source: String,
    /// Why; not blank.
    pub rationale: String,
    /// Only check.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// GET /v1/audit query. Ascending by seq.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAudit {
    /// Only events after this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Only the newest `limit` events before this number (ascending all the same): to page backwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Only about this subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only by this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Only this action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Only changes in this environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only about keys that this pattern covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<KeyPattern>,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Items per page, 1 to 1000; 100 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// GET /v1/audit/key
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKey {
    /// The public key of checkpoints and bundles, `NAME+HEX+BASE64` (C2SP signed-note).
    pub key: String,
}

/// GET /v1/audit/export query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportAudit {
    /// Only events after this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// GET /v1/audit/report query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskReport {
    /// The first moment.
    pub from: crate::model::Timestamp,
    /// The first moment after.
    pub to: crate::model::Timestamp,
    /// Only here; all protected environments and their safe defaults unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<crate::model::Environment>,
}
