//! Rows of `outbox`: what followers outside are to be told, written in the transaction of the effect.

use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use crate::model::Action;

/// A number that was there before belongs to a chain that was put back: what happens now is what followers are to be told.
pub(super) const PUT: &str = "INSERT INTO outbox (seq, action, subject) VALUES ($1, $2, $3) ON CONFLICT (seq) DO UPDATE SET \
    action = excluded.action, subject = excluded.subject";

const LIST: &str = "SELECT seq, action, subject FROM outbox ORDER BY seq LIMIT $1";
const CLEAR: &str = "DELETE FROM outbox WHERE seq <= $1";

pub(super) const ALL: &[&str] = &[PUT, LIST, CLEAR];

/// That something happened of which followers are to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// Number of the audit event.
    pub seq: i64,
    /// What was done.
    pub action: Action,
    /// To what.
    pub subject: String,
}

decode!(OutboxRow, r => Ok(Self { seq: r.try_get("seq")?, action: r.try_get("action")?, subject: r.try_get("subject")? }));

impl Conn<'_> {
    /// The oldest rows.
    pub async fn outbox_list(&mut self, most: u32) -> Result<Vec<OutboxRow>, StorageError> {
        rows!(self, LIST, limit(most))
    }

    /// Takes all rows up to a number away: they were passed on.
    pub async fn outbox_clear(&mut self, seq: i64) -> Result<u64, StorageError> {
        run!(self, CLEAR, seq)
    }
}
