//! Plain data: one file per entity of the registry's data model, plus what rules give back and the network carries.

pub mod approval;
pub mod audit;
pub mod bundle;
pub mod diff;
pub mod experiment;
pub mod explain;
pub mod exposure;
pub mod fragment;
pub mod gate_verdict;
pub mod ids;
pub mod key;
pub mod mirror;
pub mod oidc;
pub mod pattern;
pub mod pointer;
pub mod policy;
pub mod promotion;
pub mod readiness;
pub mod refusal;
pub mod restraint;
pub mod served;
pub mod standing;
pub mod time;
pub mod token;
pub mod variable;
pub mod variant;
pub mod version;
pub mod webhook;

pub use approval::{Approval, Verdict};
pub use audit::{Action, AuditEvent, ChainHead, Subject};
pub use experiment::{Experiment, ExperimentState};
pub use explain::{Resolution, ResolutionReason, Step};
pub use exposure::Exposure;
pub use fragment::Fragment;
pub use gate_verdict::{GateStatus, GateVerdict};
pub use ids::{Actor, ActorKind, BasisPoints, Digest, Environment, IdError, KeyId, SAFE_DEFAULT};
pub use key::{ConfigKey, UnitType};
pub use pattern::{KeyNames, KeyPattern};
pub use pointer::{EnvironmentPointer, Plan, PlanStep};
pub use policy::{EnvironmentRule, Policy, Role};
pub use promotion::{Act, KillReason, Promotion, PromotionKind, PromotionState};
pub use readiness::{Readiness, ReadinessItem, ReadinessKind, ReadinessStatus};
pub use refusal::{Code, Refusal};
pub use served::{Began, Moment, Period, ServedAs};
pub use standing::Standing;
pub use time::Timestamp;
pub use token::{Scope, Token};
pub use variable::{Variable, VariableType};
pub use variant::Variant;
pub use version::{Content, Format, Quarantine, Version, VersionState};

/// Bytes of a text that says why: a rationale, a note, a comment, a summary, a description. It is kept for good and comes back in
/// every page and export of the audit trail.
pub const MOST_TEXT: usize = 16 * 1024;
