//! A relay over HTTP: the registry's own answers to applications, from a state that is followed from elsewhere. No database, nothing
//! that changes anything.

use super::auth::Shut;
use super::error::Rejection;
use super::extract::NoQuery;
use super::handlers::{ofrep, ofrep_events, resolve};
use super::reading::Reading;
use super::respond::{SEQ, shown};
use super::{Listening, accept, auth, middleware, router};
use crate::model::{Code, Refusal};
use crate::wire::paths::template as t;
use axum::Router;
use axum::extract::{FromRef, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{get, post};
use serde::Serialize;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};

/// How a relay stands to its registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// What it holds was known to be the newest a moment ago, or is on its way.
    Following,
    /// The registry does not answer.
    Away,
    /// The registry answers with what the relay does not take: an older state, another chain, what nobody signed.
    Refused,
}

/// The newest word about it, and why; shared with whoever follows.
#[derive(Debug)]
pub struct Standing(Mutex<(Stand, String)>);

impl Default for Standing {
    fn default() -> Self {
        Self(Mutex::new((Stand::Away, "it was not asked yet".to_owned())))
    }
}

impl Standing {
    /// The stand, and why it is not [`Stand::Following`].
    pub fn get(&self) -> (Stand, String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes another stand; whether it is news.
    pub fn set(&self, stand: Stand, why: impl Display) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let news = held.0 != stand;
        *held = (stand, why.to_string());
        news
    }
}

/// What a relay's handlers share.
#[derive(Debug, Clone)]
pub struct Relay {
    /// What it answers from.
    pub reading: Arc<Reading>,
    /// How it stands to its registry.
    pub standing: Arc<Standing>,
}

impl FromRef<Relay> for Arc<Reading> {
    fn from_ref(relay: &Relay) -> Self {
        relay.reading.clone()
    }
}

/// Serves until the reading's shutdown; then lets running requests end.
pub async fn serve(relay: Relay, listening: Listening) {
    let (shutdown, room) = (relay.reading.shutdown.clone(), relay.reading.limits.room.clone());
    accept::accept(listening, routes(relay), room, shutdown).await;
}

/// Every route of a relay: the registry's handlers, under the registry's rows of who may.
fn routes(relay: Relay) -> Router {
    let routed = Router::new()
        .route(t::HEALTHZ, get(health))
        .route(t::READYZ, get(health))
        .route(t::RESOLVE, get(resolve::without_unit).post(resolve::resolve))
        .route(t::EXPLAIN, post(resolve::explain))
        .route(t::OFREP_FLAGS, post(ofrep::flags))
        .route(t::OFREP_FLAG, post(ofrep::flag))
        .route(t::ENV_OFREP_FLAGS, post(ofrep::flags))
        .route(t::ENV_OFREP_FLAG, post(ofrep::flag))
        .route(t::OFREP_EVENTS, get(ofrep_events::follow))
        .route_layer(from_fn_with_state(relay.clone(), guard))
        .fallback(elsewhere)
        .method_not_allowed_fallback(router::not_this_way);
    let aged = middleware::around(routed, &relay.reading).layer(from_fn_with_state(relay.reading.clone(), age));
    aged.with_state(relay)
}

/// The door of a relay: the registry's rows, and tokens of the registry that the state holds.
async fn guard(State(relay): State<Relay>, request: Request, next: Next) -> Response {
    let pass = async |row, headers: &_, peer| auth::pass_by_token(&relay.reading, row, headers, peer).map_err(of_applications);
    auth::enter(request, next, pass).await
}

/// A person's token is as unknown here as a forged one: what a relay takes is said.
fn of_applications(shut: Shut) -> Shut {
    match shut {
        Shut::Refused(refusal) if refusal.code == Code::Unauthenticated => Shut::Refused(
            refusal.hint("a relay takes tokens of applications alone, of scope service or public, neither expired nor revoked"),
        ),
        other => other,
    }
}

async fn elsewhere() -> Rejection {
    Rejection(Refusal::new(Code::NotFound, "a relay answers resolve and OFREP alone"))
}

/// Says with every answer which state it is from, and for how many seconds that was not known to be the newest (`Age`, RFC 9111).
async fn age(State(reading): State<Arc<Reading>>, request: Request, next: Next) -> Response {
    let (seconds, seq) = (age_of(&reading), reading.snapshot.get().head().seq);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::AGE, HeaderValue::from(seconds));
    headers.insert(SEQ, HeaderValue::from(seq));
    response
}

fn age_of(reading: &Reading) -> u64 {
    u64::try_from(reading.clock.now().seconds_since(reading.snapshot.heard_at())).unwrap_or(0)
}

/// What `/healthz` and `/readyz` say.
#[derive(Serialize)]
struct Health {
    status: &'static str,
    /// The newest audit event that the state includes.
    seq: u64,
    /// Seconds since that was last known to be the newest state.
    age_seconds: u64,
    upstream: Stand,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    alarms: Vec<&'static str>,
}

/// A relay is there for the time when its registry is not: alarms are named, and take nothing out of service.
async fn health(State(relay): State<Relay>, _: NoQuery) -> Response {
    let (upstream, why) = relay.standing.get();
    let alarms = match upstream {
        Stand::Following => vec![],
        Stand::Away => vec!["upstream_away"],
        Stand::Refused => vec!["upstream_refused"],
    };
    let reading = &relay.reading;
    let (seq, age_seconds) = (reading.snapshot.get().head().seq, age_of(reading));
    shown(&Health { status: "ok", seq, age_seconds, upstream, why, alarms })
}
