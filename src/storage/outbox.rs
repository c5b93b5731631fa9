//! Rows of `outbox`: what followers outside are to be told, written in the transaction of the effect.

use super::db::Conn;
use super::error::StorageError;
use crate::model::AuditEvent;

/// A number that was there before belongs to a chain that was put back: what happens now is what followers are to be told.
const PUT: &str = "INSERT INTO outbox (seq, action, subject) VALUES ($1, $2, $3) ON CONFLICT (seq) DO UPDATE SET \
    action = excluded.action, subject = excluded.subject";

pub(super) const ALL: &[&str] = &[PUT];

impl Conn<'_> {
    /// Notes that an event happened.
    pub async fn outbox_put(&mut self, event: &AuditEvent) -> Result<(), StorageError> {
        let Some(body) = &event.body else { return Ok(()) };
        let seq = i64::try_from(event.seq).unwrap_or(i64::MAX);
        run!(self, PUT, seq, body.action, &body.subject.0).map(drop)
    }
}
