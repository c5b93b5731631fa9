//! `experiment`: hangs off a pointer; its salt never changes.

use super::promotion::words;
use super::{Environment, KeyId};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// Where an experiment stands; stopped never starts again.
    ExperimentState ("state") {
        /// Being written.
        Draft = "draft",
        /// Assigns units.
        Running = "running",
        /// Over.
        Stopped = "stopped",
    }
}

/// A row of `experiment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    /// UUID v7.
    pub experiment_id: Uuid,
    /// The key.
    pub key_id: KeyId,
    /// The environment: with the key, the pointer that it hangs off.
    pub environment: Environment,
    /// 32 lower-case hex digits, immutable.
    pub salt: String,
    /// What is compared.
    pub primary_metric: String,
    /// Units a variant needs before results open.
    pub min_exposures: i64,
    /// Experiments of one group share no unit.
    pub exclusion_group: Option<String>,
    /// draft, running or stopped.
    pub state: ExperimentState,
}
