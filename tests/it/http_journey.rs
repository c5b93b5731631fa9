//! A change from its draft to a rollback, over HTTP; the chain that it leaves; the kill switch on a registry that was tampered with.

use crate::support::registry::{POLICY, Served};
use crate::support::rows::raw;
use countersign::clock::Clock;
use countersign::model::{AuditEvent, ChainHead, Digest, Timestamp};
use countersign::rules::chain;
use serde_json::json;

const KEY: &str = "support.greeting";

async fn events(served: &Served) -> Vec<AuditEvent> {
    let page = served.get("audi", "/v1/audit?limit=1000").await.good();
    serde_json::from_value(page["items"].clone()).unwrap()
}

/// Folds the chain as a client does.
fn verified(events: &[AuditEvent]) -> ChainHead {
    let empty = ChainHead { seq: 0, event_id: Digest::ZERO, at: Timestamp(0) };
    events.iter().fold(empty, |head, event| chain::verify(&head, event).unwrap_or_else(|b| panic!("#{}: {}", b.seq, b.why)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_goes_from_draft_to_rollback_and_each_act_is_one_event() {
    let served = Served::start().await;
    served.key(KEY).await;
    let safe = served.version(KEY, "A safe greeting.").await;
    let first = served.version(KEY, "The first greeting.").await;
    let second = served.version(KEY, "The second greeting.").await;

    served.into_production(KEY, &safe, json!({ "environment": "@safe-default" })).await;

    served.into_dev(KEY, &first).await;
    let moved = served.into_production(KEY, &first, json!({})).await;
    assert_eq!(moved["pointer"]["rollout_pct"], 25);
    for share in [50, 100] {
        let moved = served.act("carol", KEY, "production", "step", json!({ "rationale": "looks good" })).await.good();
        assert_eq!(moved["pointer"]["rollout_pct"], share);
    }
    let all = served.resolve(KEY, "production", "u1").await;
    assert_eq!((all["digest"].as_str(), all["reason"].as_str()), (Some(first.as_str()), Some("static")));
    assert_eq!(all["content"]["body"], "The first greeting.");
    assert_eq!(all["unit_hash"].as_str().map(str::len), Some(64), "an application gets the pseudonym of the unit it asked for");
    let path = format!("/v1/environments/production/resolve/{KEY}/explain");
    let explained = served.post("olga", &path, json!({ "unit": "u1" })).await.good();
    assert_eq!((&explained["digest"], &explained["unit_hash"]), (&all["digest"], &json!(null)), "a person does not");
    assert!(!explained["steps"].as_array().unwrap().is_empty());
    let reach = served.get("olga", &format!("/v1/keys/{KEY}/pointers/production")).await.good()["reach"].clone();
    assert_eq!(reach, json!({ "per_minute": 1, "services": ["service:web"] }), "explaining is not counted");

    served.into_dev(KEY, &second).await;
    let moved = served.into_production(KEY, &second, json!({})).await;
    assert_eq!(moved["pointer"]["baseline_digest"], first.as_str());
    served.act("carol", KEY, "production", "step", json!({ "rationale": "looks good" })).await.good();

    let before = served.head().await;
    let killed = served.act("olga", KEY, "production", "kill", json!({ "reason": "quality", "note": "rude" })).await.good();
    assert_eq!((killed["pointer"]["killed"].as_bool(), killed["seq"].as_u64()), (Some(true), Some(before + 1)));
    for unit in 0..200 {
        let got = served.resolve(KEY, "production", &format!("unit-{unit}")).await;
        assert_eq!((got["digest"].as_str(), got["reason"].as_str()), (Some(safe.as_str()), Some("killed")));
    }
    let again = served.act("carol", KEY, "production", "kill", json!({ "reason": "outage" })).await.good();
    assert_eq!((again["seq"].as_u64(), served.head().await), (None, before + 1), "a second kill is no event");

    let wish = json!({ "key_id": KEY, "environment": "production", "to_digest": second, "rationale": "fixed", "revive": true, "percent": 50 });
    let opened = served.post("carol", "/v1/promotions", wish).await.good();
    let id = opened["promotion_id"].as_str().unwrap().to_owned();
    served.approve("ana", &id).await;
    let revived = served.apply(&id).await;
    assert_eq!((revived["pointer"]["killed"].as_bool(), revived["pointer"]["rollout_pct"].as_u64()), (Some(false), Some(50)));

    let back = served.act("olga", KEY, "production", "rollback", json!({ "rationale": "still rude" })).await.good();
    assert_eq!((back["pointer"]["digest"].as_str(), back["pointer"]["rollout_pct"].as_u64()), (Some(first.as_str()), Some(100)));
    assert_eq!(served.resolve(KEY, "production", "u1").await["digest"], first.as_str());

    let events = events(&served).await;
    let head = verified(&events);
    assert_eq!(head.seq, served.head().await);
    let folded = chain::fold(&events);
    let pointer = folded.get(&(KEY.parse().unwrap(), "production".parse().unwrap())).unwrap();
    assert_eq!(json!(pointer), back["pointer"], "the pointer is what its events fold to");
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_says_what_is_missing_and_who_can_meet_it() {
    let served = Served::start().await;
    served.key(KEY).await;
    let first = served.version(KEY, "The first greeting.").await;
    served.into_dev(KEY, &first).await;
    let id = served.open(KEY, "production", &first, json!({})).await;
    let refused = served.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await;
    assert_eq!(refused.refused(), (409, "policy_unmet".into()));
    let unmet = refused.json()["unmet"].clone();
    let kinds: Vec<&str> = unmet.as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["gate", "approval"]);
    assert!(unmet[0]["who"].to_string().contains("service:ci") && unmet[1]["who"].to_string().contains("ana"), "{unmet}");
    let waiting = served.get("ana", "/v1/promotions?awaiting=me").await.good();
    assert_eq!(waiting["items"][0]["promotion_id"], id.as_str());
    assert_eq!(served.get("rita", "/v1/promotions?awaiting=me").await.good()["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_again_acts_once_and_another_body_is_refused() {
    let served = Served::start().await;
    let send = |body: serde_json::Value| {
        let request = served.request("dee", reqwest::Method::POST, "/v1/keys").header("idempotency-key", "k1").json(&body);
        crate::support::registry::said(request)
    };
    let body = json!({ "key_id": KEY, "owning_group": "owners" });
    let first = send(body.clone()).await;
    assert_eq!((first.status.as_u16(), first.headers.contains_key("idempotency-replayed")), (201, false));
    let head = served.head().await;
    assert_eq!(first.headers["countersign-seq"].to_str().unwrap(), head.to_string());
    let again = send(body).await;
    assert_eq!((again.status.as_u16(), again.headers["idempotency-replayed"].to_str().unwrap()), (201, "true"));
    assert_eq!((again.json(), served.head().await), (first.json(), head));
    let other = send(json!({ "key_id": "support.other", "owning_group": "owners" })).await;
    assert_eq!(other.refused(), (422, "idempotency_reused".into()));
    let bad =
        served.request("dee", reqwest::Method::POST, "/v1/keys").header("idempotency-key", "k".repeat(256)).json(&json!({}));
    assert_eq!(crate::support::registry::said(bad).await.problem().2, "Idempotency-Key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_of_many_takes_the_count_that_was_seen_and_answers_key_by_key() {
    let served = Served::start().await;
    for key in ["support.one", "support.two", "search.one"] {
        served.key(key).await;
        let digest = served.version(key, key).await;
        served.into_dev(key, &digest).await;
    }
    let kill =
        |count: u32| json!({ "environment": "dev", "namespace": "support.**", "expected_count": count, "reason": "safety" });
    let refused = served.post("olga-kill", "/v1/kill", kill(3)).await;
    assert_eq!(refused.refused(), (412, "precondition_failed".into()));
    let killed = served.post("olga-kill", "/v1/kill", kill(2)).await.good();
    let keys: Vec<&str> = killed.as_array().unwrap().iter().map(|o| o["key_id"].as_str().unwrap()).collect();
    assert_eq!(keys, ["support.one", "support.two"]);
    assert!(killed.as_array().unwrap().iter().all(|outcome| outcome["moved"]["pointer"]["killed"] == true));
    assert_eq!(served.resolve("search.one", "dev", "u").await["killed"], false);
    assert_eq!(served.resolve("support.two", "dev", "u").await["reason"], "killed_no_default");
}

/// A registry with a key that serves in dev, whose database was changed behind its back.
async fn tampered(statements: &[&'static str]) -> Served {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "The first greeting.").await;
    served.into_dev(KEY, &digest).await;
    for sql in statements {
        raw(&served.registry.db, (*sql).to_owned()).await.unwrap();
    }
    served
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_works_on_a_database_that_was_tampered_with() {
    let served = tampered(&[
        "DROP TRIGGER audit_event_no_update",
        "DROP TRIGGER audit_event_no_delete",
        "UPDATE audit_event SET actor = 'person:mallory' WHERE seq = 2",
        "DELETE FROM audit_event WHERE seq = (SELECT MAX(seq) FROM audit_event)",
    ])
    .await;
    let killed = served.act("olga", KEY, "dev", "kill", json!({ "reason": "safety" })).await.good();
    assert_eq!(killed["pointer"]["killed"], true);
    assert_eq!(served.resolve(KEY, "dev", "u").await["reason"], "killed_no_default");
    let events = events(&served).await;
    let empty = ChainHead { seq: 0, event_id: Digest::ZERO, at: Timestamp(0) };
    let broken = events.iter().try_fold(empty, |head, event| chain::verify(&head, event)).unwrap_err();
    assert_eq!(broken.seq, 2, "readers see it");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_every_list_join_to_the_whole() {
    let served = Served::start().await;
    for number in 0..5 {
        let key = format!("support.k{number}");
        served.key(&key).await;
        let digest = served.version(&key, &key).await;
        served.version(&key, &format!("{key} again")).await;
        served.into_dev(&key, &digest).await;
    }
    for (path, whole) in [
        ("/v1/keys?", 5),
        ("/v1/keys?pattern=support.**&", 5),
        ("/v1/keys/support.k1/versions?", 2),
        ("/v1/pointers?environment=dev&", 5),
        ("/v1/promotions?state=applied&", 5),
        ("/v1/audit?", 36),
    ] {
        let mut cursor = String::new();
        let mut seen = Vec::new();
        loop {
            let page = served.get("rita", &format!("{path}limit=2{cursor}")).await.good();
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= 2);
            seen.extend(items.iter().map(ToString::to_string));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let all = served.get("rita", &format!("{path}limit=1000")).await.good();
        let all: Vec<String> = all["items"].as_array().unwrap().iter().map(ToString::to_string).collect();
        assert_eq!((seen.len(), &seen), (whole, &all), "{path}");
        assert_eq!(served.get("rita", &format!("{path}cursor=zz")).await.problem().2, "cursor");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_works_on_a_database_whose_chain_was_put_back() {
    let served = tampered(&[
        "DROP TRIGGER audit_event_no_delete",
        "DELETE FROM audit_event WHERE seq > 2",
        "UPDATE audit_head SET seq = 2, event_id = (SELECT event_id FROM audit_event WHERE seq = 2)",
    ])
    .await;
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "safety" })).await.good();
    let until = tokio::time::Instant::now() + std::time::Duration::from_secs(10);
    while served.resolve(KEY, "dev", "u").await["reason"] != "killed_no_default" {
        assert!(tokio::time::Instant::now() < until, "the kill takes effect");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_go_on_while_the_database_is_away_and_say_when_they_are_stale() {
    let clock = Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
    let served = Served::on(POLICY, clock.clone()).await;
    served.key(KEY).await;
    let digest = served.version(KEY, "The first greeting.").await;
    served.into_dev(KEY, &digest).await;
    served.registry.db.close().await;
    let got = served.resolve(KEY, "dev", "u").await;
    assert_eq!((&got["digest"], &got["stale"]), (&json!(digest), &json!(false)));
    assert_eq!(served.get("nobody", "/readyz").await.status, 200);
    clock.set(clock.now().plus_seconds(60));
    let got = served.resolve(KEY, "dev", "u").await;
    assert_eq!((&got["digest"], &got["stale"]), (&json!(digest), &json!(true)), "the last good state, marked");
    assert_eq!(served.get("rita", "/v1/policy").await.status, 200);
    for (method, path) in [("GET", "/readyz"), ("GET", "/readyz/write"), ("GET", "/v1/keys"), ("POST", "/v1/keys")] {
        let body = json!({ "key_id": "support.other", "owning_group": "owners" });
        let request = served.request("dee", method.parse().unwrap(), path).json(&body);
        assert_eq!(crate::support::registry::said(request).await.refused(), (503, "unavailable".into()), "{path}");
    }
}
