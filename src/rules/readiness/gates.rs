//! Evaluation gates: what the newest verdict must be to open one, and who may override it (R5).

use super::{Ballot, Serving};
use crate::model::policy::GateRule;
use crate::model::{Actor, GateStatus, GateVerdict, ReadinessItem, ReadinessKind, ReadinessStatus};
use crate::rules::policy::same_person;

/// One item for each gate that the rule names.
pub(super) fn items(serving: &Serving<'_>, ballot: &Ballot<'_>) -> Vec<ReadinessItem> {
    named(serving).map(|(name, gate)| item(serving, ballot, name, gate)).collect()
}

/// The gates that are shut by their verdicts, overrides aside.
pub(super) fn shut<'a>(serving: &'a Serving<'_>) -> impl Iterator<Item = &'a str> {
    named(serving).filter(|(name, gate)| judge(serving, name, *gate).is_err()).map(|(name, _)| name)
}

fn named<'a>(serving: &'a Serving<'_>) -> impl Iterator<Item = (&'a str, Option<&'a GateRule>)> {
    let names = serving.rule.gates.as_deref().unwrap_or_default();
    names.iter().map(|name| (name.as_str(), serving.rule.gate.get(name)))
}

fn item(serving: &Serving<'_>, ballot: &Ballot<'_>, name: &str, gate: Option<&GateRule>) -> ReadinessItem {
    let (status, reason) = match judge(serving, name, gate) {
        Ok(reason) => (ReadinessStatus::Met, reason),
        Err((_, why)) if !ballot.meeting(name).is_empty() => {
            let by: Vec<String> = ballot.meeting(name).iter().map(|approval| approval.approver.to_string()).collect();
            (ReadinessStatus::Overridden, format!("overridden by {} ({why})", by.join(", ")))
        }
        Err(shut) => shut,
    };
    let mut who = Vec::new();
    if matches!(status, ReadinessStatus::Unmet | ReadinessStatus::Pending) {
        who.extend(gate.iter().flat_map(|gate| &gate.reporters).map(ToString::to_string));
        who.extend(gate.and_then(|gate| gate.override_group.as_ref()).map(|group| format!("group:{group}")));
    }
    ReadinessItem { kind: ReadinessKind::Gate, name: name.to_owned(), status, reason, until: None, who }
}

/// Why a gate is open, or why it is shut. Only a `pass` by an allowed reporter, at the policy's threshold, on the right side opens it.
fn judge(serving: &Serving<'_>, name: &str, gate: Option<&GateRule>) -> Result<String, (ReadinessStatus, String)> {
    let unmet = |why: String| Err((ReadinessStatus::Unmet, why));
    let Some(gate) = gate else { return unmet("the policy does not say what this gate measures".to_owned()) };
    let Some(verdict) = serving.verdicts.iter().filter(|verdict| verdict.gate_name == name).max_by_key(|v| (v.attempt, v.at))
    else {
        return unmet("missing: nothing was reported yet".to_owned());
    };
    let reporter = &verdict.reporter;
    if verdict.digest != serving.to.digest {
        return unmet("missing: the report is about another version".to_owned());
    }
    if !gate.reporters.contains(reporter) {
        return unmet(format!("reported by {reporter}, whom the policy does not let report it"));
    }
    if let Some(author) = author_behind(serving, reporter) {
        return unmet(format!("reported by {reporter}, which {author} owns, an author of this version"));
    }
    match verdict.status {
        GateStatus::Pending => Err((ReadinessStatus::Pending, "pending: the evaluation runs".to_owned())),
        GateStatus::Error => unmet("error: the evaluation broke".to_owned()),
        GateStatus::Pass | GateStatus::Fail => score(verdict, gate),
    }
}

fn score(verdict: &GateVerdict, gate: &GateRule) -> Result<String, (ReadinessStatus, String)> {
    let unmet = |why: String| Err((ReadinessStatus::Unmet, why));
    let wanted = gate.threshold.value();
    match verdict.score {
        None => unmet("no score was reported".to_owned()),
        Some(score) if score.is_nan() => unmet("the score is NaN, not a number".to_owned()),
        Some(_) if verdict.threshold != Some(wanted) => {
            let judged = verdict.threshold.map_or_else(|| "no threshold".to_owned(), |threshold| threshold.to_string());
            unmet(format!("judged by another threshold: {judged}, the policy says {wanted}"))
        }
        Some(score) if !gate.threshold.admits(score) => {
            unmet(format!("the score {score} is on the wrong side of {}", side(gate)))
        }
        Some(_) if verdict.status != GateStatus::Pass || !verdict.passed => {
            unmet("fail: it was reported as not passed".to_owned())
        }
        Some(score) => Ok(format!("{score}, {}", side(gate))),
    }
}

fn side(gate: &GateRule) -> String {
    match gate.threshold {
        crate::model::policy::Threshold::AtMost(x) => format!("at most {x}"),
        crate::model::policy::Threshold::AtLeast(x) => format!("at least {x}"),
    }
}

/// The author of the version who is the reporter, or owns a token of it.
fn author_behind<'a>(serving: &'a Serving<'_>, reporter: &Actor) -> Option<&'a Actor> {
    let owners = serving.owners.get(reporter).map(Vec::as_slice).unwrap_or_default();
    let authors = serving.to.authors.iter().chain([&serving.to.author]);
    let behind = |author: &Actor| owners.iter().chain([reporter]).any(|owner| same_person(serving.policy, owner, author));
    authors.into_iter().find(|author| behind(author))
}
