//! What resolving gives back, and why, step by step.

use super::promotion::words;
use super::{Content, Digest, Environment, KeyId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

words! {
    /// Why a unit got what it got.
    ResolutionReason ("reason") {
        /// The pointer's digest, for everybody.
        Static = "static",
        /// Inside the share.
        Rollout = "rollout",
        /// Outside the share: the baseline.
        Baseline = "baseline",
        /// Outside the share and no baseline: use the code's default.
        NoBaseline = "no_baseline",
        /// A share needs a unit and none was given: the baseline.
        UnitMissing = "unit_missing",
        /// Killed: the safe default.
        Killed = "killed",
        /// Killed and no safe default that may serve: use the code's default.
        KilledNoDefault = "killed_no_default",
    }
}

/// One step of the resolution path, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What was asked: `pointer`, `killed`, `rollout` …
    pub step: String,
    /// What was found.
    pub found: String,
}

/// The answer to `resolve(key, environment, unit)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The key.
    pub key_id: KeyId,
    /// The environment.
    pub environment: Environment,
    /// What is served; null = use the code's default.
    pub digest: Option<Digest>,
    /// Why.
    pub reason: ResolutionReason,
    /// The arm of an experiment, once there are experiments; else null.
    pub variant: Option<String>,
    /// The content of `digest`.
    pub content: Option<Content>,
    /// Bodies of the pinned fragments by name, so that the reader can render without another call.
    pub fragments: std::collections::BTreeMap<String, String>,
    /// The pointer's revision.
    pub revision: i64,
    /// Whether the kill switch is on.
    pub killed: bool,
    /// Whether the snapshot is older than its budget.
    pub stale: bool,
    /// The bucket of the unit, 0 to 9999, where one decided.
    pub bucket: Option<u16>,
    /// The unit's pseudonym, for the caller that gave the unit.
    pub unit_hash: Option<String>,
    /// Each step, only when explained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}
