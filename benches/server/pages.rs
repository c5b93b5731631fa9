//! First pages of lists in a large registry beside one of a hundredth of its size, over HTTP.

use super::setup::{ANA, CAROL, Connection, WEB, caller, content, production, registry, request, serve};
use countersign::model::audit::AuditBody;
use countersign::model::{
    Act, Action, Actor, BasisPoints, ChainHead, ConfigKey, Digest, EnvironmentPointer, Format, KeyId, KillReason, PlanStep,
    Promotion, PromotionState, Subject, Timestamp, UnitType, Version, VersionState,
};
use countersign::rules::canonical::{canonical, content_digest};
use countersign::rules::statement::{Statement, policy_digest};
use countersign::rules::{chain, policy};
use countersign::storage::Conn;
use countersign::wire::paths;
use countersign::wire::pointers::Kill;
use countersign::workflow::{KillPointer, Registry};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// How many requests of each; the medians are compared.
const TIMES: usize = 41;

/// How large a registry is to be.
#[derive(Default)]
pub struct Sizes {
    /// Keys that serve.
    pub keys: usize,
    /// Characters of each one's text.
    pub body: usize,
    /// Open promotions of as many other keys.
    pub open: usize,
    /// Audit events.
    pub events: usize,
}

pub async fn run() {
    let full = std::env::var("PROVE").is_ok_and(|value| value == "full");
    let events = if full { 1_000_000 } else { 200_000 };
    let large = Sizes { keys: 100_000, body: 40, open: 10_000, events };
    let small = Sizes { keys: 1_000, body: 40, open: 100, events: events / 100 };
    let (many, few) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (many, few) = (registry(many.path()).await, registry(few.path()).await);
    println!("filling registries to ask for pages: one has 100,000 keys, 10,000 open promotions, {events} events");
    let began = Instant::now();
    let ends = [fill(&few, &small).await, fill(&many, &large).await];
    let reloaded = async |registry: &Registry| {
        let snapshot = countersign::snapshot::load(&registry.db, super::setup::PEPPER).await.unwrap();
        registry.snapshot.rewind(snapshot);
    };
    let hundred_place = tempfile::tempdir().unwrap();
    let hundred = registry(hundred_place.path()).await;
    fill(&hundred, &Sizes { keys: 100, body: 40, ..Sizes::default() }).await;
    for registry in [&hundred, &few, &many] {
        reloaded(registry).await;
    }
    println!("  filled in {:.0} s", began.elapsed().as_secs_f64());
    let tiny = serve(hundred.clone()).await;
    let (few, large) = (serve(few).await, many.clone());
    let many = serve(many).await;
    latencies(&hundred, &large, [tiny.0, many.0]).await;
    tiny.1.cancel();
    println!("first pages with 100,000 keys, 10,000 open promotions, {events} events beside a hundredth (bar: 2 at most)");
    let (mut few_open, mut many_open) = (Connection::open(few.0).await, Connection::open(many.0).await);
    for (name, token, path) in asked() {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..TIMES {
            for (at, connection) in [&mut few_open, &mut many_open].into_iter().enumerate() {
                let (seq, middle) = (ends[at].seq.to_string(), Timestamp(ends[at].at.0 / 2).to_string());
                let path = path.replace("{HEAD}", &seq).replace("{MIDDLE}", &middle);
                let request = request("GET", &path, token, "");
                let began = Instant::now();
                let answer = connection.ask(&request).await;
                times[at].push(began.elapsed().as_secs_f64() * 1e3);
                assert!(answer.len() > 1000, "{path} gave {}", String::from_utf8_lossy(&answer));
            }
        }
        let [small, large] = times.map(median);
        println!("  {name}: {small:.2} ms, {large:.2} ms: {:.2}", large / small);
    }
    few.1.cancel();
    many.1.cancel();
}

/// What callers feel of the number of keys: a resolve over HTTP, and a change until what answers has it.
async fn latencies(few: &Arc<Registry>, many: &Arc<Registry>, addresses: [SocketAddr; 2]) {
    println!("resolving and changing with 100,000 keys beside 100 (bar: 1.2 at most)");
    let mut open = [Connection::open(addresses[0]).await, Connection::open(addresses[1]).await];
    let (mut resolved, mut changed) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for number in 0..4_000 {
        for (at, keys) in [100, 100_000].into_iter().enumerate() {
            let path = paths::resolve(&production(), &served((number * 7919) % keys));
            let request = request("POST", &path, WEB, "{}");
            let began = Instant::now();
            open[at].ask(&request).await;
            resolved[at].push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    for number in 0..100 {
        for (at, (registry, keys)) in [(few, 100), (many, 100_000)].into_iter().enumerate() {
            let body = Kill { reason: KillReason::Test, note: None, issued_at: None, seen_revision: None, dry_run: false };
            let kill = KillPointer { key: served((number * 7919) % keys), environment: production(), body };
            let began = Instant::now();
            registry.run(&caller("person:carol"), None, kill).await.unwrap();
            changed[at].push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    for (name, values) in [("resolve", resolved), ("a change, until it answers", changed)] {
        let [few, many] = values.map(median);
        println!("  {name}: {few:.3} ms, {many:.3} ms: {:.2}", many / few);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn served(number: usize) -> KeyId {
    format!("bench.ns{}.k{number:06}", number % 97).parse().unwrap()
}

fn asked() -> [(&'static str, &'static str, &'static str); 9] {
    [
        ("keys", CAROL, "/v1/keys?limit=100"),
        ("pointers", CAROL, "/v1/pointers?limit=100"),
        ("inbox", ANA, "/v1/promotions?awaiting=me&limit=20"),
        ("open promotions", CAROL, "/v1/promotions?state=open&limit=20"),
        ("audit, newest", CAROL, "/v1/audit?before={HEAD}&limit=100"),
        ("audit, jump", CAROL, "/v1/audit?since={MIDDLE}&limit=100"),
        ("audit, an actor", CAROL, "/v1/audit?actor=person:rare&limit=100"),
        ("audit, an action", CAROL, "/v1/audit?action=pointer.undo_kill&limit=100"),
        ("audit, a subject", CAROL, "/v1/audit?subject=key:rare.key&limit=100"),
    ]
}

/// Fills a fresh registry with rows as verbs would write them; gives the head of its chain.
pub async fn fill(registry: &Registry, sizes: &Sizes) -> ChainHead {
    for from in (0..sizes.keys).step_by(5_000) {
        let mut tx = registry.db.begin().await.unwrap();
        for number in from..(from + 5_000).min(sizes.keys) {
            let key = served(number);
            let digest = version(&mut tx.conn(), &key, &format!("{number:0>width$}", width = sizes.body)).await;
            tx.conn().pointer_put(&pointer(&key, digest)).await.unwrap();
        }
        tx.commit().await.unwrap();
    }
    let mut tx = registry.db.begin().await.unwrap();
    for number in 0..sizes.open {
        let key: KeyId = format!("waits.ns.k{number:06}").parse().unwrap();
        let digest = version(&mut tx.conn(), &key, "You are a helpful assistant.").await;
        tx.conn().promotion_put(&open(registry, key, digest)).await.unwrap();
    }
    tx.commit().await.unwrap();
    let mut head = registry.snapshot.get().head();
    for from in (0..sizes.events).step_by(20_000) {
        let mut tx = registry.db.begin().await.unwrap();
        for number in from..(from + 20_000).min(sizes.events) {
            let event = chain::seal(&head, Timestamp(1_000_000 * i64::try_from(number + 1).unwrap()), said(number, sizes.events));
            tx.conn().audit_append(&event).await.unwrap();
            head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
        }
        tx.commit().await.unwrap();
    }
    head
}

/// What an event says. Fifty, spread evenly, are what the filters look for.
fn said(number: usize, of: usize) -> AuditBody {
    let rare = number.is_multiple_of((of / 50).max(1));
    let (actor, action, subject) = if rare {
        ("rare", Action::PointerUndoKill, "key:rare.key".to_owned())
    } else {
        ("ana", Action::KeyUpdate, format!("key:bench.ns{}.k{:06}", number % 97, number % 1_000))
    };
    let detail = serde_json::Map::from_iter([("rationale".to_owned(), "it reads better this way".into())]);
    AuditBody { actor: Actor::person(actor), action, subject: Subject(subject), detail, nonce: format!("{number:032x}") }
}

async fn version(conn: &mut Conn<'_>, key: &KeyId, body: &str) -> Digest {
    let content = content(key, body);
    let digest = content_digest(&content);
    let row = ConfigKey {
        key_id: key.clone(),
        namespace: key.namespace().into(),
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: Timestamp(0),
    };
    conn.key_put(&row).await.unwrap();
    let version = Version {
        digest,
        key_id: key.clone(),
        number: 1,
        author: Actor::person("dee"),
        submitter: None,
        rationale: "because".into(),
        model_pin: None,
        format: Format::Text,
        state: VersionState::Review,
        created_at: Timestamp(0),
        quarantine: None,
        discarded: false,
        authors: vec![Actor::person("dee")],
    };
    conn.version_put(&version, &canonical(&content)).await.unwrap();
    digest
}

fn pointer(key: &KeyId, digest: Digest) -> EnvironmentPointer {
    EnvironmentPointer {
        key_id: key.clone(),
        environment: production(),
        digest,
        rollout_pct: BasisPoints::ALL,
        killed: false,
        updated_at: Timestamp(0),
        revision: 1,
        baseline_digest: None,
        held: false,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
    }
}

/// A promotion that waits for ana.
fn open(registry: &Registry, key: KeyId, to: Digest) -> Promotion {
    let rule = policy::rule(registry.snapshot.get().policy(), &key, &production()).unwrap();
    let now = registry.clock.now();
    let mut row = Promotion {
        promotion_id: Uuid::from_u128(u128::from_be_bytes(to.0[..16].try_into().unwrap())),
        key_id: key,
        from_digest: None,
        to_digest: Some(to),
        environment: production(),
        actor: Actor::person("dee"),
        kind: Act::Promote.kind(),
        at: now,
        act: Act::Promote,
        state: PromotionState::Open,
        rationale: "because".into(),
        reason: None,
        rollout_pct: BasisPoints::ALL,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        baseline_digest: None,
        safe_default_digest: None,
        pointer_revision: 0,
        policy_digest: policy_digest(&rule),
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: Some(now.plus_seconds(86_400)),
        applied_at: None,
        applied_by: None,
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    };
    row.statement = Statement::of(&row).digest();
    row
}
