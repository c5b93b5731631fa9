//! GET /v1/stream: audit events, pointers just before theirs, and a heartbeat each second.
//!
//! Truth is the table: a wake-up is a hint, each turn reads the rows after the last one sent, so that a missed wake-up, a
//! restart or another server lose nothing.

use super::audit::redacted;
use super::sight::Sight;
use crate::model::{AuditEvent, ChainHead, EnvironmentPointer, Refusal};
use crate::rules::access::{Caller, Need, allowed};
use crate::server::App;
use crate::server::auth::identify;
use crate::server::error::Rejection;
use crate::server::extract::Asked;
use crate::server::shares::Share;
use crate::wire::stream::{AUDIT, HEARTBEAT, POINTER};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

/// A heartbeat each second.
const BEAT: Duration = Duration::from_secs(1);
/// Rows read at once.
const CHUNK: u32 = 200;

/// Query of the stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskStream {
    after: Option<u64>,
}

/// GET /v1/stream
pub async fn follow(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Asked(ask): Asked<AskStream>,
) -> Result<Response, Rejection> {
    let snapshot = app.registry.snapshot.get();
    let from = resume(&headers)?.or(ask.after).unwrap_or(snapshot.head().seq);
    let audits = allowed(snapshot.policy(), &caller, Need::Audit, None, None).is_ok();
    let mut beat = tokio::time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let wake = app.registry.wake.subscribe();
    let share = app.limits.stream(&caller)?;
    let follower = Follower { app, caller, headers, audits, last: from, beat, wake, ready: VecDeque::new(), _share: share };
    let events = unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    let mut response = Sse::new(events).into_response();
    // Proxies that collect answers would hold events back.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// Where an interrupted stream goes on.
fn resume(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let seq = value.to_str().ok().and_then(|text| text.trim().parse().ok());
    seq.map(Some).ok_or_else(|| Refusal::invalid("Last-Event-ID", "is not the number of an audit event"))
}

/// One open stream.
struct Follower {
    app: App,
    caller: Caller,
    headers: HeaderMap,
    audits: bool,
    /// The newest event that was read.
    last: u64,
    beat: Interval,
    wake: watch::Receiver<u64>,
    ready: VecDeque<Event>,
    _share: Share,
}

impl Follower {
    /// The next thing to send; none ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let beat = tokio::select! {
                biased;
                () = self.app.shutdown.cancelled() => return None,
                // A sender that is gone is a server that ends.
                woken = self.wake.changed() => { woken.ok()?; false }
                _ = self.beat.tick() => true,
            };
            if beat && !self.may_go_on().await {
                return None;
            }
            match self.read().await {
                Ok(head) if beat => self.ready.extend(said(HEARTBEAT, &head)),
                Ok(_) => {}
                Err(refusal) => {
                    tracing::debug!(%refusal, "a stream cannot read");
                    if beat {
                        self.ready.extend(said(HEARTBEAT, &self.app.registry.snapshot.get().head()));
                    }
                }
            }
        }
    }

    /// Whether the token is still good, asked at each beat; what its actor may see is looked at anew.
    async fn may_go_on(&mut self) -> bool {
        let Ok(caller) = identify(&self.app, &self.headers, false).await else { return false };
        let snapshot = self.app.registry.snapshot.get();
        self.audits = allowed(snapshot.policy(), &caller, Need::Audit, None, None).is_ok();
        true
    }

    /// Reads all rows after the last one; gives the newest row there is, by the rows and not by what is noted beside them.
    async fn read(&mut self) -> Result<ChainHead, Refusal> {
        loop {
            let mut sight = Sight::begin(&self.app.registry, self.caller.clone()).await?;
            let rows = sight.conn().audit_after(self.last, CHUNK).await?;
            let whole = rows.len() >= CHUNK as usize;
            for row in rows {
                let seq = row.seq;
                self.take(&mut sight, row).await?;
                self.last = seq;
            }
            if !whole {
                return newest(&mut sight).await;
            }
        }
    }

    /// Makes the events of one row: the pointer that it moved, then the event itself.
    async fn take(&mut self, sight: &mut Sight, row: AuditEvent) -> Result<(), Refusal> {
        let pointer = row.body.as_ref().and_then(|body| body.detail.get("pointer")).cloned();
        let pointer = pointer.and_then(|after| serde_json::from_value::<EnvironmentPointer>(after).ok());
        let mut said_now: Vec<Event> = Vec::new();
        if let Some(pointer) = pointer
            && let Some(key) = sight.conn().key_get(&pointer.key_id).await?
            && sight.knows(&key)
            && self.caller.environment.as_ref().is_none_or(|own| *own == pointer.environment)
        {
            said_now.extend(said(POINTER, &pointer));
        }
        if self.audits {
            let event = redacted(sight, row).await?;
            said_now.extend(said(AUDIT, &event).map(|said| said.id(event.seq.to_string())));
        }
        self.ready.extend(said_now);
        Ok(())
    }
}

async fn newest(sight: &mut Sight) -> Result<ChainHead, Refusal> {
    let rows = sight.conn().audit_before(u64::try_from(i64::MAX).unwrap_or(u64::MAX), 1).await?;
    match rows.last() {
        Some(row) => Ok(ChainHead { seq: row.seq, event_id: row.event_id, at: row.at }),
        None => Ok(sight.conn().audit_head().await?),
    }
}

fn said(name: &str, data: &impl serde::Serialize) -> Option<Event> {
    Event::default().event(name).json_data(data).ok()
}
