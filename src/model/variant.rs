//! `variant`: one arm of an experiment.

use super::{BasisPoints, Digest};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A row of `variant`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variant {
    /// UUID v7.
    pub variant_id: Uuid,
    /// The experiment.
    pub experiment_id: Uuid,
    /// What its units get.
    pub digest: Digest,
    /// Its share of the experiment's units.
    pub weight_pct: BasisPoints,
}
