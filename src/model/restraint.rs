//! Acts that hold something back: what a database that was put back from an older backup must not forget.

use super::{Actor, Digest, Environment, KeyId, KillReason, Timestamp};
use serde::{Deserialize, Serialize};

/// A line of the journal beside the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// `event_id` of the registry's first audit event.
    pub registry: Digest,
    /// Number of the audit event.
    pub seq: u64,
    /// Its hash: whether a database has this very event.
    pub event_id: Digest,
    /// When.
    pub at: Timestamp,
    /// What was done.
    #[serde(flatten)]
    pub restraint: Restraint,
}

/// What was held back, let go, or settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum Restraint {
    /// A pointer was killed.
    Kill {
        /// The key.
        key_id: KeyId,
        /// Where.
        environment: Environment,
        /// Why.
        reason: KillReason,
        /// Who.
        actor: Actor,
    },
    /// The kill was taken back within its ten minutes.
    UndoKill {
        /// The key.
        key_id: KeyId,
        /// Where.
        environment: Environment,
    },
    /// A token ended.
    Revoke {
        /// The token.
        token_id: String,
    },
    /// A version was marked.
    Quarantine {
        /// The version.
        digest: Digest,
        /// Why.
        rationale: String,
        /// Who.
        actor: Actor,
    },
    /// The mark was lifted.
    Lift {
        /// The version.
        digest: Digest,
    },
    /// Personal data was erased.
    Erase {
        /// The event's subject.
        subject: String,
    },
    /// Another policy came into force.
    Policy {
        /// The event's subject, `policy:sha256:…`.
        subject: String,
    },
    /// Whatever stands before this line was done again in the database that has this event.
    Settled,
}
