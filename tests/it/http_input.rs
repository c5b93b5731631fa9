//! Bad input: each is a clear refusal that names the place, and nothing changed.

use crate::support::registry::{Served, said, text};
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";

fn saving(content: &Value) -> String {
    json!({ "content": content, "rationale": "because" }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_bodies_are_refused_with_code_and_place_and_change_nothing() {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    let versions = format!("/v1/keys/{KEY}/versions");
    let template = |body: &str| {
        saving(&json!({ "key": KEY, "format": "template", "body": body, "variables": [
        { "name": "x", "type": "string", "required": true, "default": null }] }))
    };
    let named = |n: u32| json!({ "name": format!("v{n}"), "type": "string", "required": true, "default": null });
    let variables: Vec<Value> = (0..201).map(named).collect();
    let many_variables = saving(&json!({ "key": KEY, "format": "template", "body": "x", "variables": variables }));
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let deepest = "/0".repeat(64);
    let promote = |body: Value| ("/v1/promotions".to_owned(), body.to_string());
    let head = served.head().await;
    let cases: Vec<(&str, String, String, &str, &str)> = vec![
        (
            "blank rationale",
            versions.clone(),
            json!({ "content": text(KEY, "x"), "rationale": " \n\t" }).to_string(),
            "invalid",
            "/rationale",
        ),
        (
            "a rationale without end",
            versions.clone(),
            json!({ "content": text(KEY, "x"), "rationale": "a".repeat(16 * 1024 + 1) }).to_string(),
            "invalid",
            "/rationale",
        ),
        (
            "a note of a kill without end",
            format!("/v1/keys/{KEY}/pointers/dev/kill"),
            json!({ "reason": "outage", "note": "a".repeat(16 * 1024 + 1) }).to_string(),
            "invalid",
            "/note",
        ),
        ("members without names", format!("/v1/versions/{digest}/submit"), "[null, null]".into(), "invalid", ""),
        (
            "unknown field",
            versions.clone(),
            json!({ "content": text(KEY, "x"), "rationale": "r", "colour": 1 }).to_string(),
            "invalid",
            "/colour",
        ),
        (
            "unknown field inside",
            versions.clone(),
            saving(&json!({ "key": KEY, "format": "text", "body": "x", "colour": 1 })),
            "invalid",
            "/content/colour",
        ),
        (
            "key with a capital",
            "/v1/keys".into(),
            json!({ "key_id": "Support.a", "owning_group": "owners" }).to_string(),
            "invalid",
            "/key_id",
        ),
        (
            "one segment",
            "/v1/keys".into(),
            json!({ "key_id": "support", "owning_group": "owners" }).to_string(),
            "invalid",
            "/key_id",
        ),
        (
            "no such group",
            "/v1/keys".into(),
            json!({ "key_id": "support.b", "owning_group": "nobody" }).to_string(),
            "invalid",
            "/owning_group",
        ),
        ("another key inside", versions.clone(), saving(&text("support.other", "x")), "invalid", "/content/key"),
        (
            "duplicate names",
            versions.clone(),
            format!(
                "{{\"rationale\":\"r\",\"content\":{{\"key\":\"{KEY}\",\"key\":\"{KEY}\",\"format\":\"text\",\"body\":\"x\"}}}}"
            ),
            "malformed_json",
            "/content/key",
        ),
        (
            "2^53 + 1",
            versions.clone(),
            format!("{{\"rationale\":\"r\",\"content\":{{\"key\":\"{KEY}\",\"format\":\"json\",\"body\":[9007199254740993]}}}}"),
            "malformed_json",
            "/content/body/0",
        ),
        (
            "overflow",
            versions.clone(),
            format!("{{\"rationale\":\"r\",\"content\":{{\"key\":\"{KEY}\",\"format\":\"json\",\"body\":1e999}}}}"),
            "malformed_json",
            "/content/body",
        ),
        (
            "lone surrogate",
            versions.clone(),
            format!("{{\"rationale\":\"r\",\"content\":{{\"key\":\"{KEY}\",\"format\":\"text\",\"body\":\"\\ud800\"}}}}"),
            "malformed_json",
            "/content/body",
        ),
        ("too deep", versions.clone(), deep, "malformed_json", &deepest),
        ("201 variables", versions.clone(), many_variables, "invalid", "/content/variables"),
        ("no JSON", versions.clone(), "{".into(), "malformed_json", ""),
        ("an array", versions.clone(), "[]".into(), "invalid", ""),
        ("a call", versions.clone(), template("{{ x() }}"), "invalid", "/content/body"),
        ("__class__", versions.clone(), template("{{ x.__class__ }}"), "invalid", "/content/body"),
        ("undeclared", versions.clone(), template("{{ y }}"), "invalid", "/content/body"),
        ("a digest that is none", "/v1/versions/sha256:xyz/submit".into(), "{}".into(), "invalid", "digest"),
        ("an id that is none", "/v1/promotions/17/apply".into(), "{}".into(), "invalid", "id"),
        (
            "a key in the path",
            "/v1/keys/Support.a/pointers/dev/kill".into(),
            json!({ "reason": "test" }).to_string(),
            "invalid",
            "key",
        ),
        (
            "no such reason",
            format!("/v1/keys/{KEY}/pointers/dev/kill"),
            json!({ "reason": "boredom" }).to_string(),
            "invalid",
            "/reason",
        ),
        (
            "a policy that is none",
            "/v1/policy".into(),
            json!({ "source": "[[environment]]\nname = 3", "rationale": "r" }).to_string(),
            "invalid",
            "/policy",
        ),
        (
            "a unit too long",
            format!("/v1/environments/dev/resolve/{KEY}"),
            json!({ "unit": "u".repeat(513) }).to_string(),
            "invalid",
            "/unit",
        ),
    ];
    let (path, body) =
        promote(json!({ "key_id": KEY, "environment": "dev", "to_digest": digest, "rationale": "r", "percent": 101 }));
    let more = vec![("over 100 %", path, body, "invalid", "/percent")];
    served.into_dev(KEY, &digest).await;
    let head_after = served.head().await;
    assert!(head_after > head);
    for (what, path, body, code, place) in cases.into_iter().chain(more) {
        let who = if path == "/v1/policy" || what == "no such group" {
            "root"
        } else if path.contains("/kill") {
            "olga"
        } else if path.contains("/apply") {
            "carol"
        } else {
            "dee"
        };
        let answer = served.post_raw(who, &path, body).await;
        assert_eq!(answer.problem(), (422, code.into(), place.into()), "{what}: {}", answer.text);
        assert!(!answer.json()["detail"].as_str().unwrap().is_empty(), "{what}");
    }
    assert_eq!(served.head().await, head_after, "nothing changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_does_not_read_is_refused_with_its_line() {
    let served = Served::start().await;
    let answer = served
        .post("root", "/v1/policy", json!({ "source": "[[environment]]\nname = \"a\"\nsoak = \"1h\"\n", "rationale": "r" }))
        .await;
    assert_eq!(answer.problem().0, 422);
    assert!(answer.json()["detail"].as_str().unwrap().contains("line 3"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_or_not_declared_is_refused_before_it_is_read() {
    let served = Served::start().await;
    let big = format!("{{\"x\":\"{}\"}}", "a".repeat(2 << 20));
    assert_eq!(served.post_raw("dee", "/v1/keys", big).await.refused(), (413, "too_large".into()));
    let body = json!({ "key_id": KEY, "owning_group": "owners" }).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        let request = served.request("dee", Method::POST, "/v1/keys").header("content-type", kind).body(body.clone());
        assert_eq!(said(request).await.refused(), (415, "unsupported_media".into()), "{kind}");
    }
    assert_eq!(said(served.request("dee", Method::POST, "/v1/keys").body(body.clone())).await.refused().0, 415);
    let charset =
        served.request("dee", Method::POST, "/v1/keys").header("content-type", "application/json; charset=utf-8").body(body);
    assert_eq!(said(charset).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_a_path_does_not_take_is_refused_by_name() {
    let served = Served::start().await;
    served.key(KEY).await;
    for (method, path, place) in [
        (Method::GET, format!("/v1/keys/{KEY}?verbose=1"), "verbose"),
        (Method::GET, "/v1/keys?limit=0".into(), "limit"),
        (Method::GET, "/v1/keys?limit=ten".into(), "limit"),
        (Method::GET, "/v1/promotions?state=lost".into(), "state"),
        (Method::GET, "/v1/promotions?awaiting=you".into(), "awaiting"),
        (Method::GET, "/v1/pointers?show=all".into(), "show"),
        (Method::GET, "/v1/audit?action=key.eat".into(), "action"),
        (Method::GET, "/v1/audit?since=yesterday".into(), "since"),
        (Method::GET, "/v1/stream?after=-1".into(), "after"),
        (Method::GET, format!("/v1/keys/{KEY}/versions/V1"), "selector"),
        (Method::GET, format!("/v1/keys/{KEY}/diff?from=v1"), "to"),
        (Method::GET, format!("/v1/keys/{KEY}/diff?from=v1&to=%20"), "to"),
        (Method::POST, "/v1/keys?force=1".into(), "force"),
    ] {
        let answer = said(served.request("dee", method, &path)).await;
        assert_eq!(answer.problem(), (422, "invalid".into(), place.into()), "{path}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_header_or_body_gives_a_5xx() {
    let served = Served::start().await;
    served.key(KEY).await;
    let odd = ["%00", "%ff", "..%2f..%2fetc", "'%20OR%201=1", "%F0%9F%98%80", "a".repeat(5000).as_str()].map(str::to_owned);
    for route in countersign::server::router::TABLE {
        for odd in &odd {
            let mut path = String::new();
            for part in route.template.split('/').skip(1) {
                path.push('/');
                path.push_str(if part.starts_with('{') { odd } else { part });
            }
            let method = Method::from_bytes(route.method.to_uppercase().as_bytes()).unwrap();
            for body in ["", "{}", "null", "\u{feff}{}", "{\"rationale\":\"\\u0000\"}"] {
                if route.template == "/v1/stream" {
                    continue;
                }
                let request = served.request("dee", method.clone(), &path).header("content-type", "application/json").body(body);
                let answer = said(request).await;
                assert!(!answer.status.is_server_error(), "{} {path} {body}: {}", route.method, answer.text);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_pattern_is_refused_wherever_one_is_taken_and_kills_nothing() {
    let served = Served::start().await;
    for key in ["support.k1", "support.k2", "support.deep.k3", "search.k2"] {
        served.key(key).await;
        let digest = served.version(key, "A greeting.").await;
        served.into_dev(key, &digest).await;
    }
    for pattern in ["**.k2", "support.**.k2", "support.k*", "*", "support", "Support.**", ""] {
        let kill = json!({ "environment": "dev", "namespace": pattern, "expected_count": 4, "reason": "test" });
        let refused = served.post("olga", "/v1/kill", kill).await.problem();
        assert_eq!(refused, (422, "invalid".into(), "/namespace".into()), "{pattern:?}");
        for place in ["/v1/pointers?namespace=", "/v1/audit?namespace="] {
            let refused = served.get("olga", &format!("{place}{pattern}")).await.problem();
            assert_eq!(refused, (422, "invalid".into(), "namespace".into()), "{place}{pattern}");
        }
        if pattern.contains('*') {
            let refused = served.get("olga", &format!("/v1/keys?pattern={pattern}")).await.problem();
            assert_eq!(refused, (422, "invalid".into(), "pattern".into()), "{pattern:?}");
        }
    }
    let living = served.get("olga", "/v1/pointers?environment=dev").await.good();
    assert!(living["items"].as_array().unwrap().iter().all(|pointer| pointer["killed"] == false), "{living}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_means_the_same_keys_in_a_list_of_pointers_in_the_trail_and_in_a_kill() {
    let served = Served::start().await;
    for key in ["support.k1", "support.k2", "support.deep.k3", "supporters.k4"] {
        served.key(key).await;
        let digest = served.version(key, "A greeting.").await;
        served.into_dev(key, &digest).await;
    }
    for (pattern, count) in [("support.*", 2), ("support.deep.k3", 1), ("support.**", 3), ("**", 4)] {
        let names = async |path: &str| {
            let items = served.get("olga", &format!("{path}={pattern}")).await.good()["items"].clone();
            items.as_array().unwrap().iter().map(|item| item["key_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let listed = names("/v1/pointers?environment=dev&namespace").await;
        assert_eq!(listed.len(), count, "{pattern}");
        if pattern.contains('*') {
            assert_eq!(names("/v1/keys?pattern").await, listed, "{pattern}");
        }
        let trail = served.get("audi", &format!("/v1/audit?action=key.create&namespace={pattern}")).await.good();
        assert_eq!(trail["items"].as_array().unwrap().len(), count, "{pattern}");
        let kill = json!({ "environment": "dev", "namespace": pattern, "expected_count": count, "reason": "test" });
        let killed = served.post("olga", "/v1/kill", kill).await.good();
        let killed: Vec<&str> = killed.as_array().unwrap().iter().map(|one| one["key_id"].as_str().unwrap()).collect();
        assert_eq!(killed, listed, "{pattern}");
    }
}
