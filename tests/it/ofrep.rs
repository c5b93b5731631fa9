//! OFREP over HTTP: what stock clients of any language get, in each state of a key, and what they cannot reach.

use crate::support::registry::{PEOPLE, POLICY, Said, Served, said, token_of};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const KEY: &str = "support.greeting";
const BULK: &str = "/env/dev/ofrep/v1/evaluate/flags";

async fn ask(served: &Served, who: &str, path: &str, context: Value) -> Said {
    served.post(who, path, json!({ "context": context, "from": "a later version of the protocol" })).await
}

fn one(environment: &str, key: &str) -> String {
    format!("/env/{environment}/ofrep/v1/evaluate/flags/{key}")
}

/// A key that serves a content in dev; gives the digest.
async fn serving(served: &Served, key: &str, content: Value) -> String {
    served.key(key).await;
    let mut content = content;
    content["key"] = json!(key);
    let saved = json!({ "content": content, "rationale": "because" });
    let digest =
        served.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good()["digest"].as_str().unwrap().to_owned();
    served.post("dee", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    served.into_dev(key, &digest).await;
    digest
}

fn without(mut value: Value, member: &str) -> Value {
    value.as_object_mut().unwrap().remove(member).unwrap();
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn each_format_comes_as_its_clients_read_it() {
    let served = Served::start().await;
    let chat = json!([{ "role": "system", "content": "Answer as {{ name }}." }, { "placeholder": "history" }]);
    let variables = json!([{ "name": "name", "type": "string", "required": true }]);
    for (key, content) in [
        ("support.text", json!({ "format": "text", "body": "Hello {{ nobody }}", "model_pin": "m-1" })),
        ("support.template", json!({ "format": "template", "body": "Hello {{ name }}", "variables": variables })),
        ("support.chat", json!({ "format": "chat", "body": chat, "variables": variables, "parameters": { "temperature": 0.5 } })),
    ] {
        let digest = serving(&served, key, content).await;
        let answer = ask(&served, "web", &one("dev", key), json!({ "targetingKey": "u" })).await.good();
        let stored = served.get("dee", &format!("/v1/versions/{digest}")).await.good()["content"].clone();
        assert_eq!(without(answer["value"].clone(), "fragment_bodies"), stored, "all that the digest covers");
        assert_eq!((&answer["key"], &answer["reason"], &answer["variant"]), (&json!(key), &json!("STATIC"), &json!("current")));
        assert_eq!((&answer["metadata"]["version"], &answer["metadata"]["flagSetId"]), (&json!(digest), &json!("dev")));
        let pin = answer["metadata"].get("modelPin").cloned();
        assert_eq!(pin, (key == "support.text").then(|| json!("m-1")));
    }
    for (key, body, text) in [
        ("support.whole", json!(3), "\"value\":3,"),
        ("support.part", json!(2.5), "\"value\":2.5,"),
        ("support.yes", json!(true), "\"value\":true,"),
        ("support.words", json!("w"), "\"value\":\"w\","),
        ("support.object", json!({ "b": [1, 2.5], "a": null }), "\"value\":{\"a\":null,\"b\":[1,2.5]},"),
    ] {
        serving(&served, key, json!({ "format": "json", "body": body })).await;
        let answer = ask(&served, "web", &one("dev", key), json!({})).await;
        assert!(answer.text.contains(text), "{}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_state_of_a_pointer_has_its_reason() {
    let served = Served::start().await;
    let digest = serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    served.into_production(KEY, &digest, json!({})).await;
    let mut seen = std::collections::BTreeMap::new();
    for unit in 0..40 {
        let context = json!({ "targetingKey": "somebody else", "user": format!("u{unit}") });
        let answer = ask(&served, "web", &one("production", KEY), context).await.good();
        let resolved = served.resolve(KEY, "production", &format!("u{unit}")).await;
        assert_eq!(answer["metadata"].get("version").unwrap_or(&Value::Null), &resolved["digest"], "one function answers both");
        assert_eq!(answer["metadata"]["contextId"], resolved["unit_hash"], "the attribute named like the unit type is the unit");
        assert_eq!(answer["reason"], "SPLIT");
        assert_eq!(answer.get("value").is_some(), answer["variant"] == "current", "no baseline: the code's default");
        *seen.entry(answer["variant"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["\"current\"", "\"none\""], "{seen:?}");
    let nobody = ask(&served, "web", &one("production", KEY), json!({})).await.good();
    assert_eq!((&nobody["reason"], nobody.get("value")), (&json!("UNKNOWN"), None));
    served.act("olga", KEY, "production", "kill", json!({ "reason": "test" })).await.good();
    let killed = ask(&served, "web", &one("production", KEY), json!({ "user": "u1" })).await.good();
    assert_eq!((&killed["reason"], &killed["variant"], killed.get("value")), (&json!("DISABLED"), &json!("none"), None));
    assert_eq!((&killed["metadata"]["killed"], killed["metadata"].get("version")), (&json!(true), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_in_the_protocols_shape() {
    let served = Served::start().await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let path = one("dev", KEY);
    let long = "u".repeat(513);
    for (body, code) in [
        ("[1", "PARSE_ERROR"),
        ("[]", "PARSE_ERROR"),
        ("{\"context\": 3}", "INVALID_CONTEXT"),
        ("{\"context\": {\"user\": {\"id\": 1}}}", "INVALID_CONTEXT"),
        (&format!("{{\"context\": {{\"user\": \"{long}\"}}}}"), "INVALID_CONTEXT"),
    ] {
        let answer = served.post_raw("web", &path, body.to_owned()).await;
        let said = answer.json();
        assert_eq!((answer.status.as_u16(), &said["errorCode"], &said["key"]), (400, &json!(code), &json!(KEY)), "{body}");
        assert!(said["errorDetails"].is_string(), "{said}");
    }
    for body in ["", "{}", "{\"context\": null}"] {
        assert_eq!(served.post_raw("web", &path, body).await.good()["key"], KEY, "{body:?}");
    }
    let bulk = served.post_raw("web", BULK, "{\"context\": {\"user\": {\"id\": 1}}}").await.good();
    assert_eq!(bulk["flags"][0]["errorCode"], "INVALID_CONTEXT", "one key's failure is not the others'");
    for (who, key) in [("web", "no.such"), ("web", "Not-A-Key"), ("eve", KEY), ("web", "%ff")] {
        let answer = ask(&served, who, &one("dev", key), json!({})).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["errorCode"]), (404, &json!("FLAG_NOT_FOUND")), "{who} {key}");
    }
    let there = ask(&served, "eve", &one("dev", KEY), json!({})).await.text.replace(KEY, "");
    assert_eq!(there, ask(&served, "eve", &one("dev", "no.such"), json!({})).await.text.replace("no.such", ""));
    for path in ["/env/nowhere/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags", "/env/No%20Where/ofrep/v1/evaluate/flags"] {
        let answer = ask(&served, "web", path, json!({})).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["errorCode"]), (400, &json!("GENERAL")), "{path}");
    }
    let large = served.post_raw("web", &path, vec![b' '; 1_100_000]).await;
    assert_eq!(large.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_whose_actor_resolves_in_one_environment_needs_no_other_url_and_may_come_in_three_ways() {
    let home = "role = \"service\"\nenvironment = \"dev\"";
    let served = Served::with_policy(&POLICY.replace("role = \"service\"", home)).await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let answer = ask(&served, "web", &format!("/ofrep/v1/evaluate/flags/{KEY}"), json!({})).await.good();
    assert_eq!(answer["metadata"]["flagSetId"], "dev");
    assert_eq!(ask(&served, "web", &one("production", KEY), json!({})).await.status, 403);
    let token = token_of("web");
    let ways = [
        served.request("nobody", Method::POST, BULK).header("x-api-key", &token),
        served.request("nobody", Method::POST, BULK).basic_auth(&token[..13], Some(&token[14..])),
    ];
    for way in ways {
        assert_eq!(said(way).await.good()["flags"][0]["key"], KEY);
    }
    let not_here = [
        served.request("nobody", Method::GET, "/v1/me").header("x-api-key", &token),
        served.request("nobody", Method::GET, "/v1/me").basic_auth(&token[..13], Some(&token[14..])),
        served.request("nobody", Method::POST, BULK).header("x-api-key", format!("{token}x")),
        served.request("nobody", Method::POST, BULK).basic_auth(&token[..13], Some(&token[15..])),
        served.request("nobody", Method::POST, BULK).basic_auth("", None::<&str>),
        served.request("nobody", Method::POST, BULK).header("authorization", "Basic !"),
    ];
    for request in not_here {
        assert_eq!(said(request).await.status, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_has_every_key_but_confidential_ones_and_is_304_only_for_the_same_context_and_answer() {
    let served = Served::start().await;
    let digest = serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    serving(&served, "support.number", json!({ "format": "json", "body": 3 })).await;
    serving(&served, "support.secret", json!({ "format": "text", "body": "A secret." })).await;
    let hide = served.request("dee", Method::PATCH, "/v1/keys/support.secret").json(&json!({ "confidential": true }));
    said(hide).await.good();
    served.key("support.unserved").await;
    let keys = |answer: &Said| -> Vec<String> {
        answer.json()["flags"].as_array().unwrap().iter().map(|flag| flag["key"].as_str().unwrap().to_owned()).collect()
    };
    let again = |context: Value, tag: String| {
        let request = served.request("web", Method::POST, BULK).header("if-none-match", tag);
        async move { said(request.json(&json!({ "context": context }))).await }
    };
    let context = json!({ "targetingKey": "u", "plan": "free" });
    let first = ask(&served, "web", BULK, context.clone()).await;
    assert_eq!(keys(&first), [KEY, "support.number"]);
    assert_eq!(ask(&served, "dee", &one("dev", "support.secret"), json!({})).await.good()["variant"], "current", "by name it is");
    assert_eq!(keys(&ask(&served, "dee", BULK, json!({})).await), [KEY, "support.number"], "in a list it is not");
    assert_eq!(ask(&served, "web", &one("dev", "support.secret"), json!({})).await.status, 404);
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let known = again(context.clone(), tag.clone()).await;
    assert_eq!((known.status.as_u16(), known.text.as_str(), &known.headers["etag"]), (304, "", &first.headers["etag"]));
    for other in [json!({ "targetingKey": "u", "plan": "paid" }), json!({ "targetingKey": "v", "plan": "free" }), json!({})] {
        assert_eq!(again(other, tag.clone()).await.status, 200, "another context is another question");
    }
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    let after = again(context.clone(), tag).await;
    assert_eq!(after.status, 200);
    assert_eq!(keys(&after), [KEY, "support.number"], "a killed key is there");
    assert_eq!(after.json()["flags"][0]["reason"], "DISABLED");
    assert!(!after.text.contains(&digest), "what was killed is nowhere in the answer");
    assert_eq!(keys(&ask(&served, "eve", BULK, context).await), Vec::<String>::new());
}

/// The next message of a channel, comments left out; none where it ended.
async fn message(response: &mut reqwest::Response) -> Option<String> {
    loop {
        let chunk = tokio::time::timeout(Duration::from_secs(20), response.chunk()).await.expect("something comes");
        let text = String::from_utf8(chunk.ok()??.to_vec()).unwrap();
        if !text.starts_with(':') {
            return Some(text);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_channel_says_when_to_ask_again_and_only_to_who_holds_its_ticket() {
    let served = Served::start().await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let bulk = ask(&served, "web", BULK, json!({})).await.good();
    let place = bulk["eventStreams"][0]["endpoint"]["requestUri"].as_str().unwrap().to_owned();
    assert_eq!(bulk["eventStreams"][0]["type"], "sse");
    assert!(!place.contains(&token_of("web")[14..]), "no secret stands in a URL");
    let open = |place: String, last: &'static str| {
        let request = served.request("nobody", Method::GET, &place);
        let request = if last.is_empty() { request } else { request.header("last-event-id", last) };
        async move { request.send().await.unwrap() }
    };
    let mut channel = open(place.clone(), "").await;
    assert_eq!(channel.headers()["content-type"], "text/event-stream");
    let first = message(&mut channel).await.unwrap();
    assert!(first.contains("data: {\"type\":\"refetchEvaluation\"}") && !first.contains("event:"), "{first}");
    served.key("support.secret").await;
    let second = message(&mut channel).await.unwrap();
    assert_ne!(first, second);
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    let seq = served.head().await;
    assert!(message(&mut channel).await.unwrap().contains(&format!("id: {seq}")));
    let mut late = open(place.clone(), "1").await;
    assert!(message(&mut late).await.unwrap().contains(&format!("id: {seq}")), "what was missed is told at once");
    for forged in [place.replace("dev", "production"), place[..place.len() - 1].to_owned(), "/ofrep/v1/events".into()] {
        assert_eq!(open(forged.clone(), "").await.status(), 401, "{forged}");
    }
    let tokens = served.get("root", "/v1/tokens").await.good();
    let is_web = |token: &&Value| token["actor"] == "service:web";
    let id = tokens["items"].as_array().unwrap().iter().find(is_web).unwrap()["token_id"].as_str().unwrap().to_owned();
    assert!(place.contains(&id));
    said(served.request("root", Method::DELETE, &format!("/v1/tokens/{id}"))).await;
    assert_eq!(open(place, "").await.status(), 401);
    assert_eq!(message(&mut channel).await, None, "it ends with its token");
}

/// Sends a request line as it is: clients' libraries would tidy the path.
async fn raw(served: &Served, who: &str, path: &str, body: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let token = token_of(who);
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_key_reaches_nothing_that_changes_anything() {
    let served = Served::start().await;
    let digest = serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let id = served.open(KEY, "dev", &served.version(KEY, "Another").await, json!({})).await;
    let before = served.head().await;
    let kill = format!("v1/keys/{KEY}/pointers/dev/kill");
    for target in ["v1/kill", &kill, &format!("v1/promotions/{id}/apply")] {
        for up in
            ["../../../", "../../../../", "%2e%2e/%2e%2e/%2e%2e/", "..%2F..%2F..%2F", "..%2f..%2f..%2f..%2f", "..\\..\\..\\"]
        {
            for base in ["/ofrep/v1/evaluate/flags/", "/env/dev/ofrep/v1/evaluate/flags/"] {
                for who in ["web", "olga", "carol"] {
                    let path = format!("{base}{up}{target}");
                    let answer = raw(&served, who, &path, "{\"context\":{\"targetingKey\":\"u\"}}").await;
                    assert!(answer.starts_with("HTTP/1.1 404"), "{who} {path}: {answer}");
                }
            }
        }
    }
    let whole = "/env/dev/ofrep/v1/evaluate/flags/..%2F..%2F..%2Fv1%2Fkill";
    let answer = raw(&served, "olga", whole, "{}").await;
    assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("FLAG_NOT_FOUND"), "{answer}");
    // Libraries that tidy the path before they send it end elsewhere: with a body that is refused there.
    let body = json!({ "context": { "targetingKey": "u" } });
    for route in countersign::server::router::TABLE.iter().filter(|route| route.method == "post") {
        let path = route.template.replace("{key}", KEY).replace("{environment}", "dev").replace("{id}", &id);
        let path = path.replace("{digest}", &digest);
        for (who, _, _) in PEOPLE {
            let answer = served.post(who, &path, body.clone()).await;
            let asks = path.contains("ofrep") || path.contains("/resolve/");
            assert!(!answer.status.is_success() || asks, "{who} {path}: {}", answer.text);
        }
    }
    let events = served.get("audi", &format!("/v1/audit?after={before}&limit=1000")).await.good();
    let done = |event: &&Value| event["action"] != "access.denied";
    assert_eq!(events["items"].as_array().unwrap().iter().filter(done).count(), 0, "nothing but refusals was recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_while_the_database_is_away() {
    let served = Served::start().await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    served.registry.db.close().await;
    assert_eq!(ask(&served, "web", &one("dev", KEY), json!({})).await.good()["variant"], "current");
    assert_eq!(ask(&served, "web", BULK, json!({})).await.good()["flags"][0]["key"], KEY);
}
