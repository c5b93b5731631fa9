//! The one way in: begin, lock the chain, idempotency, the verb, audit, outbox, stored answer, commit, publish.

use super::denials::Denials;
use super::together::{Group, Together};
use super::work::{Deed, Outcome, Verb, Work};
use crate::clock::Clock;
use crate::model::audit::AuditBody;
use crate::model::{Action, AuditEvent, ChainHead, Code, Digest, Policy, Refusal, Subject, Timestamp};
use crate::rules::access::Caller;
use crate::rules::{chain, restraint};
use crate::snapshot::{Change, Meter, Snapshot, SnapshotCell};
use crate::storage::{Conn, Db, IdempotencyScope, Journal, StorageError, StoredAnswer};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;

/// Answers are kept for retries for a day.
const KEPT_SECONDS: i64 = 24 * 3600;
/// How often a verb runs again when the engine broke a deadlock.
const ATTEMPTS: u32 = 4;

/// The registry that verbs act on. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry {
    /// Truth.
    pub db: Db,
    /// What answers without the database.
    pub snapshot: Arc<SnapshotCell>,
    /// The newest sequence number; a hint for followers, who read the rows.
    pub wake: watch::Sender<u64>,
    /// Time and randomness.
    pub clock: Clock,
    /// How much pointers are used.
    pub meter: Arc<Meter>,
    /// Where verbs that come at once meet.
    pub together: Arc<Together>,
    /// How many denied attempts were recorded lately.
    pub denials: Arc<Denials>,
    /// Where restraints are noted beside the database; none in a registry that keeps no such file.
    pub journal: Option<Arc<Journal>>,
}

/// A request that may be sent again: the same body gets the first answer, another one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    /// The header's value.
    pub key: String,
    /// `POST`, `PATCH` …
    pub method: String,
    /// The path.
    pub path: String,
    /// Digest of the body's bytes.
    pub body: Digest,
}

/// What a verb answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered<A> {
    /// The answer.
    pub answer: A,
    /// The audit event's number; none where nothing changed.
    pub seq: Option<u64>,
    /// Whether something was made (201) or not (200).
    pub created: bool,
    /// Whether this is the first answer again.
    pub replayed: bool,
}

/// A verb that was done: its answer, its event where it changed anything, and what the snapshot is to learn.
struct Done<A> {
    answered: Answered<A>,
    event: Option<AuditEvent>,
    changes: Vec<Change>,
}

/// Why a verb was not done, and the attempt that is to be recorded.
#[derive(Debug, Clone)]
pub(super) struct Refused {
    refusal: Refusal,
    denied: Option<String>,
    busy: bool,
}

impl From<StorageError> for Refused {
    fn from(error: StorageError) -> Self {
        let busy = matches!(error, StorageError::Busy);
        Self { refusal: error.into(), denied: None, busy }
    }
}

impl Registry {
    /// Runs a verb in one transaction. It goes on when the caller goes away: what was committed is always published.
    ///
    /// # Errors
    /// Why it was not done; then nothing was written, but `access.denied` for an attempt at a protected act.
    pub async fn run<V: Verb>(
        &self,
        caller: &Caller,
        idempotency: Option<Idempotency>,
        verb: V,
    ) -> Result<Answered<V::Answer>, Refusal> {
        let (registry, caller) = (self.clone(), caller.clone());
        let task = tokio::spawn(async move { registry.run_here(&caller, idempotency.as_ref(), &verb).await });
        task.await.unwrap_or_else(|cause| {
            tracing::error!(%cause, "a verb broke");
            Err(Refusal::new(Code::Internal, "the registry could not do this; its log says why"))
        })
    }

    async fn run_here<V: Verb>(
        &self,
        caller: &Caller,
        idempotency: Option<&Idempotency>,
        verb: &V,
    ) -> Result<Answered<V::Answer>, Refusal> {
        for attempt in 1.. {
            match self.attempt(caller, idempotency, verb).await {
                Ok(Done { answered, event, .. }) => {
                    if let Some(event) = event {
                        self.keep(&event).await;
                    }
                    return Ok(answered);
                }
                Err(refused) if refused.busy && attempt < ATTEMPTS => {}
                // A kill must not fail for want of room.
                Err(refused) if refused.refusal.code == Code::DiskFull && !verb.replays() && self.db.free_reserve() => {
                    tracing::error!("the disk is full: the reserve was given up for a kill");
                }
                Err(refused) => {
                    if let Some(subject) = verb.protects()
                        && (refused.denied.is_some() || refused.refusal.code == Code::Forbidden)
                    {
                        self.record_denied(caller, subject, &refused).await;
                    }
                    return Err(refused.refusal);
                }
            }
        }
        Err(StorageError::Busy.into())
    }

    /// One verb, in a transaction of its own or in that of those who came just before, down to the disk.
    async fn attempt<V: Verb>(
        &self,
        caller: &Caller,
        idempotency: Option<&Idempotency>,
        verb: &V,
    ) -> Result<Done<V::Answer>, Refused> {
        let mut seat = self.together.seat().await;
        let mut group = match seat.take() {
            Some(group) => group,
            None => Group::new(self.db.begin().await?),
        };
        let retry = idempotency.filter(|_| verb.replays()).map(|sent| (scope(caller, sent), sent.body));
        let mut done = self.within(&mut group, caller, retry.as_ref(), verb).await;
        let made = done
            .as_mut()
            .ok()
            .and_then(|done| done.event.as_ref().map(|event| (head_of(event), std::mem::take(&mut done.changes))));
        if made.is_none() {
            if group.is_empty() {
                // After a refusal the engine may have ended it already.
                if done.is_ok() {
                    group.tx.rollback().await?;
                }
                return done;
            }
            group.tx.conn().audit_unmark().await?;
        }
        // What was refused was judged by what the others wrote: it holds when that does.
        self.commit_together(seat, group, made, !verb.replays()).await?;
        done
    }

    /// What a verb does in its transaction.
    async fn within<V: Verb>(
        &self,
        group: &mut Group,
        caller: &Caller,
        retry: Option<&(IdempotencyScope, Digest)>,
        verb: &V,
    ) -> Result<Done<V::Answer>, Refused> {
        let mark = !group.is_empty();
        let (head, first) = group.tx.conn().audit_head_lock_for(retry.map(|(scope, _)| scope), mark).await?;
        let at = self.clock.now().max(head.at);
        if let (Some((_, body)), Some(first)) = (retry, first)
            && at.seconds_since(first.at) < KEPT_SECONDS
        {
            let answered = replay(&first, body).map_err(|refusal| Refused { refusal, denied: None, busy: false })?;
            return Ok(Done { answered, event: None, changes: Vec::new() });
        }
        let snapshot = self.snapshot.get();
        if let Some(why) = snapshot.read_only().filter(|_| !verb.holds_back()) {
            return Err(Refused { refusal: Refusal::new(Code::ReadOnly, why), denied: None, busy: false });
        }
        let (policy, policy_digest) = policy_in_force(&mut group.tx.conn(), &snapshot, &head).await?;
        let policy = snapshot.with_members(&policy, at);
        let seq = head.seq + 1;
        let (clock, meter) = (&self.clock, &*self.meter);
        let conn = group.tx.conn();
        let mut work = Work { conn, caller, policy, policy_digest, at, seq, clock, meter, snapshot, denied: None };
        let acted = verb.act(&mut work).await;
        let denied = work.denied.take();
        let Outcome { answer, created, event, changes } = acted.map_err(|refusal| {
            let busy = refusal.code == Code::Unavailable;
            Refused { refusal, denied, busy }
        })?;
        let Some(deed) = event else {
            let answered = Answered { answer, seq: None, created, replayed: false };
            return Ok(Done { answered, event: None, changes });
        };
        let event = self.seal(&head, at, caller, deed);
        let kept = retry.map(|(scope, body)| {
            let answer = serde_json::to_vec(&V::keep(&answer)).unwrap_or_default();
            (scope, StoredAnswer { body: *body, created, seq: Some(seq), answer, at })
        });
        let kept = kept.as_ref().map(|(scope, stored)| (*scope, stored));
        group.tx.conn().audit_append_for(&event, kept, mark).await?;
        Ok(Done { answered: Answered { answer, seq: Some(seq), created, replayed: false }, event: Some(event), changes })
    }

    fn seal(&self, head: &ChainHead, at: Timestamp, caller: &Caller, deed: Deed) -> AuditEvent {
        let nonce = hex::encode(self.clock.bytes::<16>());
        let Deed { action, subject, detail } = deed;
        chain::seal(head, at, AuditBody { actor: caller.actor.clone(), action, subject, detail, nonce })
    }

    /// Notes a restraint in the journal, on the disk before the answer goes out. It is in force already, and stays so where the
    /// journal cannot be written: the next start notes it.
    async fn keep(&self, event: &AuditEvent) {
        let entry = self.snapshot.get().genesis().and_then(|registry| restraint::entry(registry, event));
        let (Some(journal), Some(entry)) = (self.journal.clone(), entry) else { return };
        let seq = entry.seq;
        let written = tokio::task::spawn_blocking(move || journal.append(&[entry])).await;
        if let Err(cause) = written.unwrap_or_else(|broke| Err(std::io::Error::other(broke))) {
            tracing::error!(%cause, seq, "the journal could not be written: a backup from before this would forget it");
        }
    }

    /// Publishes a commit to the snapshot and wakes followers.
    pub(super) fn publish(&self, head: ChainHead, changes: Vec<Change>) {
        self.snapshot.publish(head, changes);
        self.wake.send_if_modified(|newest| {
            let newer = head.seq > *newest;
            *newest = head.seq.max(*newest);
            newer
        });
    }

    /// Forgets the answers that are too old to be given again, and keeps room for a kill again; how many were forgotten.
    /// No audit event: nothing of the registry changes.
    ///
    /// # Errors
    /// The database is away or full.
    pub async fn forget_answers(&self) -> Result<u64, StorageError> {
        let mut tx = self.db.begin().await?;
        tx.conn().audit_head_lock().await?;
        let forgotten = tx.conn().idempotency_purge(self.clock.now().plus_seconds(-KEPT_SECONDS)).await?;
        tx.commit().await?;
        self.db.keep_reserve();
        Ok(forgotten)
    }

    /// Records a denied attempt at a protected act. A failure is logged: the refusal itself stands.
    async fn record_denied(&self, caller: &Caller, subject: Subject, refused: &Refused) {
        let Some(left_out) = self.denials.admit(&caller.actor, self.clock.now()) else {
            return tracing::debug!(actor = %caller.actor, token = caller.token_id, "a denied attempt was counted, not recorded");
        };
        if left_out > 0 {
            tracing::warn!(actor = %caller.actor, left_out, "denied attempts were counted, not recorded");
        }
        let mut detail = json!({ "attempt": refused.denied, "code": refused.refusal.code, "reason": refused.refusal.detail });
        if left_out > 0 {
            detail["left_out"] = left_out.into();
        }
        let detail = if let Value::Object(members) = detail { members } else { serde_json::Map::new() };
        let deed = Deed { action: Action::AccessDenied, subject, detail };
        let written = async {
            let mut tx = self.db.begin().await?;
            let head = tx.conn().audit_head_lock().await?;
            let event = self.seal(&head, self.clock.now(), caller, deed);
            tx.conn().audit_append(&event).await?;
            tx.commit().await?;
            Ok::<_, StorageError>(head_of(&event))
        };
        match written.await {
            Ok(head) => self.publish(head, Vec::new()),
            Err(cause) => tracing::warn!(%cause, "a denied attempt could not be recorded"),
        }
    }
}

fn head_of(event: &AuditEvent) -> ChainHead {
    ChainHead { seq: event.seq, event_id: event.event_id, at: event.at }
}

fn scope(caller: &Caller, sent: &Idempotency) -> IdempotencyScope {
    let Idempotency { key, method, path, .. } = sent.clone();
    IdempotencyScope { actor: caller.actor.clone(), method, path, key }
}

/// The first answer again, or a refusal where the body is another.
fn replay<A: serde::de::DeserializeOwned>(first: &StoredAnswer, body: &Digest) -> Result<Answered<A>, Refusal> {
    if first.body != *body {
        return Err(Refusal::new(Code::IdempotencyReused, "the Idempotency-Key was used before with another body")
            .hint("send a fresh key with each new request"));
    }
    let answer = serde_json::from_slice(&first.answer)
        .map_err(|_| Refusal::new(Code::IdempotencyReused, "this was done before, and its answer cannot be given again"))?;
    Ok(Answered { answer, seq: first.seq, created: first.created, replayed: true })
}

/// The policy as of this transaction: the snapshot's, but where a commit has not been published yet.
async fn policy_in_force(conn: &mut Conn<'_>, snapshot: &Snapshot, head: &ChainHead) -> Result<(Arc<Policy>, Digest), Refused> {
    let held = (snapshot.policy().clone(), snapshot.policy_digest());
    if snapshot.head().seq == head.seq {
        return Ok(held);
    }
    match conn.policy_get().await? {
        Some(row) if row.digest != held.1 => {
            let read = crate::rules::policy::read(&row.source);
            read.map(|policy| (Arc::new(policy), row.digest)).map_err(|refusal| Refused { refusal, denied: None, busy: false })
        }
        _ => Ok(held),
    }
}
