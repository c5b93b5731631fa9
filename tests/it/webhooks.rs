//! Notices outside: real receivers, down for a while, and a server that is killed meanwhile.

use crate::support::program::{POLICY, Program};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use countersign::model::AuditEvent;
use countersign::rules::notice;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What one request brought.
#[derive(Debug, Clone)]
struct Got {
    path: String,
    id: String,
    seconds: i64,
    signature: String,
    kind: String,
    body: Vec<u8>,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// A receiver that notes what it gets.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Vec<Got>>>,
    /// How many requests are still answered by 500.
    failures: Arc<AtomicUsize>,
    /// How many requests to `/gone` are still answered by 410.
    gone: Arc<AtomicUsize>,
}

impl Receiver {
    /// Answers on a port from now on, in a thread of its own, to the end of the test.
    fn up(&self, port: u16) {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let app = Router::new().fallback(take).with_state(self.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
    }

    fn at(&self, path: &str) -> Vec<Got> {
        self.got.lock().unwrap().iter().filter(|got| got.path == path).cloned().collect()
    }
}

async fn take(State(receiver): State<Receiver>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let text = |name: &str| headers.get(name).map_or(String::new(), |value| value.to_str().unwrap().to_owned());
    let got = Got {
        path: uri.path().to_owned(),
        id: text("webhook-id"),
        seconds: text("webhook-timestamp").parse().unwrap(),
        signature: text("webhook-signature"),
        kind: text("content-type"),
        body: body.to_vec(),
    };
    let path = got.path.clone();
    receiver.got.lock().unwrap().push(got);
    let spent = |left: &AtomicUsize| left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_err();
    if path == "/redirect" {
        return (StatusCode::FOUND, [(header::LOCATION, "/led-astray")]).into_response();
    }
    if path == "/gone" && !spent(&receiver.gone) {
        return StatusCode::GONE.into_response();
    }
    if spent(&receiver.failures) { StatusCode::NO_CONTENT } else { StatusCode::INTERNAL_SERVER_ERROR }.into_response()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn listed() -> Program {
    let mut p = Program::start();
    p.restart_with(&["--webhook-allow", "127.0.0.1"]);
    p
}

/// Waits until what `webhook list` says of the first receiver is so.
#[track_caller]
fn until(p: &Program, what: &str, so: impl Fn(&Value) -> bool) {
    let began = Instant::now();
    loop {
        let listed = p.json("root", "webhook list")["items"].clone();
        if so(&listed) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(90), "{what}: {listed}");
    }
}

/// Waits until a receiver did not take something for this reason.
#[track_caller]
fn until_why(p: &Program, id: &str, why: &str) {
    let began = Instant::now();
    loop {
        let said = p.json("root", &format!("webhook deliveries {id}"))["items"][0]["last_error"].clone();
        if said.as_str().is_some_and(|said| said.contains(why)) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{said}");
    }
}

fn events_after(p: &Program, seq: i64) -> Vec<AuditEvent> {
    let items = p.json("ana", "audit tail -n 1000")["items"].clone();
    let events: Vec<AuditEvent> = serde_json::from_value(items).unwrap();
    events.into_iter().filter(|event| i64::try_from(event.seq).unwrap() > seq).collect()
}

#[test]
fn every_event_arrives_though_the_receiver_is_down_and_the_server_is_killed_meanwhile() {
    let mut p = listed();
    let (receiver, port) = (Receiver::default(), free_port());
    receiver.failures.store(3, Ordering::SeqCst);
    let made = p.json("root", &format!("webhook create --url http://127.0.0.1:{port}/hook"));
    let (secret, since) = (made["secret"].as_str().unwrap(), made["since"].as_i64().unwrap());
    // The receiver is down: what happens now waits, over two kills of the server.
    p.served_in_dev("support.greeting", "Hello.\n");
    p.restart_with(&["--webhook-allow", "127.0.0.1"]);
    p.words("carol", "kill support.greeting --env dev --reason test --yes").good();
    p.restart_with(&["--webhook-allow", "127.0.0.1"]);
    until(&p, "it is tried and fails", |listed| listed[0]["due"].as_i64() >= Some(4) && listed[0]["delivered"] == 0);
    receiver.up(port);
    p.words("dee", "promote support.greeting@v1 --env production --rationale why").good();
    // Killed while it sends.
    let began = Instant::now();
    while receiver.at("/hook").len() < 4 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing arrives");
        std::thread::yield_now();
    }
    p.restart_with(&["--webhook-allow", "127.0.0.1"]);
    p.words("carol", "undo-kill support.greeting --env dev --rationale over --yes").good();
    until(&p, "all is taken", |listed| listed[0]["due"] == 0 && listed[0]["parked"] == 0);
    let told: Vec<AuditEvent> =
        events_after(&p, since).into_iter().filter(|event| notice::kind(event.body.as_ref().unwrap().action).is_some()).collect();
    let expected: BTreeSet<String> = told.iter().map(notice::id).collect();
    let got = receiver.at("/hook");
    let mut once: BTreeMap<String, Value> = BTreeMap::new();
    for one in &got {
        assert_eq!(notice::signature(secret, &one.id, one.seconds, &one.body).unwrap(), one.signature);
        let body = one.json();
        assert_eq!((&body["id"], &*one.kind), (&json!(one.id), "application/cloudevents+json; charset=utf-8"));
        // The id lets the receiver drop doubles: the same id is the same notice.
        assert_eq!(*once.entry(one.id.clone()).or_insert_with(|| body.clone()), body);
    }
    let ids: BTreeSet<String> = once.keys().cloned().collect();
    assert_eq!(ids, expected, "each at least once, and nothing else");
    println!("{} events, {} sendings, {} of them doubles", expected.len(), got.len(), got.len() - expected.len());
    assert!(expected.len() >= 6 && got.len() >= expected.len() + 3, "three were refused by the receiver");
    let kinds: BTreeSet<&str> = once.values().map(|body| body["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["countersign.kill", "countersign.promotion"]));
    assert!(!once.values().any(|body| body.to_string().contains("Hello.")), "no content");
}

#[test]
fn receivers_have_their_manners_and_what_was_given_up_is_sent_again_when_asked() {
    let p = listed();
    let (receiver, port) = (Receiver::default(), free_port());
    receiver.gone.store(1, Ordering::SeqCst);
    receiver.up(port);
    let hook = |what: &str| {
        let made = p.json("root", &format!("webhook create --url http://127.0.0.1:{port}/{what}"));
        made["webhook_id"].as_str().unwrap().to_owned()
    };
    let gone = hook("gone --kinds kill");
    hook("slack --shape slack");
    let redirected = hook("redirect --kinds kill");
    p.served_in_dev("support.greeting", "Hello.\n");
    p.run("carol", ["kill", "support.greeting", "--env", "dev", "--reason", "test", "--yes", "--note", "<!channel> look & see"])
        .good();
    until(&p, "a receiver that is gone gets no more", |listed| listed[0]["parked"] == 1 && listed[1]["due"] == 0);
    let rows = p.json("root", &format!("webhook deliveries {gone}"))["items"].clone();
    assert_eq!((&rows[0]["state"], rows[0]["last_error"].as_str().unwrap().contains("410")), (&json!("parked"), true));
    assert_eq!(p.json("root", &format!("webhook retry {gone}"))["notices"], 1);
    until(&p, "it takes what was given up", |listed| listed[0]["parked"] == 0 && listed[0]["delivered"] == 1);
    let slack: Vec<Value> = receiver.at("/slack").iter().map(Got::json).collect();
    let text = slack.iter().map(|body| body["text"].as_str().unwrap()).find(|text| text.contains("pointer.kill")).unwrap();
    assert!(text.contains("support.greeting in dev") && text.contains("&lt;!channel&gt; look &amp; see"), "{text}");
    until_why(&p, &redirected, "redirects are not followed");
    assert!(receiver.at("/led-astray").is_empty());
    p.words("root", &format!("webhook delete {redirected}")).good();
    p.words("root", &format!("webhook delete {redirected}")).fails(3, "");
    // Of a confidential key every receiver learns only that something happened.
    let policy = p.home.path().join("trusting.toml");
    let trusted = "[[role]]\nwho = \"person:dee\"\nrole = \"author\"\nnamespace = \"support.**\"\n";
    std::fs::write(&policy, format!("{POLICY}\n{trusted}")).unwrap();
    p.run("root", ["policy", "apply", policy.to_str().unwrap(), "--rationale", "trust", "--yes"]).good();
    p.words("root", "key create support.secret --group owners --confidential").good();
    let digest = p.draft("support.secret", "Hidden.\n");
    let before = receiver.at("/gone").len();
    p.words("dee", &format!("submit support.secret@{digest}")).good();
    until(&p, "told", |listed| listed[0]["due"] == 0 && listed[1]["due"] == 0 && listed[0]["delivered"] == 2);
    let told = receiver.at("/gone")[before].json();
    assert_eq!((&told["type"], &told["data"]["redacted"]), (&json!("countersign.redacted"), &json!(true)));
    let all = receiver.got.lock().unwrap().iter().map(|got| String::from_utf8(got.body.clone()).unwrap()).collect::<String>();
    assert!(!all.contains("support.secret") && !all.contains(&digest), "{all}");
}

#[test]
fn private_addresses_are_refused_and_the_secret_is_shown_once() {
    let mut p = listed();
    for url in ["http://127.0.0.1:1/", "https://127.0.0.1:1/"] {
        p.words("root", &format!("webhook create --url {url}")).good();
    }
    for url in [
        "http://example.com/",
        "https://127.0.0.2/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "https://[::1]/",
        "https://u:p@example.com/",
    ] {
        p.words("root", &format!("webhook create --url {url}")).fails(1, "--webhook-allow");
    }
    p.words("carol", "webhook create --url https://example.com/").fails(4, "admin");
    p.words("carol", "webhook list").fails(4, "admin");
    let made = p.json("root", "webhook create --url https://example.com/ --idempotency-key once");
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"), "{secret}");
    let again = p.json("root", "webhook create --url https://example.com/ --idempotency-key once");
    assert_eq!((&again["webhook_id"], &again["secret"]), (&made["webhook_id"], &json!("")));
    let everything = format!(
        "{}{}",
        p.words("root", "webhook list --output json").out,
        p.words("root", "audit tail -n 1000 --output json").out
    );
    assert!(!everything.contains("whsec_"), "{everything}");
    // What is no longer listed is no longer called.
    p.restart();
    p.served_in_dev("support.greeting", "Hello.\n");
    let id = p.json("root", "webhook list")["items"][0]["webhook_id"].clone();
    until_why(&p, id.as_str().unwrap(), "is not https");
}
