//! Envelopes of promotions and approvals.

use crate::model::approval::HiddenSpan;
use crate::model::{
    Approval, BasisPoints, Digest, Environment, EnvironmentPointer, EnvironmentRule, GateVerdict, KeyId, Plan, Promotion,
    Readiness, Timestamp, Verdict, Version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// POST /v1/promotions; `act` promote (default) or revive. `dry_run` answers with the readiness and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenPromotion {
    /// The key.
    pub key_id: KeyId,
    /// Where; `@safe-default` moves the safe default.
    pub environment: Environment,
    /// What shall serve.
    pub to_digest: Digest,
    /// Why; not blank.
    pub rationale: String,
    /// `[[P, null]]`; excludes `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<BasisPoints>,
    /// The steps; the policy's plan, else `[[100, null]]`, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The applied promotion whose rollout this one replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<Uuid>,
    /// A ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Serve again after a kill.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub revive: bool,
    /// For a revive: what units outside the share get; the safe default unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Digest>,
    /// The registry applies it from this moment on, as soon as everything is met, until it expires; excludes `when_ready`. Takes
    /// the right to apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_time: Option<Timestamp>,
    /// The registry applies it as soon as everything is met, until it expires. Takes the right to apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub when_ready: bool,
    /// Override all requirements but quarantine; takes one of the roles that the policy names, and is reviewed afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub break_glass: bool,
    /// Only say what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// GET /v1/promotions query. Newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPromotions {
    /// open, applied, withdrawn, stale, expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `me`: open ones that the caller can approve, apply, or that the caller opened and others blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaiting: Option<String>,
    /// `me`: reviews and notes owed after the fact that the caller can settle, and scheduled promotions of the caller's that were missed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owed: Option<String>,
    /// Only of this environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Only of this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    /// Only of this ticket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Items per page, 1 to 1000; 100 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// From the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// What the caller can do about a promotion now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mine {
    /// Approval gates that the caller's approval would count on.
    pub can_approve: Vec<String>,
    /// Why the caller cannot approve, where that is so: "you are an author of it".
    pub approve_refused: Option<String>,
    /// Evaluation gates that the caller could override.
    pub can_override: Vec<String>,
    /// Whether the caller may apply it (readiness aside).
    pub can_apply: bool,
    /// Whether the caller may review it afterwards.
    pub can_review: bool,
    /// Whether the caller owes the kill's note.
    pub owes_note: bool,
    /// Whether the caller opened it.
    pub opened: bool,
    /// The environment in which the caller approved this digest before, and when, for "you approved this digest in stage 2 h ago".
    pub approved_before: Option<(String, Timestamp)>,
}

/// A promotion with everything that a reviewer needs: list items and GET /v1/promotions/{id}.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PromotionView {
    /// Whether the key's content is confidential: reading it is recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
    /// The row.
    #[serde(flatten)]
    pub promotion: Promotion,
    /// What shall serve.
    pub to: Option<Version>,
    /// What served when this was opened.
    pub from: Option<Version>,
    /// The merged rule; its JCS digest is `policy_digest` while the policy is unchanged.
    pub rule: EnvironmentRule,
    /// The pointer as it is now.
    pub pointer: Option<EnvironmentPointer>,
    /// What stands in the way now.
    pub readiness: Readiness,
    /// Every row, oldest first.
    pub approvals: Vec<Approval>,
    /// Newest verdict of each gate on `to_digest`.
    pub verdicts: Vec<GateVerdict>,
    /// Invisible and unusual characters in what the promotion adds.
    pub hidden: Vec<HiddenSpan>,
    /// What the caller can do.
    pub mine: Mine,
    /// Resolves in the last minute, counted by the server.
    pub reach: crate::wire::pointers::Reach,
}

/// POST /v1/promotions/{id}/approvals
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    /// approve, reject, override, comment or retract.
    pub verdict: Verdict,
    /// The gate; may be left out where only one fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// Why; not blank.
    pub rationale: String,
    /// For approve and override: the statement computed from what was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<Digest>,
    /// The audit head that the client had verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// Invisible characters that were seen and accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged_hidden: Vec<HiddenSpan>,
    /// For comments: the paragraph's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<Digest>,
    /// For comments: what it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Uuid>,
}

/// POST /v1/promotions/{id}/apply, /withdraw, /renew, /review, /note
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rationale {
    /// Why; not blank for review and note.
    #[serde(default)]
    pub rationale: String,
    /// Only say what would happen (apply).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The answer to everything that moved a pointer (or, for a safe default, a key).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// The promotion row.
    pub promotion: Promotion,
    /// The pointer after; null for `@safe-default`.
    pub pointer: Option<EnvironmentPointer>,
    /// Number of the audit event; null where nothing changed (a second kill, a dry run).
    pub seq: Option<u64>,
    /// Open promotions that became stale.
    pub staled: Vec<Uuid>,
}

/// The answer to a dry run of opening or applying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DryRun {
    /// What would be opened or applied.
    pub promotion: Promotion,
    /// What stands in the way.
    pub readiness: Readiness,
    /// The pointer as it would be.
    pub pointer: Option<EnvironmentPointer>,
}

/// POST /v1/promotions/preview: what a change would do to units, before it is opened. Changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskPreview {
    /// The key.
    pub key_id: KeyId,
    /// Where.
    pub environment: Environment,
    /// What would serve; what serves now unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_digest: Option<Digest>,
    /// To how many; everybody unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<BasisPoints>,
    /// Unit hashes, 64 lower-case hex digits each: how many of these would move. At most 10,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unit_hashes: Vec<String>,
}

/// What a change would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// The pointer as it is.
    pub before: Option<EnvironmentPointer>,
    /// The pointer as it would be.
    pub after: EnvironmentPointer,
    /// What share of all units to expect to fare how; by digests.
    pub expected: Vec<ExpectedFlow>,
    /// How many of the given units fare how; by digests.
    pub units: Vec<UnitFlow>,
    /// How much the pointer is used now.
    pub reach: super::pointers::Reach,
}

/// An expected [`Preview`] of all units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedFlow {
    /// What they get now; null = no value.
    pub from: Option<Digest>,
    /// What they would get.
    pub to: Option<Digest>,
    /// Their share, in percent.
    pub percent: BasisPoints,
}

/// A counted [`Preview`] of given units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitFlow {
    /// What they get now; null = no value.
    pub from: Option<Digest>,
    /// What they would get.
    pub to: Option<Digest>,
    /// How many.
    pub units: u64,
}
