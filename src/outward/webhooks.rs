//! Notices to receivers: from the outbox to a row for each receiver, from there over the network until it is taken or given up.
//!
//! Fanning out is one transaction, so that no event is told twice or lost on the way there; sending is at least once: a receiver that
//! took a notice just before this process died gets it again, under the same id.

use super::post::{Post, Untaken};
use crate::clock::Clock;
use crate::model::webhook::{Delivery, DeliveryState, Webhook};
use crate::model::{AuditEvent, Digest, KeyId, Timestamp};
use crate::rules::notice;
use crate::storage::{Conn, Db, OutboxRow, StorageError, StoredWebhook};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Rows at once.
const CHUNK: u32 = 200;
/// Notices a receiver gets in one go.
const BATCH: u32 = 50;

/// Sends notices.
#[derive(Debug)]
pub struct Sender {
    db: Db,
    clock: Clock,
    post: Post,
    /// Receivers that are being sent to.
    busy: Mutex<HashSet<Uuid>>,
}

impl Sender {
    /// A sender from a database's outbox.
    pub fn new(db: Db, clock: Clock, post: Post) -> Arc<Self> {
        Arc::new(Self { db, clock, post, busy: Mutex::default() })
    }

    /// One round: what happened is noted for each receiver, and each that is idle is sent what it is due, in tasks of its own.
    ///
    /// # Errors
    /// The database is away.
    pub async fn round(self: &Arc<Self>, tasks: &mut JoinSet<()>) -> Result<(), StorageError> {
        while self.fan_out().await? == CHUNK as usize {}
        let receivers = self.db.read().await?.conn().webhook_all().await?;
        for receiver in receivers {
            let id = receiver.webhook.webhook_id;
            if !self.busy().insert(id) {
                continue;
            }
            let sender = self.clone();
            tasks.spawn(async move {
                if let Err(error) = sender.deliver(&receiver).await {
                    tracing::warn!(%error, "notices wait: the database is away");
                }
                sender.busy().remove(&id);
            });
        }
        while tasks.try_join_next().is_some() {}
        Ok(())
    }

    fn busy(&self) -> std::sync::MutexGuard<'_, HashSet<Uuid>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes rows from the outbox, and notes for each receiver what it is to be told; how many were taken.
    async fn fan_out(&self) -> Result<usize, StorageError> {
        // Most of the time there is nothing, which is not worth a write lock.
        if self.db.read().await?.conn().outbox_list(1).await?.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin().await?;
        tx.conn().audit_head_lock().await?;
        let rows = tx.conn().outbox_list(CHUNK).await?;
        let Some(last) = rows.last().map(|row| row.seq) else { return Ok(0) };
        let receivers = tx.conn().webhook_all().await?;
        let now = self.clock.now();
        for row in rows.iter().filter(|row| notice::kind(row.action).is_some()) {
            for receiver in &receivers {
                let webhook = &receiver.webhook;
                if row.seq > webhook.since && tells(&mut tx.conn(), webhook, row).await? {
                    tx.conn().delivery_put(webhook.webhook_id, row.seq, now).await?;
                }
            }
        }
        tx.conn().outbox_clear(last).await?;
        tx.commit().await?;
        Ok(rows.len())
    }

    /// Sends a receiver what it is due, that which waits longest first, until something is not taken.
    async fn deliver(&self, receiver: &StoredWebhook) -> Result<(), StorageError> {
        loop {
            let due = {
                let mut tx = self.db.read().await?;
                tx.conn().delivery_due(receiver.webhook.webhook_id, self.clock.now(), BATCH).await?
            };
            if due.is_empty() {
                return Ok(());
            }
            for delivery in due {
                if !self.attempt(receiver, delivery).await? {
                    return Ok(());
                }
            }
        }
    }

    /// Sends one notice; whether it was taken (or there is nothing to tell any more).
    async fn attempt(&self, receiver: &StoredWebhook, mut delivery: Delivery) -> Result<bool, StorageError> {
        let now = self.clock.now();
        let sent = match self.notice(receiver, &delivery, now).await? {
            Some((headers, body)) => self.post.send(&receiver.webhook.url, headers, body).await,
            None => Ok(()),
        };
        let mut tx = self.db.begin().await?;
        tx.conn().audit_head_lock().await?;
        let taken = match sent {
            Ok(()) => {
                tx.conn().delivery_done(&delivery, now).await?;
                true
            }
            Err(why) => {
                put_off(&mut delivery, why, now, u64::from_be_bytes(self.clock.bytes()));
                tracing::warn!(
                    webhook = %delivery.webhook_id, seq = delivery.seq, attempts = delivery.attempts, state = %delivery.state,
                    why = %delivery.last_error, "a notice was not taken"
                );
                tx.conn().delivery_failed(&delivery).await?;
                false
            }
        };
        tx.commit().await?;
        Ok(taken)
    }

    /// Headers and body of a notice; none where the event is not there.
    async fn notice(
        &self,
        receiver: &StoredWebhook,
        delivery: &Delivery,
        now: Timestamp,
    ) -> Result<Option<(HeaderMap, Vec<u8>)>, StorageError> {
        let mut tx = self.db.read().await?;
        let seq = u64::try_from(delivery.seq).unwrap_or(0);
        let Some(event) = tx.conn().audit_range(seq, seq).await?.into_iter().next() else { return Ok(None) };
        let registry = tx.conn().audit_after(0, 1).await?.first().map_or(Digest::ZERO, |first| first.event_id);
        let confidential = is_confidential(&mut tx.conn(), &event).await?;
        drop(tx);
        let shape = receiver.webhook.shape;
        let body = notice::body(&registry, &event, shape, confidential);
        let (id, seconds) = (notice::id(&event), now.0.div_euclid(1_000_000));
        let timestamp = seconds.to_string();
        let signature = notice::signature(&receiver.secret, &id, seconds, &body).unwrap_or_default();
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", notice::media_type(shape)),
            ("webhook-id", id.as_str()),
            ("webhook-timestamp", timestamp.as_str()),
            ("webhook-signature", signature.as_str()),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        Ok(Some((headers, body)))
    }
}

/// Notes that a notice was not taken: when it is tried again, or that it is given up.
fn put_off(delivery: &mut Delivery, why: Untaken, now: Timestamp, chance: u64) {
    delivery.attempts += 1;
    delivery.last_at = Some(now);
    let again = match why {
        Untaken::Later(why) => {
            delivery.last_error = why.chars().take(500).collect();
            notice::again_at(now, delivery.attempts, chance)
        }
        Untaken::Gone => {
            "it answered 410: it wants no more".clone_into(&mut delivery.last_error);
            None
        }
    };
    match again {
        Some(at) => delivery.next_at = at,
        None => delivery.state = DeliveryState::Parked,
    }
}

/// Whether a receiver is told of an event: it asked for its kind, or the event is about a confidential key; then every receiver is
/// told the same nothing, so that which are says nothing either.
async fn tells(conn: &mut Conn<'_>, webhook: &Webhook, row: &OutboxRow) -> Result<bool, StorageError> {
    if notice::kind(row.action).is_some_and(|kind| webhook.kinds.contains(&kind)) {
        return Ok(true);
    }
    let seq = u64::try_from(row.seq).unwrap_or(0);
    match conn.audit_range(seq, seq).await?.first() {
        Some(event) => is_confidential(conn, event).await,
        None => Ok(false),
    }
}

/// Whether an event is about a key that not everybody may know of; one that cannot be read counts as such.
async fn is_confidential(conn: &mut Conn<'_>, event: &AuditEvent) -> Result<bool, StorageError> {
    let Some(body) = &event.body else { return Ok(true) };
    let named = body.detail.get("key_id").and_then(serde_json::Value::as_str).and_then(|key| key.parse::<KeyId>().ok());
    let key = match (named, body.subject.0.split_once(':')) {
        (Some(key), _) => Some(key),
        (None, Some(("key", name))) => name.parse().ok(),
        (None, Some(("digest", name))) => match name.parse::<Digest>() {
            Ok(digest) => conn.version_get(&digest).await?.map(|version| version.key_id),
            Err(_) => None,
        },
        (None, Some(("promotion", id))) => match id.parse::<Uuid>() {
            Ok(id) => conn.promotion_get(id).await?.map(|promotion| promotion.key_id),
            Err(_) => None,
        },
        _ => None,
    };
    let Some(key) = key else { return Ok(false) };
    match conn.key_get(&key).await {
        // Of a name that somebody was not let make a key of, no more is told than if it were hidden.
        Ok(key) => Ok(key.is_none_or(|key| key.confidential)),
        Err(StorageError::Corrupt(_)) => Ok(true),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_tried_again_later_and_given_up_in_the_end() {
        let mut delivery = Delivery {
            webhook_id: Uuid::nil(),
            seq: 1,
            state: DeliveryState::Due,
            attempts: 0,
            next_at: Timestamp(0),
            last_at: None,
            last_error: String::new(),
        };
        let mut before = Timestamp(0);
        while delivery.state == DeliveryState::Due {
            put_off(&mut delivery, Untaken::Later("it answered 500".into()), before, 0);
            assert!(delivery.attempts <= notice::MOST_TRIES);
            assert!(delivery.state == DeliveryState::Parked || delivery.next_at > before);
            before = delivery.next_at;
        }
        assert_eq!((delivery.attempts, &*delivery.last_error), (notice::MOST_TRIES, "it answered 500"));
        let mut gone = Delivery { attempts: 0, state: DeliveryState::Due, ..delivery };
        put_off(&mut gone, Untaken::Gone, before, 0);
        assert_eq!((gone.state, gone.attempts), (DeliveryState::Parked, 1));
    }
}
