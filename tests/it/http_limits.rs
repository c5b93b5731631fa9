//! How often somebody may ask: by token, by address where tokens are not valid, and never for a kill.

use crate::support::registry::{Served, token_of};
use countersign::clock::Clock;
use countersign::server::limits::Limits;
use reqwest::Method;
use serde_json::json;

const KEY: &str = "support.greeting";

/// A registry on a clock that stands, so that nothing fills up again by itself, with a pointer in dev.
async fn standing() -> (Served, Clock) {
    let clock = Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
    let served = Served::on(crate::support::policy::SERVED, clock.clone()).await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    (served, clock)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_asks_too_often_waits_but_still_kills_and_resolves() {
    let (first, clock) = standing().await;
    let served = first.again(Limits::of(5)).await;
    for _ in 0..10 {
        served.get("olga", "/v1/me").await.good();
    }
    let refused = served.get("olga", "/v1/me").await;
    assert_eq!(refused.refused(), (429, "rate_limited".into()));
    assert_eq!(refused.headers["retry-after"], "1");
    let refused = served.act("olga", KEY, "dev", "hold", json!({ "rationale": "wait" })).await;
    assert_eq!(refused.status, 429, "changes count like reads");
    for _ in 0..20 {
        served.resolve(KEY, "dev", "u").await;
    }
    served.get("rita", "/v1/me").await.good();
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "outage" })).await.good();
    let many = json!({ "environment": "dev", "keys": [KEY], "expected_count": 1, "reason": "outage" });
    served.post("olga", "/v1/kill", many).await.good();
    assert_eq!(served.resolve(KEY, "dev", "u").await["reason"], "killed_no_default");
    clock.set(clock.now().plus_seconds(1));
    served.get("olga", "/v1/me").await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_guesses_tokens_is_slowed_and_good_tokens_from_it_are_not() {
    let (first, clock) = standing().await;
    let served = first.again(Limits::default()).await;
    let guess = async |n: usize| {
        let request = served.request("nobody", Method::GET, "/v1/me").bearer_auth(format!("{}{n}", token_of("olga")));
        crate::support::registry::said(request).await
    };
    for n in 0..60 {
        assert_eq!(guess(n).await.status, 401, "guess {n}");
    }
    let slowed = guess(60).await;
    assert_eq!(slowed.refused(), (429, "rate_limited".into()));
    assert!(slowed.headers.contains_key("retry-after"));
    served.get("rita", "/v1/me").await.good();
    served.act("olga-kill", KEY, "dev", "kill", json!({ "reason": "outage" })).await.good();
    assert_eq!(guess(61).await.status, 429);
    clock.set(clock.now().plus_seconds(1));
    assert_eq!(guess(62).await.status, 401);
}
