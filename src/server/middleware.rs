//! What lies around every route: request id, log line, time limit, caught panics, conditional reads.

use super::accept::Peer;
use super::apart::apart_if;
use super::cors;
use super::error::Rejection;
use super::held;
use super::reading::Reading;
use crate::model::{Code, Refusal};
use crate::rules::canonical;
use crate::wire::paths::template;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tower_http::catch_panic::CatchPanicLayer;

/// A request must be answered within this time; streams and kills of many are exempt.
const MOST_TIME: Duration = Duration::from_secs(30);
/// Answers to reads are kept in memory whole.
const MOST_ANSWER: usize = 1 << 30;
/// Hashing a longer answer takes more than a millisecond.
const WORTH_A_THREAD: usize = 1 << 20;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Lays everything around a router, in one layer: each layer costs every request a clone of its route and a box.
pub fn around<S: Clone + Send + Sync + 'static>(router: Router<S>, reading: &Arc<Reading>) -> Router<S> {
    router.layer((from_fn_with_state(reading.clone(), answered), CatchPanicLayer::custom(caught)))
}

/// Gives each request an id and a log line (no query, no body, no names, no token), and holds it to its time.
async fn answered(State(reading): State<Arc<Reading>>, request: Request, next: Next) -> Response {
    let id = hex::encode(reading.clock.bytes::<16>());
    let origins = &reading.origins;
    let origin = if origins.is_empty() { None } else { request.headers().get(header::ORIGIN).cloned() };
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let visit = request.extensions().get::<Peer>().map(|peer| peer.seat.visit());
    let request = match &visit {
        Some(visit) => request.map(|body| visit.receives(body)),
        None => request,
    };
    let began = tokio::time::Instant::now();
    let template = matched.as_ref().map_or("-", MatchedPath::as_str);
    let mut response = match cors::preflight(origins, template, &method, request.headers()) {
        Some(response) => response,
        None => timed(request, next).await,
    };
    response = held::hold(&reading.limits, response, visit);
    cors::tell(origins, template, origin.as_ref(), response.headers_mut());
    let took = began.elapsed();
    reading.metrics.answered(&method, template, response.status(), took);
    let status = response.status().as_u16();
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if response.status().is_server_error() {
        tracing::error!(id, %method, template, status, micros, "answered");
    } else {
        tracing::debug!(id, %method, template, status, micros, "answered");
    }
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn timed(request: Request, next: Next) -> Response {
    if [template::STREAM, template::KILL_MANY].contains(&request.uri().path()) {
        return conditional(request, next).await;
    }
    tokio::time::timeout(MOST_TIME, conditional(request, next)).await.unwrap_or_else(|_| {
        let seconds = MOST_TIME.as_secs();
        Rejection(Refusal::new(Code::Timeout, format!("there was no answer within {seconds} s"))).into_response()
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the layer calls it so")]
fn caught(panic: Box<dyn Any + Send + 'static>) -> Response {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(said = said.unwrap_or("nothing"), "a handler panicked");
    Rejection(internal()).into_response()
}

/// The refusal for a fault of our own.
pub fn internal() -> Refusal {
    Refusal::new(Code::Internal, "the registry met a fault of its own")
}

/// Gives each JSON read an ETag (the SHA-256 of its bytes), and answers 304 to who has it.
async fn conditional(request: Request, next: Next) -> Response {
    let wanted = (request.method() == Method::GET).then(|| request.headers().get(header::IF_NONE_MATCH).cloned());
    let response = next.run(request).await;
    let Some(known) = wanted else { return response };
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
    if response.status() != StatusCode::OK || !is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MOST_ANSWER).await else { return Rejection(internal()).into_response() };
    let text = bytes.clone();
    let Ok(digest) = apart_if(bytes.len() > WORTH_A_THREAD, move || canonical::sha256(&text)).await else {
        return Rejection(internal()).into_response();
    };
    let tag = format!("\"{}\"", digest.hex());
    tag_with(&mut parts.headers, &tag);
    let matches = |known: &str| known.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag);
    if known.as_ref().and_then(|known| known.to_str().ok()).is_some_and(matches) {
        parts.status = StatusCode::NOT_MODIFIED;
        parts.headers.remove(header::CONTENT_LENGTH);
        parts.headers.remove(header::CONTENT_TYPE);
        return Response::from_parts(parts, Body::empty());
    }
    Response::from_parts(parts, bytes.into())
}

fn tag_with(headers: &mut HeaderMap, tag: &str) {
    if let Ok(value) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, value);
    }
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}
