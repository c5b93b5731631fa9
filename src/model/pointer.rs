//! `environment_pointer`: what an environment serves for a key.

use super::{BasisPoints, Digest, Environment, KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One step of a rollout: the share, and how long it bakes (whole seconds; null in the last). In JSON `[percent, bake]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep(pub BasisPoints, pub Option<i64>);

/// A rollout's steps: shares rising, bake time null in the last.
pub type Plan = Vec<PlanStep>;

/// A row of `environment_pointer`, keyed by (key_id, environment), holding exactly one digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentPointer {
    /// The key.
    pub key_id: KeyId,
    /// The environment.
    pub environment: Environment,
    /// What units inside the share get.
    pub digest: Digest,
    /// The share of units that get `digest`.
    pub rollout_pct: BasisPoints,
    /// Whether the kill switch is on: nobody gets `digest` or the baseline.
    pub killed: bool,
    /// When the row last changed.
    pub updated_at: Timestamp,
    /// Counts changes from 1; the compare-and-swap token.
    pub revision: i64,
    /// What units outside the share get.
    pub baseline_digest: Option<Digest>,
    /// Whether automatic steps are held.
    pub held: bool,
    /// The approved plan of the running or last rollout.
    pub plan: Plan,
    /// When the next step may be taken.
    pub next_step_at: Option<Timestamp>,
}
