//! A registry with people in it, served in this process on a free port, and what tests say to it over HTTP.

use super::described::{Answered, check};
use super::engines::Place;
use countersign::clock::Clock;
use countersign::model::{Actor, Scope, Timestamp, Token};
use countersign::rules::access::Caller;
use countersign::rules::canonical::sha256;
use countersign::server::limits::Limits;
use countersign::server::{self, Outside};
use countersign::snapshot::Pepper;
use countersign::storage::Db;
use countersign::workflow::{FoundRegistry, Registry};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use super::policy::SERVED as POLICY;

/// Everybody who has a token: name, actor, scope; one whose name says so has it for dev alone.
pub const PEOPLE: &[(&str, &str, Scope)] = &[
    ("dee", "person:dee", Scope::Full),
    ("ana", "person:ana", Scope::Full),
    ("bob", "person:bob", Scope::Full),
    ("carol", "person:carol", Scope::Full),
    ("olga", "person:olga", Scope::Full),
    ("rita", "person:rita", Scope::Full),
    ("root", "person:root", Scope::Full),
    ("audi", "person:audi", Scope::Full),
    ("ines", "person:ines", Scope::Full),
    ("ci", "service:ci", Scope::Full),
    ("web", "service:web", Scope::Full),
    ("eve", "person:eve", Scope::Full),
    ("olga-kill", "person:olga", Scope::Kill),
    ("pia", "person:pia", Scope::Full),
    ("site", "service:site", Scope::Full),
    ("carol-read", "person:carol", Scope::Read),
    ("carol-in-dev", "person:carol", Scope::Full),
    ("web-resolves", "service:web", Scope::Service),
    ("site-public", "service:site", Scope::Public),
    ("dee-expired", "person:dee", Scope::Full),
    ("dee-revoked", "person:dee", Scope::Full),
];

/// A token's text: tests know it by the person's name.
pub fn token_of(name: &str) -> String {
    let letters: String = name.bytes().map(|b| char::from(b'a' + b % 26)).chain("aaaaaaaaaa".chars()).take(10).collect();
    format!("cs_{letters}_{}", "k".repeat(58))
}

/// A served registry. Dropping it ends the server.
pub struct Served {
    pub address: SocketAddr,
    pub registry: Arc<Registry>,
    pub dir: TempDir,
    pub shutdown: CancellationToken,
    pub task: JoinHandle<()>,
    client: reqwest::Client,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// An answer, read whole.
#[derive(Debug, Clone)]
pub struct Said {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Said {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.text))
    }
    /// The body of a 2xx.
    #[track_caller]
    pub fn good(&self) -> Value {
        assert!(self.status.is_success(), "{} {}", self.status, self.text);
        self.json()
    }
    /// Status, code and path of a problem.
    #[track_caller]
    pub fn problem(&self) -> (u16, String, String) {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{} {}", self.status, self.text);
        let body = self.json();
        assert_eq!(body["status"], self.status.as_u16());
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("code"), text("path"))
    }
    /// Status and code of a problem.
    #[track_caller]
    pub fn refused(&self) -> (u16, String) {
        let (status, code, _) = self.problem();
        (status, code)
    }
}

impl Served {
    /// A fresh registry with [`POLICY`] and [`PEOPLE`], served.
    pub async fn start() -> Self {
        Self::with_policy(POLICY).await
    }

    /// The same with another policy.
    pub async fn with_policy(policy: &str) -> Self {
        Self::on(policy, Clock::System).await
    }

    /// The same on another clock.
    pub async fn on(policy: &str, clock: Clock) -> Self {
        let Place { db, dir, .. } = Place::sqlite().await;
        Self::over(db, dir, policy, clock).await
    }

    /// The same over a migrated database of either engine.
    pub async fn over(db: Db, dir: TempDir, policy: &str, clock: Clock) -> Self {
        let pepper = Pepper([7; 32]);
        let registry = Registry::load(db.clone(), pepper, clock.clone()).await.unwrap();
        let caller = Caller::whole(Actor::system("init"));
        let found = FoundRegistry { policy: policy.into(), name: "test".into(), pepper: pepper.fingerprint().to_string() };
        registry.run(&caller, None, found).await.unwrap();
        put_tokens(&db, clock.now()).await;
        let registry = Arc::new(Registry::load(db, pepper, clock.clone()).await.unwrap());
        Self::serve(registry, dir, Limits::off()).await
    }

    /// The same registry, served again within limits: by another server, which ends with this value.
    pub async fn again(&self, limits: Limits) -> Self {
        Self::serve(self.registry.clone(), tempfile::tempdir().unwrap(), limits).await
    }

    /// The same database, as a server finds it that starts now.
    pub async fn restarted(&self) -> Self {
        let (db, clock) = (self.registry.db.clone(), self.registry.clock.clone());
        let registry = Arc::new(Registry::load(db, Pepper([7; 32]), clock).await.unwrap());
        Self::serve(registry, tempfile::tempdir().unwrap(), Limits::off()).await
    }

    /// The same registry, served again by a server that is open to pages of these origins.
    pub async fn to_pages(&self, origins: &[&str]) -> Self {
        let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
        let outside = Outside { origins, ..Outside::passing(&self.registry.clock) };
        Self::serve_with(self.registry.clone(), tempfile::tempdir().unwrap(), Limits::off(), outside).await
    }

    async fn serve(registry: Arc<Registry>, dir: TempDir, limits: Limits) -> Self {
        let outside = Outside::passing(&registry.clock);
        Self::serve_with(registry, dir, limits, outside).await
    }

    async fn serve_with(registry: Arc<Registry>, dir: TempDir, limits: Limits, outside: Outside) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let task = tokio::spawn(server::serve_with(registry.clone(), outside, limits, listener, shutdown.clone()));
        countersign::client::init_tls();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, registry, dir, shutdown, task, client }
    }

    /// A request by somebody; `nobody` sends no token, and a token's own text stands for itself.
    pub fn request(&self, who: &str, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        match who {
            "nobody" => request,
            // Every JSON object begins so.
            issued if issued.starts_with("eyJ") || issued.starts_with("cs_") => request.bearer_auth(issued),
            name => request.bearer_auth(token_of(name)),
        }
    }

    /// GET.
    pub async fn get(&self, who: &str, path: &str) -> Said {
        said(self.request(who, Method::GET, path)).await
    }

    /// POST of JSON.
    pub async fn post(&self, who: &str, path: &str, body: Value) -> Said {
        said(self.request(who, Method::POST, path).json(&body)).await
    }

    /// POST of bytes that are declared as JSON.
    pub async fn post_raw(&self, who: &str, path: &str, body: impl Into<reqwest::Body>) -> Said {
        said(self.request(who, Method::POST, path).header("content-type", "application/json").body(body)).await
    }

    /// The number of the newest audit event.
    pub async fn head(&self) -> u64 {
        self.registry.db.read().await.unwrap().conn().audit_head().await.unwrap().seq
    }
}

/// Sends, and reads the answer whole. It must be one that the API document describes.
pub async fn said(request: RequestBuilder) -> Said {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let (method, path) = (request.method().to_string(), request.url().path().to_owned());
    let response = client.execute(request).await.unwrap();
    let (status, headers) = (response.status(), response.headers().clone());
    let said = Said { status, headers, text: response.text().await.unwrap() };
    let media = said.headers.get("content-type").map_or("", |media| media.to_str().unwrap());
    check(&Answered { method: &method, path: &path, status: status.as_u16(), media, text: &said.text });
    said
}

async fn put_tokens(db: &Db, now: Timestamp) {
    let mut tx = db.begin().await.unwrap();
    for (name, actor, scope) in PEOPLE {
        let text = token_of(name);
        let actor: Actor = actor.parse().unwrap();
        let owner = if actor.is_person() { actor.clone() } else { Actor::person("root") };
        let token = Token {
            token_id: text[..13].to_owned(),
            actor,
            owner,
            scope: *scope,
            environment: name.ends_with("-in-dev").then(|| "dev".parse().unwrap()),
            note: String::new(),
            created_at: now,
            expires_at: if name.ends_with("expired") { now } else { now.plus_seconds(30 * 86_400) },
            revoked_at: None,
        };
        tx.conn().token_put(&token, &sha256(text.as_bytes())).await.unwrap();
        if name.ends_with("revoked") {
            tx.conn().token_revoke(&token.token_id, now).await.unwrap();
        }
    }
    tx.commit().await.unwrap();
}

/// A content of plain text.
pub fn text(key: &str, body: &str) -> Value {
    json!({ "key": key, "format": "text", "body": body })
}
