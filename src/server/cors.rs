//! Browsers on other origins (the CORS protocol of the Fetch standard): they may resolve, and ask for OFREP's answers, where the
//! operator named their origin. Nothing that changes something is ever open to them, and no cookie counts.

use super::router::TABLE;
use crate::wire::paths::template as t;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use std::str::FromStr;

/// What browsers may ask for.
const READS: [&str; 6] = [t::RESOLVE, t::OFREP_FLAGS, t::OFREP_FLAG, t::ENV_OFREP_FLAGS, t::ENV_OFREP_FLAG, t::OFREP_EVENTS];
/// What they may send beside what every page may.
const SENT: HeaderValue = HeaderValue::from_static("authorization, content-type, if-none-match, last-event-id, x-api-key");
/// What pages may read beside what every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static("etag, retry-after, x-request-id");
/// For so many seconds browsers need not ask again.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
const VARY: HeaderValue = HeaderValue::from_static("Origin, Access-Control-Request-Method, Access-Control-Request-Headers");

/// An origin as browsers send it: `https://app.example`, `http://localhost:5173`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(HeaderValue);

impl FromStr for Origin {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no origin like https://app.example or http://localhost:5173");
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).ok_or_else(wrong)?;
        // Compared letter for letter with what browsers send, which has no path and no capitals.
        let named = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:[]".contains(&b);
        if host.is_empty() || !host.bytes().all(named) || host.ends_with([':', '.']) {
            return Err(wrong());
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| wrong())
    }
}

/// A question before the real one; none where it is none, or where the answer is no: then it is answered as what it is, a method
/// that is not there.
pub fn preflight(origins: &[Origin], template: &str, method: &Method, headers: &HeaderMap) -> Option<Response> {
    if *method != Method::OPTIONS || !READS.contains(&template) {
        return None;
    }
    let origin = named(origins, headers)?;
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?;
    let methods: Vec<String> = TABLE.iter().filter(|r| r.template == template).map(|r| r.method.to_uppercase()).collect();
    if !methods.iter().any(|method| method == wanted) {
        return None;
    }
    let allowed = HeaderValue::from_str(&methods.join(", ")).ok()?;
    let answer: [(HeaderName, HeaderValue); 5] = [
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone()),
        (header::ACCESS_CONTROL_ALLOW_METHODS, allowed),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
        (header::VARY, VARY),
    ];
    Some((StatusCode::NO_CONTENT, answer).into_response())
}

/// What an answer, a refusal too, tells a browser.
pub fn tell(origins: &[Origin], template: &str, asked_by: Option<&HeaderValue>, answer: &mut HeaderMap) {
    if origins.is_empty() || !READS.contains(&template) || answer.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        return;
    }
    answer.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(Origin(origin)) = origins.iter().find(|Origin(origin)| Some(origin) == asked_by) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
}

fn named<'a>(origins: &'a [Origin], headers: &HeaderMap) -> Option<&'a HeaderValue> {
    let asked_by = headers.get(header::ORIGIN)?;
    origins.iter().map(|Origin(origin)| origin).find(|origin| *origin == asked_by)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_a_host_and_perhaps_a_port() {
        for good in ["https://app.example", "http://localhost:5173", "https://[::1]:8443", "http://127.0.0.1"] {
            assert!(good.parse::<Origin>().is_ok(), "{good}");
        }
        for bad in
            ["*", "null", "", "https://", "app.example", "https://app.example/", "https://App.example", "file:///", "https://a b"]
        {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn nothing_that_changes_something_is_among_the_reads() {
        use crate::server::router::Access;
        for route in TABLE.iter().filter(|route| READS.contains(&route.template)) {
            assert!(!matches!(route.access, Access::Verb(_)), "{} {}", route.method, route.template);
        }
    }
}
