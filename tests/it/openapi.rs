//! The API document: who may read it, what its page loads, and that its examples are as it says. Whether answers are as it says
//! is looked at wherever tests ask (`support::described`).

use crate::support::described::{Answered, check, fits};
use crate::support::registry::Served;
use countersign::server::openapi::document;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn everybody_may_read_the_document_and_its_page_which_loads_nothing() {
    let served = Served::start().await;
    assert_eq!(&served.get("nobody", "/openapi.json").await.good(), document());
    let page = served.get("nobody", "/docs").await;
    assert_eq!((page.status.as_u16(), &page.headers["content-type"]), (200, &"text/html; charset=utf-8".parse().unwrap()));
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
}

#[test]
fn every_example_is_as_its_schema_says() {
    let mut seen = 0;
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap().iter().filter(|(method, _)| *method != "parameters") {
            let answers = operation["responses"].as_object().unwrap().values();
            let contents = answers.chain(operation.get("requestBody")).filter_map(|holder| holder["content"].as_object());
            for content in contents.flat_map(|content| content.values()) {
                if let Some(example) = content.get("example") {
                    seen += 1;
                    fits(&content["schema"], example).unwrap_or_else(|why| panic!("{method} {path}: {why}"));
                }
            }
        }
    }
    for (name, response) in document()["components"]["responses"].as_object().unwrap() {
        let content = &response["content"]["application/problem+json"];
        fits(&content["schema"], &content["example"]).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(seen > 120, "{seen}");
}

#[test]
fn the_check_of_answers_sees_what_is_not_described() {
    let me = json!({ "actor": "person:ana", "token_id": "cs_x", "scope": "full", "environment": null, "login": "token", "groups": [], "roles": [] });
    let looked_at = |status: u16, media: &'static str, body: Value| {
        let text = body.to_string();
        std::panic::catch_unwind(move || check(&Answered { method: "GET", path: "/v1/me", status, media, text: &text })).is_ok()
    };
    assert!(looked_at(200, "application/json", me.clone()));
    assert!(!looked_at(418, "application/json", me.clone()), "a status");
    assert!(!looked_at(200, "text/plain", me.clone()), "a media type");
    for (name, wrong) in
        [("actor", json!(3)), ("scope", json!("some")), ("groups", json!([1])), ("roles", json!([{ "role": "cook" }]))]
    {
        let mut other = me.clone();
        other[name] = wrong;
        assert!(!looked_at(200, "application/json", other), "{name}");
        let mut less = me.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(!looked_at(200, "application/json", less), "{name} is missing");
    }
}
