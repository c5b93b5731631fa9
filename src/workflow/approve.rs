//! A person's approval, rejection, override, comment or retraction (R6, R9, R11).

use super::apply::{closed, facts, promotion};
use super::facts::Facts;
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Approval, Code, PromotionState, ReadinessKind, ReadinessStatus, Refusal, Subject, Verdict};
use crate::rules::access::{Caller, Need};
use crate::rules::policy::{group_members, group_of, groups_of, person_of};
use crate::rules::readiness::{Serving, excluded, owner_bars};
use crate::rules::statement::Statement;
use crate::wire::promotions::Vote;
use serde_json::json;
use uuid::Uuid;

/// POST /v1/promotions/{id}/approvals.
#[derive(Debug, Clone)]
pub struct CastVote {
    /// The promotion.
    pub id: Uuid,
    /// The request.
    pub body: Vote,
}

impl Verb for CastVote {
    type Answer = Approval;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Approval>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let (key, row) = promotion(work, self.id).await?;
        let need = match self.body.verdict {
            Verdict::Comment => Need::Comment,
            Verdict::Override => Need::Override,
            Verdict::Approve | Verdict::Reject | Verdict::Retract => Need::Approve,
        };
        work.allow(need, Some(&key), Some(&row.environment))?;
        let gate = if self.body.verdict == Verdict::Comment {
            self.replies(work).await?;
            String::new()
        } else {
            if row.state != PromotionState::Open {
                return Err(closed(&row, row.state));
            }
            if !work.actor().is_person() {
                return Err(Refusal::new(Code::Forbidden, "only persons approve, reject or override"));
            }
            let facts = facts(work, key, row.clone()).await?;
            self.judge(work, &facts)?
        };
        let vote = self.row(work, gate);
        work.conn.approval_put(&vote).await?;
        let detail = json!({
            "promotion_id": row.promotion_id, "key_id": row.key_id, "environment": row.environment, "to": row.to_digest,
            "approval_id": vote.approval_id, "verdict": vote.verdict, "gate": vote.gate, "statement": vote.statement,
            "head": vote.head, "rationale": vote.rationale,
        });
        let subject = Subject::promotion(row.promotion_id);
        Ok(Outcome::done(vote, Action::PromotionApprove, subject, &detail).created())
    }

    fn protects(&self) -> Option<Subject> {
        (self.body.verdict != Verdict::Comment).then(|| Subject::promotion(self.id))
    }
}

impl CastVote {
    /// Whether the verdict may be given; the gate that it is on.
    fn judge(&self, work: &Work<'_>, facts: &Facts) -> Result<String, Refusal> {
        match self.body.verdict {
            Verdict::Approve => {
                let gate = self.approval_gate(work, facts)?;
                four_eyes(work, facts)?;
                member(work, facts, &gate)?;
                self.shown(facts)?;
                self.acknowledged(facts)?;
                Ok(gate)
            }
            Verdict::Override => {
                let gate = self.evaluation_gate(work, facts)?;
                four_eyes(work, facts)?;
                self.shown(facts)?;
                Ok(gate)
            }
            Verdict::Reject => self.approval_gate(work, facts),
            Verdict::Retract => self.retracted(work, facts),
            Verdict::Comment => Ok(String::new()),
        }
    }

    /// The approval gate that is named, or the only one that fits: the caller's only one, else the only one of the caller's
    /// that is not met yet.
    fn approval_gate(&self, work: &Work<'_>, facts: &Facts) -> Result<String, Refusal> {
        let gates: Vec<&str> =
            facts.rule.approvals.as_deref().unwrap_or_default().iter().map(|rule| rule.gate.as_str()).collect();
        if let Some(named) = &self.body.gate {
            let known = gates.contains(&named.as_str());
            return if known { Ok(named.clone()) } else { Err(no_such_gate(&gates)) };
        }
        let mine: Vec<&str> = gates.iter().copied().filter(|gate| member(work, facts, gate).is_ok()).collect();
        let readiness = facts.readiness();
        let is_unmet = |gate: &str| readiness.unmet().any(|i| i.kind == ReadinessKind::Approval && i.name == gate);
        let unmet: Vec<&str> = mine.iter().copied().filter(|gate| is_unmet(gate)).collect();
        match (gates.as_slice(), mine.as_slice(), unmet.as_slice()) {
            ([only], ..) | (_, [only], _) | (_, _, [only]) => Ok((*only).to_owned()),
            ([], ..) => Err(Refusal::invalid("/gate", "the policy asks for no approvals here: comment instead")),
            (_, [], _) => {
                Err(Refusal::invalid("/gate", "more than one gate is there: name one")
                    .hint(format!("it has: {}", gates.join(", "))))
            }
            _ => Err(Refusal::invalid("/gate", "more than one gate fits: name one").hint(format!("yours: {}", mine.join(", ")))),
        }
    }

    /// The evaluation gate that is named, or the only one that is shut and that the caller may override.
    fn evaluation_gate(&self, work: &Work<'_>, facts: &Facts) -> Result<String, Refusal> {
        let may = |gate: &str| {
            let group = facts.rule.gate.get(gate).and_then(|gate| gate.override_group.as_deref());
            group.is_some_and(|group| in_group(work, group))
        };
        let gates: Vec<&str> = facts.rule.gates.as_deref().unwrap_or_default().iter().map(String::as_str).collect();
        let gate = match &self.body.gate {
            Some(named) if gates.contains(&named.as_str()) => named.as_str(),
            Some(_) => return Err(no_such_gate(&gates)),
            None => match shut(facts).filter(|gate| may(gate)).collect::<Vec<_>>().as_slice() {
                [only] => *only,
                _ => return Err(Refusal::invalid("/gate", "name the evaluation gate to override")),
            },
        };
        if !may(gate) {
            return Err(Refusal::new(Code::Forbidden, format!("you are not in the group that may override the gate {gate}")));
        }
        Ok(gate.to_owned())
    }

    /// The gate of a verdict of the caller's that is taken back.
    fn retracted(&self, work: &Work<'_>, facts: &Facts) -> Result<String, Refusal> {
        let me = person_of(&work.policy, work.actor());
        let mut newest = std::collections::BTreeMap::new();
        for vote in facts.approvals.iter().filter(|vote| vote.verdict != Verdict::Comment) {
            if person_of(&work.policy, &vote.approver) == me {
                newest.insert(vote.gate.as_str(), vote.verdict);
            }
        }
        newest.retain(|_, verdict| *verdict != Verdict::Retract);
        let gates: Vec<&str> = newest.into_keys().collect();
        match (&self.body.gate, gates.as_slice()) {
            (Some(named), gates) if gates.contains(&named.as_str()) => Ok(named.clone()),
            (None, [only]) => Ok((*only).to_owned()),
            (_, []) => Err(Refusal::new(Code::NoChange, "you have given no verdict here to take back")),
            (Some(_), gates) => Err(no_such_gate(gates)),
            (None, gates) => Err(Refusal::invalid("/gate", "name one of your verdicts' gates").hint(gates.join(", "))),
        }
    }

    /// Compares the statement that the client made from what it showed, and whether that is still so.
    fn shown(&self, facts: &Facts) -> Result<(), Refusal> {
        let Some(row) = &facts.asked.promotion else { return Err(Refusal::not_found()) };
        let statement = Statement::of(row);
        match self.body.statement {
            None => {
                return Err(Refusal::invalid("/statement", "an approval says what it approves: the statement's digest")
                    .hint("compute it from what was shown"));
            }
            Some(given) if given != statement.digest() || row.statement != given => {
                return Err(Refusal::new(Code::StatementMismatch, "what you were shown is not what this promotion says")
                    .hint("read it again, then decide")
                    .current(&statement));
            }
            Some(_) => {}
        }
        refuse_unmet(facts, ReadinessKind::Pointer, "what this promotion says is no longer so")
    }

    /// Refuses an approval that did not acknowledge exactly the unusual characters, where the policy asks for it.
    fn acknowledged(&self, facts: &Facts) -> Result<(), Refusal> {
        let (mut seen, mut there) = (self.body.acknowledged_hidden.clone(), facts.hidden.clone());
        seen.sort();
        there.sort();
        if !facts.rule.acknowledges_hidden() || seen == there {
            return Ok(());
        }
        let refusal =
            Refusal::new(Code::PolicyUnmet, "the unusual characters of this change must be acknowledged, exactly these");
        let items = facts.readiness().0.into_iter().filter(|item| item.kind == ReadinessKind::HiddenText).collect();
        Err(refusal.unmet(items).current(&there).hint("look at them, then acknowledge them"))
    }

    async fn replies(&self, work: &mut Work<'_>) -> Result<(), Refusal> {
        let Some(to) = self.body.reply_to else { return Ok(()) };
        let there = work.conn.approval_list(self.id).await?.iter().any(|vote| vote.approval_id == to);
        if there { Ok(()) } else { Err(Refusal::invalid("/reply_to", "this promotion has no such comment")) }
    }

    fn row(&self, work: &Work<'_>, gate: String) -> Approval {
        let body = self.body.clone();
        Approval {
            approval_id: work.uuid(),
            promotion_id: self.id,
            approver: work.actor().clone(),
            gate,
            verdict: body.verdict,
            at: work.at,
            rationale: body.rationale,
            statement: body.statement,
            head: body.head,
            acknowledged_hidden: body.acknowledged_hidden,
            groups: groups_of(&work.policy, work.actor()),
            login_method: work.caller.login.to_string(),
            owner: work.caller.other_owner().cloned(),
            anchor: body.anchor,
            reply_to: body.reply_to,
        }
    }
}

fn no_such_gate(gates: &[&str]) -> Refusal {
    Refusal::invalid("/gate", "there is no such gate here for this verdict").hint(format!("it has: {}", gates.join(", ")))
}

/// The evaluation gates that are shut.
fn shut(facts: &Facts) -> impl Iterator<Item = &str> {
    let open: Vec<String> = facts
        .readiness()
        .0
        .into_iter()
        .filter(|item| item.kind == ReadinessKind::Gate && item.status == ReadinessStatus::Met)
        .map(|item| item.name)
        .collect();
    facts
        .rule
        .gates
        .as_deref()
        .unwrap_or_default()
        .iter()
        .map(String::as_str)
        .filter(move |gate| !open.iter().any(|name| name == gate))
}

/// Refuses who must not approve, whatever the gate.
fn four_eyes(work: &Work<'_>, facts: &Facts) -> Result<(), Refusal> {
    match barring(&facts.serving(), work.caller) {
        Some(why) => Err(Refusal::new(Code::Forbidden, why).hint("someone else must approve it")),
        None => Ok(()),
    }
}

/// Why four eyes bar a caller from approving: for who it is, or for whose token it uses.
pub(super) fn barring(serving: &Serving<'_>, caller: &Caller) -> Option<String> {
    let own = || excluded(serving, &caller.actor).map(|why| format!("you are {why}"));
    let owner = |owner| owner_bars(serving, owner).map(|why| format!("this token belongs to {owner}, who is {why}"));
    own().or_else(|| caller.other_owner().and_then(owner))
}

/// Refuses who is not in the group of an approval gate.
fn member(work: &Work<'_>, facts: &Facts, gate: &str) -> Result<(), Refusal> {
    let rules = facts.rule.approvals.as_deref().unwrap_or_default();
    let group = rules.iter().find(|rule| rule.gate == gate).map(|rule| group_of(&rule.group, &facts.asked.key));
    match group {
        Some(group) if in_group(work, group) => Ok(()),
        Some(group) => Err(Refusal::new(Code::Forbidden, format!("you are not in the group {group}, which approves {gate}"))),
        None => Err(no_such_gate(&[])),
    }
}

fn in_group(work: &Work<'_>, group: &str) -> bool {
    let me = person_of(&work.policy, work.actor());
    group_members(&work.policy, group).iter().any(|member| person_of(&work.policy, member) == me)
}

fn refuse_unmet(facts: &Facts, kind: ReadinessKind, why: &str) -> Result<(), Refusal> {
    let unmet: Vec<_> = facts.readiness().unmet().filter(|item| item.kind == kind).cloned().collect();
    if unmet.is_empty() { Ok(()) } else { Err(Refusal::new(Code::PolicyUnmet, why).unmet(unmet).hint("renew the promotion")) }
}
