//! The stream: order, resume, heartbeats, what is withheld, and its end.

use crate::support::registry::{Served, token_of};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use std::time::Duration;

const KEY: &str = "support.greeting";

/// One event as it came.
#[derive(Debug, Clone)]
struct Came {
    id: Option<u64>,
    name: String,
    data: Value,
}

/// An open stream.
struct Stream {
    response: Response,
    rest: String,
}

impl Stream {
    async fn open(served: &Served, who: &str, query: &str, resume: Option<u64>) -> Self {
        let mut request = served.request(who, Method::GET, &format!("/v1/stream{query}"));
        if let Some(seq) = resume {
            request = request.header("last-event-id", seq);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, rest: String::new() }
    }

    /// The next event; none where the stream ended.
    async fn next(&mut self) -> Option<Came> {
        loop {
            if let Some((block, rest)) = self.rest.split_once("\n\n") {
                let came = read(block);
                self.rest = String::from(rest);
                return Some(came);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(10), self.response.chunk()).await.expect("something comes");
            self.rest.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// Events up to a heartbeat whose head is `seq` or later, that heartbeat included.
    async fn until(&mut self, seq: u64) -> Vec<Came> {
        let mut came = Vec::new();
        loop {
            let event = self.next().await.expect("the stream goes on");
            let done = event.name == "heartbeat" && event.data["seq"].as_u64().unwrap() >= seq;
            came.push(event);
            if done {
                return came;
            }
        }
    }
}

fn read(block: &str) -> Came {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Came {
        id: field("id").map(|id| id.parse().unwrap()),
        name: field("event").unwrap().to_owned(),
        data: serde_json::from_str(field("data").unwrap()).unwrap(),
    }
}

async fn served_key() -> (Served, String) {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    (served, digest)
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_in_order_each_pointer_just_before_its_event() {
    let (served, digest) = served_key().await;
    let before = served.head().await;
    let mut stream = Stream::open(&served, "rita", "", None).await;
    stream.until(before).await;
    served.into_dev(KEY, &digest).await;
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    let came: Vec<Came> = stream.until(before + 3).await.into_iter().filter(|event| event.name != "heartbeat").collect();
    let names: Vec<&str> = came.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["audit", "pointer", "audit", "pointer", "audit"]);
    let ids: Vec<Option<u64>> = came.iter().map(|event| event.id).collect();
    assert_eq!(ids, [Some(before + 1), None, Some(before + 2), None, Some(before + 3)], "only audit carries an id");
    assert_eq!(came[3].data, came[4].data["detail"]["pointer"]);
    assert_eq!(came[3].data["killed"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_stream_goes_on_where_it_ended() {
    let (served, digest) = served_key().await;
    served.into_dev(KEY, &digest).await;
    let head = served.head().await;
    let audits = |came: Vec<Came>| came.into_iter().filter_map(|event| event.id).collect::<Vec<u64>>();
    let mut whole = Stream::open(&served, "rita", "?after=0", None).await;
    assert_eq!(audits(whole.until(head).await), (1..=head).collect::<Vec<u64>>());
    let mut rest = Stream::open(&served, "rita", "", Some(head - 2)).await;
    assert_eq!(audits(rest.until(head).await), [head - 1, head]);
    let mut both = Stream::open(&served, "rita", "?after=0", Some(head - 1)).await;
    assert_eq!(audits(both.until(head).await), [head], "Last-Event-ID is newer than the query");
    let mut fresh = Stream::open(&served, "rita", "", None).await;
    assert_eq!(audits(fresh.until(head).await), [0_u64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_says_the_newest_row_there_is() {
    let (served, _) = served_key().await;
    let head = served.head().await;
    let mut stream = Stream::open(&served, "rita", "", None).await;
    let beat = stream.next().await.unwrap();
    let state = served.get("rita", "/v1/audit/head").await.good();
    assert_eq!((beat.name.as_str(), &beat.data), ("heartbeat", &state));
    let file = served.dir.path().join("registry.db");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    for sql in ["DROP TRIGGER audit_event_no_delete", "DELETE FROM audit_event WHERE seq = (SELECT MAX(seq) FROM audit_event)"] {
        sqlx::query(sql).execute(&pool).await.unwrap();
    }
    loop {
        let beat = stream.next().await.unwrap();
        if beat.data["seq"] == head - 1 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_gets_pointers_and_no_audit() {
    let (served, digest) = served_key().await;
    let before = served.head().await;
    let mut stream = Stream::open(&served, "web", "", None).await;
    stream.until(before).await;
    served.into_dev(KEY, &digest).await;
    let came = stream.until(before + 2).await;
    let names: Vec<&str> = came.iter().map(|event| event.name.as_str()).filter(|name| *name != "heartbeat").collect();
    assert_eq!(names, ["pointer"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_confidential_key_did_is_withheld_and_the_chain_still_holds() {
    let served = Served::start().await;
    let made = json!({ "key_id": "support.secret", "owning_group": "owners", "confidential": true });
    served.post("dee", "/v1/keys", made).await.good();
    let head = served.head().await;
    let came = Stream::open(&served, "rita", "?after=0", None).await.until(head).await;
    let event = came.iter().find(|event| event.id == Some(head)).unwrap();
    assert_eq!((&event.data["redacted"], event.data.get("subject")), (&json!(true), None));
    assert!(!event.data.to_string().contains("secret"));
    let event: countersign::model::AuditEvent = serde_json::from_value(event.data.clone()).unwrap();
    let before = came.iter().find(|event| event.id == Some(head - 1)).unwrap();
    let before: countersign::model::AuditEvent = serde_json::from_value(before.data.clone()).unwrap();
    let link = countersign::model::ChainHead { seq: before.seq, event_id: before.event_id, at: before.at };
    assert_eq!(countersign::rules::chain::verify(&link, &event).unwrap().seq, head);
    let seen = Stream::open(&served, "ana", "?after=0", None).await.until(head).await;
    assert_eq!(seen.iter().find(|event| event.id == Some(head)).unwrap().data["subject"], "key:support.secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_is_revoked() {
    let (served, _) = served_key().await;
    let mut stream = Stream::open(&served, "eve", "", None).await;
    stream.next().await.unwrap();
    let id = &token_of("eve")[..13];
    let revoked = served.request("root", Method::DELETE, &format!("/v1/tokens/{id}")).send().await.unwrap();
    assert_eq!(revoked.status(), 200);
    while stream.next().await.is_some() {}
    assert_eq!(served.get("eve", "/v1/me").await.refused().0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_followers_see_the_same_events_while_many_write() {
    let (served, _) = served_key().await;
    let before = served.head().await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        streams.push(Stream::open(&served, "rita", &format!("?after={before}"), None).await);
    }
    let comments = (0..20).map(|number| {
        let body = json!({ "key_id": format!("support.k{number}"), "owning_group": "owners" });
        served.post("dee", "/v1/keys", body)
    });
    for answer in futures_util::future::join_all(comments).await {
        answer.good();
    }
    for stream in &mut streams {
        let came: Vec<u64> = stream.until(before + 20).await.into_iter().filter_map(|event| event.id).collect();
        assert_eq!(came, (before + 1..=before + 20).collect::<Vec<u64>>());
    }
}
