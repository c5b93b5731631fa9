//! Where and when a digest served: what the history of pointers says.

use super::promotion::words;
use super::{Act, Actor, BasisPoints, Environment, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// A point of the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Moment {
    /// The event's number.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
}

words! {
    /// As what a digest served.
    ServedAs ("served as") {
        /// The pointer's digest, to the units inside the share.
        Digest = "digest",
        /// The baseline, to the units outside the share.
        Baseline = "baseline",
        /// The safe default, to everybody while the pointer was killed.
        SafeDefault = "safe_default",
    }
}

/// A time during which a digest served one share of an environment's units in one way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Period {
    /// Where.
    pub environment: Environment,
    /// As what.
    pub served_as: ServedAs,
    /// To how many of the units, in percent.
    pub share: BasisPoints,
    /// Since the change with this number.
    pub from: Moment,
    /// Until the change with this number; null = it serves so now.
    pub until: Option<Moment>,
    /// The applied promotion that began it; null where lifting a quarantine began it.
    pub began_by: Option<Began>,
    /// The approved promotion under which it served: whose approvals let it.
    pub approved: Option<Uuid>,
}

/// The change that began a [`Period`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Began {
    /// The row.
    pub promotion_id: Uuid,
    /// What was done.
    pub act: Act,
    /// By whom.
    pub actor: Actor,
    /// Why.
    pub rationale: String,
}
