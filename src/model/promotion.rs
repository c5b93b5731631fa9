//! `promotion`: a wish to move a pointer, and its fate.

use super::{Actor, BasisPoints, Digest, Environment, KeyId, Plan, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

macro_rules! words {
    ($(#[$m:meta])* $name:ident ($what:literal) { $($(#[$vm:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$m])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name { $($(#[$vm])* #[serde(rename = $text)] $variant),+ }
        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The word in JSON and tables.
            pub fn as_str(self) -> &'static str { match self { $(Self::$variant => $text),+ } }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
        impl FromStr for $name {
            type Err = $crate::model::IdError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == text).ok_or_else(|| $crate::model::IdError {
                    what: $what,
                    problem: format!("is not one of {}", [$($text),+].join(", ")),
                })
            }
        }
    };
}
pub(crate) use words;

words! {
    /// The kinds of the data model.
    PromotionKind ("kind") {
        /// Serve more of, or again, an approved digest.
        Promote = "promote",
        /// Back to what served before.
        Rollback = "rollback",
        /// Stop serving at once.
        Kill = "kill",
    }
}
words! {
    /// What exactly is done; `step`, `revive` and `experiment` are of kind promote.
    Act ("act") {
        /// A new digest, or a new start of a rollout.
        Promote = "promote",
        /// The next share of a running plan.
        Step = "step",
        /// Back to what served before.
        Rollback = "rollback",
        /// Stop serving at once.
        Kill = "kill",
        /// Serve again after a kill.
        Revive = "revive",
        /// Start of an experiment.
        Experiment = "experiment",
    }
}
words! {
    /// Where a promotion stands; all but open are final.
    PromotionState ("state") {
        /// Collects gates and approvals.
        Open = "open",
        /// Took effect.
        Applied = "applied",
        /// Taken back by its actor or an admin.
        Withdrawn = "withdrawn",
        /// The pointer or the policy moved away under it.
        Stale = "stale",
        /// Too old.
        Expired = "expired",
    }
}
words! {
    /// Why someone hit the kill switch.
    KillReason ("reason") {
        /// The service is down or failing.
        Outage = "outage",
        /// Bad answers.
        Quality = "quality",
        /// Dangerous answers.
        Safety = "safety",
        /// Too expensive.
        Cost = "cost",
        /// A drill.
        Test = "test",
    }
}

impl Act {
    /// The data model's kind of this act.
    pub fn kind(self) -> PromotionKind {
        match self {
            Self::Promote | Self::Step | Self::Revive | Self::Experiment => PromotionKind::Promote,
            Self::Rollback => PromotionKind::Rollback,
            Self::Kill => PromotionKind::Kill,
        }
    }
}

/// A row of `promotion`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promotion {
    /// UUID v7.
    pub promotion_id: Uuid,
    /// The key.
    pub key_id: KeyId,
    /// What the pointer held when this was opened; null for a first one.
    pub from_digest: Option<Digest>,
    /// What it shall hold; null for a kill without safe default and for experiments.
    pub to_digest: Option<Digest>,
    /// Where; `@safe-default` moves the key's safe default.
    pub environment: Environment,
    /// Who opened it.
    pub actor: Actor,
    /// promote, rollback or kill.
    pub kind: PromotionKind,
    /// When it was opened.
    pub at: Timestamp,
    /// What exactly is done.
    pub act: Act,
    /// open, applied, withdrawn, stale or expired.
    pub state: PromotionState,
    /// Why; never blank (for a kill: the note, which may be owed).
    pub rationale: String,
    /// A kill's reason.
    pub reason: Option<KillReason>,
    /// The share that applying sets: the plan's first.
    pub rollout_pct: BasisPoints,
    /// The steps that are approved as a whole.
    pub plan: Plan,
    /// What units outside the share will get.
    pub baseline_digest: Option<Digest>,
    /// The key's safe default when this was opened (part of the statement).
    pub safe_default_digest: Option<Digest>,
    /// The pointer's revision when this was opened; 0 where there was no pointer.
    pub pointer_revision: i64,
    /// Digest of the merged rule of the policy for this key and environment.
    pub policy_digest: Digest,
    /// What approvers sign (R9).
    pub statement: Digest,
    /// The running rollout that this one replaces, or the promotion that it renews.
    pub supersedes: Option<Uuid>,
    /// A ticket.
    pub change: Option<String>,
    /// When an open one becomes expired.
    pub expires_at: Option<Timestamp>,
    /// When it took effect.
    pub applied_at: Option<Timestamp>,
    /// Who applied it.
    pub applied_by: Option<Actor>,
    /// For kill, undo-kill, revive over a freeze and overrides: who reviewed it afterwards.
    pub reviewed_by: Option<Actor>,
    /// When it was reviewed afterwards.
    pub reviewed_at: Option<Timestamp>,
    /// Whether a review afterwards is owed.
    pub review_owed: bool,
    /// Whether the kill's note is owed until this moment.
    pub note_due_at: Option<Timestamp>,
    /// Applied by the registry from this moment on, as soon as everything is met.
    #[serde(default)]
    pub at_time: Option<Timestamp>,
    /// Applied by the registry as soon as everything is met.
    #[serde(default)]
    pub when_ready: bool,
    /// Overrides all requirements but quarantine, on the word of who opened it; reviewed afterwards.
    #[serde(default)]
    pub break_glass: bool,
    /// Was to be applied by the registry, and became stale or expired: owed to who opened it, until it is renewed or withdrawn.
    #[serde(default)]
    pub missed: bool,
    /// Why it ended other than by being applied: `rollback by person:carol #17204`.
    pub closed_reason: Option<String>,
}

impl Promotion {
    /// Whether the registry applies it by itself.
    pub fn is_timed(&self) -> bool {
        self.when_ready || self.at_time.is_some()
    }
    /// Whether the registry may apply it at `now`, readiness aside.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.is_timed() && self.at_time.is_none_or(|at| at <= now)
    }
}
