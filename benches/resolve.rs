//! How fast it answers, as ratios: resolve over HTTP beside a bare route with the same bytes; resolve and publish with 100,000
//! keys beside 100; applying approved promotions beside two rows through the same pool. Run: `cargo bench --bench resolve`.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use axum::Router;
use axum::http::header;
use axum::routing::post;
use countersign::clock::Clock;
use countersign::model::{
    Actor, BasisPoints, ChainHead, ConfigKey, Content, Digest, Environment, EnvironmentPointer, Format, KeyId, PlanStep, Scope,
    Timestamp, Token, UnitType, Verdict,
};
use countersign::rules::access::Caller;
use countersign::rules::canonical::{content_digest, sha256};
use countersign::server;
use countersign::snapshot::{Change, Pepper, Servable, Snapshot};
use countersign::storage::Db;
use countersign::wire::promotions::{OpenPromotion as Wish, Rationale, Vote};
use countersign::wire::versions::{CreateVersion, Submit};
use countersign::wire::{keys, pointers::Resolve};
use countersign::workflow::{
    ApplyPromotion, CastVote, CreateKey, FoundRegistry, OpenPromotion, Opened, Registry, SaveVersion, SubmitVersion,
};
use std::hint::black_box;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "cs_benchbench_secret";
const POLICY: &str = r#"
[[environment]]
name = "production"
protected = true
approvals = [{ gate = "review", group = "owners", count = 1 }]
[group.owners]
members = ["person:ana", "person:dee"]
[[role]]
who = "person:dee"
role = "author"
[[role]]
who = "person:ana"
role = "approver"
[[role]]
who = "person:carol"
role = "releaser"
[[role]]
who = "person:root"
role = "admin"
[[role]]
who = "service:web"
role = "service"
"#;

fn main() {
    println!("snapshot, 100,000 keys beside 100 (bar: 1.2 at most)");
    let (resolve, publish) = snapshots();
    println!("  resolve {resolve:.2}x   publish {publish:.2}x");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let registry = registry(dir.path()).await;
        println!("applying approved promotions beside two rows in a transaction, durable (bar: 0.5 at least)");
        for (width, ratio) in applying(&registry).await {
            println!("  {width} at once: {ratio:.2}");
        }
        println!("resolve over HTTP beside a bare route with the same bytes (bar: 0.6 at least)");
        println!("  {:.2}", over_http(registry).await);
    });
}

// ---- the snapshot

fn key_of(number: usize) -> KeyId {
    format!("bench.ns{}.k{number}", number % 97).parse().unwrap()
}

fn production() -> Environment {
    "production".parse().unwrap()
}

fn content(key: &KeyId, body: &str) -> Content {
    let body = serde_json::Value::from(body);
    let (parameters, fragments) = (serde_json::Map::new(), std::collections::BTreeMap::new());
    Content { key: key.clone(), format: Format::Text, body, model_pin: None, parameters, fragments, variables: vec![], schema: 1 }
}

fn pointer(key: &KeyId, digest: Digest, revision: i64) -> Change {
    Change::Pointer(Box::new(EnvironmentPointer {
        key_id: key.clone(),
        environment: production(),
        digest,
        rollout_pct: BasisPoints::new(5000).unwrap(),
        killed: false,
        updated_at: Timestamp(revision),
        revision,
        baseline_digest: None,
        held: false,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
    }))
}

fn head(seq: u64) -> ChainHead {
    ChainHead { seq, event_id: Digest::ZERO, at: Timestamp(0) }
}

fn filled(keys: usize) -> Snapshot {
    let mut changes = Vec::new();
    for key in (0..keys).map(key_of) {
        let content = content(&key, "You are a helpful assistant.");
        let digest = content_digest(&content);
        changes.push(Change::Key(Box::new(ConfigKey {
            namespace: key.namespace().into(),
            key_id: key.clone(),
            owning_group: "owners".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest: None,
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        })));
        let fragments = std::collections::BTreeMap::new();
        changes.push(Change::Content(Box::new(Servable { digest, number: 1, content, fragments, quarantined: false })));
        changes.push(pointer(&key, digest, 1));
    }
    Snapshot::empty(Pepper([7; 32])).after(head(1), changes)
}

/// Nanoseconds of a resolve and of a publication, the best of several rounds.
fn timed(snapshot: &Snapshot, keys: usize) -> (f64, f64) {
    const TIMES: usize = 20_000;
    // A stride through all keys, so that a large map cannot live in the cache by luck.
    let asked: Vec<KeyId> = (0..TIMES).map(|n| key_of((n * 7919) % keys)).collect();
    let environment = production();
    let digests: Vec<Digest> = asked.iter().map(|key| snapshot.pointer(key, &environment).unwrap().digest).collect();
    let (mut resolve, mut publish) = (f64::MAX, f64::MAX);
    for _ in 0..7 {
        let began = Instant::now();
        for key in &asked {
            black_box(snapshot.resolve(key, &environment, Some("unit-17"), false).unwrap().unwrap().json(false).unwrap());
        }
        resolve = resolve.min(per(began, TIMES));
        let mut state = snapshot.clone();
        let began = Instant::now();
        for (number, (key, digest)) in asked.iter().zip(&digests).enumerate() {
            state = state.after(head(2), vec![pointer(key, *digest, i64::try_from(number).unwrap())]);
        }
        publish = publish.min(per(began, TIMES));
        black_box(state);
    }
    println!("  {keys:>6} keys: resolve {resolve:.0} ns, publish {publish:.0} ns");
    (resolve, publish)
}

fn per(began: Instant, times: usize) -> f64 {
    began.elapsed().as_secs_f64() * 1e9 / f64::from(u32::try_from(times).unwrap())
}

fn snapshots() -> (f64, f64) {
    let (small, large) = (filled(100), filled(100_000));
    let (few, many) = (timed(&small, 100), timed(&large, 100_000));
    (many.0 / few.0, many.1 / few.1)
}

// ---- a registry

fn caller(actor: &str) -> Caller {
    Caller::whole(actor.parse().unwrap())
}

async fn registry(dir: &Path) -> Arc<Registry> {
    let db = Db::open(&format!("sqlite:{}", dir.join("registry.db").display())).await.unwrap();
    db.migrate().await.unwrap();
    let pepper = Pepper([7; 32]);
    let fresh = Registry::load(db.clone(), pepper, Clock::System).await.unwrap();
    let found = FoundRegistry { policy: POLICY.into(), name: "bench".into(), pepper: pepper.fingerprint().to_string() };
    fresh.run(&caller("system:init"), None, found).await.unwrap();
    let now = Clock::System.now();
    let token = Token {
        token_id: TOKEN[..13].into(),
        actor: Actor::service("web"),
        owner: Actor::person("root"),
        scope: Scope::Full,
        environment: None,
        note: String::new(),
        created_at: now,
        expires_at: now.plus_seconds(86_400),
        revoked_at: None,
    };
    let mut tx = db.begin().await.unwrap();
    tx.conn().token_put(&token, &sha256(TOKEN.as_bytes())).await.unwrap();
    tx.commit().await.unwrap();
    Arc::new(Registry::load(db, pepper, Clock::System).await.unwrap())
}

/// An approved promotion of a fresh key; gives its id.
async fn approved(registry: &Registry, key: KeyId, body: &str) -> uuid::Uuid {
    let dee = caller("person:dee");
    let made = keys::CreateKey {
        key_id: key.clone(),
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential: false,
        description: String::new(),
    };
    registry.run(&dee, None, CreateKey { body: made }).await.unwrap();
    let saved = CreateVersion { content: content(&key, body), rationale: "because".into(), imported: None };
    let saved = registry.run(&dee, None, SaveVersion { key: key.clone(), body: saved }).await.unwrap();
    let digest = saved.answer.version.digest;
    registry.run(&dee, None, SubmitVersion { digest, body: Submit::default() }).await.unwrap();
    let wish = Wish {
        key_id: key,
        environment: production(),
        to_digest: digest,
        rationale: "because".into(),
        percent: None,
        plan: None,
        supersedes: None,
        change: None,
        revive: false,
        baseline: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        dry_run: false,
    };
    let opened = registry.run(&dee, None, OpenPromotion { body: wish }).await.unwrap();
    let Opened::Promotion(promotion) = opened.answer else { unreachable!("it was no dry run") };
    let vote = Vote {
        verdict: Verdict::Approve,
        gate: Some("review".into()),
        rationale: "read it".into(),
        statement: Some(promotion.statement),
        head: None,
        acknowledged_hidden: vec![],
        anchor: None,
        reply_to: None,
    };
    registry.run(&caller("person:ana"), None, CastVote { id: promotion.promotion_id, body: vote }).await.unwrap();
    promotion.promotion_id
}

// ---- applying

/// Runs `work` for each number, `width` at once; the seconds that it took.
async fn at_once<F: Future<Output = ()> + Send + 'static>(width: usize, times: usize, work: impl Fn(usize) -> F) -> f64 {
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..times {
        if tasks.len() >= width {
            tasks.join_next().await.unwrap().unwrap();
        }
        tasks.spawn(work(number));
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    began.elapsed().as_secs_f64()
}

async fn applying(registry: &Arc<Registry>) -> Vec<(usize, f64)> {
    const TIMES: usize = 200;
    let mut found = Vec::new();
    for width in [1, 8] {
        let mut ids = Vec::new();
        for number in 0..TIMES {
            let key = format!("apply.w{width}.k{number}").parse().unwrap();
            ids.push(approved(registry, key, "You are a helpful assistant.").await);
        }
        let apply = |number: usize| {
            let (registry, id) = (registry.clone(), ids[number]);
            async move {
                let body = Rationale::default();
                registry.run(&caller("person:carol"), None, ApplyPromotion { id, body }).await.unwrap();
            }
        };
        let rows = |number: usize| {
            let db = registry.db.clone();
            async move {
                let mut tx = db.begin().await.unwrap();
                for row in 0..2 {
                    tx.conn().meta_put(&format!("bench-{number}-{row}"), "a value of some length, as rows have").await.unwrap();
                }
                tx.commit().await.unwrap();
            }
        };
        let bare = at_once(width, TIMES, rows).await;
        let applied = at_once(width, TIMES, apply).await;
        found.push((width, bare / applied));
    }
    found
}

// ---- over HTTP

async fn over_http(registry: Arc<Registry>) -> f64 {
    let key: KeyId = "bench.http.greeting".parse().unwrap();
    let id = approved(&registry, key.clone(), &"You are a helpful assistant. ".repeat(35)).await;
    registry.run(&caller("person:carol"), None, ApplyPromotion { id, body: Rationale::default() }).await.unwrap();
    let stop = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let ours = listener.local_addr().unwrap();
    tokio::spawn(server::serve(registry, listener, stop.clone()));
    let path = countersign::wire::paths::resolve(&production(), &key);
    let body = serde_json::to_string(&Resolve { unit: Some("unit-17".into()) }).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\ncontent-length: \
         {}\r\n\r\n{body}",
        body.len()
    );
    let answer = Connection::open(ours).await.ask(&request).await;
    let bare = bare(answer.clone()).await;
    assert_eq!(Connection::open(bare).await.ask(&request).await, answer, "both say the same");
    let (mut best_ours, mut best_bare) = (0_f64, 0_f64);
    for _ in 0..5 {
        best_bare = best_bare.max(rate(bare, &request).await);
        best_ours = best_ours.max(rate(ours, &request).await);
    }
    println!("  ours {best_ours:.0}/s, bare {best_bare:.0}/s, {} bytes each", answer.len());
    stop.cancel();
    best_ours / best_bare
}

/// A bare route that answers `bytes`.
async fn bare(bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bytes = axum::body::Bytes::from(bytes);
    let route = post(move || {
        let bytes = bytes.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], bytes) }
    });
    let router = Router::new().route(countersign::wire::paths::template::RESOLVE, route);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Answers a second over eight connections that each wait for their answer.
async fn rate(address: SocketAddr, request: &str) -> f64 {
    const TIME: Duration = Duration::from_secs(1);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let request = request.to_owned();
        tasks.spawn(async move {
            let (mut connection, mut count) = (Connection::open(address).await, 0_u32);
            while began.elapsed() < TIME {
                black_box(connection.ask(&request).await);
                count += 1;
            }
            count
        });
    }
    let counts = tasks.join_all().await;
    f64::from(counts.into_iter().sum::<u32>()) / began.elapsed().as_secs_f64()
}

/// A kept-alive HTTP/1.1 connection, as cheap as it goes.
struct Connection {
    stream: TcpStream,
    held: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, held: Vec::with_capacity(16_384) }
    }

    /// The body of the answer.
    async fn ask(&mut self, request: &str) -> Vec<u8> {
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.held.clear();
        loop {
            assert!(self.stream.read_buf(&mut self.held).await.unwrap() > 0, "the server hung up");
            let Some(end) = self.held.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.held[..end]).unwrap();
            assert!(head.starts_with("HTTP/1.1 200"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let whole = end + 4 + length.parse::<usize>().unwrap();
            if self.held.len() >= whole {
                return self.held[end + 4..whole].to_vec();
            }
        }
    }
}
