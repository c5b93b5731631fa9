//! Envelopes of environments, the policy and the audit trail.

use crate::model::{Action, Digest, EnvironmentRule, Plan};
use serde::{Deserialize, Serialize};

/// One environment: GET /v1/environments, in the policy's order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// The registry's name for people.
    pub name: String,
    /// In the policy's order.
    pub environments: Vec<EnvironmentView>,
    /// Digest of the policy in force (of its TOML bytes).
    pub policy: Digest,
    /// The server's clock.
    pub now: crate::model::Timestamp,
    /// `event_id` of the first audit event: which registry this is.
    pub genesis: Option<Digest>,
    /// The groups of the policy by name.
    pub groups: Vec<String>,
}

/// GET /v1/policy without a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// The TOML in force.
    pub source: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
}

/// GET /v1/policy query.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskPolicy {
    /// With `environment`: the merged rule for this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<crate::model::KeyId>,
    /// With `key`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
}

/// GET /v1/policy?key=&environment= : the rule, which the caller hashes.
pub type MergedRule = EnvironmentRule;

/// POST /v1/policy
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    pub actor: Option<crate::model::Actor>,
    /// Only this action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Not before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<crate::model::Timestamp>,
    /// Before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<crate::model::Timestamp>,
    /// Items per page, 1 to 1000; 100 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// GET /v1/audit/key
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditKey {
    /// The public key of checkpoints and bundles, `NAME+HEX+BASE64` (C2SP signed-note).
    pub key: String,
}

/// GET /v1/audit/export query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportAudit {
    /// Only events after this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

/// GET /v1/audit/report query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
