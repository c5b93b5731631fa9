//! Browsers on other origins: they resolve and ask for OFREP's answers where the operator named their origin, and reach nothing
//! that changes something.

use crate::support::registry::{Said, Served, said};
use countersign::server::router::{Access, TABLE};
use reqwest::Method;
use serde_json::json;

const KEY: &str = "support.greeting";
const PAGE: &str = "https://app.example";
const RESOLVE: &str = "/v1/environments/dev/resolve/support.greeting";
const FLAG: &str = "/env/dev/ofrep/v1/evaluate/flags/support.greeting";

async fn stage() -> (Served, Served) {
    let plain = Served::start().await;
    plain.key(KEY).await;
    let digest = plain.version(KEY, "A greeting.").await;
    plain.into_dev(KEY, &digest).await;
    let open = plain.to_pages(&[PAGE, "http://localhost:5173"]).await;
    (plain, open)
}

/// A browser's question before the real one.
async fn preflight(served: &Served, origin: &str, method: &str, path: &str) -> Said {
    let request = served.request("nobody", Method::OPTIONS, path).header("origin", origin);
    said(request.header("access-control-request-method", method).header("access-control-request-headers", "authorization")).await
}

fn allowed(answer: &Said) -> Option<&str> {
    answer.headers.get("access-control-allow-origin").map(|origin| origin.to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_a_named_origin_resolves_and_reads_refusals_too() {
    let (_plain, open) = stage().await;
    for (method, path) in [
        ("GET", RESOLVE),
        ("POST", RESOLVE),
        ("POST", FLAG),
        ("POST", "/env/dev/ofrep/v1/evaluate/flags"),
        ("GET", "/ofrep/v1/events"),
    ] {
        let asked = preflight(&open, PAGE, method, path).await;
        assert_eq!((asked.status.as_u16(), allowed(&asked)), (204, Some(PAGE)), "{method} {path}");
        assert!(asked.headers["access-control-allow-methods"].to_str().unwrap().contains(method));
        let headers = asked.headers["access-control-allow-headers"].to_str().unwrap();
        assert!(["authorization", "content-type", "if-none-match"].iter().all(|name| headers.contains(name)));
        assert!(asked.headers["vary"].to_str().unwrap().contains("Origin"));
    }
    let ask = |who: &'static str| {
        said(open.request(who, Method::POST, FLAG).header("origin", PAGE).json(&json!({ "context": { "targetingKey": "u" } })))
    };
    let answer = ask("site-public").await;
    assert_eq!((answer.good()["key"].as_str(), allowed(&answer)), (Some(KEY), Some(PAGE)));
    assert!(answer.headers["access-control-expose-headers"].to_str().unwrap().contains("etag"));
    assert_eq!(answer.headers["vary"], "Origin");
    let refused = ask("nobody").await;
    assert_eq!((refused.status.as_u16(), allowed(&refused)), (401, Some(PAGE)), "a page can say what is wrong");
    assert!(answer.headers.get("access-control-allow-credentials").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_origin_is_let_in_and_none_at_all_unless_it_is_named() {
    let (plain, open) = stage().await;
    let strangers = ["https://app.example.evil", "https://app.example:444", "http://app.example", "null", "https://APP.example"];
    for (served, origins) in [(&open, &strangers[..]), (&plain, &[PAGE][..])] {
        for origin in origins {
            let asked = preflight(served, origin, "POST", FLAG).await;
            assert_eq!((asked.status.as_u16(), allowed(&asked)), (405, None), "{origin}");
            let answer = said(served.request("site-public", Method::GET, RESOLVE).header("origin", *origin)).await;
            assert_eq!((answer.status.as_u16(), allowed(&answer)), (200, None), "{origin}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_else_is_open_to_pages() {
    let (_plain, open) = stage().await;
    let mut shut = 0;
    for route in TABLE {
        let path = route.template.replace("{environment}", "dev").replace("{key}", KEY).replace(['{', '}'], "");
        let method = route.method.to_uppercase();
        let asked = preflight(&open, PAGE, &method, &path).await;
        if allowed(&asked).is_some() {
            assert!(!matches!(route.access, Access::Verb(_)), "{method} {path}");
            continue;
        }
        shut += 1;
        assert_eq!(asked.status, 405, "{method} {path}");
        if route.template != "/v1/stream" {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let answer = said(open.request("nobody", method, &path).header("origin", PAGE)).await;
            assert_eq!(allowed(&answer), None, "{path}");
        }
    }
    assert_eq!(TABLE.len() - shut, 7, "resolve by two methods, OFREP by five routes");
    // A method that the path has, but not for pages; and one that it has not.
    assert_eq!(preflight(&open, PAGE, "DELETE", RESOLVE).await.status, 405);
}
