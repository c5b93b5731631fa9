//! Langfuse's read of a prompt over HTTP: labels, numbers, and what it must not give.

use crate::support::registry::{POLICY, Said, Served, said, token_of};
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";

async fn ask(served: &Served, who: &str, query: &str) -> Said {
    let token = token_of(who);
    let request = served.request("nobody", Method::GET, &format!("/api/public/v2/prompts/{query}"));
    said(request.basic_auth(&token[..13], Some(&token[14..]))).await
}

fn refused(answer: &Said) -> (u16, String) {
    let body = answer.json();
    assert!(body["error"].is_string(), "{body}");
    (answer.status.as_u16(), body["message"].as_str().unwrap().to_owned())
}

/// Saves a content and submits it; gives its digest.
async fn save(served: &Served, key: &str, mut content: Value) -> String {
    content["key"] = json!(key);
    let saved = json!({ "content": content, "rationale": "because" });
    let digest =
        served.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good()["digest"].as_str().unwrap().to_owned();
    served.post("dee", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    digest
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_is_an_environment_or_its_alias() {
    let served = Served::with_policy(&POLICY.replace("name = \"dev\"", "name = \"dev\"\nalias = \"preview\"")).await;
    served.key(KEY).await;
    let variables = json!([{ "name": "name", "type": "string", "required": true }]);
    let content = json!({ "format": "template", "body": "Hello {{ name }}", "variables": variables, "model_pin": "m-1",
        "parameters": { "temperature": 0.5 } });
    let digest = save(&served, KEY, content).await;
    served.into_dev(KEY, &digest).await;
    let answer = ask(&served, "web", &format!("{KEY}?label=dev&resolve=true")).await.good();
    let prompt = json!({
        "type": "text", "name": KEY, "version": 1, "prompt": "Hello {{ name }}", "digest": digest,
        "config": { "model": "m-1", "temperature": 0.5 }, "labels": ["dev", "preview"], "tags": [],
        "commitMessage": null, "resolutionGraph": null,
    });
    assert_eq!(answer, prompt);
    assert_eq!(ask(&served, "web", &format!("{KEY}?label=preview")).await.good(), prompt);
    for query in ["", "?label=production", "?label=nowhere", "?label=@safe-default"] {
        assert_eq!(refused(&ask(&served, "web", &format!("{KEY}{query}")).await).0, 404, "{query}");
    }
    let latest = refused(&ask(&served, "web", &format!("{KEY}?label=latest")).await);
    assert!(latest.0 == 400 && latest.1.contains("latest"), "{latest:?}");
    for name in ["no.such", "nosuch", "folder%2Fname", "%ff", "..%2F..%2Fv1%2Fkeys"] {
        assert_eq!(refused(&ask(&served, "web", &format!("{name}?label=dev")).await).0, 404, "{name}");
    }
    for query in ["version=one", "version=99999999999999999999"] {
        assert_eq!(refused(&ask(&served, "web", &format!("{KEY}?{query}")).await).0, 400, "{query}");
    }
    for query in ["label=dev", "label=latest", "label=nowhere", "version=1", "version=one"] {
        let (there, missing) = (format!("{KEY}?{query}"), format!("no.such?{query}"));
        assert_eq!(ask(&served, "eve", &there).await.text, ask(&served, "eve", &missing).await.text, "{query}");
    }
    assert_eq!(ask(&served, "olga-kill", &format!("{KEY}?label=dev")).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_gives_only_what_served_that_environment() {
    let served = Served::start().await;
    served.key(KEY).await;
    let first = served.version(KEY, "first").await;
    served.into_dev(KEY, &first).await;
    let second = served.version(KEY, "second").await;
    served.into_dev(KEY, &second).await;
    served.version(KEY, "in review").await;
    let content = json!({ "content": { "key": KEY, "format": "text", "body": "a draft" }, "rationale": "because" });
    served.post("dee", &format!("/v1/keys/{KEY}/versions"), content).await.good();
    let body = |answer: Said| answer.good()["prompt"].as_str().unwrap().to_owned();
    let by = |number: i64, label: &'static str| {
        let served = &served;
        async move { ask(served, "web", &format!("{KEY}?version={number}&label={label}")).await }
    };
    assert_eq!(body(by(1, "dev").await), "first");
    assert_eq!(body(by(2, "dev").await), "second");
    for (number, label) in [(3, "dev"), (4, "dev"), (5, "dev"), (0, "dev"), (-1, "dev"), (1, "production"), (2, "production")] {
        let answer = by(number, label).await;
        assert_eq!(refused(&answer).0, 404, "v{number} in {label}");
        assert!(!answer.text.contains("draft") && !answer.text.contains("review"), "{}", answer.text);
    }
    served.post("ana", &format!("/v1/versions/{first}/quarantine"), json!({ "rationale": "bad" })).await.good();
    assert_eq!(refused(&by(1, "dev").await).0, 404, "quarantined");
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    for query in ["label=dev", "version=1&label=dev", "version=2&label=dev"] {
        let answer = ask(&served, "web", &format!("{KEY}?{query}")).await;
        assert_eq!(refused(&answer).0, 404, "killed, without a safe default: {query}");
        assert!(!answer.text.contains("second"), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_these_clients_would_render_otherwise_is_refused_with_the_reason() {
    let served = Served::start().await;
    let variables = json!([{ "name": "name", "type": "string", "required": true }]);
    for (key, content, said) in [
        (
            "support.filter",
            json!({ "format": "template", "body": "{{ name | upper }}", "variables": variables }),
            "line 1, column 1",
        ),
        ("support.json", json!({ "format": "json", "body": { "a": 1 } }), "json is no prompt"),
        ("support.literal", json!({ "format": "text", "body": "Say {{ name }}" }), "literally"),
    ] {
        served.key(key).await;
        let digest = save(&served, key, content).await;
        served.into_dev(key, &digest).await;
        let (status, message) = refused(&ask(&served, "web", &format!("{key}?label=dev")).await);
        assert!(status == 400 && message.contains(said), "{key}: {message}");
    }
    served.key("support.chat").await;
    let body = json!([{ "role": "system", "content": "You are {{ name }}." }, { "placeholder": "history" }]);
    let digest = save(&served, "support.chat", json!({ "format": "chat", "body": body, "variables": variables })).await;
    served.into_dev("support.chat", &digest).await;
    let chat = ask(&served, "web", "support.chat?label=dev").await.good();
    let expected = json!([
        { "type": "chatmessage", "role": "system", "content": "You are {{ name }}." },
        { "type": "placeholder", "name": "history" },
    ]);
    assert_eq!((&chat["type"], &chat["prompt"]), (&json!("chat"), &expected));
}
