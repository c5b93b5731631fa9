//! `may_serve`: what stands in the way of a digest coming to serve, for every door to serving (R5-R7, R10, R11).

mod gates;
mod time;
mod votes;

use super::access::{self, Caller};
use super::soak::Stretch;
use super::statement::{Statement, policy_digest};
use crate::model::approval::HiddenSpan;
use crate::model::{
    Act, Actor, Approval, ConfigKey, Digest, Environment, EnvironmentPointer, EnvironmentRule, GateVerdict, Policy, Promotion,
    PromotionState, Readiness, ReadinessItem, ReadinessKind, ReadinessStatus, Timestamp, Version, VersionState,
};
use std::collections::BTreeMap;

pub use votes::{Ballot, excluded, owner_bars};

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

    /// Whether requirements of `kind` count at this door (the table of R7).
    pub fn counts(self, kind: ReadinessKind) -> bool {
        use ReadinessKind as K;
        match self {
            Self::Promote | Self::Revive => kind != K::Held,
            Self::Step => !matches!(kind, K::Approval | K::Order),
            Self::SafeDefault => !matches!(kind, K::Order | K::Soak | K::SafeDefault | K::Held),
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
    /// When `rule.after`'s pointer held it, where the rule asks for a soak; oldest first.
    pub soaked: &'a [Stretch],
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
    let ballot = Ballot::count(serving);
    let mut items =
        vec![state(serving), quarantine(serving), killed(serving), safe_default(serving), pointer(serving), held(serving)];
    items.extend(order(serving));
    items.extend(time::soak(serving));
    items.extend(time::freeze(serving));
    items.extend(gates::items(serving, &ballot));
    items.extend(votes::items(serving, &ballot));
    items.push(votes::hidden_text(serving, &ballot));
    items.retain(|item| serving.door.counts(item.kind));
    items.sort_by(|a, b| (a.kind, &a.name).cmp(&(b.kind, &b.name)));
    if glass_is_broken(serving) {
        for item in &mut items {
            override_by_glass(serving, item);
        }
    }
    Readiness(items)
}

/// Whether the promotion was opened by breaking the glass, by someone who may do so now.
fn glass_is_broken(serving: &Serving<'_>) -> bool {
    serving.promotion.is_some_and(|promotion| promotion.break_glass && may_break_glass(serving, &promotion.actor))
}

fn may_break_glass(serving: &Serving<'_>, actor: &Actor) -> bool {
    let caller = Caller::whole(actor.clone());
    access::breaks_glass(serving.policy, &caller, serving.rule, serving.key, serving.environment).is_ok()
}

/// Opens a requirement that blocks. Quarantine stays, and what no word can change: what the pointer is (moved, killed, held), and
/// a version that its author took away.
fn override_by_glass(serving: &Serving<'_>, item: &mut ReadinessItem) {
    use ReadinessKind as K;
    let blocks = matches!(item.status, ReadinessStatus::Unmet | ReadinessStatus::Pending);
    let firm =
        matches!(item.kind, K::Quarantine | K::Killed | K::Pointer | K::Held) || (item.kind == K::State && serving.to.discarded);
    let Some(promotion) = serving.promotion.filter(|_| blocks && !firm) else { return };
    item.status = ReadinessStatus::Overridden;
    item.reason = format!("{} broke the glass ({})", promotion.actor, item.reason);
    (item.until, item.who) = (None, Vec::new());
}

/// An item of a kind that needs no name of its own: met for `Ok`, unmet for `Err`, each with its reason.
fn item(kind: ReadinessKind, found: Result<String, String>, who: Vec<String>) -> ReadinessItem {
    let (status, reason, who) = match found {
        Ok(reason) => (ReadinessStatus::Met, reason, Vec::new()),
        Err(reason) => (ReadinessStatus::Unmet, reason, who),
    };
    ReadinessItem { kind, name: kind.to_string(), status, reason, until: None, who }
}

fn roles(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("role:{name}")).collect()
}

fn state(serving: &Serving<'_>) -> ReadinessItem {
    let version = serving.to;
    let found = match version.state {
        _ if version.discarded => Err("discarded; saving the content again brings it back".to_owned()),
        VersionState::Draft => Err("a draft; its author must submit it for review".to_owned()),
        state => Ok(format!("in {state}")),
    };
    item(ReadinessKind::State, found, version.authors.iter().map(ToString::to_string).collect())
}

fn quarantine(serving: &Serving<'_>) -> ReadinessItem {
    let found = match &serving.to.quarantine {
        None => Ok("not quarantined".to_owned()),
        Some(mark) => Err(format!("quarantined by {}; another person must lift it", mark.by)),
    };
    item(ReadinessKind::Quarantine, found, roles(&["approver"]))
}

fn killed(serving: &Serving<'_>) -> ReadinessItem {
    let killed = serving.pointer.is_some_and(|pointer| pointer.killed);
    let found = match serving.door {
        Door::SafeDefault => match serving.killed_in {
            [] => Ok("no pointer of the key is killed".to_owned()),
            environments => {
                let names: Vec<&str> = environments.iter().map(Environment::as_str).collect();
                Err(format!("the safe default is frozen while the key is killed in {}", names.join(", ")))
            }
        },
        Door::Revive if killed => Ok("killed; reviving clears it".to_owned()),
        Door::Revive => Err("the pointer is not killed: there is nothing to revive".to_owned()),
        _ if killed => Err("the pointer is killed; only a revive serves again".to_owned()),
        _ => Ok("not killed".to_owned()),
    };
    item(ReadinessKind::Killed, found, roles(&["releaser"]))
}

fn order(serving: &Serving<'_>) -> Option<ReadinessItem> {
    let before = serving.rule.after.as_ref()?;
    let found = if serving.held_before {
        Ok(format!("{before} held it at 100 %"))
    } else {
        Err(format!("{before} has not held this digest at 100 %; promote it there first"))
    };
    Some(item(ReadinessKind::Order, found, roles(&["releaser"])))
}

fn safe_default(serving: &Serving<'_>) -> ReadinessItem {
    let found = match serving.safe_default {
        _ if !serving.rule.requires_safe_default() => Ok("not required here".to_owned()),
        None => Err("the key has no safe default; promote one to @safe-default".to_owned()),
        Some(version) if version.quarantine.is_some() => Err("the key's safe default is quarantined".to_owned()),
        Some(version) => Ok(format!("v{}", version.number)),
    };
    item(ReadinessKind::SafeDefault, found, roles(&["releaser"]))
}

fn held(serving: &Serving<'_>) -> ReadinessItem {
    let found = match serving.pointer {
        Some(pointer) if pointer.held => Err("the rollout is held; resume it first".to_owned()),
        _ => Ok("not held".to_owned()),
    };
    item(ReadinessKind::Held, found, roles(&["releaser"]))
}

fn pointer(serving: &Serving<'_>) -> ReadinessItem {
    let who = serving.promotion.map(|promotion| vec![promotion.actor.to_string()]).unwrap_or_default();
    let found = match (serving.door, serving.promotion) {
        (Door::Rollback, _) => Ok("rolling back from where it is".to_owned()),
        (Door::Step, Some(promotion)) if serving.pointer.map(|pointer| pointer.digest) == promotion.to_digest => {
            Ok("the rollout that was approved".to_owned())
        }
        (Door::Step, _) => Err("the pointer is not where an applied promotion put it; promote again".to_owned()),
        (_, None) => Ok("where it was".to_owned()),
        (_, Some(promotion)) => match moved(serving, promotion) {
            Some(why) => Err(format!("{why}; renew the promotion")),
            None => Ok("where it was when this was opened".to_owned()),
        },
    };
    item(ReadinessKind::Pointer, found, who)
}

/// What is no longer as it was when the promotion was opened, if anything.
fn moved(serving: &Serving<'_>, promotion: &Promotion) -> Option<String> {
    let (from, revision) = stands_at(serving);
    let policy = policy_digest(serving.rule);
    if promotion.state != PromotionState::Open {
        Some(format!("the promotion is {}", promotion.state))
    } else if promotion.expires_at.is_some_and(|at| at <= serving.now) {
        Some("the promotion has expired".to_owned())
    } else if promotion.from_digest != from || promotion.pointer_revision != revision {
        Some("the pointer has moved since this was opened".to_owned())
    } else if promotion.safe_default_digest != serving.key.safe_default_digest {
        Some("the key's safe default has changed since this was opened".to_owned())
    } else if promotion.policy_digest != policy {
        Some("the policy has changed since this was opened".to_owned())
    } else if promotion.statement != Statement::of(promotion).digest() {
        Some("the promotion is not what its statement says".to_owned())
    } else {
        None
    }
}

/// Digest and revision that a promotion of this door must start from.
fn stands_at(serving: &Serving<'_>) -> (Option<Digest>, i64) {
    if serving.environment.is_safe_default() {
        return (serving.key.safe_default_digest, 0);
    }
    (serving.pointer.map(|pointer| pointer.digest), serving.pointer.map_or(0, |pointer| pointer.revision))
}

#[cfg(test)]
mod tests;
