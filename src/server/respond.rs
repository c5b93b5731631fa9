//! Answers: what was read, and what a verb did.

use super::error::Rejection;
use super::extract::Command;
use super::middleware::internal;
use crate::model::Refusal;
use crate::workflow::{Answered, Registry, Verb};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use std::sync::Arc;

/// What handlers give back.
pub type Answer = Result<Response, Rejection>;

/// Number of the audit event that a change made; of the newest one that a relay's answer includes.
pub const SEQ: HeaderName = HeaderName::from_static("countersign-seq");
/// Whether this is the first answer again.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// JSON of what was read.
pub fn shown(value: &impl Serialize) -> Response {
    written(serde_json::to_vec(value)).map_or_else(|refusal| Rejection(refusal).into_response(), json)
}

/// JSON, or a fault of our own where it could not be written.
///
/// # Errors
/// That fault.
pub fn written(json: serde_json::Result<Vec<u8>>) -> Result<Vec<u8>, Refusal> {
    json.map_err(|error| {
        tracing::error!(%error, "failed to write an answer");
        internal()
    })
}

/// JSON that was written already.
pub fn json(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], bytes).into_response()
}

/// What a verb did: 201 where it made something, else 200.
pub fn done<A: Serialize>(answered: &Answered<A>) -> Response {
    let mut response = shown(&answered.answer);
    if answered.created && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::CREATED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seq) = answered.seq {
        headers.insert(SEQ, HeaderValue::from(seq));
    }
    if answered.replayed {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

impl<T> Command<T> {
    /// Runs the verb that `verb` makes of the body.
    ///
    /// # Errors
    /// What the verb refuses.
    pub async fn run<V: Verb>(self, registry: Arc<Registry>, verb: impl FnOnce(T) -> V) -> Answer {
        let Self { caller, body, idempotency } = self;
        Ok(done(&registry.run(&caller, idempotency, verb(body)).await?))
    }
}
