//! `gate_verdict`: what an evaluation pipeline found about a version. Rows are only ever added.

use super::promotion::words;
use super::{Actor, Digest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// What the pipeline reports; only `pass` can open a gate.
    GateStatus ("status") {
        /// The score is on the right side.
        Pass = "pass",
        /// The score is on the wrong side.
        Fail = "fail",
        /// The evaluation broke.
        Error = "error",
        /// The evaluation runs.
        Pending = "pending",
    }
}

/// A row of `gate_verdict`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateVerdict {
    /// UUID v7.
    pub verdict_id: Uuid,
    /// The version.
    pub digest: Digest,
    /// The evaluation gate.
    pub gate_name: String,
    /// What was measured; null while pending or after an error.
    pub score: Option<f64>,
    /// The threshold that the policy fixed when this was recorded.
    pub threshold: Option<f64>,
    /// Whether the score was on the right side.
    pub passed: bool,
    /// pass, fail, error or pending.
    pub status: GateStatus,
    /// Who reported it.
    pub reporter: Actor,
    /// Counts reports of this gate on this version from 1.
    pub attempt: i64,
    /// For people, up to 4 kB.
    pub summary: String,
    /// Evidence elsewhere.
    pub details_url: Option<String>,
    /// When.
    pub at: Timestamp,
}
