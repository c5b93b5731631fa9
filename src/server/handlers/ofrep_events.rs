//! The change channel of OFREP: says when to ask again, and nothing else. It reads the snapshot alone.

use crate::model::{Code, Environment, Refusal};
use crate::rules::access::{Need, allowed};
use crate::rules::ticket;
use crate::server::auth;
use crate::server::error::Rejection;
use crate::server::reading::Reading;
use crate::server::shares::Share;
use crate::wire::ofrep::REFETCH;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::unfold;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior};

/// How often something is said; the token is looked at again then, and at each commit.
const BEAT: Duration = Duration::from_secs(15);

/// GET /ofrep/v1/events?ticket=…
pub async fn follow(State(reading): State<Arc<Reading>>, headers: HeaderMap, uri: Uri) -> Result<Response, Rejection> {
    let ticket = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("ticket=")));
    let refusal = || Refusal::new(Code::Unauthenticated, "this needs the ticket of a bulk answer");
    let snapshot = reading.snapshot.get();
    let named = ticket.and_then(|ticket| ticket::read(&snapshot.pepper().0, ticket));
    let (token_id, environment) = named.ok_or_else(refusal)?;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok()).unwrap_or(0);
    let wake = reading.wake.subscribe();
    let mut beat = tokio::time::interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    let share = reading.limits.channel(&token_id)?;
    let channel = Channel { reading, token_id, environment, seen, wake, beat, _share: share };
    channel.check()?;
    let events = unfold(channel, |mut channel| async move {
        let event = channel.next().await?;
        Some((Ok::<_, Infallible>(event), channel))
    });
    let mut response = Sse::new(events).into_response();
    // Proxies that collect answers would hold events back.
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// One open channel.
struct Channel {
    reading: Arc<Reading>,
    token_id: String,
    environment: Environment,
    /// Number of the newest commit that the client was told of. A new channel is told at once, since something may have changed
    /// after the answer that named it.
    seen: u64,
    wake: watch::Receiver<u64>,
    beat: Interval,
    _share: Share,
}

impl Channel {
    /// The next thing to say; none ends the channel.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let moved = self.reading.snapshot.get().moved_at(&self.environment);
            if moved > self.seen {
                self.seen = moved;
                return Some(Event::default().id(moved.to_string()).data(REFETCH));
            }
            tokio::select! {
                biased;
                () = self.reading.shutdown.cancelled() => return None,
                // A sender that is gone is a server that ends.
                woken = self.wake.changed() => {
                    woken.ok()?;
                    self.check().ok()?;
                }
                _ = self.beat.tick() => {
                    self.check().ok()?;
                    return Some(Event::default().comment("still here"));
                }
            }
        }
    }

    /// Whether the token is still good and may still resolve here.
    fn check(&self) -> Result<(), Refusal> {
        let snapshot = self.reading.snapshot.get();
        let held = snapshot.token(&self.token_id).ok_or_else(Refusal::not_found)?;
        let caller = auth::current(held, self.reading.clock.now())?;
        allowed(snapshot.policy(), &caller, Need::Resolve, None, Some(&self.environment))
    }
}
