//! `audit_event`: one for each successful change, each chained to the one before.

use super::promotion::words;
use super::{Actor, Digest, Timestamp, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{fmt, str::FromStr};

words! {
    /// The closed list of audited actions.
    Action ("action") {
        /// A key was made.
        KeyCreate = "key.create",
        /// A key's owner, confidentiality, description or archive mark changed.
        KeyUpdate = "key.update",
        /// A version was saved.
        VersionDraft = "version.draft",
        /// A version was submitted, perhaps with a promotion.
        VersionSubmit = "version.submit",
        /// Another author saved the same content.
        VersionAuthor = "version.author",
        /// A version was hidden.
        VersionDiscard = "version.discard",
        /// A version was marked.
        VersionQuarantine = "version.quarantine",
        /// The mark was lifted.
        VersionLift = "version.lift",
        /// A pipeline reported.
        VerdictRecord = "verdict.record",
        /// A fragment revision was made.
        FragmentCreate = "fragment.create",
        /// A promotion was opened.
        PromotionOpen = "promotion.open",
        /// A verdict, comment, override or retraction.
        PromotionApprove = "promotion.approve",
        /// A promotion took effect.
        PromotionApply = "promotion.apply",
        /// Taken back.
        PromotionWithdraw = "promotion.withdraw",
        /// Opened anew.
        PromotionRenew = "promotion.renew",
        /// Too old.
        PromotionExpire = "promotion.expire",
        /// Reviewed after the fact.
        PromotionReview = "promotion.review",
        /// The note that a kill owed.
        PromotionNote = "promotion.note",
        /// A rollout step, up or down.
        PointerStep = "pointer.step",
        /// Steps are held.
        PointerHold = "pointer.hold",
        /// Steps go on.
        PointerResume = "pointer.resume",
        /// Back to what served before.
        PointerRollback = "pointer.rollback",
        /// The kill switch.
        PointerKill = "pointer.kill",
        /// A kill was taken back within ten minutes.
        PointerUndoKill = "pointer.undo_kill",
        /// Serves again after a kill.
        PointerRevive = "pointer.revive",
        /// An experiment was made.
        ExperimentCreate = "experiment.create",
        /// An experiment assigns.
        ExperimentStart = "experiment.start",
        /// An experiment is over.
        ExperimentStop = "experiment.stop",
        /// Another policy is in force.
        PolicyApply = "policy.apply",
        /// A token was made.
        TokenCreate = "token.create",
        /// A token ended.
        TokenRevoke = "token.revoke",
        /// An event contract was registered.
        ContractRegister = "contract.register",
        /// Personal data was erased.
        PrivacyErase = "privacy.erase",
        /// The database was put back from an older state.
        RegistryRestore = "registry.restore",
        /// A registry that was put back may be changed again.
        RegistryRelease = "registry.release",
        /// A receiver of notices was named.
        WebhookCreate = "webhook.create",
        /// A receiver of notices was taken away.
        WebhookDelete = "webhook.delete",
        /// Notices that were given up are sent again.
        WebhookRetry = "webhook.retry",
        /// A protected act was refused.
        AccessDenied = "access.denied",
        /// Confidential text was read.
        ContentRead = "content.read",
    }
}

impl AuditBody {
    /// What was done, as people say it: one action covers every verdict on a promotion, and only an approval approves.
    pub fn said(&self) -> &'static str {
        let verdict = self.detail.get("verdict").and_then(Value::as_str).and_then(|word| word.parse::<Verdict>().ok());
        match (self.action, verdict) {
            (Action::PromotionApprove, Some(verdict)) if verdict != Verdict::Approve => verdict.as_str(),
            (action, _) => action.as_str(),
        }
    }
}

/// What an event is about: `key:…`, `digest:sha256:…`, `promotion:…`, `policy:…`, `token:…`, `experiment:…`, `fragment:…`, `contract:…`, `registry:sha256:…`, `webhook:…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Subject(pub String);

impl Subject {
    /// `key:KEY_ID`
    pub fn key(key: &super::KeyId) -> Self {
        Self(format!("key:{key}"))
    }
    /// `digest:sha256:…`
    pub fn digest(digest: &Digest) -> Self {
        Self(format!("digest:{digest}"))
    }
    /// `promotion:UUID`
    pub fn promotion(id: uuid::Uuid) -> Self {
        Self(format!("promotion:{id}"))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of an event that can be withheld or erased while the chain still verifies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditBody {
    /// Who.
    pub actor: Actor,
    /// What was done.
    pub action: Action,
    /// To what.
    pub subject: Subject,
    /// The particulars; always an object.
    pub detail: Map<String, Value>,
    /// 32 lower-case hex digits, so that a body cannot be guessed from its hash.
    pub nonce: String,
}

/// A row of `audit_event` as it crosses the network.
///
/// `body_hash = sha256(JCS{actor, action, subject, detail, nonce})`,
/// `event_id = sha256(JCS{seq, at, prev_hash, body_hash})`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEvent {
    /// Counts events from 1 without a hole.
    pub seq: u64,
    /// The event's hash.
    pub event_id: Digest,
    /// When; never runs backwards.
    pub at: Timestamp,
    /// The `event_id` before; [`Digest::ZERO`] for the first.
    pub prev_hash: Digest,
    /// Hash of the body.
    pub body_hash: Digest,
    /// The body; absent when `redacted`.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub body: Option<AuditBody>,
    /// Whether the body is withheld or erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// The newest link of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChainHead {
    /// Number of the newest event; 0 for an empty chain.
    pub seq: u64,
    /// Its hash; [`Digest::ZERO`] for an empty chain.
    pub event_id: Digest,
    /// When it was written.
    pub at: Timestamp,
}
