//! Readiness: what stands between a promotion and its effect, as data.

use super::Timestamp;
use super::promotion::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

words! {
    /// The kinds of requirement, in the order in which they are listed.
    ReadinessKind ("readiness kind") {
        /// The version's state allows it to serve.
        State = "state",
        /// The version carries no quarantine mark.
        Quarantine = "quarantine",
        /// The pointer is not killed.
        Killed = "killed",
        /// An evaluation gate.
        Gate = "gate",
        /// An approval gate.
        Approval = "approval",
        /// The environment before held this digest at 100 %.
        Order = "order",
        /// … for long enough.
        Soak = "soak",
        /// No freeze window.
        Freeze = "freeze",
        /// The key has a safe default that can serve.
        SafeDefault = "safe_default",
        /// Invisible characters were acknowledged.
        HiddenText = "hidden_text",
        /// The pointer is where it was when this was opened.
        Pointer = "pointer",
        /// The pointer is not held.
        Held = "held",
    }
}
words! {
    /// How a requirement stands.
    ReadinessStatus ("readiness status") {
        /// Satisfied.
        Met = "met",
        /// Not satisfied: blocks.
        Unmet = "unmet",
        /// Still being worked on: blocks.
        Pending = "pending",
        /// Opened for this promotion by someone who may.
        Overridden = "overridden",
    }
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadinessItem {
    /// What kind of requirement.
    pub kind: ReadinessKind,
    /// Which one of its kind: a gate's name; else the kind's own name.
    pub name: String,
    /// How it stands.
    pub status: ReadinessStatus,
    /// Why, in a lower-case fragment for people.
    pub reason: String,
    /// When time alone meets it: the end of a soak or a freeze.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Who can meet it: actors, or `group:NAME`, `role:NAME`.
    pub who: Vec<String>,
}

/// All requirements, sorted by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Readiness(pub Vec<ReadinessItem>);

impl Readiness {
    /// Whether nothing blocks.
    pub fn is_ready(&self) -> bool {
        self.unmet().next().is_none()
    }
    /// What blocks.
    pub fn unmet(&self) -> impl Iterator<Item = &ReadinessItem> {
        self.0.iter().filter(|i| matches!(i.status, ReadinessStatus::Unmet | ReadinessStatus::Pending))
    }
    /// When time alone meets everything that blocks; none where something else must happen first, or nothing blocks.
    pub fn ready_at(&self) -> Option<Timestamp> {
        self.unmet().map(|item| item.until).collect::<Option<Vec<_>>>()?.into_iter().max()
    }
}
