//! The API document, for programs and for people.

use crate::server::openapi;
use crate::server::respond::{Answer, shown};
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::IntoResponse as _;

/// GET /openapi.json
pub async fn openapi() -> Answer {
    Ok(shown(openapi::document()))
}

/// GET /docs
pub async fn page() -> Answer {
    let (page, policy) = openapi::page();
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    ];
    Ok((headers, page.as_str()).into_response())
}
