//! Ways around four eyes, gates and the kill switch that do not lead anywhere, over HTTP.

use crate::support::policy;
use crate::support::registry::{Said, Served, said, text};
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";

/// The served house, where dee approves too, and a program of hers writes.
fn house() -> String {
    format!(
        "{}\n[person.dee]\nalso = [\"git:Dee\"]\n[[role]]\nwho = \"person:dee\"\nrole = \"approver\"\n\
         [[role]]\nwho = \"service:web\"\nrole = \"author\"\n[[role]]\nwho = \"person:bob\"\nrole = \"author\"\n",
        policy::SERVED
    )
}

/// A vote on what the server shows.
async fn vote(served: &Served, who: &str, id: &str) -> Said {
    let path = format!("/v1/promotions/{id}");
    let view = served.get(who, &path).await.good();
    let vote = json!({
        "verdict": "approve", "gate": "review", "rationale": "fine", "statement": view["statement"],
        "acknowledged_hidden": view["hidden"],
    });
    served.post(who, &format!("{path}/approvals"), vote).await
}

async fn save(served: &Served, who: &str, body: &str, more: Value) -> String {
    let mut saved = json!({ "content": text(KEY, body), "rationale": "because" });
    saved.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    served.post(who, &format!("/v1/keys/{KEY}/versions"), saved).await.good()["digest"].as_str().unwrap().to_owned()
}

/// Opens production for a digest by carol, who has written nothing.
async fn open(served: &Served, digest: &str) -> String {
    let body = json!({ "key_id": KEY, "environment": "production", "to_digest": digest, "rationale": "because" });
    served.post("carol", "/v1/promotions", body).await.good()["promotion_id"].as_str().unwrap().to_owned()
}

/// The vote was refused, and applying says that an approval is missing.
async fn is_shut(served: &Served, who: &str, id: &str, why: &str) {
    let refused = vote(served, who, id).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(refused.text.contains(why), "{}", refused.text);
    let apply = served.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await;
    assert_eq!(apply.refused(), (409, "policy_unmet".into()));
    let unmet = apply.json()["unmet"].clone();
    assert!(unmet.as_array().unwrap().iter().any(|item| item["kind"] == "approval"), "{unmet}");
}

#[tokio::test(flavor = "multi_thread")]
async fn authorship_is_not_laundered_by_an_import_under_another_name() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let import = json!({ "imported": { "author": "git:Dee", "created_at": "2026-01-01T00:00:00Z" } });
    let digest = save(&served, "ines", "Imported.", import).await;
    let id = open(&served, &digest).await;
    is_shut(&served, "dee", &id, "an author of this version").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authorship_is_not_laundered_by_having_somebody_else_save_the_same_content() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let digest = save(&served, "dee", "The same.", json!({})).await;
    assert_eq!(save(&served, "bob", "The same.", json!({})).await, digest);
    served.post("bob", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    let id = open(&served, &digest).await;
    for who in ["dee", "bob"] {
        is_shut(&served, who, &id, "an author of this version").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn authorship_is_not_laundered_by_a_program_that_one_answers_for() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    // Root made the program's first token; from then on bob answers for one of his own.
    let made = served.post("root", "/v1/tokens", json!({ "actor": "service:web" })).await.good();
    assert_eq!(made["owner"], "person:root");
    let mut tx = served.registry.db.begin().await.unwrap();
    let owned = countersign::model::Token {
        token_id: "cs_bobs".into(),
        actor: "service:web".parse().unwrap(),
        owner: "person:bob".parse().unwrap(),
        scope: countersign::model::Scope::Full,
        environment: None,
        note: String::new(),
        created_at: served.registry.clock.now(),
        expires_at: served.registry.clock.now(),
        revoked_at: None,
    };
    tx.conn().token_put(&owned, &countersign::model::Digest([1; 32])).await.unwrap();
    tx.commit().await.unwrap();
    let digest = save(&served, "web", "Written by a program.", json!({})).await;
    served.post("web", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    let id = open(&served, &digest).await;
    is_shut(&served, "bob", &id, "an owner of a token that acts for service:web").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_counts_from_a_reporter_of_the_policy_and_by_its_threshold_alone() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    let path = format!("/v1/versions/{digest}/verdicts");
    for who in ["web", "dee", "root"] {
        let refused = served.post(who, &path, json!({ "gate": "accuracy", "score": 1.0 })).await;
        assert_eq!(refused.refused(), (403, "forbidden".into()), "{who}");
    }
    for own in [json!({ "threshold": 0.1 }), json!({ "passed": true }), json!({ "status": "pass" })] {
        let mut body = json!({ "gate": "accuracy", "score": 0.5 });
        body.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        let said = served.post("ci", &path, body).await;
        let counted = said.status.is_success() && said.json()["passed"] == true;
        assert!(!counted, "{own}: {}", said.text);
    }
    let judged = served.post("ci", &path, json!({ "gate": "accuracy", "score": 0.5 })).await.good();
    assert_eq!((&judged["threshold"], &judged["passed"]), (&json!(0.9), &json!(false)));
    let id = open(&served, &digest).await;
    let view = served.get("rita", &format!("/v1/promotions/{id}")).await.good();
    let gate = view["readiness"].as_array().unwrap().iter().find(|item| item["kind"] == "gate").unwrap().clone();
    assert_eq!(gate["status"], "unmet", "{gate}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_is_not_swallowed_by_a_key_that_was_used_before() {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    let send = async |what: &str, body: Value| {
        let path = format!("/v1/keys/{KEY}/pointers/dev/{what}");
        let request = served.request("carol", Method::POST, &path).header("idempotency-key", "one-key");
        said(request.json(&body)).await
    };
    let killed = async || served.get("rita", &format!("/v1/keys/{KEY}/pointers/dev")).await.good()["killed"].clone();
    send("kill", json!({ "reason": "test" })).await.good();
    assert_eq!(killed().await, true);
    let path = format!("/v1/keys/{KEY}/pointers/dev/undo-kill");
    served.post("carol", &path, json!({ "rationale": "a test" })).await.good();
    assert_eq!(killed().await, false);
    let before = served.head().await;
    send("kill", json!({ "reason": "test" })).await.good();
    assert_eq!((killed().await, served.head().await), (json!(true), before + 1), "the same request acts again");
    served.post("carol", &path, json!({ "rationale": "a test" })).await.good();
    send("kill", json!({ "reason": "safety" })).await.good();
    assert_eq!(killed().await, true, "and so does another body");
}
