//! A refusal: why something was not done, as data. The server gives it a status, the command line an exit code.

use super::ReadinessItem;
use super::promotion::words;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

words! {
    /// The closed list of machine codes.
    Code ("code") {
        /// The body, a parameter or a name is not what it should be (422); `path` says where.
        Invalid = "invalid",
        /// Not JSON, or not I-JSON (422).
        MalformedJson = "malformed_json",
        /// No token, or one that is not valid (401).
        Unauthenticated = "unauthenticated",
        /// Known, but not allowed (403).
        Forbidden = "forbidden",
        /// Not there, or not yours (404); a constant body.
        NotFound = "not_found",
        /// A name fits two things (409).
        Ambiguous = "ambiguous",
        /// It exists with other content (409).
        Exists = "exists",
        /// The pointer moved; `current` is the winner (409).
        PointerMoved = "pointer_moved",
        /// The promotion was applied before (409).
        AlreadyApplied = "already_applied",
        /// The promotion is withdrawn, stale or expired (409).
        PromotionClosed = "promotion_closed",
        /// A rollout runs and was not named as superseded (409).
        RolloutInProgress = "rollout_in_progress",
        /// The approver's client showed something else (409).
        StatementMismatch = "statement_mismatch",
        /// The pointer is killed (409).
        Killed = "killed",
        /// The state does not allow it (409).
        WrongState = "wrong_state",
        /// The registry was put back and is not released yet (409).
        ReadOnly = "read_only",
        /// The expected count or revision differs (412).
        PreconditionFailed = "precondition_failed",
        /// Requirements are not met; `unmet` lists them (409).
        PolicyUnmet = "policy_unmet",
        /// There is no earlier digest to go back to (409).
        NoHistory = "no_history",
        /// Nothing would change (422).
        NoChange = "no_change",
        /// The idempotency key was used with another body (422).
        IdempotencyReused = "idempotency_reused",
        /// The body is too large (413).
        TooLarge = "too_large",
        /// The body is not declared as JSON (415).
        UnsupportedMedia = "unsupported_media",
        /// The method does not exist here (405).
        MethodNotAllowed = "method_not_allowed",
        /// The disk is full (507).
        DiskFull = "disk_full",
        /// The database is away; reads go on (503).
        Unavailable = "unavailable",
        /// Too many requests for now; `Retry-After` says when again (429).
        RateLimited = "rate_limited",
        /// It took too long (408).
        Timeout = "timeout",
        /// A fault of the registry; the log has the request id (500).
        Internal = "internal",
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The machine code.
    pub code: Code,
    /// What happened, a sentence for people.
    pub detail: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What is missing.
    pub unmet: Vec<ReadinessItem>,
    /// The state that won.
    pub current: Option<serde_json::Value>,
    /// JSON pointer of the bad input.
    pub path: Option<String>,
}

impl Refusal {
    /// A refusal with a code and a sentence.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), hint: None, unmet: Vec::new(), current: None, path: None }
    }
    /// Bad input at `path` (a JSON pointer into the body, or a parameter's name).
    pub fn invalid(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::new(Code::Invalid, detail) }
    }
    /// The constant answer to what is not there or not yours.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "nothing here by that name that you may see")
    }
    /// The same with a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// The same with what is missing.
    pub fn unmet(mut self, unmet: Vec<ReadinessItem>) -> Self {
        self.unmet = unmet;
        self
    }
    /// The same with the state that won.
    pub fn current(mut self, current: &impl Serialize) -> Self {
        self.current = serde_json::to_value(current).ok();
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if let Some(path) = &self.path {
            write!(f, " (at {path})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
