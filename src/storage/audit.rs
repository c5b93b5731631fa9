//! Rows of `audit_event` and the one row of `audit_head`.
//!
//! Reading never fails on a row that someone changed behind our back: what cannot be read becomes something that cannot
//! verify, so that the reader's own check names the event.

use super::batch::Batch;
use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use super::idempotency::{self, IdempotencyScope, StoredAnswer};
use super::outbox;
use crate::model::audit::AuditBody;
use crate::model::{Action, Actor, AuditEvent, ChainHead, Digest, Subject, Timestamp};

macro_rules! columns {
    () => {
        "e.seq, e.event_id, e.subject, e.actor, e.action, e.at, e.prev_hash, e.body_hash, e.nonce, e.detail"
    };
}

/// Takes the head row's lock: on PostgreSQL whoever comes second waits here and then sees the first one's head.
const HEAD_LOCK: &str = "UPDATE audit_head SET id = 1 WHERE id = 1 RETURNING seq, event_id, at";
/// The place to which one of several verbs in a transaction is undone.
const MARK: &str = "SAVEPOINT verb";
const UNMARK: &str = "ROLLBACK TO SAVEPOINT verb";
const RELEASE: &str = "RELEASE SAVEPOINT verb";
const HEAD: &str = "SELECT seq, event_id, at FROM audit_head WHERE id = 1";
const HEAD_SET: &str = "UPDATE audit_head SET seq = $1, event_id = $2, at = $3 WHERE id = 1 AND event_id = $4";
const APPEND: &str = "INSERT INTO audit_event (seq, event_id, subject, actor, action, at, prev_hash, body_hash, nonce, detail) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
/// `at` never runs backwards, so a moment is a number.
const SEQ_AT: &str = "SELECT COALESCE((SELECT e.seq FROM audit_event e WHERE e.at >= $1 ORDER BY e.at, e.seq LIMIT 1), h.seq + 1) \
    FROM audit_head h";

macro_rules! list {
    ($leading:literal, $order:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM audit_event e WHERE e.seq > $1 AND e.seq < $2 AND ",
            $leading,
            " AND ($3 = '' OR e.subject = $3) AND ($4 = '' OR e.actor = $4) AND ($5 = '' OR e.action = $5) ORDER BY e.seq ",
            $order,
            " LIMIT $6"
        )
    };
}
macro_rules! both {
    ($up:ident, $down:ident, $leading:literal) => {
        const $up: &str = list!($leading, "ASC");
        const $down: &str = list!($leading, "DESC");
    };
}
both!(UP, DOWN, "TRUE");
both!(UP_SUBJECT, DOWN_SUBJECT, "e.subject = $3");
both!(UP_ACTOR, DOWN_ACTOR, "e.actor = $4");
both!(UP_ACTION, DOWN_ACTION, "e.action = $5");
both!(UP_BOTH, DOWN_BOTH, "e.actor = $4 AND e.action = $5");

pub(super) const ALL: &[&str] = &[
    HEAD_LOCK,
    HEAD,
    HEAD_SET,
    APPEND,
    SEQ_AT,
    UP,
    DOWN,
    UP_SUBJECT,
    DOWN_SUBJECT,
    UP_ACTOR,
    DOWN_ACTOR,
    UP_ACTION,
    DOWN_ACTION,
    UP_BOTH,
    DOWN_BOTH,
];

/// What stands for a hash that is none: no event can match it.
const UNREADABLE: Digest = Digest([0xff; 32]);

struct Head(ChainHead);

decode!(Head, r => {
    let seq: i64 = r.try_get("seq")?;
    let event_id: String = r.try_get("event_id")?;
    Ok(Self(ChainHead {
        seq: u64::try_from(seq).unwrap_or(0),
        event_id: event_id.parse().unwrap_or(UNREADABLE),
        at: r.try_get("at")?,
    }))
});

struct Event(AuditEvent);

decode!(Event, r => {
    let hash = |text: Option<String>| text.and_then(|t| t.parse().ok()).unwrap_or(UNREADABLE);
    let text = |name: &str| r.try_get::<String, _>(name).ok();
    let body = body(text("actor"), text("action"), text("subject"), text("nonce"), r.try_get("detail").ok());
    let seq: i64 = r.try_get("seq")?;
    Ok(Self(AuditEvent {
        seq: u64::try_from(seq).unwrap_or(0),
        event_id: hash(text("event_id")),
        at: r.try_get("at").unwrap_or(Timestamp(i64::MIN)),
        prev_hash: hash(text("prev_hash")),
        body_hash: hash(text("body_hash")),
        body,
        redacted: false,
    }))
});

/// The body of a row; nothing where any part of it cannot be read.
fn body(
    actor: Option<String>,
    action: Option<String>,
    subject: Option<String>,
    nonce: Option<String>,
    detail: Option<Vec<u8>>,
) -> Option<AuditBody> {
    Some(AuditBody {
        actor: actor?.parse().ok()?,
        action: action?.parse().ok()?,
        subject: Subject(subject?),
        detail: serde_json::from_slice(&detail?).ok()?,
        nonce: nonce?,
    })
}

/// Which way a page of events is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// The oldest that fit.
    #[default]
    Oldest,
    /// The newest that fit (in ascending order all the same).
    Newest,
}

/// What a page of events asks for. Ascending by seq.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Only after this number.
    pub after: u64,
    /// Only before this number.
    pub before: Option<u64>,
    /// Only about this subject.
    pub subject: Option<String>,
    /// Only by this actor.
    pub actor: Option<Actor>,
    /// Only this action.
    pub action: Option<Action>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// The oldest or the newest that fit.
    pub direction: Direction,
    /// At most so many.
    pub limit: u32,
}

fn number(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

impl Conn<'_> {
    /// Locks the chain and gives its head: the first statement of every write transaction (R25).
    pub async fn audit_head_lock(&mut self) -> Result<ChainHead, StorageError> {
        let found: Option<Head> = row!(self, HEAD_LOCK)?;
        found.map(|Head(head)| head).ok_or_else(|| StorageError::Corrupt("audit_head has no row".into()))
    }

    /// The chain's head, without locking it.
    pub async fn audit_head(&mut self) -> Result<ChainHead, StorageError> {
        let found: Option<Head> = row!(self, HEAD)?;
        found.map(|Head(head)| head).ok_or_else(|| StorageError::Corrupt("audit_head has no row".into()))
    }

    /// The same, with the first answer to a request that may be sent again. `mark` sets the place to which
    /// [`Conn::audit_unmark`] goes back.
    pub async fn audit_head_lock_for(
        &mut self,
        retry: Option<&IdempotencyScope>,
        mark: bool,
    ) -> Result<(ChainHead, Option<StoredAnswer>), StorageError> {
        let mut batch = Batch::on(self);
        if mark {
            batch.statement(MARK);
        }
        batch.statement(HEAD_LOCK);
        if let Some(IdempotencyScope { actor, method, path, key }) = retry {
            statement!(batch, idempotency::GET, actor, method, path, key);
        }
        let mut found = batch.run(self).await?;
        if mark {
            found.touched();
        }
        let head = found.row::<Head>()?.ok_or_else(|| StorageError::Corrupt("audit_head has no row".into()))?;
        let first = if retry.is_some() { found.row()? } else { None };
        Ok((head.0, first))
    }

    /// Takes back what was written since the mark, and the mark.
    ///
    /// # Errors
    /// There is none, or the engine ended the transaction by itself: then it cannot go on.
    pub async fn audit_unmark(&mut self) -> Result<(), StorageError> {
        batch!(self, UNMARK; RELEASE).map(drop)
    }

    /// Adds an event, makes it the head and notes it for followers. The event was sealed on the head that
    /// [`Conn::audit_head_lock`] gave.
    ///
    /// # Errors
    /// [`StorageError::Unique`] where another event has its place; [`StorageError::Corrupt`] where the head is another.
    pub async fn audit_append(&mut self, event: &AuditEvent) -> Result<(), StorageError> {
        self.audit_append_for(event, None, false).await
    }

    /// The same, with what a retry of its request is answered, and without the mark that was set.
    ///
    /// # Errors
    /// As [`Conn::audit_append`].
    pub async fn audit_append_for(
        &mut self,
        event: &AuditEvent,
        kept: Option<(&IdempotencyScope, &StoredAnswer)>,
        marked: bool,
    ) -> Result<(), StorageError> {
        let Some(body) = &event.body else { return Err(StorageError::Other("an event without a body is not written".into())) };
        let detail = serde_json::to_vec(&body.detail).map_err(|e| StorageError::Other(e.to_string()))?;
        let mut batch = Batch::on(self);
        statement!(batch, HEAD_SET, number(event.seq), event.event_id, event.at, event.prev_hash);
        statement!(
            batch,
            APPEND,
            number(event.seq),
            event.event_id,
            &body.subject.0,
            &body.actor,
            body.action,
            event.at,
            event.prev_hash,
            event.body_hash,
            &body.nonce,
            detail
        );
        statement!(batch, outbox::PUT, number(event.seq), body.action, &body.subject.0);
        if let Some((scope, answer)) = kept {
            idempotency::put(&mut batch, scope, answer)?;
        }
        if marked {
            batch.statement(RELEASE);
        }
        match batch.run(self).await?.touched() {
            1 => Ok(()),
            _ => Err(StorageError::Corrupt("the audit head is not the event before".into())),
        }
    }

    /// Events after a number, ascending.
    pub async fn audit_after(&mut self, seq: u64, most: u32) -> Result<Vec<AuditEvent>, StorageError> {
        self.audit_list(&AuditFilter { after: seq, limit: most, ..AuditFilter::default() }).await
    }

    /// The newest events before a number, ascending.
    pub async fn audit_before(&mut self, seq: u64, most: u32) -> Result<Vec<AuditEvent>, StorageError> {
        let filter = AuditFilter { before: Some(seq), direction: Direction::Newest, limit: most, ..AuditFilter::default() };
        self.audit_list(&filter).await
    }

    /// Events from one number to another, both included, ascending.
    pub async fn audit_range(&mut self, from: u64, to: u64) -> Result<Vec<AuditEvent>, StorageError> {
        let most = u32::try_from(to.saturating_sub(from).saturating_add(1)).unwrap_or(u32::MAX);
        let (after, before) = (from.saturating_sub(1), Some(to.saturating_add(1)));
        self.audit_list(&AuditFilter { after, before, limit: most, ..AuditFilter::default() }).await
    }

    /// A page of events, ascending.
    pub async fn audit_list(&mut self, filter: &AuditFilter) -> Result<Vec<AuditEvent>, StorageError> {
        let mut after = number(filter.after);
        let mut before = filter.before.map_or(i64::MAX, number);
        if let Some(since) = filter.since {
            after = after.max(self.audit_seq_at(since).await? - 1);
        }
        if let Some(until) = filter.until {
            before = before.min(self.audit_seq_at(until).await?);
        }
        let subject = filter.subject.as_deref().unwrap_or("").replace('\0', " ");
        let actor = filter.actor.as_ref().map_or(String::new(), ToString::to_string);
        let action = filter.action.map_or("", Action::as_str);
        let (up, down) = match (&filter.subject, &filter.actor, filter.action) {
            (Some(_), ..) => (UP_SUBJECT, DOWN_SUBJECT),
            (_, Some(_), Some(_)) => (UP_BOTH, DOWN_BOTH),
            (_, Some(_), None) => (UP_ACTOR, DOWN_ACTOR),
            (_, None, Some(_)) => (UP_ACTION, DOWN_ACTION),
            (None, None, None) => (UP, DOWN),
        };
        let sql = if filter.direction == Direction::Oldest { up } else { down };
        let found: Vec<Event> = rows!(self, sql, after, before, &subject, &actor, action, limit(filter.limit))?;
        let events = found.into_iter().map(|Event(event)| event);
        Ok(if filter.direction == Direction::Oldest { events.collect() } else { events.rev().collect() })
    }

    /// The number of the first event at or after a moment; one more than the head's where there is none.
    async fn audit_seq_at(&mut self, at: Timestamp) -> Result<i64, StorageError> {
        let found: Option<(i64,)> = row!(self, SEQ_AT, at)?;
        Ok(found.map_or(1, |(seq,)| seq))
    }
}
