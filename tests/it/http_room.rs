//! Connections, streams and long answers without end: what one caller takes keeps nobody's kill out.

use crate::support::near::{Near, pepper};
use crate::support::registry::{Served, token_of};
use countersign::server::limits::Limits;
use countersign::server::room::Capacity;
use reqwest::{Method, Response};
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const KEY: &str = "support.greeting";
/// What must not wait is there within this time, on a machine that does other things too.
const SOON: Duration = Duration::from_secs(10);

/// A registry with a pointer in dev, served to so many connections.
async fn narrow(connections: usize) -> Served {
    within(Limits::off().within(Capacity { connections, ..Capacity::default() })).await
}

async fn within(limits: Limits) -> Served {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    served.again(limits).await
}

/// Opens so many connections, each of which sends `text` and is left alone.
async fn flood(address: SocketAddr, count: usize, text: &str) -> Vec<TcpStream> {
    let mut open = Vec::with_capacity(count);
    for _ in 0..count {
        let mut stream = TcpStream::connect(address).await.unwrap();
        // One that was closed already takes nothing.
        let _ = stream.write_all(text.as_bytes()).await;
        open.push(stream);
    }
    open
}

/// Kills with a fresh connection, soon.
async fn kills(served: &Served) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}/v1/keys/{KEY}/pointers/dev/kill", served.address);
    let kill = client.post(url).bearer_auth(token_of("olga")).json(&json!({ "reason": "test" })).send();
    let answer = tokio::time::timeout(SOON, kill).await.expect("a kill is answered").unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_connections_that_send_nothing_or_half_of_it_keep_no_kill_out() {
    let files = rlimit::increase_nofile_limit(u64::MAX).unwrap();
    let many = usize::try_from(files.saturating_sub(600) / 2).unwrap().min(2000);
    let served = narrow(200).await;
    let token = token_of("olga");
    let half_a_body = format!(
        "POST /v1/kill HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{{"
    );
    for text in ["", "GET / HTTP/1.1\r\nX: ", &half_a_body] {
        let open = flood(served.address, many, text).await;
        kills(&served).await;
        drop(open);
    }
    let metrics = served.request("rita", Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    let closed = "countersign_connections_closed_total{why=\"room\"} ";
    let closed = metrics.lines().find_map(|line| line.strip_prefix(closed)).unwrap();
    assert!(closed.parse::<usize>().unwrap() > many, "{closed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_says_nothing_or_half_of_it_is_closed() {
    let first_head = Duration::from_millis(100);
    let served = within(Limits::off().within(Capacity { first_head, ..Capacity::default() })).await;
    for text in ["", "G", "GET / HTTP/1.1\r\nX: ", "PRI * HTTP/2.0\r\n"] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let read = tokio::time::timeout(SOON, stream.read_to_end(&mut Vec::new())).await;
        assert!(read.is_ok(), "{text:?} is left open");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_peer_takes_nothing_is_closed() {
    let served = within(Limits::off().within(Capacity { quiet: Duration::from_millis(300), ..Capacity::default() })).await;
    let request = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    // More answers than the system keeps for a peer that reads nothing.
    let asked = tokio::time::timeout(SOON, async { while stream.write_all(request.as_bytes()).await.is_ok() {} }).await;
    assert!(asked.is_ok(), "it is left open");
}

async fn follow(served: &Served, who: &str) -> Response {
    let stream = served.request(who, Method::GET, "/v1/stream").send();
    tokio::time::timeout(SOON, stream).await.expect("a stream begins or is refused").unwrap()
}

async fn refused(response: Response, says: &str) {
    assert_eq!(response.status(), 429);
    assert!(response.headers().contains_key("retry-after"));
    let problem: serde_json::Value = response.json().await.unwrap();
    assert_eq!(problem["code"], "rate_limited");
    assert!(problem["detail"].as_str().unwrap().contains(says) && problem["hint"].is_string(), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_follows_so_many_streams_and_a_kill_needs_none() {
    let served = narrow(4096).await;
    let mut open = Vec::new();
    for _ in 0..32 {
        open.push(follow(&served, "rita").await);
    }
    assert!(open.iter().all(|stream| stream.status() == 200));
    refused(follow(&served, "rita").await, "under this token").await;
    assert_eq!(follow(&served, "dee").await.status(), 200, "another token has its own");
    kills(&served).await;
    drop(open);
    while follow(&served, "rita").await.status() != 200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_all_leave_room_for_kills_and_the_newest_is_refused() {
    let served = narrow(40).await;
    let mut open = Vec::new();
    for who in ["rita", "dee", "ana", "bob", "carol"].iter().cycle().take(10) {
        open.push(follow(&served, who).await);
    }
    assert!(open.iter().all(|stream| stream.status() == 200));
    refused(follow(&served, "eve").await, "in all").await;
    let bare = flood(served.address, 200, "").await;
    kills(&served).await;
    for stream in &mut open {
        let heard = tokio::time::timeout(SOON, stream.chunk()).await.expect("a stream goes on").unwrap();
        assert!(heard.is_some(), "no stream was closed for those that come");
    }
    drop(bare);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_long_answers_wait_to_be_taken_more_are_refused_and_a_kill_is_not() {
    let limits = Limits::off();
    let (answers, reads) = (limits.answers.clone(), limits.reads.clone());
    let served = within(limits).await;
    for n in 0..6 {
        let content = json!({ "key": KEY, "format": "text", "body": format!("text {n}") });
        let body = json!({ "content": content, "rationale": "a".repeat(16 * 1024) });
        served.post("dee", &format!("/v1/keys/{KEY}/versions"), body).await.good();
    }
    let get = async |path: &str| served.request("audi", Method::GET, path).send().await.unwrap();
    let long = ["/v1/audit?limit=100", "/v1/audit/export", "/v1/audit/report?from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z"];
    for path in long {
        assert_eq!(get(path).await.status(), 200, "{path}");
    }
    let given_back = async |what: &str| {
        let none = async {
            while answers.held() + reads.held() > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(SOON, none).await.unwrap_or_else(|_| panic!("{what} is given back"));
    };
    given_back("what was not read to its end").await;
    let all = answers.take("somebody", u64::MAX, answers.all()).unwrap();
    for path in long {
        refused(get(path).await, "in all").await;
    }
    assert_eq!(get("/v1/audit?limit=1").await.status(), 200, "a short one goes on");
    drop(all);
    let all = reads.take("somebody", u64::MAX, reads.all()).unwrap();
    refused(get("/v1/audit?limit=1000").await, "in all").await;
    assert_eq!(get("/v1/audit").await.status(), 200);
    kills(&served).await;
    drop(all);
    assert_eq!(get("/v1/audit?limit=1000").await.status(), 200);
    given_back("all").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_closes_what_sends_nothing_and_answers_whoever_asks() {
    let served = Served::with_relay().await;
    let (token, dir) = (served.token("service:relay", "read").await, tempfile::tempdir().unwrap());
    pepper(dir.path());
    let near = Near::start(&served.relay(dir.path()), &token).await.unwrap();
    let mut silent = TcpStream::connect(near.address).await.unwrap();
    let closed = tokio::time::timeout(3 * SOON, silent.read_to_end(&mut Vec::new())).await;
    assert!(closed.is_ok(), "it is left open");
    assert_eq!(near.health().await["status"], "ok");
    near.end().await;
}
