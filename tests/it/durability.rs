//! What was acknowledged stays: eight clients act on the real server while it is killed again and again.
//!
//! `PROVE=full` runs 1,000 kills with 40,000 operations (20,000 of them acknowledged at the least) an engine in place of 50
//! with 2,000; with `PROVE_MINUTES=15` no kill comes after so long, and the operations go on to their end.

use crate::support::engines::{Place, on_each_engine};
use crate::support::rows::read;
use countersign::model::{AuditEvent, ChainHead, Environment, EnvironmentPointer, KeyId, PromotionState};
use countersign::rules::chain;
use countersign::storage::Db;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

const POLICY: &str = r#"
environment = [
  { name = "dev" },
  { name = "stage", plan = [[25, "1m"], [100]] },
  { name = "live", protected = true, approvals = [{ gate = "owner", group = "@owning", count = 1 }] },
]
role = [
  { who = "person:root", role = "admin" },
  { who = "person:dee", role = "author" },
  { who = "person:ana", role = "approver" },
  { who = "person:carol", role = "releaser" },
]
[group.owners]
members = ["person:ana"]
"#;

const KEYS: [&str; 3] = ["support.greeting", "support.refund.system", "search.rank"];
const PLACES: [&str; 3] = ["dev", "stage", "live"];
const CLIENTS: usize = 8;

/// The real server, in a process of its own.
struct Process {
    child: Child,
    address: String,
}

impl Process {
    /// Starts it and waits until it says that it listens.
    fn start(dir: &Path, database: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .arg(dir)
            .env("NO_COLOR", "1")
            .env_remove("COUNTERSIGN_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("the server ended: {said}")).unwrap();
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
            said.push_str(&line);
        };
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// SIGKILL: no handler, no flush, no goodbye.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the clients share.
struct Field {
    address: watch::Receiver<String>,
    done: watch::Sender<usize>,
    http: reqwest::Client,
    tokens: BTreeMap<&'static str, String>,
    acked: Mutex<Vec<String>>,
    versions: Mutex<Vec<(usize, String)>>,
    open: Mutex<Vec<String>>,
}

impl Field {
    /// POSTs until somebody answers; the same Idempotency-Key each time.
    async fn post(&self, who: &str, path: &str, op: &str, body: &Value) -> (u16, Value) {
        let mut address = self.address.clone();
        loop {
            let base = address.borrow_and_update().clone();
            let request = self.http.post(format!("{base}{path}")).bearer_auth(&self.tokens[who]);
            let sent = request.header("idempotency-key", op.replace(' ', "-")).json(body).send().await;
            if let Ok(response) = sent
                && !matches!(response.status().as_u16(), 408 | 503)
            {
                let status = response.status().as_u16();
                if let Ok(answer) = response.json().await {
                    return (status, answer);
                }
            }
            // It was killed: another will be up at another address. The bound is for a connection that broke otherwise.
            let _ = tokio::time::timeout(Duration::from_millis(300), address.changed()).await;
        }
    }

    async fn get(&self, who: &str, path: &str) -> Option<Value> {
        let base = self.address.borrow().clone();
        let sent = self.http.get(format!("{base}{path}")).bearer_auth(&self.tokens[who]).send().await;
        sent.ok()?.json().await.ok()
    }

    /// Does one operation; what was acknowledged as a change is noted.
    async fn operate(&self, dice: &mut Dice, op: &str) {
        let (key, place) = (dice.below(KEYS.len()), PLACES[dice.below(PLACES.len())]);
        let pointer = |act: &str| format!("/v1/keys/{}/pointers/{place}/{act}", KEYS[key]);
        let because = json!({ "rationale": op });
        let (who, path, body) = match dice.below(20) {
            0..=3 => {
                let content = json!({ "key": KEYS[key], "format": "text", "body": format!("text of {op}") });
                let body = json!({ "content": content, "rationale": op });
                ("dee", format!("/v1/keys/{}/versions", KEYS[key]), body)
            }
            4..=9 => {
                let Some((key, digest)) = dice.pick(&self.versions) else { return };
                let revive = dice.below(3) == 0;
                let who = if revive { "carol" } else { "dee" };
                let body = json!({
                    "key_id": KEYS[key], "environment": place, "to_digest": digest, "rationale": op, "revive": revive,
                });
                (who, "/v1/promotions".into(), body)
            }
            10..=11 => {
                let Some(id) = dice.pick(&self.open) else { return };
                let Some(view) = self.get("ana", &format!("/v1/promotions/{id}")).await else { return };
                let body = json!({ "verdict": "approve", "rationale": op, "statement": view["statement"] });
                ("ana", format!("/v1/promotions/{id}/approvals"), body)
            }
            12..=15 => {
                let Some(id) = dice.pick(&self.open) else { return };
                ("carol", format!("/v1/promotions/{id}/apply"), because)
            }
            16 => ("carol", pointer("step"), because),
            17..=18 => ("carol", pointer("rollback"), because),
            _ => ("carol", pointer("kill"), json!({ "reason": "test", "note": op })),
        };
        let (status, answer) = self.post(who, &path, op, &body).await;
        assert!(status < 500, "{path}: {status} {answer}");
        if status >= 300 {
            return;
        }
        self.learn(key, &path, op, &answer).await;
        let moved = answer.get("pointer").is_some();
        if !moved || !answer["seq"].is_null() {
            self.acked.lock().unwrap().push(op.to_owned());
        }
    }

    /// Takes what an answer gives into the pools that later operations pick from.
    async fn learn(&self, key: usize, path: &str, op: &str, answer: &Value) {
        if let (Some(digest), true) = (answer["digest"].as_str(), path.ends_with("/versions")) {
            let submitted = self.post("dee", &format!("/v1/versions/{digest}/submit"), &format!("{op} s"), &json!({})).await;
            assert_eq!(submitted.0, 200, "{}", submitted.1);
            self.versions.lock().unwrap().push((key, digest.to_owned()));
        } else if let (Some(id), true) = (answer["promotion_id"].as_str(), path == "/v1/promotions") {
            self.open.lock().unwrap().push(id.to_owned());
        }
    }
}

/// A small generator with a printed seed (Steele and Vigna's SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    /// One of the newest of a pool, so that much of what is picked can still be done.
    fn pick<T: Clone>(&mut self, pool: &Mutex<Vec<T>>) -> Option<T> {
        let pool = pool.lock().unwrap();
        let back = self.below(pool.len().clamp(1, 12));
        pool.len().checked_sub(1 + back).map(|at| pool[at].clone())
    }
}

/// The chain as far as it was verified, and the pointers that its events leave.
struct Ledger {
    head: ChainHead,
    events: Vec<AuditEvent>,
    pointers: BTreeMap<(KeyId, Environment), EnvironmentPointer>,
}

impl Ledger {
    /// Reads on: every new event follows, and the pointers of the tables are those that the events leave.
    async fn follow(&mut self, db: &Db) {
        read(db, async |c| {
            loop {
                let page = c.audit_after(self.head.seq, 1000).await.unwrap();
                for event in &page {
                    self.head = chain::verify(&self.head, event).unwrap_or_else(|broken| panic!("{broken}"));
                }
                self.pointers.extend(chain::fold(&page));
                let last = page.is_empty();
                self.events.extend(page);
                if last {
                    break;
                }
            }
            assert_eq!(c.audit_head().await.unwrap(), self.head, "the head is the last event");
            let stored = c.pointer_all().await.unwrap().into_iter();
            let stored: BTreeMap<_, _> = stored.map(|p| ((p.key_id.clone(), p.environment.clone()), p)).collect();
            assert_eq!(stored, self.pointers, "the tables hold what the events leave");
        })
        .await;
    }
}

/// Acknowledged operations without an event, and operations with two events of one kind.
fn faults(acked: &[String], events: &[AuditEvent]) -> Vec<String> {
    let mut seen: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for body in events.iter().filter_map(|event| event.body.as_ref()) {
        if let Some(op) = body.detail.get("rationale").and_then(Value::as_str).filter(|why| why.starts_with("op ")) {
            *seen.entry((body.action.as_str(), op)).or_default() += 1;
            *found.entry(op).or_default() += 1;
        }
    }
    let lost = acked.iter().filter(|op| !found.contains_key(op.as_str())).map(|op| format!("lost: {op}"));
    let twice = seen.iter().filter(|(_, count)| **count > 1).map(|((action, op), count)| format!("{count} times {action}: {op}"));
    lost.chain(twice).collect()
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    on_each_engine(async |place| {
        let full = std::env::var("PROVE").is_ok_and(|prove| prove == "full");
        let (kills, operations) = if full { (1000, 40_000) } else { (50, 2_000) };
        let minutes = std::env::var("PROVE_MINUTES").ok().and_then(|minutes| minutes.parse().ok());
        let limit = minutes.map(|minutes: u64| Duration::from_secs(minutes * 60));
        let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0xc0de_5167_u64);
        println!("seed {seed} (SEED=… runs another)");
        let dir = place.dir.path().join("served");
        let root = make(&dir, place);
        let mut process = Process::start(&dir, &place.url);
        let (addresses, address) = watch::channel(process.address.clone());
        let field = Arc::new(field(address, root).await);
        let each = operations / CLIENTS;
        let clients = (0..CLIENTS).map(|client| {
            let field = field.clone();
            tokio::spawn(async move {
                let mut dice = Dice(seed + client as u64);
                for n in 0..each {
                    field.operate(&mut dice, &format!("op {client}.{n}")).await;
                    field.done.send_modify(|done| *done += 1);
                }
            })
        });
        let clients = join_all(clients.collect::<Vec<_>>());
        let mut ledger = Ledger { head: chain::EMPTY, events: Vec::new(), pointers: BTreeMap::new() };
        let mut done = field.done.subscribe();
        let mut restarts = Vec::new();
        let begun = Instant::now();
        for kill in 0..kills {
            if limit.is_some_and(|limit| begun.elapsed() > limit) {
                break;
            }
            let due = (kill + 1) * operations / (kills + 1);
            done.wait_for(|done| *done >= due).await.unwrap();
            process.kill();
            ledger.follow(&place.db).await;
            let start = Instant::now();
            process = Process::start(&dir, &place.url);
            addresses.send(process.address.clone()).unwrap();
            while field.get("root", "/readyz").await.is_none() {}
            restarts.push(start.elapsed());
        }
        for client in clients.await {
            client.unwrap();
        }
        process.kill();
        ledger.follow(&place.db).await;
        restarts.sort_unstable();
        let p99 = restarts[restarts.len() * 99 / 100];
        let acked = field.acked.lock().unwrap().len();
        println!("{} kills, {operations} operations, {acked} acknowledged changes, {} events", restarts.len(), ledger.head.seq);
        println!("first answer after a kill: median {:?}, p99 {p99:?}", restarts[restarts.len() / 2]);
        check(&place.db, &field, &ledger, full).await;
        assert!(!full || p99 <= Duration::from_secs(1), "{p99:?}");
    });
}

/// The end: nothing lost, nothing twice, every move with its applied promotion, and enough happened to mean something.
async fn check(db: &Db, field: &Field, ledger: &Ledger, full: bool) {
    let acked = field.acked.lock().unwrap().clone();
    assert_eq!(faults(&acked, &ledger.events), Vec::<String>::new());
    let enough = if full { 20_000 } else { 600 };
    assert!(acked.len() >= enough, "only {} changes were acknowledged", acked.len());
    let mut kinds: BTreeMap<&str, u32> = BTreeMap::new();
    for body in ledger.events.iter().filter_map(|event| event.body.as_ref()) {
        *kinds.entry(body.action.as_str()).or_default() += 1;
        let id = body.detail.get("promotion_id").and_then(Value::as_str);
        if let (true, Some(id)) = (chain::moves_a_pointer(body.action), id) {
            let row = read(db, async |c| c.promotion_get(id.parse().unwrap()).await.unwrap()).await;
            assert_eq!(row.map(|row| row.state), Some(PromotionState::Applied), "{id}");
        }
    }
    println!("{kinds:?}");
    for kind in ["promotion.apply", "promotion.approve", "pointer.kill", "pointer.revive", "pointer.rollback"] {
        assert!(kinds.contains_key(kind), "no {kind} happened: {kinds:?}");
    }
}

/// A registry in `dir` on the place's database; the admin's token.
fn make(dir: &Path, place: &Place) -> String {
    let policy = place.dir.path().join("policy.toml");
    std::fs::write(&policy, POLICY).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["init", "--admin", "root", "--database", &place.url, "--policy"])
        .arg(&policy)
        .arg(dir)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::read_to_string(dir.join("admin-token")).unwrap().trim().to_owned()
}

/// People with tokens and keys to act on.
async fn field(address: watch::Receiver<String>, root: String) -> Field {
    countersign::client::init_tls();
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
    let mut field = Field {
        address,
        done: watch::channel(0).0,
        http,
        tokens: BTreeMap::from([("root", root)]),
        acked: Mutex::default(),
        versions: Mutex::default(),
        open: Mutex::default(),
    };
    for who in ["dee", "ana", "carol"] {
        let body = json!({ "actor": format!("person:{who}") });
        let (status, made) = field.post("root", "/v1/tokens", who, &body).await;
        assert_eq!(status, 201, "{made}");
        field.tokens.insert(who, made["secret"].as_str().unwrap().to_owned());
    }
    for key in KEYS {
        let (status, made) = field.post("root", "/v1/keys", key, &json!({ "key_id": key, "owning_group": "owners" })).await;
        assert_eq!(status, 201, "{made}");
    }
    field
}

#[test]
fn the_check_finds_a_lost_and_a_doubled_operation() {
    let event = |op: &str| {
        let detail = serde_json::Map::from_iter([("rationale".to_owned(), Value::from(op))]);
        let body = countersign::model::audit::AuditBody {
            actor: countersign::model::Actor::person("dee"),
            action: countersign::model::Action::PromotionOpen,
            subject: countersign::model::Subject("key:a.b".into()),
            detail,
            nonce: "0".repeat(32),
        };
        chain::seal(&chain::EMPTY, countersign::model::Timestamp(1), body)
    };
    let acked = ["op 1.1".to_owned(), "op 1.2".to_owned()];
    let (one, two) = (event("op 1.1"), event("op 1.2"));
    assert!(faults(&acked, &[one.clone(), two.clone()]).is_empty());
    assert_eq!(faults(&acked, std::slice::from_ref(&one)), ["lost: op 1.2"]);
    assert_eq!(faults(&acked, &[one.clone(), two, one]), ["2 times promotion.open: op 1.1"]);
}
