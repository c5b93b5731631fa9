//! Who may call what: every route with every kind of caller; what a confidential key shows to those who may not know of it.

use crate::support::registry::{PEOPLE, Served, said};
use countersign::server::router::{Access, Route, TABLE};
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";

/// One call of a route, and who gets past the door (whatever the answer is then).
struct Row {
    method: Method,
    path: String,
    body: Value,
    admitted: &'static [&'static str],
}

/// Names of `all` but those of `out`; `N` is how many are left.
const fn but<const N: usize>(all: &[&'static str], out: &[&str]) -> [&'static str; N] {
    let (mut left, mut found, mut at) = ([""; N], 0, 0);
    while at < all.len() {
        let mut stays = true;
        let mut other = 0;
        while other < out.len() {
            stays &= !same(all[at].as_bytes(), out[other].as_bytes());
            other += 1;
        }
        if stays {
            left[found] = all[at];
            found += 1;
        }
        at += 1;
    }
    assert!(found == N, "so many are not left");
    left
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

const ALL: [&str; PEOPLE.len()] = {
    let (mut names, mut at) = ([""; PEOPLE.len()], 0);
    while at < names.len() {
        names[at] = PEOPLE[at].0;
        at += 1;
    }
    names
};
/// All but who only kills, and whose token ended.
const ANYONE: &[&str] = &but::<18>(&ALL, &["olga-kill", "dee-expired", "dee-revoked"]);
/// And who is not public.
const KNOWN: &[&str] = &but::<17>(ANYONE, &["site-public"]);
/// And who does not only resolve.
const MINE: &[&str] = &but::<16>(KNOWN, &["web-resolves"]);
const AUDITORS: &[&str] = &but::<13>(MINE, &["web", "pia", "site"]);
const WITH_EVE: &[&str] = &but::<12>(AUDITORS, &["audi"]);
const READERS: &[&str] = &but::<11>(WITH_EVE, &["eve"]);
const RESOLVERS_SOMEWHERE: &[&str] = &but::<15>(ANYONE, &["root", "audi", "pia"]);
const RESOLVERS: &[&str] = &but::<14>(RESOLVERS_SOMEWHERE, &["eve"]);

/// A digest of a version that serves, an open promotion and an applied one, a fragment: what the rows are about.
struct Stage {
    digest: String,
    open: String,
    applied: String,
    fragment: String,
}

fn rows(stage: &Stage) -> Vec<Row> {
    let Stage { digest, open: id, applied, fragment } = stage;
    let get = |path: &str, admitted: &'static [&'static str]| Row {
        method: Method::GET,
        path: path.into(),
        body: Value::Null,
        admitted,
    };
    let post = |path: &str, body: Value, admitted: &'static [&'static str]| Row {
        method: Method::POST,
        path: path.into(),
        body,
        admitted,
    };
    let pointer = format!("/v1/keys/{KEY}/pointers/production");
    let say = json!({ "rationale": "because", "dry_run": true });
    let one = json!({ "rationale": "because" });
    vec![
        get("/metrics", WITH_EVE),
        get("/v1/environments", KNOWN),
        get("/v1/me", ANYONE),
        get("/v1/tokens", MINE),
        get("/v1/policy", AUDITORS),
        post("/v1/policy", json!({ "source": "", "rationale": "r", "dry_run": true }), &["root"]),
        post("/v1/policy/explain", json!({ "key": KEY, "environment": "dev" }), READERS),
        post("/v1/tokens", json!({ "actor": "service:web" }), &["root"]),
        Row { method: Method::DELETE, path: "/v1/tokens/cs_nobody".into(), body: Value::Null, admitted: &[] },
        get("/v1/webhooks", &["root"]),
        post("/v1/webhooks", json!({ "url": "https://10.0.0.1/" }), &["root"]),
        Row { method: Method::DELETE, path: format!("/v1/webhooks/{id}"), body: Value::Null, admitted: &[] },
        get(&format!("/v1/webhooks/{id}/deliveries"), &[]),
        post(&format!("/v1/webhooks/{id}/retry"), json!({}), &[]),
        get("/v1/keys", WITH_EVE),
        post("/v1/keys", json!({ "key_id": KEY, "owning_group": "owners" }), &["dee", "root", "ines"]),
        get(&format!("/v1/keys/{KEY}"), READERS),
        Row {
            method: Method::PATCH,
            path: format!("/v1/keys/{KEY}"),
            body: json!({ "description": "d" }),
            admitted: &["dee", "ana", "bob", "root"],
        },
        get(&format!("/v1/keys/{KEY}/history"), READERS),
        get(&format!("/v1/keys/{KEY}/versions"), READERS),
        post(
            &format!("/v1/keys/{KEY}/versions"),
            json!({ "content": { "key": KEY, "format": "text", "body": "" }, "rationale": " " }),
            &["dee", "ines"],
        ),
        get(&format!("/v1/keys/{KEY}/versions/v1"), READERS),
        get(&format!("/v1/versions/{digest}"), READERS),
        get(&format!("/v1/keys/{KEY}/diff?from=v1&to=v1"), READERS),
        get(&format!("/v1/versions/{digest}/served"), READERS),
        get(&format!("/v1/versions/{digest}/verdicts"), READERS),
        post(&format!("/v1/versions/{digest}/verdicts"), json!({ "gate": "none" }), &["ci"]),
        post(&format!("/v1/versions/{digest}/quarantine"), json!({ "rationale": " " }), &["ana", "bob", "olga"]),
        post(&format!("/v1/versions/{digest}/lift"), json!({ "rationale": " " }), &["ana", "bob"]),
        post(&format!("/v1/versions/{digest}/submit"), json!({}), &["dee", "ines"]),
        post(&format!("/v1/versions/{digest}/discard"), json!({ "rationale": " " }), &["dee"]),
        get("/v1/fragments", WITH_EVE),
        post("/v1/fragments", json!({ "name": "Bad", "body": "", "owning_group": "owners" }), &["dee", "ines"]),
        get(&format!("/v1/fragments/{fragment}"), WITH_EVE),
        get("/v1/fragments/tone/users", WITH_EVE),
        get("/v1/pointers", WITH_EVE),
        get(&pointer, READERS),
        post(&format!("{pointer}/step"), say.clone(), &["carol"]),
        post(&format!("{pointer}/step"), json!({ "down": true, "rationale": "because", "dry_run": true }), &["carol", "olga"]),
        post(&format!("{pointer}/hold"), say.clone(), &["carol", "olga"]),
        post(&format!("{pointer}/resume"), say.clone(), &["carol"]),
        post(&format!("{pointer}/rollback"), say.clone(), &["carol", "olga"]),
        post(&format!("{pointer}/kill"), json!({ "reason": "test", "dry_run": true }), &["carol", "olga", "olga-kill"]),
        post(&format!("{pointer}/undo-kill"), say.clone(), &["carol", "olga"]),
        post(
            "/v1/kill",
            json!({ "environment": "dev", "keys": [KEY], "expected_count": 9, "reason": "test" }),
            &["carol", "olga", "olga-kill", "carol-in-dev"],
        ),
        get("/v1/promotions", WITH_EVE),
        post(
            "/v1/promotions",
            json!({ "key_id": KEY, "environment": "production", "to_digest": digest, "rationale": "r", "dry_run": true }),
            &["dee", "carol"],
        ),
        post("/v1/promotions/preview", json!({ "key_id": KEY, "environment": "dev" }), READERS),
        get(&format!("/v1/promotions/{id}"), READERS),
        post(
            &format!("/v1/promotions/{id}/approvals"),
            json!({ "verdict": "comment", "rationale": "because" }),
            &["dee", "ana", "bob", "carol", "olga", "rita", "ines", "ci", "carol-in-dev"],
        ),
        post(
            &format!("/v1/promotions/{id}/approvals"),
            json!({ "verdict": "approve", "gate": "review", "rationale": "because", "statement": digest }),
            &["ana", "bob"],
        ),
        post(&format!("/v1/promotions/{id}/apply"), say.clone(), &["carol", "carol-in-dev"]),
        post(&format!("/v1/promotions/{applied}/withdraw"), one.clone(), &["dee", "root"]),
        post(
            &format!("/v1/promotions/{id}/renew"),
            json!({ "rationale": "again", "dry_run": true }),
            &["dee", "carol", "carol-in-dev"],
        ),
        post(&format!("/v1/promotions/{id}/review"), one.clone(), &["ana", "bob", "olga"]),
        post(&format!("/v1/promotions/{id}/note"), one.clone(), &["carol", "olga", "carol-in-dev"]),
        get(&format!("/v1/environments/dev/resolve/{KEY}"), RESOLVERS),
        post(&format!("/v1/environments/dev/resolve/{KEY}"), json!({ "unit": "u" }), RESOLVERS),
        post(&format!("/v1/environments/dev/resolve/{KEY}/explain"), json!({ "unit": "u" }), RESOLVERS),
        post(&format!("/v1/environments/dev/resolve/{KEY}/as-of"), json!({ "time": "2100-01-01T00:00:00Z" }), READERS),
        get(&format!("/api/public/v2/prompts/{KEY}?label=dev"), RESOLVERS),
        post("/ofrep/v1/evaluate/flags", json!({}), RESOLVERS_SOMEWHERE),
        post(&format!("/ofrep/v1/evaluate/flags/{KEY}"), json!({}), RESOLVERS_SOMEWHERE),
        post("/env/dev/ofrep/v1/evaluate/flags", json!({}), RESOLVERS_SOMEWHERE),
        post(&format!("/env/dev/ofrep/v1/evaluate/flags/{KEY}"), json!({}), RESOLVERS),
        get("/v1/stream", KNOWN),
        get("/v1/audit", AUDITORS),
        get("/v1/audit/head", AUDITORS),
        get("/v1/audit/checkpoint", AUDITORS),
        get("/v1/audit/key", AUDITORS),
        get("/v1/audit/export", AUDITORS),
        get("/v1/audit/report?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z", AUDITORS),
        get("/v1/environments/dev/bundle", RESOLVERS_SOMEWHERE),
        // It takes both to list tokens and to resolve: a relay, and nobody here.
        get("/v1/mirror", &[]),
    ]
}

/// The status alone: a stream has no end.
async fn call(served: &Served, who: &str, row: &Row) -> u16 {
    let request = served.request(who, row.method.clone(), &row.path);
    let request = if row.body.is_null() { request } else { request.json(&row.body) };
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_admits_whom_the_policy_says_and_nobody_else() {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    let applied = served.open(KEY, "dev", &digest, json!({})).await;
    served.apply(&applied).await;
    served.into_production(KEY, &digest, json!({})).await;
    let other = served.version(KEY, "Another greeting.").await;
    let open = served.open(KEY, "dev", &other, json!({})).await;
    let fragment = json!({ "name": "tone", "body": "Be kind.", "owning_group": "owners" });
    let fragment = served.post("dee", "/v1/fragments", fragment).await.good()["digest"].as_str().unwrap().to_owned();
    let mut wrong = Vec::new();
    for row in rows(&Stage { digest, open, applied, fragment }) {
        for (who, _, _) in PEOPLE {
            let status = call(&served, who, &row).await;
            let past = !matches!(status, 401 | 403 | 404);
            let ended = who.ends_with("expired") || who.ends_with("revoked");
            if (past != row.admitted.contains(who)) || (ended && status != 401) {
                wrong.push(format!("{} {} {} as {who}: {status}", row.method, row.path, row.body));
            }
        }
        // Nobody, somebody whom nobody knows, and what is not even a token.
        for who in ["nobody", "stranger", "eyJ.malformed"] {
            let status = call(&served, who, &row).await;
            assert_eq!(status, 401, "{} {} as {who}", row.method, row.path);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_matrix_has_a_row_for_every_route() {
    let stage = Stage { digest: "d".into(), open: "i".into(), applied: "i".into(), fragment: "f".into() };
    let paths = rows(&stage);
    for route in TABLE.iter().filter(|route| !matches!(route.access, Access::Open | Access::Ticket)) {
        assert!(paths.iter().any(|row| fits(row, route)), "{} {}", route.method, route.template);
    }
    // What needs no token is known by name: another one must be thought about.
    let free = TABLE.iter().filter(|route| matches!(route.access, Access::Open | Access::Ticket));
    for route in free {
        assert!(OPEN.contains(&route.template), "{} {} is open to everybody", route.method, route.template);
    }
}

/// What needs no token of the registry.
const OPEN: &[&str] = &["/healthz", "/readyz", "/readyz/write", "/openapi.json", "/docs", "/v1/login", "/ofrep/v1/events"];

fn fits(row: &Row, route: &Route) -> bool {
    let (have, want): (Vec<_>, Vec<_>) =
        (row.path.split('?').next().unwrap().split('/').collect(), route.template.split('/').collect());
    row.method.as_str().eq_ignore_ascii_case(route.method)
        && have.len() == want.len()
        && have.iter().zip(&want).all(|(have, want)| want.starts_with('{') || have == want)
}

/// Every route with a name in it, asked for what is there but not the caller's, and for what is not there: status and body.
async fn probes(served: &Served, who: &str, there: &Stage, key: &str) -> Vec<(String, u16, String)> {
    let mut said_so = Vec::new();
    let named = |row: &&Row| {
        let names = [KEY, &there.digest, &there.open, &there.applied];
        let about = names.iter().any(|name| row.path.contains(name) || row.body.to_string().contains(name));
        // Making a key of a name that is taken cannot look like making one of a free name.
        about && row.path != "/v1/keys"
    };
    for row in rows(there).iter().filter(named) {
        let path = row.path.replace(KEY, key);
        let body = row.body.to_string().replace(KEY, key);
        let request = served.request(who, row.method.clone(), &path);
        let request =
            request.header("content-type", "application/json").body(if row.body.is_null() { String::new() } else { body });
        let answer = said(request).await;
        let place = format!(
            "{} {}",
            row.method,
            row.path.replace(&there.digest, "D").replace(&there.open, "P").replace(&there.applied, "P")
        );
        // The foreign protocol repeats the key that was asked for.
        said_so.push((place, answer.status.as_u16(), answer.text.replace(key, "K")));
    }
    said_so
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_yours_and_what_is_not_there_answer_alike_on_every_route() {
    let served = Served::start().await;
    let nowhere = Stage {
        digest: format!("sha256:{}", "0".repeat(64)),
        open: "00000000-0000-7000-8000-000000000000".into(),
        applied: "00000000-0000-7000-8000-000000000001".into(),
        fragment: format!("sha256:{}", "1".repeat(64)),
    };
    for (key, confidential) in [(KEY, false), ("support.secret", true)] {
        let made = json!({ "key_id": key, "owning_group": "owners", "confidential": confidential });
        served.post("dee", "/v1/keys", made).await.good();
        let digest = served.version(key, "A greeting.").await;
        let applied = served.open(key, "dev", &digest, json!({})).await;
        // Carol may not know of a confidential key.
        let open = served.open(key, "production", &digest, json!({})).await;
        let there = Stage { digest, open, applied, fragment: nowhere.fragment.clone() };
        // Somebody from elsewhere; and for a confidential key everybody whose right is for everywhere.
        let strangers: &[&str] = if confidential {
            &["eve", "rita", "carol", "olga", "root", "audi", "ines", "ci", "web", "web-resolves", "site-public", "olga-kill"]
        } else {
            &["eve"]
        };
        for who in strangers {
            let seen = probes(&served, who, &there, key).await;
            let missing = probes(&served, who, &nowhere, "support.nothing").await;
            assert!(seen.len() > 25, "{}", seen.len());
            for (there, nothing) in seen.iter().zip(&missing) {
                assert_eq!(there, nothing, "{who} {key}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confidential_key_is_not_there_for_those_who_may_not_know_of_it() {
    let served = Served::start().await;
    let hidden = "support.secret";
    let made = json!({ "key_id": hidden, "owning_group": "owners", "confidential": true });
    served.post("dee", "/v1/keys", made).await.good();
    let digest = served.version(hidden, "A secret.").await;
    let id = served.open(hidden, "dev", &digest, json!({})).await;
    for who in ["rita", "root", "carol", "eve", "web"] {
        for path in [
            format!("/v1/keys/{hidden}"),
            format!("/v1/keys/{hidden}/history"),
            format!("/v1/keys/{hidden}/versions/v1"),
            format!("/v1/versions/{digest}"),
            format!("/v1/promotions/{id}"),
            format!("/v1/environments/dev/resolve/{hidden}"),
        ] {
            let answer = served.get(who, &path).await;
            let there = matches!(answer.status.as_u16(), 403 | 404) && !answer.text.contains("secret");
            assert!(there, "{who} {path}: {}", answer.text);
        }
        let missing = served.get(who, "/v1/keys/no.such").await;
        assert_eq!(served.get(who, &format!("/v1/keys/{hidden}")).await.text, missing.text, "{who}");
    }
    for path in ["/v1/keys", "/v1/promotions", "/v1/audit?limit=1000", "/v1/pointers"] {
        let shown = served.get("rita", path).await.good().to_string();
        assert!(!shown.contains("secret") && !shown.contains(&digest), "{path}: {shown}");
    }
    let events = served.get("rita", "/v1/audit?limit=1000").await.good();
    let withheld = events["items"].as_array().unwrap().iter().filter(|event| event["redacted"] == true).count();
    assert_eq!(withheld, 4, "made, saved, submitted, opened");
    let filtered = served.get("rita", &format!("/v1/audit?subject=key:{hidden}")).await.good();
    assert_eq!(filtered["items"], json!([]));
    assert_eq!(served.get("ana", &format!("/v1/keys/{hidden}")).await.good()["key_id"], hidden);
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_confidential_text_is_an_event_once_an_hour_and_other_reads_are_none() {
    let served = Served::start().await;
    let made = json!({ "key_id": "support.secret", "owning_group": "owners", "confidential": true });
    served.post("dee", "/v1/keys", made).await.good();
    served.key(KEY).await;
    let (secret, open) = (served.version("support.secret", "A secret.").await, served.version(KEY, "A greeting.").await);
    let before = served.head().await;
    served.get("ana", &format!("/v1/versions/{open}")).await.good();
    assert_eq!(served.head().await, before);
    for path in [format!("/v1/versions/{secret}"), "/v1/keys/support.secret/versions/v1".into(), format!("/v1/versions/{secret}")]
    {
        served.get("ana", &path).await.good();
        assert_eq!(served.head().await, before + 1, "{path}");
    }
    served.get("bob", "/v1/keys/support.secret/diff?from=v1&to=v1").await.good();
    assert_eq!(served.head().await, before + 2, "another reader");
    served.get("rita", &format!("/v1/versions/{secret}")).await.refused();
    assert_eq!(served.head().await, before + 2, "what was not shown was not read");
    let event = served.get("ana", &format!("/v1/audit?after={before}&limit=1")).await.good()["items"][0].clone();
    assert_eq!((&event["action"], &event["actor"]), (&json!("content.read"), &json!("person:ana")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_attempt_at_a_protected_act_is_an_event() {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    for who in ["rita", "carol-read", "dee"] {
        let before = served.head().await;
        let refused = served.act(who, KEY, "dev", "kill", json!({ "reason": "test" })).await;
        assert_eq!(refused.refused(), (403, "forbidden".into()), "{who}");
        let event = served.get("audi", &format!("/v1/audit?after={before}")).await.good()["items"][0].clone();
        assert_eq!(event["action"], "access.denied", "{who}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trail_tells_nobody_of_keys_that_are_not_theirs_and_a_filtered_page_is_filled_all_the_same() {
    let served = Served::start().await;
    let made = json!({ "key_id": "support.secret", "owning_group": "owners", "confidential": true });
    served.post("dee", "/v1/keys", made).await.good();
    for n in 0..5 {
        served.version("support.secret", &format!("A secret {n}.")).await;
    }
    served.key(KEY).await;
    let trail = async |who: &str, query: &str| served.get(who, &format!("/v1/audit?{query}")).await.good();
    let whole = trail("eve", "limit=1000").await;
    assert!(!whole.to_string().contains("support."), "{whole}");
    let items = whole["items"].as_array().unwrap();
    assert_eq!(items.iter().filter(|event| event["redacted"] == true).count(), 12, "made twice, five times saved and submitted");
    for query in ["subject=key:support.greeting", "subject=key:support.nothing", "actor=person:dee"] {
        assert_eq!(trail("eve", query).await["items"], json!([]), "{query}");
    }
    // Rita may not know of the secret, which fills the first pages of dee's events.
    let oldest = trail("rita", "actor=person:dee&limit=1").await;
    assert_eq!(oldest["items"][0]["subject"], format!("key:{KEY}"));
    let newest = trail("rita", "actor=person:dee&limit=1&before=1000").await;
    assert_eq!(newest["items"][0]["subject"], format!("key:{KEY}"));
    served.version("support.secret", "A newest secret.").await;
    let newest = trail("rita", "actor=person:dee&limit=1&before=1000").await;
    assert_eq!(newest["items"][0]["subject"], format!("key:{KEY}"), "read backwards past what is withheld");
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_name_is_hidden_or_free_cannot_be_asked_by_making_it() {
    let served = Served::start().await;
    let made = json!({ "key_id": "hr.pay.plan", "owning_group": "owners", "confidential": true });
    served.post("ines", "/v1/keys", made).await.good();
    let mut stream = served.request("rita", Method::GET, "/v1/stream?after=0").send().await.unwrap();
    let began = served.head().await;
    for who in ["rita", "carol-read", "eve", "audi"] {
        let before = served.head().await;
        let attempt = async |name: &str| {
            let wish = json!({ "key_id": name, "owning_group": "owners" });
            let refused = served.post(who, "/v1/keys", wish).await;
            assert_eq!(refused.refused(), (403, "forbidden".into()), "{who}");
            refused.json()
        };
        assert_eq!(attempt("hr.pay.plan").await, attempt("hr.pay.nothing").await, "{who}");
        assert_eq!(served.head().await, before + 2, "{who}: both are recorded");
        for reader in ["rita", "eve", "audi", "root"] {
            let events = served.get(reader, &format!("/v1/audit?after={before}")).await.good()["items"].clone();
            let shown = events.as_array().unwrap().iter().map(|event| (&event["redacted"], &event["subject"], &event["detail"]));
            let shown: Vec<_> = shown.collect();
            assert_eq!(shown, [(&json!(true), &Value::Null, &Value::Null); 2], "{who}, read by {reader}");
            let export = served.get(reader, "/v1/audit/export").await.text;
            assert!(!export.contains("hr.pay"), "{who}, exported by {reader}");
        }
    }
    let owner = served.get("ana", &format!("/v1/audit?after={began}")).await.good().to_string();
    assert!(owner.contains("key:hr.pay.plan") && !owner.contains("hr.pay.nothing"), "its owner knows it: {owner}");
    let (mut told, last) = (String::new(), format!("id: {}\n", served.head().await));
    while !told.contains(&last) {
        told.push_str(&String::from_utf8_lossy(&stream.chunk().await.unwrap().unwrap()));
    }
    assert!(!told.contains("hr.pay"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_cannot_grow_the_trail_at_will_by_what_it_is_not_let_do() {
    let served = Served::start().await;
    let before = served.head().await;
    for n in 0..70 {
        let wish = json!({ "key_id": format!("hr.pay{n}.plan"), "owning_group": "owners" });
        served.post("carol-read", "/v1/keys", wish).await.refused();
    }
    assert_eq!(served.head().await, before + 60);
}
