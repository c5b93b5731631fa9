//! A relay near the applications: the registry's own answers, kills at once, what it refuses, what it keeps and what it does not.

use crate::support::near::{Near, RELAY, pepper};
use crate::support::registry::{POLICY, Said, Served, said, token_of};
use reqwest::Method;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const KEY: &str = "support.greeting";
const BULK: &str = "/env/dev/ofrep/v1/evaluate/flags";
/// The application's token, as [`Served`] knows its owner.
const APP: &str = "web-resolves";

/// A version of any content; gives its digest.
async fn version(served: &Served, key: &str, mut content: Value) -> String {
    content["key"] = json!(key);
    let saved = json!({ "content": content, "rationale": "because" });
    let digest =
        served.post("dee", &format!("/v1/keys/{key}/versions"), saved).await.good()["digest"].as_str().unwrap().to_owned();
    served.post("dee", &format!("/v1/versions/{digest}/submit"), json!({})).await.good();
    digest
}

/// A key that serves a content in dev.
async fn serving(served: &Served, key: &str, content: Value) -> String {
    served.key(key).await;
    let digest = version(served, key, content).await;
    served.into_dev(key, &digest).await;
    digest
}

/// A registry with [`KEY`] in dev, and a relay of it.
async fn pair() -> (Served, Near, TempDir, String) {
    let served = Served::with_relay().await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let own = served.token("service:relay", "read").await;
    let dir = tempfile::tempdir().unwrap();
    pepper(dir.path());
    let near = Near::start(&served.relay(dir.path()), &own).await.unwrap();
    (served, near, dir, own)
}

fn without(mut value: Value, member: &str) -> Value {
    value.as_object_mut().unwrap().remove(member);
    value
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_reaches_the_relay_at_once_and_so_does_a_revoked_token() {
    let (served, near, _dir, _) = pair().await;
    let app = token_of(APP);
    let first = near.post(&app, BULK, json!({})).await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    let again = || said(near.request(&app, Method::POST, BULK).header("if-none-match", &tag).json(&json!({})));
    assert_eq!(again().await.status, 304);
    let place = first.json()["eventStreams"][0]["endpoint"]["requestUri"].as_str().unwrap().to_owned();
    let mut channel = near.request("", Method::GET, &place).send().await.unwrap();
    let told = channel.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&told).contains("refetchEvaluation"), "a new channel is told at once");

    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    let killed = || async { near.resolve(&app, KEY, "dev", "u").await.good()["killed"] == true };
    println!("a kill reached the relay {:?} after the registry answered", near.until("a kill arrives", killed).await);
    let told = tokio::time::timeout(Duration::from_secs(10), channel.chunk()).await.unwrap().unwrap().unwrap();
    assert!(String::from_utf8_lossy(&told).contains("refetchEvaluation"), "who waits for changes is told");
    let answer = again().await;
    assert_eq!((answer.status.as_u16(), &answer.json()["flags"][0]["reason"]), (200, &json!("DISABLED")));
    assert!(answer.json()["flags"][0].get("value").is_none());

    served.request("root", Method::DELETE, &format!("/v1/tokens/{}", &app[..13])).json(&json!({})).send().await.unwrap();
    let out = || async { near.resolve(&app, KEY, "dev", "u").await.status == 401 };
    println!("a revocation reached the relay after {:?}", near.until("a token ends", out).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_registry_changes_the_relay_follows() {
    let (served, near, _dir, _) = pair().await;
    let app = token_of(APP);
    let body = || async { near.resolve(&app, KEY, "dev", "u").await.good()["content"]["body"].clone() };
    assert_eq!(body().await, "Hello");
    let next = served.version(KEY, "Good day").await;
    served.into_dev(KEY, &next).await;
    near.until("a promotion arrives", || async { body().await == "Good day" }).await;
    serving(&served, "support.other", json!({ "format": "text", "body": "New" })).await;
    let found = || async { near.resolve(&app, "support.other", "dev", "u").await.status == 200 };
    near.until("a new key arrives", found).await;
    let fresh = served.token("service:web", "service").await;
    let known = || async { near.resolve(&fresh, KEY, "dev", "u").await.status == 200 };
    near.until("a new token works", known).await;
    let (health, head) = (near.health().await, served.head().await);
    assert_eq!((&health["upstream"], &health["alarms"]), (&json!("following"), &json!([])));
    let answer = near.resolve(&app, KEY, "dev", "u").await;
    assert_eq!(answer.headers["countersign-seq"].to_str().unwrap(), head.to_string());
    assert!(answer.headers["age"].to_str().unwrap().parse::<u64>().unwrap() < 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_tokens_that_only_resolve_work_at_a_relay_and_nothing_else_is_there() {
    let (served, near, _dir, own) = pair().await;
    let (app, site) = (token_of(APP), token_of("site-public"));
    for (who, token, status) in [
        ("an application", &app, 200),
        ("a browser", &site, 200),
        ("a person", &token_of("dee"), 401),
        ("an admin", &token_of("root"), 401),
        ("who only kills", &token_of("olga-kill"), 401),
        ("the relay itself", &own, 401),
        ("nobody", &String::new(), 401),
        ("a stranger", &token_of("stranger"), 401),
        ("another secret", &app.replace('k', "l"), 401),
        ("a token of an issuer", &"eyJhbGciOiJub25lIn0.e30.".to_owned(), 401),
    ] {
        assert_eq!(near.resolve(token, KEY, "dev", "u").await.status.as_u16(), status, "{who}");
        let ofrep = near.post(token, &format!("{BULK}/{KEY}"), json!({})).await;
        assert_eq!(ofrep.status.as_u16(), status, "{who}");
    }
    let person = near.resolve(&token_of("dee"), KEY, "dev", "u").await;
    assert!(person.json()["hint"].as_str().unwrap().contains("applications alone"), "{}", person.text);
    assert!(near.resolve(&app, KEY, "dev", "u").await.good()["unit_hash"].is_string());
    assert!(near.resolve(&site, KEY, "dev", "u").await.good()["unit_hash"].is_null(), "browsers get no pseudonym");
    let get = said(near.request(&app, Method::GET, &format!("/v1/environments/dev/resolve/{KEY}"))).await;
    let tag = get.headers["etag"].clone();
    let request = near.request(&app, Method::GET, &format!("/v1/environments/dev/resolve/{KEY}"));
    assert_eq!(said(request.header("if-none-match", tag)).await.status, 304);
    let head = served.head().await;
    let kill = json!({ "reason": "test", "environment": "dev", "keys": [KEY], "expected_count": 1 });
    for (method, path, status) in [
        (Method::POST, "/v1/kill", 404),
        (Method::POST, "/v1/keys/support.greeting/pointers/dev/kill", 404),
        (Method::GET, "/v1/keys", 404),
        (Method::GET, "/v1/mirror", 404),
        (Method::GET, "/v1/stream", 404),
        (Method::POST, "/v1/tokens", 404),
        (Method::GET, "/v1/audit", 404),
        (Method::POST, "/v1/environments/dev/resolve/support.greeting/as-of", 404),
        (Method::DELETE, "/v1/environments/dev/resolve/support.greeting", 405),
        (Method::PUT, "/readyz", 405),
        (Method::POST, "/healthz", 405),
        (Method::GET, "/ofrep/v1/evaluate/flags", 405),
        (Method::POST, "/ofrep/v1/events", 405),
        (Method::GET, "/ofrep/v1/events", 401),
        (Method::GET, "/ofrep/v1/events?ticket=cs_aaaaaaaaaa.dev.00", 401),
        (Method::POST, "/env/dev/ofrep/v1/evaluate/flags/..%2F..%2F..%2Fv1%2Fkill", 404),
        (Method::POST, "/v1/environments/dev/resolve/..%2F..%2F..%2Fv1%2Fkill", 422),
        (Method::POST, "/v1/environments/dev/resolve/%00", 422),
        (Method::POST, "/v1/environments/nowhere/resolve/support.greeting", 404),
    ] {
        let body = if path.contains("/resolve/") { json!({ "unit": "u" }) } else { kill.clone() };
        let ask = |token: &str| said(near.request(token, method.clone(), path).json(&body));
        let answer = ask(&app).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.text);
        let admin = ask(&token_of("root")).await;
        assert!(matches!(admin.status.as_u16(), 401 | 404 | 405), "{method} {path}: {}", admin.status);
    }
    // As a client that does not clean its path sends it.
    let raw = raw_post(&near, &app, "/env/dev/ofrep/v1/evaluate/flags/../../../../../../v1/kill", &kill.to_string()).await;
    assert!(raw.starts_with("HTTP/1.1 404"), "{raw}");
    let long = json!({ "unit": "u".repeat(513) });
    assert_eq!(near.post(&app, &format!("/v1/environments/dev/resolve/{KEY}"), long).await.refused().0, 422);
    assert_eq!(served.head().await, head, "nothing reached the registry");
    assert_eq!(near.resolve(&app, KEY, "dev", "u").await.good()["killed"], false);
}

async fn raw_post(near: &Near, token: &str, path: &str, body: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(near.address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: relay\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Whether any byte of a directory's files has a text.
fn holds(dir: &Path, text: &str) -> bool {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return holds(&path, text);
        }
        fs::read(&path).unwrap().windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn confidential_text_is_in_no_byte_of_the_relay_and_leaves_it_when_it_becomes_so() {
    let (served, near, dir, _) = pair().await;
    let app = token_of(APP);
    serving(&served, "support.plans", json!({ "format": "text", "body": "We buy the moon." })).await;
    serving(&served, "support.hidden", json!({ "format": "text", "body": "We buy the sun." })).await;
    let found = || async { near.resolve(&app, "support.hidden", "dev", "u").await.status == 200 };
    near.until("the keys are there", found).await;
    let moon = || async { holds(dir.path(), "buy the moon") };
    near.until("the texts are kept", moon).await;
    let hide = served.request("dee", Method::PATCH, "/v1/keys/support.plans").json(&json!({ "confidential": true }));
    said(hide).await.good();
    let gone = || async { near.resolve(&app, "support.plans", "dev", "u").await.status == 404 };
    near.until("it is gone", gone).await;
    near.until("it is gone from the disk", || async { !moon().await }).await;
    let bulk = near.post(&app, BULK, json!({})).await.good()["flags"].to_string();
    assert!(!bulk.contains("support.plans") && bulk.contains("support.hidden"), "{bulk}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn what_a_relay_keeps_is_for_its_owner_alone_and_holds_no_secret() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_served, near, dir, own) = pair().await;
    near.end().await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let names = ["mirror.json", "heard.json", "lock"];
    for name in names {
        assert_eq!(mode(&dir.path().join(name)), 0o600, "{name}");
    }
    for token in [own, token_of(APP), token_of("dee")] {
        assert!(!holds(dir.path(), &token) && !holds(dir.path(), &token[14..]));
    }
    fs::remove_file(dir.path().join("unit-pepper")).unwrap();
    assert!(!holds(dir.path(), &hex::encode([7; 32])), "the pepper is where its operator put it");
    assert!(!holds(dir.path(), "person:dee"), "who is not an application is not named");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_starts_while_the_registry_is_away_serves_what_it_kept_and_says_how_old_it_is() {
    let (mut served, near, dir, own) = pair().await;
    let app = token_of(APP);
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    // The kill may come first, by itself; the state that includes it counts its pointer's revisions as the registry does.
    let revision = served.resolve(KEY, "dev", "u").await["revision"].clone();
    let arrived = || async { near.resolve(&app, KEY, "dev", "u").await.good()["revision"] == revision };
    near.until("the state with the kill arrives", arrived).await;
    let before = near.resolve(&app, KEY, "dev", "u").await.good();
    near.end().await;
    let args = served.relay(dir.path());
    served.shutdown.cancel();
    (&mut served.task).await.unwrap();
    let near = Near::start(&args, &own).await.unwrap();
    let answer = near.resolve(&app, KEY, "dev", "u").await;
    assert_eq!(without(answer.good(), "stale"), without(before, "stale"));
    let health = near.health().await;
    assert_eq!((&health["upstream"], &health["alarms"]), (&json!("away"), &json!(["upstream_away"])), "{health}");
    assert!(health["age_seconds"].as_u64().unwrap() < 60, "{health}");
    assert_eq!(answer.headers["countersign-seq"].to_str().unwrap(), health["seq"].to_string());
    near.end().await;
    let heard = dir.path().join("heard.json");
    fs::write(&heard, "\"2020-01-01T00:00:00.000000Z\"").unwrap();
    let near = Near::start(&args, &own).await.unwrap();
    let age: u64 = near.resolve(&app, KEY, "dev", "u").await.headers["age"].to_str().unwrap().parse().unwrap();
    assert!(age < 600, "it is no older than it was made, whatever the note says: {age}");
}

/// A failed start: exit code and text.
async fn fails(args: &countersign::cli::relay::Relay, own: &str) -> (u8, String) {
    let failure = Near::start(args, own).await.err().unwrap();
    (failure.exit.code(), failure.message)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_does_not_start_on_what_it_cannot_trust() {
    let (served, near, dir, own) = pair().await;
    let args = served.relay(dir.path());
    let (code, why) = fails(&args, &own).await;
    assert!(code == 1 && why.contains("is being served"), "a second relay on one directory: {why}");
    near.end().await;

    let mirror = dir.path().join("mirror.json");
    let whole = fs::read_to_string(&mirror).unwrap();
    for (changed, complaint) in [
        (whole.replace("Hello", "Hallo"), "hashes to"),
        (whole.replace("\"killed\":false", "\"killed\":true"), "hashes to"),
        (whole.replace(&whole[whole.len() - 20..whole.len() - 2], "AAAAAAAAAAAAAAAAAA"), "key"),
        (whole[..whole.len() / 2].to_owned(), "EOF"),
        (String::new(), "EOF"),
    ] {
        fs::write(&mirror, changed).unwrap();
        let (code, why) = fails(&args, &own).await;
        assert!(code == 8 && why.contains("mirror.json is not what the relay wrote") && why.contains(complaint), "{why}");
    }
    fs::write(&mirror, &whole).unwrap();
    fs::write(dir.path().join("withheld.json"), "[{}]").unwrap();
    let (code, why) = fails(&args, &own).await;
    assert!(code == 8 && why.contains("withheld.json"), "{why}");
    fs::remove_file(dir.path().join("withheld.json")).unwrap();

    let own_pepper = fs::read(dir.path().join("unit-pepper")).unwrap();
    fs::write(dir.path().join("unit-pepper"), hex::encode([8; 32])).unwrap();
    let (code, why) = fails(&args, &own).await;
    assert!(code == 1 && why.contains("not the unit pepper"), "{why}");
    fs::remove_file(dir.path().join("unit-pepper")).unwrap();
    assert!(fails(&args, &own).await.1.contains("failed to read the unit pepper"));
    fs::write(dir.path().join("unit-pepper"), own_pepper).unwrap();
    let key = countersign::rules::note::Signer::new(&[9; 32]).public("countersign/x").to_string();
    let (code, why) = fails(&countersign::cli::relay::Relay { key: Some(key), ..served.relay(dir.path()) }, &own).await;
    assert!(code == 8 && why.contains("signature"), "{why}");
    Near::start(&args, &own).await.unwrap().end().await;

    // Without a state there is nothing to serve, so that what is wrong ends the start.
    for (token, code, words) in [
        (token_of(APP), 4, "audit"),
        (token_of("audi"), 4, "resolve"),
        (token_of("dee"), 4, "tokens"),
        (token_of("stranger"), 4, "not valid"),
    ] {
        let empty = tempfile::tempdir().unwrap();
        pepper(empty.path());
        let (found, why) = fails(&served.relay(empty.path()), &token).await;
        assert!(found == code && why.contains(words), "{found} {why}");
    }
    let registry = tempfile::tempdir().unwrap();
    fs::write(registry.path().join("registry.db"), "").unwrap();
    assert_eq!(fails(&served.relay(registry.path()), &own).await.0, 2, "a registry's own directory");
    let empty = tempfile::tempdir().unwrap();
    pepper(empty.path());
    // A port that is kept, and on which nobody listens.
    let kept = tokio::net::TcpSocket::new_v4().unwrap();
    kept.bind((std::net::Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let upstream = format!("http://{}", kept.local_addr().unwrap());
    let args = countersign::cli::relay::Relay { upstream, ..served.relay(empty.path()) };
    assert_eq!(fails(&args, &own).await.0, 7, "nothing to serve, and nobody to ask");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_registry_at_the_address_is_refused_and_what_was_held_is_served_on() {
    let (served, near, dir, own) = pair().await;
    let app = token_of(APP);
    near.end().await;
    // It has the same people and the same pepper; its history is another.
    let other = Served::with_policy(&format!("{POLICY}{RELAY}\n")).await;
    serving(&other, KEY, json!({ "format": "text", "body": "From elsewhere" })).await;
    let theirs = other.token("service:relay", "read").await;
    let near = Near::start(&other.relay(dir.path()), &theirs).await.unwrap();
    let refused = || async { near.health().await["upstream"] == "refused" };
    near.until("it is refused", refused).await;
    let health = near.health().await;
    assert_eq!(health["alarms"], json!(["upstream_refused"]), "{health}");
    assert_eq!(near.resolve(&app, KEY, "dev", "u").await.good()["content"]["body"], "Hello");
    near.end().await;
    let near = Near::start(&served.relay(dir.path()), &own).await.unwrap();
    near.until("its own is taken", || async { near.health().await["upstream"] == "following" }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_holds_no_more_than_its_own_grants_reach() {
    let narrow = RELAY.replace("role = \"service\"", "role = \"service\"\nnamespace = \"support.**\"\nenvironment = \"dev\"");
    let served = Served::with_policy(&format!("{POLICY}{narrow}")).await;
    serving(&served, KEY, json!({ "format": "text", "body": "Hello" })).await;
    let digest = version(&served, KEY, json!({ "format": "text", "body": "In production" })).await;
    served.into_dev(KEY, &digest).await;
    served.into_production(KEY, &digest, json!({ "percent": 100 })).await;
    let own = served.token("service:relay", "read").await;
    let dir = tempfile::tempdir().unwrap();
    pepper(dir.path());
    let near = Near::start(&served.relay(dir.path()), &own).await.unwrap();
    let app = token_of(APP);
    assert_eq!(near.resolve(&app, KEY, "dev", "u").await.good()["content"]["body"], "In production");
    let there: Said = near.resolve(&app, KEY, "production", "u").await;
    assert_eq!(there.refused(), (404, "not_found".into()));
    assert_eq!(served.resolve(KEY, "production", "u").await["digest"], json!(digest), "the registry has it");
}
