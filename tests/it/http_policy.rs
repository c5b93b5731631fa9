//! Over HTTP: what a freeze and a soak answer, promotions that are left to the server, the policy explained, its alarm.

use super::support::registry::{POLICY, Served};
use countersign::clock::Clock;
use countersign::model::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

const KEY: &str = "support.greeting";

fn clock() -> Clock {
    Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap())
}

async fn under(more: &str) -> (Served, Clock) {
    let clock = clock();
    let policy = POLICY.replace("after = \"dev\"", &format!("after = \"dev\"\n{more}"));
    let served = Served::on(&policy, clock.clone()).await;
    served.key(KEY).await;
    (served, clock)
}

/// A version that dev serves, and its promotion to production with gate and approval.
async fn approved(served: &Served, more: Value) -> String {
    let digest = served.version(KEY, "hello").await;
    served.into_dev(KEY, &digest).await;
    served.passes(&digest).await;
    let id = served.open(KEY, "production", &digest, more).await;
    served.approve("ana", &id).await;
    id
}

async fn unmet(served: &Served, id: &str) -> Value {
    let refused = served.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await;
    assert_eq!(refused.refused(), (409, "policy_unmet".into()), "{refused:?}");
    let body = refused.json();
    assert_eq!(body["unmet"].as_array().unwrap().len(), 1, "{body}");
    body["unmet"][0].clone()
}

#[tokio::test]
async fn a_freeze_alone_refuses_apply_with_its_reason_and_time() {
    let (served, clock) = under("freeze = [{ tz = \"Europe/Berlin\", weekly = \"mon 13:00-tue 08:00\" }]").await;
    let id = approved(&served, json!({})).await;
    let item = unmet(&served, &id).await;
    assert_eq!((&item["kind"], &item["until"]), (&json!("freeze"), &json!("2026-12-01T07:00:00.000000Z")));
    assert!(item["reason"].as_str().unwrap().starts_with("frozen until Tue 2026-12-01 08:00 Europe/Berlin"), "{item}");
    clock.set("2026-12-01T07:00:00Z".parse().unwrap());
    served.apply(&id).await;
}

#[tokio::test]
async fn a_soak_alone_refuses_apply_with_its_reason_and_time() {
    let (served, clock) = under("soak = \"1h\"").await;
    let id = approved(&served, json!({})).await;
    let item = unmet(&served, &id).await;
    assert_eq!((&item["kind"], &item["until"]), (&json!("soak"), &json!("2026-11-30T13:00:00.000000Z")));
    assert_eq!(
        item["reason"],
        "dev has held it at 100 % since 2026-11-30 12:00:00 UTC; it takes 1h, until 2026-11-30 13:00:00 UTC"
    );
    clock.set("2026-11-30T13:00:00Z".parse().unwrap());
    served.apply(&id).await;
}

/// Waits, for ten seconds at most, until the promotion is in a state.
async fn becomes(served: &Served, id: &str, state: &str) -> Value {
    let path = format!("/v1/promotions/{id}");
    let seen = async {
        loop {
            let view = served.get("carol", &path).await.good();
            if view["state"] == state {
                return view;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), seen).await.unwrap_or_else(|_| panic!("{id} did not become {state}"))
}

/// Opens as carol, who may apply.
async fn left_to_the_server(served: &Served, digest: &str, environment: &str, more: Value) -> String {
    let mut body = json!({ "key_id": KEY, "environment": environment, "to_digest": digest, "rationale": "because" });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    served.post("carol", "/v1/promotions", body).await.good()["promotion_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_server_applies_what_is_ready_and_what_is_due() {
    let (served, clock) = under("").await;
    let digest = served.version(KEY, "hello").await;
    served.into_dev(KEY, &digest).await;
    let id = left_to_the_server(&served, &digest, "production", json!({ "when_ready": true, "percent": 50 })).await;
    served.approve("ana", &id).await;
    assert_eq!(served.get("carol", &format!("/v1/promotions/{id}")).await.good()["state"], "open");
    served.passes(&digest).await;
    let view = becomes(&served, &id, "applied").await;
    assert_eq!(view["applied_by"], "system:schedule");

    let time = Timestamp(clock.now().0).plus_seconds(3600);
    let scheduled = left_to_the_server(&served, &digest, "production", json!({ "at_time": time, "percent": 100 })).await;
    served.approve("ana", &scheduled).await;
    clock.set(time);
    assert_eq!(becomes(&served, &scheduled, "applied").await["at_time"], json!(time));
}

#[tokio::test]
async fn a_scheduled_promotion_whose_pointer_moved_is_in_its_openers_inbox_and_nobody_elses() {
    let (served, clock) = under("").await;
    let digest = served.version(KEY, "hello").await;
    served.into_dev(KEY, &digest).await;
    let newer = served.version(KEY, "newer").await;
    let time = clock.now().plus_seconds(3600);
    let id = left_to_the_server(&served, &newer, "dev", json!({ "at_time": time })).await;
    let third = served.version(KEY, "third").await;
    served.into_dev(KEY, &third).await;
    clock.set(time);
    let view = becomes(&served, &id, "stale").await;
    assert_eq!(view["missed"], true);
    let owed = async |who: &str| {
        let page = served.get(who, "/v1/promotions?owed=me").await.good();
        page["items"].as_array().unwrap().iter().map(|item| item["promotion_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(owed("carol").await, [json!(id)]);
    assert!(owed("olga").await.is_empty() && owed("dee").await.is_empty());
    let pointer = served.get("carol", &format!("/v1/keys/{KEY}/pointers/dev")).await.good();
    assert_eq!(pointer["digest"], json!(third), "never applied");
    served.post("carol", &format!("/v1/promotions/{id}/withdraw"), json!({ "rationale": "seen" })).await.good();
    assert!(owed("carol").await.is_empty());
}

#[tokio::test]
async fn the_policy_is_explained_for_a_key() {
    let (served, _) = under("soak = \"1h\"\nbreak_glass = [\"oncall\"]").await;
    let ask = |key: &str, environment: &str| json!({ "key": key, "environment": environment });
    let found = served.post("rita", "/v1/policy/explain", ask(KEY, "production")).await.good();
    assert_eq!((&found["to_digest"], &found["readiness"]), (&Value::Null, &json!([])), "no version yet");
    let digest = served.version(KEY, "hello").await;
    let found = served.post("rita", "/v1/policy/explain", ask(KEY, "production")).await.good();
    assert_eq!(found["to_digest"], json!(digest));
    let field = found["fields"].as_array().unwrap().iter().find(|field| field["field"] == "soak").unwrap().clone();
    let source = served.registry.snapshot.get().policy().source.clone();
    let line = source.lines().position(|line| line.starts_with("soak")).unwrap() + 1;
    assert_eq!(field, json!({ "field": "soak", "value": 3600, "section": "[[environment]] production", "line": line }));
    let who = |act: &str| {
        let may = found["may"].as_array().unwrap().iter().find(|may| may["act"] == act);
        may.unwrap_or_else(|| panic!("{act}: {}", found["may"]))["who"].clone()
    };
    assert_eq!(who("approve review"), json!(["person:ana", "person:bob"]));
    assert_eq!(who("apply a promotion"), json!(["person:carol"]));
    assert_eq!(who("kill"), json!(["person:carol", "person:olga"]));
    assert_eq!(who("break the glass"), json!(["person:olga"]));
    let kinds: Vec<&str> = found["readiness"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"soak") && kinds.contains(&"approval") && kinds.contains(&"gate"), "{kinds:?}");
    for (who, key, environment, status) in
        [("rita", "support.nothing", "production", 404), ("eve", KEY, "production", 404), ("rita", KEY, "nowhere", 422)]
    {
        let said = served.post(who, "/v1/policy/explain", ask(key, environment)).await;
        assert_eq!(said.status.as_u16(), status, "{who} {key} {environment}: {said:?}");
    }
}
