//! Which open promotions wait for a person: a quick look that leaves most out, and the exact answer of a whole view.

use crate::model::{
    Act, Actor, ConfigKey, EnvironmentRule, Policy, Promotion, PromotionState, ReadinessKind, Refusal, Timestamp, Verdict,
};
use crate::rules::access::{Caller, Need, allowed};
use crate::rules::policy::{self, group_members, group_of, person_of};
use crate::rules::statement::policy_digest;
use crate::snapshot::Snapshot;
use crate::storage::{Conn, Vote};
use crate::wire::promotions::PromotionView;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

/// Those of `rows` (a page of open promotions, by id) that may wait for the caller. One query for the whole page; it leaves out
/// nothing that [`awaits`] would keep.
///
/// # Errors
/// The database is away.
pub async fn shortlist(
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    caller: &Caller,
    now: Timestamp,
    rows: Vec<Promotion>,
) -> Result<Vec<Promotion>, Refusal> {
    let ids = rows.iter().map(|row| row.promotion_id);
    let (Some(first), Some(last)) = (ids.clone().min(), ids.max()) else { return Ok(rows) };
    let policy = snapshot.policy();
    let mut said: HashMap<Uuid, Newest> = HashMap::new();
    for Vote { promotion_id, approver, gate, verdict } in conn.approval_open_votes(first, last).await? {
        said.entry(promotion_id).or_default().insert((gate, person_of(policy, &approver)), verdict);
    }
    let me = person_of(policy, &caller.actor);
    let none = Newest::new();
    let may = |row: &Promotion| {
        let Some(key) = snapshot.key(&row.key_id) else { return false };
        let Some(rule) = policy::rule(policy, &row.key_id, &row.environment) else { return false };
        let glance =
            Glance { policy, caller, me: &me, key, rule: &rule, row, votes: said.get(&row.promotion_id).unwrap_or(&none) };
        glance.opened_and_stuck(snapshot, now) || glance.may_apply() || glance.may_approve()
    };
    Ok(rows.into_iter().filter(may).collect())
}

/// Newest verdict of a person on a gate; a retraction stays as one.
type Newest = BTreeMap<(String, Actor), Verdict>;

/// One row, with what the page's query and the snapshot say of it.
struct Glance<'a> {
    policy: &'a Policy,
    caller: &'a Caller,
    me: &'a Actor,
    key: &'a ConfigKey,
    rule: &'a EnvironmentRule,
    row: &'a Promotion,
    votes: &'a Newest,
}

impl Glance<'_> {
    fn may(&self, need: Need) -> bool {
        allowed(self.policy, self.caller, need, Some(self.key), Some(&self.row.environment)).is_ok()
    }

    fn opened(&self) -> bool {
        person_of(self.policy, &self.row.actor) == *self.me
    }

    fn rejected(&self) -> bool {
        self.votes.values().any(|verdict| *verdict == Verdict::Reject)
    }

    /// Whether as many persons approved on a gate as the rule asks for; whether they count is not looked at.
    fn enough(&self, gate: &str, count: u32) -> bool {
        let yes = self.votes.iter().filter(|((on, _), verdict)| on == gate && **verdict == Verdict::Approve).count();
        yes >= usize::try_from(count).unwrap_or(usize::MAX)
    }

    fn opened_and_stuck(&self, snapshot: &Snapshot, now: Timestamp) -> bool {
        self.opened() && (self.rejected() || self.row.at_time.is_some_and(|at| at <= now) || self.outdated(snapshot, now))
    }

    fn outdated(&self, snapshot: &Snapshot, now: Timestamp) -> bool {
        let row = self.row;
        let moved = if row.environment.is_safe_default() {
            self.key.safe_default_digest != row.from_digest
        } else {
            let pointer = snapshot.pointer(&row.key_id, &row.environment);
            pointer.map_or(0, |pointer| pointer.revision) != row.pointer_revision
        };
        moved
            || self.key.safe_default_digest != row.safe_default_digest
            || row.expires_at.is_some_and(|at| at <= now)
            || policy_digest(self.rule) != row.policy_digest
    }

    fn may_apply(&self) -> bool {
        let approved = self.rule.approvals.iter().flatten().all(|rule| self.enough(&rule.gate, rule.count));
        self.row.break_glass
            || approved && !self.rejected() && self.may(if self.row.act == Act::Revive { Need::Revive } else { Need::Apply })
    }

    fn may_approve(&self) -> bool {
        let member = |group: &str| group_members(self.policy, group).iter().any(|who| person_of(self.policy, who) == *self.me);
        // Who said yes to a gate is not asked again: no statement of an open promotion ever changes.
        let mine = self.rule.approvals.iter().flatten().filter(|rule| member(group_of(&rule.group, self.key)));
        let mut waiting = mine.filter(|rule| !self.approved(&rule.gate));
        !self.opened() && waiting.next().is_some() && self.may(Need::Approve)
    }

    /// Whether the caller's newest word on the gate is yes.
    fn approved(&self, gate: &str) -> bool {
        self.votes.get(&(gate.to_owned(), self.me.clone())) == Some(&Verdict::Approve)
    }
}

/// Whether an open promotion waits for the caller: to approve, to apply what is ready, or, as who opened it, to answer a reject or
/// to renew what is outdated, or to see why what it left to the registry for a time that has come is not applied.
pub fn awaits(view: &PromotionView, now: Timestamp) -> bool {
    let rejected = || {
        let mut newest = BTreeMap::new();
        for vote in view.approvals.iter().filter(|vote| vote.verdict != Verdict::Comment) {
            newest.insert((&vote.approver, &vote.gate), vote.verdict);
        }
        newest.into_values().any(|verdict| verdict == Verdict::Reject)
    };
    let mine = &view.mine;
    let overdue = || view.promotion.at_time.is_some_and(|at| at <= now) && !view.readiness.is_ready();
    let outdated = || view.readiness.unmet().any(|item| item.kind == ReadinessKind::Pointer);
    // What is left to the registry waits for nobody, until it is ready and the registry may not apply it.
    let left = view.promotion.is_timed() && !view.promotion.is_due(now);
    view.promotion.state == PromotionState::Open
        && (!mine.can_approve.is_empty()
            || (mine.can_apply && view.readiness.is_ready() && !left)
            || (mine.opened && (rejected() || overdue() || outdated())))
}
