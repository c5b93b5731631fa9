//! Rows of `webhook` and `delivery`.

use super::codec::{AsJson, Id, limit};
use super::db::Conn;
use super::error::StorageError;
use crate::model::Timestamp;
use crate::model::webhook::{Delivery, DeliveryState, NoticeKind, Webhook};
use uuid::Uuid;

const PUT: &str = "INSERT INTO webhook (webhook_id, url, shape, kinds, note, secret, created_by, created_at, since, delivered) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)";
const LIST: &str = "SELECT webhook_id, url, shape, kinds, note, secret, created_by, created_at, since, delivered, delivered_at \
    FROM webhook ORDER BY webhook_id";
const DELETE: &str = "DELETE FROM webhook WHERE webhook_id = $1";
const TAKEN: &str = "UPDATE webhook SET delivered = delivered + 1, delivered_at = $2 WHERE webhook_id = $1";
const DELIVERY_PUT: &str = "INSERT INTO delivery (webhook_id, seq, state, attempts, next_at, last_error) \
    VALUES ($1, $2, 'due', 0, $3, '') ON CONFLICT (webhook_id, seq) DO NOTHING";
const DUE: &str = "SELECT webhook_id, seq, state, attempts, next_at, last_at, last_error FROM delivery \
    WHERE webhook_id = $1 AND state = 'due' AND next_at <= $2 ORDER BY next_at, seq LIMIT $3";
const OF_WEBHOOK: &str = "SELECT webhook_id, seq, state, attempts, next_at, last_at, last_error FROM delivery \
    WHERE webhook_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
const COUNTS: &str = "SELECT webhook_id, state, COUNT(*) FROM delivery GROUP BY webhook_id, state";
const DONE: &str = "DELETE FROM delivery WHERE webhook_id = $1 AND seq = $2";
const DELETE_ALL: &str = "DELETE FROM delivery WHERE webhook_id = $1";
const FAILED: &str = "UPDATE delivery SET state = $3, attempts = $4, next_at = $5, last_at = $6, last_error = $7 \
    WHERE webhook_id = $1 AND seq = $2";
const AGAIN: &str = "UPDATE delivery SET state = 'due', attempts = 0, next_at = $2 WHERE webhook_id = $1 AND state = 'parked'";

pub(super) const ALL: &[&str] =
    &[PUT, LIST, DELETE, TAKEN, DELIVERY_PUT, DUE, OF_WEBHOOK, COUNTS, DONE, DELETE_ALL, FAILED, AGAIN];

/// A receiver with the secret that signs what it gets.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredWebhook {
    /// The row.
    pub webhook: Webhook,
    /// `whsec_…`
    pub secret: String,
}

impl std::fmt::Debug for StoredWebhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is left out.
        f.debug_tuple("StoredWebhook").field(&self.webhook).finish()
    }
}

decode!(StoredWebhook, r => Ok(Self {
    secret: r.try_get("secret")?,
    webhook: Webhook {
        webhook_id: r.try_get::<Id, _>("webhook_id")?.0,
        url: r.try_get("url")?,
        shape: r.try_get("shape")?,
        kinds: r.try_get::<AsJson<Vec<NoticeKind>>, _>("kinds")?.0,
        note: r.try_get("note")?,
        created_by: r.try_get("created_by")?,
        created_at: r.try_get("created_at")?,
        since: r.try_get("since")?,
        delivered: r.try_get("delivered")?,
        delivered_at: r.try_get("delivered_at")?,
    },
}));

decode!(Delivery, r => Ok(Self {
    webhook_id: r.try_get::<Id, _>("webhook_id")?.0,
    seq: r.try_get("seq")?,
    state: r.try_get("state")?,
    attempts: r.try_get("attempts")?,
    next_at: r.try_get("next_at")?,
    last_at: r.try_get("last_at")?,
    last_error: r.try_get("last_error")?,
}));

impl Conn<'_> {
    /// Adds a receiver.
    pub async fn webhook_put(&mut self, webhook: &Webhook, secret: &str) -> Result<(), StorageError> {
        let Webhook { webhook_id, url, shape, kinds, note, created_by, created_at, since, .. } = webhook;
        let (id, kinds) = (Id(*webhook_id), AsJson(kinds.clone()));
        run!(self, PUT, id, url, *shape, kinds, note, secret, created_by, *created_at, *since).map(drop)
    }

    /// Every receiver, by id.
    pub async fn webhook_all(&mut self) -> Result<Vec<StoredWebhook>, StorageError> {
        rows!(self, LIST)
    }

    /// Takes a receiver away, and what it was to be told; whether it was there.
    pub async fn webhook_delete(&mut self, id: Uuid) -> Result<bool, StorageError> {
        run!(self, DELETE_ALL, Id(id))?;
        Ok(run!(self, DELETE, Id(id))? == 1)
    }

    /// Notes that a receiver is to be told of an event.
    pub async fn delivery_put(&mut self, webhook: Uuid, seq: i64, at: Timestamp) -> Result<(), StorageError> {
        run!(self, DELIVERY_PUT, Id(webhook), seq, at).map(drop)
    }

    /// What a receiver is to be told now, that which waits longest first.
    pub async fn delivery_due(&mut self, webhook: Uuid, now: Timestamp, most: u32) -> Result<Vec<Delivery>, StorageError> {
        rows!(self, DUE, Id(webhook), now, limit(most))
    }

    /// What a receiver has not taken, after a number.
    pub async fn delivery_list(&mut self, webhook: Uuid, after: i64, most: u32) -> Result<Vec<Delivery>, StorageError> {
        rows!(self, OF_WEBHOOK, Id(webhook), after, limit(most))
    }

    /// How many notices each receiver has not taken, by where they stand.
    pub async fn delivery_counts(&mut self) -> Result<Vec<(Uuid, DeliveryState, i64)>, StorageError> {
        let found: Vec<(Id, DeliveryState, i64)> = rows!(self, COUNTS)?;
        Ok(found.into_iter().map(|(id, state, count)| (id.0, state, count)).collect())
    }

    /// A receiver took a notice.
    pub async fn delivery_done(&mut self, delivery: &Delivery, at: Timestamp) -> Result<(), StorageError> {
        if run!(self, DONE, Id(delivery.webhook_id), delivery.seq)? == 1 {
            run!(self, TAKEN, Id(delivery.webhook_id), at)?;
        }
        Ok(())
    }

    /// A receiver did not take it: when it is tried again, or that it is given up.
    pub async fn delivery_failed(&mut self, delivery: &Delivery) -> Result<(), StorageError> {
        let Delivery { webhook_id, seq, state, attempts, next_at, last_at, last_error } = delivery;
        run!(self, FAILED, Id(*webhook_id), *seq, *state, *attempts, *next_at, *last_at, last_error).map(drop)
    }

    /// What was given up is tried again; how many there were.
    pub async fn delivery_again(&mut self, webhook: Uuid, at: Timestamp) -> Result<u64, StorageError> {
        run!(self, AGAIN, Id(webhook), at)
    }
}
