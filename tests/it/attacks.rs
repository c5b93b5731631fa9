//! Attacks that do not get through: ways around four eyes, gates and the kill switch, over HTTP.
//!
//! The nine that the registry is measured by, and where each is tried:
//!
//! 1. The safe default swapped, then a kill: [`a_kill_does_not_serve_a_safe_default_that_somebody_slipped_in`].
//! 2. Authorship laundered by an import, by saving the same content, by a program: `authorship_is_not_laundered_…`, three here;
//!    the rule itself in `rules/readiness/tests.rs`, four eyes.
//! 3. A rollback to a digest that only served 1 %: [`a_rollback_does_not_reach_what_only_served_one_percent`].
//! 4. A verdict with its own threshold or from a foreign reporter:
//!    [`a_verdict_counts_from_a_reporter_of_the_policy_and_by_its_threshold_alone`]; from a program that an author owns, in
//!    `workflow_guards.rs`.
//! 5. A template that reaches code: [`a_template_reaches_no_code_by_any_way_in`]; every construct in `rules/template.rs`.
//! 6. A policy file changed on disk: `http_process.rs`, `another_policy_file_is_reported_and_changes_nothing`.
//! 7. One person in two groups or by two accounts: `workflow_policy.rs`,
//!    `one_person_in_two_groups_or_with_two_accounts_meets_one_requirement`.
//!    With a token that one made for somebody else: [`four_eyes_are_not_those_of_whoever_made_a_token_for_somebody_else`].
//! 8. A kill swallowed by a reused idempotency key: [`a_kill_is_not_swallowed_by_a_key_that_was_used_before`].
//! 9. A Langfuse read of a draft by number: `langfuse.rs`, `a_number_gives_only_what_served_that_environment`.
//!
//! Others stand where their subject does: an approver who left the group (`workflow_policy.rs`), paths in a client's key
//! (`ofrep.rs`), probes for what is confidential (`http_access.rs`), keys and pastes that would kill (`pty_danger.rs`), bytes that
//! would move a terminal (`cli_hostile.rs`), a changed, cut or foreign chain (`integrity.rs`, `pty_alarm.rs`).

use crate::support::policy;
use crate::support::registry::{Said, Served, said, text};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const KEY: &str = "support.greeting";

/// The served house, where dee approves too, a program writes, and rita evaluates, but not for the gate.
fn house() -> String {
    format!(
        "{}\n[person.dee]\nalso = [\"git:Dee\"]\n[[role]]\nwho = \"person:dee\"\nrole = \"approver\"\n\
         [[role]]\nwho = \"service:web\"\nrole = \"author\"\n[[role]]\nwho = \"person:bob\"\nrole = \"author\"\n\
         [[role]]\nwho = \"person:rita\"\nrole = \"evaluator\"\n",
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
async fn four_eyes_are_not_those_of_whoever_made_a_token_for_somebody_else() {
    let served = Served::with_policy(&format!("{}[[role]]\nwho = \"person:root\"\nrole = \"author\"\n", house())).await;
    served.key(KEY).await;
    let digest = save(&served, "root", "Written by an admin.", json!({})).await;
    served.post("root", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    let id = open(&served, &digest).await;
    let mut maker = "root".to_owned();
    // The second is made with the first, as bob himself would.
    for _ in 0..2 {
        let made = served.post(&maker, "/v1/tokens", json!({ "actor": "person:bob" })).await.good();
        assert_eq!(made["owner"], "person:root");
        maker = made["secret"].as_str().unwrap().to_owned();
        is_shut(&served, &maker, &id, "this token belongs to person:root, who is an author of this version").await;
    }
    assert_eq!(vote(&served, "bob", &id).await.status, 201);
    let made = served.post("bob", "/v1/tokens", json!({ "actor": "person:bob" })).await.good();
    assert_eq!(made["owner"], "person:bob", "a token of one's own makes one's own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_counts_from_a_reporter_of_the_policy_and_by_its_threshold_alone() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    let path = format!("/v1/versions/{digest}/verdicts");
    for who in ["rita", "web", "dee", "root"] {
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

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_does_not_serve_a_safe_default_that_somebody_slipped_in() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let (safe, good, evil) =
        (served.version(KEY, "Safe.").await, served.version(KEY, "Good.").await, served.version(KEY, "Evil.").await);
    for digest in [&safe, &evil] {
        served.passes(digest).await;
    }
    let default = served.open(KEY, "@safe-default", &safe, json!({})).await;
    served.approve("ana", &default).await;
    served.post("carol", &format!("/v1/promotions/{default}/apply"), json!({})).await.good();
    served.into_dev(KEY, &good).await;
    // Not by changing the key, not by a promotion that nobody approved, not by one that its author approved.
    for who in ["dee", "root", "carol"] {
        let change = served.request(who, Method::PATCH, &format!("/v1/keys/{KEY}")).json(&json!({ "safe_default_digest": evil }));
        assert_eq!(said(change).await.status, 422, "{who}");
    }
    let swap = served.open(KEY, "@safe-default", &evil, json!({})).await;
    is_shut(&served, "dee", &swap, "an author of this version").await;
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "safety" })).await.good();
    let now = async || {
        let resolve = format!("/v1/environments/dev/resolve/{KEY}");
        served.post("web", &resolve, json!({ "unit": "u" })).await.good()
    };
    assert_eq!(now().await["digest"], safe, "the kill serves what was approved");
    // Now that everybody gets the safe default it is frozen, however many approve.
    served.approve("ana", &swap).await;
    let apply = served.post("carol", &format!("/v1/promotions/{swap}/apply"), json!({})).await;
    assert_eq!(apply.refused(), (409, "policy_unmet".into()), "{}", apply.text);
    assert!(apply.text.contains("frozen while the key is killed in dev"), "{}", apply.text);
    assert_eq!((&now().await["digest"], &now().await["killed"]), (&json!(safe), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_does_not_reach_what_only_served_one_percent() {
    let served = Served::start().await;
    served.key(KEY).await;
    let (first, tried, last) =
        (served.version(KEY, "First.").await, served.version(KEY, "Tried.").await, served.version(KEY, "Last.").await);
    served.into_dev(KEY, &first).await;
    let one = served.open(KEY, "dev", &tried, json!({ "percent": 1 })).await;
    let one = served.post("carol", &format!("/v1/promotions/{one}/apply"), json!({})).await.good();
    assert_eq!((&one["pointer"]["digest"], &one["pointer"]["rollout_pct"]), (&json!(tried), &json!(1)));
    let whole = served.open(KEY, "dev", &last, json!({ "percent": 100, "supersedes": one["promotion"]["promotion_id"] })).await;
    served.post("carol", &format!("/v1/promotions/{whole}/apply"), json!({})).await.good();
    let head = served.head().await;
    let named = served.act("olga", KEY, "dev", "rollback", json!({ "rationale": "bad", "to_digest": tried })).await;
    assert_eq!(named.refused(), (409, "no_history".into()), "{}", named.text);
    assert_eq!(served.head().await, head, "nothing moved");
    let back = served.act("olga", KEY, "dev", "rollback", json!({ "rationale": "bad" })).await.good();
    assert_eq!((&back["pointer"]["digest"], &back["pointer"]["rollout_pct"]), (&json!(first), &json!(100)), "it is passed by");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_reaches_no_code_by_any_way_in() {
    let served = Served::with_policy(&house()).await;
    served.key(KEY).await;
    let declared = json!([{ "name": "name", "type": "string", "required": true, "default": null },
        { "name": "data", "type": "json", "required": false, "default": {} }]);
    let save = async |who: &str, content: Value, more: Value| {
        let mut whole = json!({ "key": KEY, "variables": declared });
        whole.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        let mut body = json!({ "content": whole, "rationale": "because" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        served.post(who, &format!("/v1/keys/{KEY}/versions"), body).await
    };
    let imported = json!({ "imported": { "author": "git:Mallory", "created_at": "2026-01-01T00:00:00Z" } });
    for (n, attack) in [
        "{{ name.__class__.__mro__ }}",
        "{{ ''.__class__ }}",
        "{{ name() }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ data['constructor'] }}",
        "{{ data.constructor('return 1')() }}",
        "{{ range(999999999) }}",
        "{{ data | attr('__class__') }}",
        "{% import 'os' as os %}",
        "{% include '/etc/passwd' %}",
        "{% macro f() %}{% endmacro %}",
        "{% set x = 1 %}",
    ]
    .into_iter()
    .enumerate()
    {
        let template = json!({ "format": "template", "body": attack });
        let chat = json!({ "format": "chat", "body": [{ "role": "user", "content": attack }] });
        for (content, place) in [(&template, "/content/body"), (&chat, "/content/body/0/content")] {
            for (who, more) in [("dee", json!({})), ("ines", imported.clone())] {
                let refused = save(who, content.clone(), more).await;
                assert_eq!(refused.problem(), (422, "invalid".into(), place.into()), "{who} {attack}: {}", refused.text);
            }
        }
        // A fragment is checked where it is pinned: with that version's variables.
        let fragment = json!({ "name": format!("attack{n}"), "body": attack, "owning_group": "owners" });
        let digest = served.post("dee", "/v1/fragments", fragment).await.good()["digest"].clone();
        let pins = json!({ format!("attack{n}"): digest });
        let body = format!("{{% include \"attack{n}\" %}}");
        let refused = save("dee", json!({ "format": "template", "body": body, "fragments": pins }), json!({})).await;
        assert_eq!(refused.problem(), (422, "invalid".into(), format!("/content/fragments/attack{n}")), "{}", refused.text);
    }
    // What stands in a value is a value: no reader looks for tags in it.
    let default = json!([{ "name": "name", "type": "string", "required": false, "default": "{{ name.__class__ }}" }]);
    let content = json!({ "format": "template", "body": "Hello {{ name }}", "variables": default });
    let saved = save("dee", content, json!({})).await.good();
    let content = serde_json::from_value(saved["content"].clone()).unwrap();
    let rendered = countersign::rules::template::render(&content, &BTreeMap::default(), &serde_json::Map::new());
    assert_eq!(rendered.unwrap(), "Hello {{ name.__class__ }}");
}
