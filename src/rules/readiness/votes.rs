//! Four eyes (R6): whose vote counts on which requirement, each person on one, found by matching persons to requirements.

use super::{ReadinessItem, Serving, gates, item, roles};
use crate::model::policy::ApprovalRule;
use crate::model::{Actor, Approval, Digest, ReadinessKind, ReadinessStatus, Verdict};
use crate::rules::access::{Caller, Need, allowed};
use crate::rules::policy::{group_members, group_of, person_of, same_person};
use crate::rules::statement::Statement;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The votes that count, and what each meets.
#[derive(Debug)]
pub struct Ballot<'a> {
    /// Newest verdict of each person on each gate; comments and retracted ones left out.
    newest: BTreeMap<(&'a str, Actor), &'a Approval>,
    /// Gate, and the votes that meet it: no person twice.
    meeting: BTreeMap<String, Vec<&'a Approval>>,
}

impl<'a> Ballot<'a> {
    /// Counts the votes of `serving`.
    pub fn count(serving: &Serving<'a>) -> Self {
        let newest = newest(serving);
        let mut slots: Vec<(String, Vec<(Actor, &'a Approval)>)> = Vec::new();
        for rule in serving.rule.approvals.as_deref().unwrap_or_default() {
            let votes = counted(serving, &newest, &rule.gate, Verdict::Approve, group_of(&rule.group, serving.key));
            // More slots than persons can never be met: that many are enough to see it.
            let count = usize::try_from(rule.count).unwrap_or(usize::MAX).min(votes.len() + 1);
            slots.extend(std::iter::repeat_n((rule.gate.clone(), votes), count));
        }
        for gate in gates::shut(serving) {
            let group = serving.rule.gate.get(gate).and_then(|gate| gate.override_group.as_deref());
            if let Some(group) = group {
                slots.push((gate.to_owned(), counted(serving, &newest, gate, Verdict::Override, group)));
            }
        }
        Self { newest, meeting: matching(&slots) }
    }

    /// The votes that meet a gate.
    pub fn meeting(&self, gate: &str) -> &[&'a Approval] {
        self.meeting.get(gate).map(Vec::as_slice).unwrap_or_default()
    }

    /// Persons whose newest word on a gate is no.
    pub fn rejecting(&self, gate: &str) -> Vec<&Actor> {
        self.newest
            .iter()
            .filter(|((on, _), vote)| *on == gate && vote.verdict == Verdict::Reject)
            .map(|((_, who), _)| who)
            .collect()
    }

    fn meets_elsewhere(&self, serving: &Serving<'_>, person: &Actor, gate: &str) -> bool {
        let of = |vote: &&Approval| person_of(serving.policy, &vote.approver) == *person;
        self.meeting.iter().any(|(other, votes)| other != gate && votes.iter().any(of))
    }
}

fn newest<'a>(serving: &Serving<'a>) -> BTreeMap<(&'a str, Actor), &'a Approval> {
    let mut newest = BTreeMap::new();
    for vote in serving.approvals {
        let at = (vote.gate.as_str(), person_of(serving.policy, &vote.approver));
        match vote.verdict {
            Verdict::Comment => {}
            Verdict::Retract => {
                newest.remove(&at);
            }
            Verdict::Approve | Verdict::Reject | Verdict::Override => {
                newest.insert(at, vote);
            }
        }
    }
    newest
}

/// The persons whose `verdict` on `gate` counts: given on this very statement, by a person, not by one of the two eyes that wrote
/// it, who is in the group and still has the right.
fn counted<'a>(
    serving: &Serving<'a>,
    newest: &BTreeMap<(&'a str, Actor), &'a Approval>,
    gate: &str,
    verdict: Verdict,
    group: &str,
) -> Vec<(Actor, &'a Approval)> {
    let statement: Option<Digest> = serving.promotion.map(|promotion| Statement::of(promotion).digest());
    let need = if verdict == Verdict::Override { Need::Override } else { Need::Approve };
    let counts = |person: &Actor, vote: &Approval| {
        vote.verdict == verdict
            && vote.approver.is_person()
            && statement.is_some()
            && vote.statement == statement
            && excluded(serving, person).is_none()
            && vote.owner.as_ref().is_none_or(|owner| owner_bars(serving, owner).is_none())
            && in_group(serving, person, group)
            && (has_right(serving, person, need) || has_right(serving, &vote.approver, need))
    };
    let on_gate = newest.iter().filter(|((on, _), _)| *on == gate);
    on_gate.filter(|((_, person), vote)| counts(person, vote)).map(|((_, person), vote)| (person.clone(), *vote)).collect()
}

fn in_group(serving: &Serving<'_>, person: &Actor, group: &str) -> bool {
    group_members(serving.policy, group).iter().any(|member| person_of(serving.policy, member) == *person)
}

fn has_right(serving: &Serving<'_>, actor: &Actor, need: Need) -> bool {
    let caller = Caller::whole(actor.clone());
    allowed(serving.policy, &caller, need, Some(serving.key), Some(serving.environment)).is_ok()
}

/// Gives each slot a person, no person two slots, as many slots as can be (Kuhn's augmenting paths, 1955).
fn matching<'a>(slots: &[(String, Vec<(Actor, &'a Approval)>)]) -> BTreeMap<String, Vec<&'a Approval>> {
    let mut taken: BTreeMap<Actor, usize> = BTreeMap::new();
    for slot in 0..slots.len() {
        augment(slots, slot, &mut taken, &mut Vec::new());
    }
    let mut meeting: BTreeMap<String, Vec<&'a Approval>> = BTreeMap::new();
    for (person, slot) in &taken {
        let (gate, votes) = &slots[*slot];
        let vote = votes.iter().find(|(who, _)| who == person).map(|(_, vote)| *vote);
        meeting.entry(gate.clone()).or_default().extend(vote);
    }
    meeting
}

fn augment(
    slots: &[(String, Vec<(Actor, &Approval)>)],
    slot: usize,
    taken: &mut BTreeMap<Actor, usize>,
    seen: &mut Vec<Actor>,
) -> bool {
    for (person, _) in &slots[slot].1 {
        if seen.contains(person) {
            continue;
        }
        seen.push(person.clone());
        let free = match taken.get(person).copied() {
            None => true,
            Some(other) => augment(slots, other, taken, seen),
        };
        if free {
            taken.insert(person.clone(), slot);
            return true;
        }
    }
    false
}

/// Why a person cannot approve or override, whatever the gate (R6), to be read after "is": "an author of this version". None where
/// four eyes are kept.
pub fn excluded(serving: &Serving<'_>, person: &Actor) -> Option<String> {
    had_a_hand(serving, person).or_else(|| {
        let version = serving.to;
        let wrote = version.authors.iter().chain([&version.author]).chain(&version.submitter);
        let opened = serving.promotion.map(|promotion| &promotion.actor);
        let is = |actor: &Actor| same_person(serving.policy, actor, person);
        let owned = |actor: &&Actor| serving.owners.get(*actor).is_some_and(|owners| owners.iter().any(is));
        let owned = wrote.chain(serving.fragment_authors).chain(opened).find(owned);
        owned.map(|actor| format!("an owner of a token that acts for {actor}"))
    })
}

/// Whether a person wrote it, submitted it or opened it, under whatever account.
fn had_a_hand(serving: &Serving<'_>, person: &Actor) -> Option<String> {
    let is = |actor: &Actor| same_person(serving.policy, actor, person);
    let version = serving.to;
    let opened = serving.promotion.map(|promotion| &promotion.actor);
    if is(&version.author) || version.authors.iter().any(is) {
        return Some("an author of this version".to_owned());
    }
    if version.submitter.as_ref().is_some_and(is) {
        return Some("its submitter".to_owned());
    }
    if serving.fragment_authors.iter().any(is) {
        return Some("an author of a fragment that it pins".to_owned());
    }
    opened.is_some_and(is).then(|| "who opened this promotion".to_owned())
}

/// Why nothing that is given with a token of this owner counts, to be read after "is": whoever made a token for somebody else can
/// act as them, so what bars the one bars the other. Whoever made the tokens of author and approver alike, and did nothing under
/// their own name, is not barred: else an admin could not make a team's tokens.
pub fn owner_bars(serving: &Serving<'_>, owner: &Actor) -> Option<String> {
    let voted = |vote: &Approval| {
        matches!(vote.verdict, Verdict::Approve | Verdict::Override) && same_person(serving.policy, &vote.approver, owner)
    };
    let votes = || serving.approvals.iter().any(voted).then(|| "one of its approvers already".to_owned());
    had_a_hand(serving, owner).or_else(votes)
}

/// One item for each approval gate of the rule.
pub(super) fn items(serving: &Serving<'_>, ballot: &Ballot<'_>) -> Vec<ReadinessItem> {
    let rules = serving.rule.approvals.as_deref().unwrap_or_default();
    rules.iter().map(|rule| approval(serving, ballot, rule)).collect()
}

fn approval(serving: &Serving<'_>, ballot: &Ballot<'_>, rule: &ApprovalRule) -> ReadinessItem {
    let group = group_of(&rule.group, serving.key);
    let have = ballot.meeting(&rule.gate);
    let rejecting = ballot.rejecting(&rule.gate);
    let names = |votes: &[&Approval]| votes.iter().map(|vote| vote.approver.to_string()).collect::<Vec<_>>().join(", ");
    let enough = have.len() >= usize::try_from(rule.count).unwrap_or(usize::MAX);
    let (status, reason, who) = if !rejecting.is_empty() {
        let who: Vec<String> = rejecting.iter().map(ToString::to_string).collect();
        (ReadinessStatus::Unmet, format!("{} asks for changes", who.join(", ")), who)
    } else if enough {
        (ReadinessStatus::Met, format!("approved by {}", names(have)), Vec::new())
    } else {
        let mut reason = format!("{} of {} approvals by group {group}", have.len(), rule.count);
        let lapsed = lapsed(serving, ballot, &rule.gate, group);
        if !lapsed.is_empty() {
            let verb = if lapsed.len() == 1 { "was" } else { "were" };
            let _ =
                write!(reason, "; {} {verb} last seen in it over 24 h ago: signing in again makes that count", lapsed.join(", "));
        }
        (ReadinessStatus::Unmet, reason, eligible(serving, ballot, rule, group))
    };
    ReadinessItem { kind: ReadinessKind::Approval, name: rule.gate.clone(), status, reason, until: None, who }
}

/// Those who approved, and whom their issuer said to be in the group, but too long ago for it to count.
fn lapsed(serving: &Serving<'_>, ballot: &Ballot<'_>, gate: &str, group: &str) -> Vec<String> {
    let gone = serving.policy.lapsed.get(group).map(Vec::as_slice).unwrap_or_default();
    let was = |person: &Actor| gone.iter().any(|member| person_of(serving.policy, member) == *person);
    let approved = ballot.newest.iter().filter(|((on, _), vote)| *on == gate && vote.verdict == Verdict::Approve);
    let lapsed = approved.filter(|((_, person), _)| was(person) && !in_group(serving, person, group));
    lapsed.map(|((_, person), _)| person.to_string()).collect()
}

/// Members of the group whose approval would count and who gave none yet; the group itself where there is nobody.
fn eligible(serving: &Serving<'_>, ballot: &Ballot<'_>, rule: &ApprovalRule, group: &str) -> Vec<String> {
    let open = |member: &&Actor| {
        let person = person_of(serving.policy, member);
        let voted = ballot.meeting(&rule.gate).iter().any(|vote| person_of(serving.policy, &vote.approver) == person);
        member.is_person()
            && !voted
            && !ballot.meets_elsewhere(serving, &person, &rule.gate)
            && excluded(serving, &person).is_none()
            && has_right(serving, member, Need::Approve)
    };
    let who: Vec<String> = group_members(serving.policy, group).iter().filter(open).map(ToString::to_string).collect();
    if who.is_empty() { vec![format!("group:{group}")] } else { who }
}

/// Invisible and unusual characters: each counted approval must have acknowledged exactly these, where the policy asks for it.
pub(super) fn hidden_text(serving: &Serving<'_>, ballot: &Ballot<'_>) -> ReadinessItem {
    let count = serving.hidden.len();
    let rules = serving.rule.approvals.as_deref().unwrap_or_default();
    let votes: Vec<&&Approval> = rules.iter().flat_map(|rule| ballot.meeting(&rule.gate)).collect();
    let blind = votes.iter().filter(|vote| !acknowledges(vote, serving)).count();
    let found = match count {
        0 => Ok("no unusual characters".to_owned()),
        _ if !serving.rule.acknowledges_hidden() => {
            Ok(format!("{count} unusual characters; the policy asks for no acknowledgement"))
        }
        _ if rules.is_empty() => Ok(format!("{count} unusual characters; nobody's approval is asked for")),
        _ if votes.is_empty() => Err(format!("{count} unusual characters, acknowledged by no approval")),
        _ if blind > 0 => Err(format!("{count} unusual characters, not acknowledged by {blind} of {} approvals", votes.len())),
        _ => Ok(format!("{count} unusual characters, acknowledged")),
    };
    let blind_voters = votes.iter().filter(|vote| !acknowledges(vote, serving)).map(|vote| vote.approver.to_string());
    let mut who: Vec<String> = blind_voters.collect();
    if who.is_empty() {
        who = roles(&["approver"]);
    }
    item(ReadinessKind::HiddenText, found, who)
}

fn acknowledges(vote: &Approval, serving: &Serving<'_>) -> bool {
    let mut seen = vote.acknowledged_hidden.clone();
    let mut shown = serving.hidden.to_vec();
    seen.sort();
    shown.sort();
    seen == shown
}
