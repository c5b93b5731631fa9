//! The server over HTTP: who gets in, what is refused and how, conditional reads, the stream.

use crate::support::registry::{POLICY, Served, said, token_of};
use countersign::wire::paths;
use reqwest::Method;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn health_needs_no_token_and_everything_else_does() {
    let served = Served::start().await;
    for path in [paths::healthz(), paths::readyz(), paths::readyz_write()] {
        assert_eq!(served.get("nobody", &path).await.good()["status"], "ok", "{path}");
    }
    for route in countersign::server::router::TABLE {
        let path = route.template.replace(['{', '}'], "");
        let method = Method::from_bytes(route.method.to_uppercase().as_bytes()).unwrap();
        let answer = said(served.request("nobody", method, &path)).await;
        let open = matches!(route.access, countersign::server::router::Access::Open);
        assert_eq!(answer.status == 401, !open, "{} {}: {}", route.method, route.template, answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_whole_valid_and_current_is_refused() {
    let served = Served::start().await;
    let good = token_of("dee");
    let ask = |value: String| {
        let request = served.request("nobody", Method::GET, "/v1/me");
        async move { said(request.header("authorization", value)).await }
    };
    assert_eq!(ask(format!("Bearer {good}")).await.good()["actor"], "person:dee");
    let other_secret = format!("{}x", &good[..good.len() - 1]);
    for bad in [
        String::from("Bearer"),
        String::from("Bearer "),
        String::from("Bearer cs_"),
        format!("Basic {good}"),
        good.clone(),
        format!("Bearer {other_secret}"),
        format!("Bearer {}", &good[..good.len() - 1]),
        format!("Bearer {good}a"),
        format!("Bearer {}", &good[..13]),
        format!("Bearer {}", "é".repeat(40)),
        format!("Bearer {}", token_of("dee-expired")),
        format!("Bearer {}", token_of("dee-revoked")),
    ] {
        let answer = ask(bad.clone()).await;
        assert_eq!(answer.refused(), (401, "unauthenticated".into()), "{bad}");
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
        assert!(!answer.text.contains("kkkk"), "no token is said back");
    }
    assert!(ask(format!("Bearer {}", token_of("dee-expired"))).await.text.contains("expired"));
    assert!(ask(format!("Bearer {}", token_of("dee-revoked"))).await.text.contains("revoked"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_and_what_is_not_yours_answer_alike() {
    let served = Served::start().await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let mut bodies = Vec::new();
    for path in [
        "/nothing".to_owned(),
        "/v1/nothing".to_owned(),
        "/v1/keys/no.such".to_owned(),
        "/v1/keys/no.such/history".to_owned(),
        "/v1/keys/no.such/pointers/production".to_owned(),
        format!("/v1/versions/{digest}"),
        "/v1/promotions/00000000-0000-7000-8000-000000000000".to_owned(),
        "/v1/environments/production/resolve/no.such".to_owned(),
    ] {
        let answer = served.get("rita", &path).await;
        assert_eq!(answer.refused(), (404, "not_found".into()), "{path}");
        bodies.push(answer.text);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_a_request_id_and_no_two_share_one() {
    let served = Served::start().await;
    let mut ids = Vec::new();
    for path in ["/healthz", "/v1/me", "/nothing", "/healthz"] {
        let answer = said(served.request("dee", Method::GET, path).header("x-request-id", "mine")).await;
        ids.push(answer.headers["x-request-id"].to_str().unwrap().to_owned());
    }
    assert!(!ids.contains(&"mine".to_owned()));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_a_path_does_not_take_is_405() {
    let served = Served::start().await;
    let answer = said(served.request("dee", Method::PUT, "/v1/keys")).await;
    assert_eq!(answer.refused(), (405, "method_not_allowed".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_known_is_304_until_it_changes() {
    let served = Served::start().await;
    let first = served.get("dee", "/v1/policy").await;
    assert_eq!(first.good()["source"], POLICY);
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let again = |tag: String| {
        let request = served.request("dee", Method::GET, "/v1/policy").header("if-none-match", tag);
        async move { said(request).await }
    };
    let known = again(tag.clone()).await;
    assert_eq!((known.status.as_u16(), known.text.as_str()), (304, ""));
    assert_eq!(known.headers["etag"].to_str().unwrap(), tag);
    assert_eq!(again(format!("\"other\", W/{tag}")).await.status, 304);
    assert_eq!(again("\"other\"".into()).await.status, 200);
    let rule = served.get("dee", "/v1/policy?key=support.a&environment=production").await;
    assert_eq!(rule.good()["name"], "production");
    assert_ne!(rule.headers["etag"].to_str().unwrap(), tag);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_rule_takes_both_parameters() {
    let served = Served::start().await;
    for (query, path) in [
        ("key=support.a", "environment"),
        ("environment=dev", "key"),
        ("key=Support.a&environment=dev", "key"),
        ("key=support.a&environment=De%20v", "environment"),
        ("colour=red", "colour"),
        ("key=a.b&key=a.c&environment=dev", "key"),
        ("key=%ff&environment=dev", "key"),
    ] {
        let answer = served.get("dee", &format!("/v1/policy?{query}")).await;
        assert_eq!(answer.problem(), (422, "invalid".into(), path.into()), "{query}: {}", answer.text);
    }
    let unknown = served.get("dee", "/v1/policy?key=support.a&environment=nowhere").await;
    assert_eq!(unknown.refused(), (404, "not_found".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_ends_open_streams_and_the_server() {
    let mut served = Served::start().await;
    let mut stream = served.request("dee", Method::GET, "/v1/stream").send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let first = String::from_utf8(stream.chunk().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(first.contains("event: heartbeat") && first.contains("\"seq\":1"), "{first}");
    served.shutdown.cancel();
    let rest = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(Duration::from_secs(5), rest).await.expect("the stream ends");
    tokio::time::timeout(Duration::from_secs(5), &mut served.task).await.expect("the server ends").unwrap();
}
