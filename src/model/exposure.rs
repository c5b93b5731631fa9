//! `exposure`: a unit met a variant. Lives in the analytics store, never in the registry's own database.

use super::{Digest, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A row of `exposure`; unique on (experiment, unit_hash).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exposure {
    /// UUID v7.
    pub exposure_id: Uuid,
    /// The experiment.
    pub experiment_id: Uuid,
    /// The arm.
    pub variant_id: Uuid,
    /// Pseudonymous, personal data: 64 lower-case hex digits.
    pub unit_hash: String,
    /// What the unit got.
    pub digest: Digest,
    /// When; hot for 90 days.
    pub at: Timestamp,
}
