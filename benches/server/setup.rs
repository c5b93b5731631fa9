//! A registry to measure, its people and its contents, and a connection that costs as little as it goes.

use countersign::clock::Clock;
use countersign::model::{Actor, Content, Environment, Format, KeyId, Scope, Token, UnitType, Verdict};
use countersign::rules::access::Caller;
use countersign::rules::canonical::sha256;
use countersign::server;
use countersign::snapshot::Pepper;
use countersign::storage::Db;
use countersign::wire::keys;
use countersign::wire::promotions::{OpenPromotion as Wish, Vote};
use countersign::wire::versions::{CreateVersion, Submit};
use countersign::workflow::{CastVote, CreateKey, FoundRegistry, OpenPromotion, Opened, Registry, SaveVersion, SubmitVersion};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

pub const PEPPER: Pepper = Pepper([7; 32]);
/// The application that resolves.
pub const WEB: &str = "cs_benchbench_secret";
/// Who kills, and reads lists.
pub const CAROL: &str = "cs_carolcarol_secret";
/// Whose inbox it is.
pub const ANA: &str = "cs_anaanaanaa_secret";
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

pub fn production() -> Environment {
    "production".parse().unwrap()
}

pub fn content(key: &KeyId, body: &str) -> Content {
    let body = serde_json::Value::from(body);
    let (parameters, fragments) = (serde_json::Map::new(), std::collections::BTreeMap::new());
    Content { key: key.clone(), format: Format::Text, body, model_pin: None, parameters, fragments, variables: vec![], schema: 1 }
}

pub fn caller(actor: &str) -> Caller {
    Caller::whole(actor.parse().unwrap())
}

/// A fresh registry on SQLite, with its policy and tokens.
pub async fn registry(dir: &Path) -> Arc<Registry> {
    let db = Db::open(&format!("sqlite:{}", dir.join("registry.db").display())).await.unwrap();
    db.migrate().await.unwrap();
    let fresh = Registry::load(db.clone(), PEPPER, Clock::System).await.unwrap();
    let found = FoundRegistry { policy: POLICY.into(), name: "bench".into(), pepper: PEPPER.fingerprint().to_string() };
    fresh.run(&caller("system:init"), None, found).await.unwrap();
    let now = Clock::System.now();
    let mut tx = db.begin().await.unwrap();
    for (text, actor) in [(WEB, "service:web"), (CAROL, "person:carol"), (ANA, "person:ana")] {
        let token = Token {
            token_id: text[..13].into(),
            actor: actor.parse().unwrap(),
            owner: Actor::person("root"),
            scope: Scope::Full,
            environment: None,
            note: String::new(),
            created_at: now,
            expires_at: now.plus_seconds(86_400),
            revoked_at: None,
        };
        tx.conn().token_put(&token, &sha256(text.as_bytes())).await.unwrap();
    }
    tx.commit().await.unwrap();
    Arc::new(Registry::load(db, PEPPER, Clock::System).await.unwrap())
}

/// Serves a registry on loopback.
pub async fn serve(registry: Arc<Registry>) -> (SocketAddr, CancellationToken) {
    let stop = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server::serve(registry, listener, stop.clone()));
    (address, stop)
}

/// An approved promotion of a fresh key; gives its id.
pub async fn approved(registry: &Registry, key: KeyId, body: &str) -> uuid::Uuid {
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

/// The text of a request.
pub fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: \
         {}\r\n\r\n{body}",
        body.len()
    )
}

/// A kept-alive HTTP/1.1 connection, as cheap as it goes.
pub struct Connection {
    stream: TcpStream,
    held: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, held: Vec::with_capacity(16_384) }
    }

    /// The body of the answer.
    pub async fn ask(&mut self, request: &str) -> Vec<u8> {
        self.stream.write_all(request.as_bytes()).await.unwrap();
        self.held.clear();
        loop {
            assert!(self.stream.read_buf(&mut self.held).await.unwrap() > 0, "the server hung up");
            let Some(end) = self.held.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = std::str::from_utf8(&self.held[..end]).unwrap();
            assert!(head.starts_with("HTTP/1.1 20"), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let whole = end + 4 + length.parse::<usize>().unwrap();
            if self.held.len() >= whole {
                return self.held[end + 4..whole].to_vec();
            }
        }
    }
}
