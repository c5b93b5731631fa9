//! `may_serve`: what stands in the way of a digest coming to serve, for every door to serving (R5-R7, R10, R11).

use crate::model::approval::HiddenSpan;
use crate::model::{
    Act, Actor, Approval, ConfigKey, Environment, EnvironmentPointer, EnvironmentRule, GateVerdict, Policy, Promotion, Readiness,
    ReadinessKind, Timestamp, Version,
};
use std::collections::BTreeMap;

/// The ways in which text comes to serve, or stops serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Door {
    /// A promotion of an environment's pointer.
    Promote,
    /// Serving again after a kill.
    Revive,
    /// The next share of an approved plan.
    Step,
    /// A promotion of a key's safe default.
    SafeDefault,
    /// Back to what served before.
    Rollback,
    /// The kill switch.
    Kill,
    /// Taking a kill back within ten minutes.
    UndoKill,
    /// Holding a rollout.
    Hold,
    /// A smaller share.
    StepDown,
}

impl Door {
    /// The door of an opened promotion: the safe default's by its environment, else by its act.
    pub fn of(act: Act, environment: &Environment) -> Self {
        match act {
            _ if environment.is_safe_default() => Self::SafeDefault,
            Act::Revive => Self::Revive,
            Act::Step => Self::Step,
            Act::Rollback => Self::Rollback,
            Act::Kill => Self::Kill,
            Act::Promote | Act::Experiment => Self::Promote,
        }
    }

    /// Whether requirements of `kind` count at this door (the table of R7). Soak and freeze are not supported yet and never count.
    pub fn counts(self, kind: ReadinessKind) -> bool {
        use ReadinessKind as K;
        match self {
            _ if matches!(kind, K::Soak | K::Freeze) => false,
            Self::Promote | Self::Revive => kind != K::Held,
            Self::Step => !matches!(kind, K::Approval | K::Order),
            Self::SafeDefault => !matches!(kind, K::Order | K::SafeDefault | K::Held),
            Self::Rollback => matches!(kind, K::State | K::Quarantine | K::Killed | K::Pointer),
            Self::Kill | Self::UndoKill | Self::Hold | Self::StepDown => false,
        }
    }
}

/// Everything that readiness depends on, read in one transaction (`workflow::facts` gathers it).
#[derive(Debug, Clone)]
pub struct Serving<'a> {
    /// The way in.
    pub door: Door,
    /// The key.
    pub key: &'a ConfigKey,
    /// Where.
    pub environment: &'a Environment,
    /// What would serve.
    pub to: &'a Version,
    /// The merged rule of the policy in force.
    pub rule: &'a EnvironmentRule,
    /// The policy in force: groups, roles, persons.
    pub policy: &'a Policy,
    /// The pointer as it is now; none for a safe default and before the first promotion.
    pub pointer: Option<&'a EnvironmentPointer>,
    /// The promotion that was opened; for a step, the applied one whose rollout runs.
    pub promotion: Option<&'a Promotion>,
    /// Its approval rows, oldest first.
    pub approvals: &'a [Approval],
    /// Newest verdict of each gate on `to`.
    pub verdicts: &'a [GateVerdict],
    /// Authors of the fragments that `to` pins.
    pub fragment_authors: &'a [Actor],
    /// Owners of the tokens of every actor that matters here (authors, submitter, the promotion's actor, reporters).
    pub owners: &'a BTreeMap<Actor, Vec<Actor>>,
    /// Whether `rule.after`'s pointer has held the digest at 100 %.
    pub held_before: bool,
    /// Invisible and unusual characters in what `to` adds to what served.
    pub hidden: &'a [HiddenSpan],
    /// The version of the key's safe default as it is now.
    pub safe_default: Option<&'a Version>,
    /// Environments in which a pointer of the key is killed.
    pub killed_in: &'a [Environment],
    /// The moment.
    pub now: Timestamp,
}

/// All requirements that count at the door, sorted by kind and name. The server alone decides by it; the terminal explains with it.
pub fn may_serve(serving: &Serving<'_>) -> Readiness {
    let _ = serving;
    unimplemented!()
}

/// Why `person` cannot approve or override, whatever the gate (R6): "is an author of this version"; none where four eyes are kept.
pub fn excluded(serving: &Serving<'_>, person: &Actor) -> Option<String> {
    let _ = (serving, person);
    unimplemented!()
}
