//! `approval`: a person's verdict, comment or override on a promotion, with its reason.

use super::promotion::words;
use super::{Actor, Digest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// What an approval row says.
    Verdict ("verdict") {
        /// Yes.
        Approve = "approve",
        /// No: blocks until the same person's newer verdict.
        Reject = "reject",
        /// Opens one gate for this promotion; on an evaluation gate only.
        Override = "override",
        /// Words only.
        Comment = "comment",
        /// Takes the person's earlier verdict on the gate back.
        Retract = "retract",
    }
}

/// Invisible or unusual text that a reviewer acknowledged: where it stands and what it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HiddenSpan {
    /// JSON pointer into the content, or `/fragments/NAME/body` for an expanded fragment.
    pub path: String,
    /// Offset of the first character in the text at `path`, in characters.
    pub start: u32,
    /// The characters as `U+XXXX`, joined by a space.
    pub code_points: String,
}

/// A row of `approval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// UUID v7.
    pub approval_id: Uuid,
    /// The promotion.
    pub promotion_id: Uuid,
    /// Who; always a person, but for comments.
    pub approver: Actor,
    /// The approval gate, or the evaluation gate that is overridden; empty for comments.
    pub gate: String,
    /// What it says.
    pub verdict: Verdict,
    /// When.
    pub at: Timestamp,
    /// Why; never blank.
    pub rationale: String,
    /// The statement that the approver's client computed from what it showed.
    pub statement: Option<Digest>,
    /// The audit head that the approver's client had verified.
    pub head: Option<Digest>,
    /// Invisible characters that the approver saw and accepted.
    pub acknowledged_hidden: Vec<HiddenSpan>,
    /// The approver's groups at that time.
    pub groups: Vec<String>,
    /// How the approver had signed in: `token`.
    pub login_method: String,
    /// Whose token it was given with, where that is not the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Actor>,
    /// For comments: SHA-256 of the paragraph that it hangs on.
    pub anchor: Option<Digest>,
    /// For comments: what it answers.
    pub reply_to: Option<Uuid>,
}
