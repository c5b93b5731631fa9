//! Rows of `idempotency`: first answers of writes, so that a retry gets the same.

use super::batch::Batch;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, Digest, Timestamp};

pub(super) const GET: &str =
    "SELECT body, created, seq, answer, at FROM idempotency WHERE actor = $1 AND method = $2 AND path = $3 AND key = $4";
pub(super) const PUT: &str = "INSERT INTO idempotency (actor, method, path, key, body, created, seq, answer, at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (actor, method, path, key) DO UPDATE SET \
    body = excluded.body, created = excluded.created, seq = excluded.seq, answer = excluded.answer, at = excluded.at";
const PURGE: &str = "DELETE FROM idempotency WHERE at < $1";

pub(super) const ALL: &[&str] = &[GET, PUT, PURGE];

/// Whose retry of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyScope {
    /// The caller.
    pub actor: Actor,
    /// `POST`, `PATCH` …
    pub method: String,
    /// The path.
    pub path: String,
    /// The header's value.
    pub key: String,
}

/// The first answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Digest of the request's body.
    pub body: Digest,
    /// Whether something was made (201) or not (200).
    pub created: bool,
    /// The audit event's number.
    pub seq: Option<u64>,
    /// The answer's JSON.
    pub answer: Vec<u8>,
    /// When.
    pub at: Timestamp,
}

decode!(StoredAnswer, r => Ok(Self {
    body: r.try_get("body")?,
    created: r.try_get("created")?,
    seq: r.try_get::<Option<i64>, _>("seq")?.and_then(|seq| u64::try_from(seq).ok()),
    answer: r.try_get("answer")?,
    at: r.try_get("at")?,
}));

/// Adds what [`Conn::idempotency_put`] does.
pub(super) fn put(batch: &mut Batch, scope: &IdempotencyScope, stored: &StoredAnswer) -> Result<(), StorageError> {
    let IdempotencyScope { actor, method, path, key } = scope;
    let seq = stored.seq.and_then(|seq| i64::try_from(seq).ok());
    statement!(batch, PUT, actor, method, path, key, stored.body, stored.created, seq, &stored.answer, stored.at);
    Ok(())
}

impl Conn<'_> {
    /// The first answer, where there was one.
    pub async fn idempotency_get(&mut self, scope: &IdempotencyScope) -> Result<Option<StoredAnswer>, StorageError> {
        row!(self, GET, &scope.actor, &scope.method, &scope.path, &scope.key)
    }

    /// Keeps an answer, in place of one that is too old.
    pub async fn idempotency_put(&mut self, scope: &IdempotencyScope, stored: &StoredAnswer) -> Result<(), StorageError> {
        let mut batch = Batch::on(self);
        put(&mut batch, scope, stored)?;
        batch.run(self).await.map(drop)
    }

    /// Forgets answers from before a moment; how many.
    pub async fn idempotency_purge(&mut self, before: Timestamp) -> Result<u64, StorageError> {
        run!(self, PURGE, before)
    }
}
