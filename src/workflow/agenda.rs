//! What the registry does by itself, and when: the steps of rollouts, and promotions that were left to it.
//!
//! Nothing is polled. A matter is looked at when it falls due, or when an event touches its key; what is not due, or waits for
//! somebody, is not looked at meanwhile. A new agenda reads all of them once, so a restart loses nothing.

use super::advance::{AdvanceRollout, Advanced};
use super::apply_due::{ApplyDue, disowned};
use super::command::Registry;
use super::facts::{Asked, gather};
use crate::model::{Action, AuditEvent, Environment, KeyId, Promotion, PromotionState, Refusal, Timestamp};
use crate::rules::policy;
use crate::rules::readiness::Door;
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// Events, or promotions, that are read in one go.
const BATCH: u32 = 500;
/// When something that failed is tried again.
const RETRY_SECONDS: i64 = 5;

/// Something that may be due.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Matter {
    /// The next step of a rollout.
    Rollout(KeyId, Environment),
    /// A promotion that was left to the registry.
    Promotion(Uuid),
}

/// What is due when. One a process.
#[derive(Debug, Default)]
pub struct Agenda {
    /// The number of the last event that was looked at; none before the first turn.
    seen: Option<u64>,
    due: BTreeSet<(Timestamp, Matter)>,
    when: BTreeMap<Matter, Timestamp>,
}

impl Agenda {
    /// Takes note of what happened and does what is due; when the next thing falls due, if nothing happens before.
    ///
    /// # Errors
    /// The database is away; what is due then stays so.
    pub async fn turn(&mut self, registry: &Registry) -> Result<Option<Timestamp>, Refusal> {
        self.news(registry).await?;
        let now = registry.clock.now();
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, matter)) = self.due.pop_first() else { break };
            self.when.remove(&matter);
            match look(registry, &matter, now).await {
                // Later in any case: what is due again at once would never let go.
                Ok(next) => next.into_iter().for_each(|at| self.plan(matter.clone(), at.max(now.plus_seconds(1)))),
                Err(refusal) => {
                    tracing::warn!(%refusal, ?matter, "failed to look at what is due");
                    self.plan(matter, now.plus_seconds(RETRY_SECONDS));
                }
            }
        }
        Ok(self.due.first().map(|(at, _)| *at))
    }

    fn plan(&mut self, matter: Matter, at: Timestamp) {
        if let Some(before) = self.when.insert(matter.clone(), at) {
            self.due.remove(&(before, matter.clone()));
        }
        self.due.insert((at, matter));
    }

    /// Puts what the events since the last turn touch on the agenda; all there is, the first time and after a change of policy.
    async fn news(&mut self, registry: &Registry) -> Result<(), Refusal> {
        if self.seen == Some(*registry.wake.borrow()) {
            return Ok(());
        }
        let mut tx = registry.db.read().await?;
        let head = tx.conn().audit_head().await?.seq;
        let Some(mut seen) = self.seen.filter(|seen| *seen <= head) else {
            self.everything(registry).await?;
            self.seen = Some(head);
            return Ok(());
        };
        let (mut touched, mut all) = (BTreeSet::new(), false);
        while seen < head {
            let events = tx.conn().audit_after(seen, BATCH).await?;
            let Some(last) = events.last() else { break };
            seen = last.seq;
            all |= events.iter().any(|event| event.body.as_ref().is_none_or(|body| body.action == Action::PolicyApply));
            touched.extend(events.iter().filter_map(key_of));
        }
        if all {
            self.everything(registry).await?;
        } else {
            for key in touched {
                let rows = tx.conn().promotion_timed_of_key(&key).await?;
                self.touch(registry, &key, &rows);
            }
        }
        self.seen = Some(seen);
        Ok(())
    }

    async fn everything(&mut self, registry: &Registry) -> Result<(), Refusal> {
        self.due.clear();
        self.when.clear();
        let now = registry.clock.now();
        for pointer in registry.snapshot.get().pointers().filter(|pointer| pointer.next_step_at.is_some()) {
            self.plan(Matter::Rollout(pointer.key_id.clone(), pointer.environment.clone()), now);
        }
        let mut tx = registry.db.read().await?;
        let mut after = None;
        loop {
            let rows = tx.conn().promotion_timed(after, BATCH).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = Some(last.promotion_id);
            for row in &rows {
                self.plan(Matter::Promotion(row.promotion_id), row.at_time.unwrap_or(now).max(now));
            }
        }
    }

    fn touch(&mut self, registry: &Registry, key: &KeyId, timed: &[Promotion]) {
        let now = registry.clock.now();
        for pointer in registry.snapshot.get().pointers_of(key).filter(|pointer| pointer.next_step_at.is_some()) {
            self.plan(Matter::Rollout(key.clone(), pointer.environment.clone()), now);
        }
        for row in timed {
            self.plan(Matter::Promotion(row.promotion_id), row.at_time.unwrap_or(now).max(now));
        }
    }
}

/// The key that an event is about.
fn key_of(event: &AuditEvent) -> Option<KeyId> {
    let body = event.body.as_ref()?;
    let named = body.detail.get("key_id").and_then(serde_json::Value::as_str);
    named.or_else(|| body.subject.0.strip_prefix("key:"))?.parse().ok()
}

/// Does a matter where it is due; when to look again, if nothing happens before.
async fn look(registry: &Registry, matter: &Matter, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    match matter {
        Matter::Rollout(key, environment) => rollout(registry, key, environment, now).await,
        Matter::Promotion(id) => promotion(registry, *id, now).await,
    }
}

async fn rollout(
    registry: &Registry,
    key: &KeyId,
    environment: &Environment,
    now: Timestamp,
) -> Result<Option<Timestamp>, Refusal> {
    let snapshot = registry.snapshot.get();
    let advances = policy::rule(snapshot.policy(), key, environment).is_some_and(|rule| rule.advances());
    let Some(pointer) = snapshot.pointer(key, environment).filter(|_| advances) else { return Ok(None) };
    match pointer.next_step_at {
        Some(at) if at > now => return Ok(Some(at)),
        Some(_) if !pointer.held && !pointer.killed => {}
        _ => return Ok(None),
    }
    let verb = AdvanceRollout { key: key.clone(), environment: environment.clone() };
    let Advanced { moved, waits } = registry.run(&AdvanceRollout::caller(), None, verb).await?.answer;
    if moved.is_none() {
        let why: Vec<&str> = waits.unmet().map(|item| item.reason.as_str()).collect();
        tracing::info!(%key, %environment, why = why.join("; "), "a rollout pauses");
    }
    Ok(waits.ready_at())
}

async fn promotion(registry: &Registry, id: Uuid, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    let mut tx = registry.db.read().await?;
    let Some(row) = tx.conn().promotion_get(id).await?.filter(|row| row.state == PromotionState::Open) else { return Ok(None) };
    if !row.is_due(now) {
        return Ok(row.at_time);
    }
    let snapshot = registry.snapshot.get();
    let key = tx.conn().key_get(&row.key_id).await?;
    let to = match &row.to_digest {
        Some(digest) => tx.conn().version_get(digest).await?,
        None => None,
    };
    let (Some(key), Some(to)) = (key, to) else { return Ok(None) };
    if disowned(snapshot.policy(), &key, &row).is_some() {
        return Ok(None);
    }
    let (door, environment) = (Door::of(row.act, &row.environment), row.environment.clone());
    let asked = Asked { door, key, environment, to, promotion: Some(row) };
    let readiness = gather(&mut tx.conn(), snapshot.policy(), now, asked).await?.readiness();
    drop(tx);
    if !readiness.is_ready() {
        return Ok(readiness.ready_at());
    }
    registry.run(&ApplyDue::caller(), None, ApplyDue { id }).await.map(|_| None)
}
