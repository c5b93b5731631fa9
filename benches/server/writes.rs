//! Durable writes beside two rows in a transaction of the same pool: applying approved promotions, and the kill switch.

use super::setup::{CAROL, Connection, approved, caller, production, registry, request, serve};
use countersign::model::{KeyId, KillReason};
use countersign::wire::paths;
use countersign::wire::pointers::Kill;
use countersign::wire::promotions::Rationale;
use countersign::workflow::{ApplyPromotion, Registry};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Each round times both sides, one after the other: a disk's mood lasts longer than a round.
const ROUNDS: usize = 10;
const BATCH: usize = 24;
const KILLS: usize = 200;

pub async fn run() {
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path()).await;
    println!("applying approved promotions beside two rows in a transaction, durable (bar: 0.5 at least)");
    for width in [1, 8] {
        let (rows, applied) = applying(&registry, width).await;
        println!("  {width} at once: rows {rows:.2} ms, apply {applied:.2} ms: {:.2}", rows / applied);
    }
    kills(registry).await;
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Milliseconds of each, the median of the rounds' means.
async fn applying(registry: &Arc<Registry>, width: usize) -> (f64, f64) {
    let mut ids = Vec::new();
    for number in 0..ROUNDS * BATCH {
        let key = format!("apply.w{width}.k{number}").parse().unwrap();
        ids.push(approved(registry, key, "You are a helpful assistant.").await);
    }
    let (mut bare, mut applied) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        bare.push(at_once(width, |number| two_rows(registry.clone(), format!("{width}-{round}-{number}"))).await);
        let apply = |number: usize| {
            let (registry, id) = (registry.clone(), ids[round * BATCH + number]);
            async move {
                let body = Rationale::default();
                registry.run(&caller("person:carol"), None, ApplyPromotion { id, body }).await.unwrap();
            }
        };
        applied.push(at_once(width, apply).await);
    }
    (median(bare), median(applied))
}

async fn two_rows(registry: Arc<Registry>, name: String) {
    let mut tx = registry.db.begin().await.unwrap();
    for row in 0..2 {
        tx.conn().meta_put(&format!("bench-{name}-{row}"), "a value of some length, as rows have").await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// Runs a batch, `width` at once; milliseconds of each.
async fn at_once<F: Future<Output = ()> + Send + 'static>(width: usize, work: impl Fn(usize) -> F) -> f64 {
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..BATCH {
        if tasks.len() >= width {
            tasks.join_next().await.unwrap().unwrap();
        }
        tasks.spawn(work(number));
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    began.elapsed().as_secs_f64() * 1e3 / 24.0
}

async fn kills(registry: Arc<Registry>) {
    println!("kill (bars: POST to changed answer 5 at most beside two rows; commit to changed answer 1 ms at most, p99)");
    let mut keys: Vec<KeyId> = Vec::new();
    for number in 0..KILLS {
        let key: KeyId = format!("kill.ns.k{number}").parse().unwrap();
        let id = approved(&registry, key.clone(), "You are a helpful assistant.").await;
        registry.run(&caller("person:carol"), None, ApplyPromotion { id, body: Rationale::default() }).await.unwrap();
        keys.push(key);
    }
    let (address, stop) = serve(registry.clone()).await;
    let mut connection = Connection::open(address).await;
    let kill =
        Kill { reason: KillReason::Test, note: Some("measured".into()), issued_at: None, seen_revision: None, dry_run: false };
    let body = serde_json::to_string(&kill).unwrap();
    let (mut rows, mut changed, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for (number, key) in keys.iter().enumerate() {
        let began = Instant::now();
        two_rows(registry.clone(), format!("kill-{number}")).await;
        rows.push(began.elapsed().as_secs_f64() * 1e3);
        let (answers, durable) = (changed_answer(&registry, key), committed(&registry));
        let request = request("POST", &paths::kill(key, &production()), CAROL, &body);
        let began = Instant::now();
        connection.ask(&request).await;
        let (answered, committed) = (answers.await.unwrap(), durable.await.unwrap());
        changed.push(answered.duration_since(began).as_secs_f64() * 1e3);
        after.push(answered.saturating_duration_since(committed).as_secs_f64() * 1e3);
    }
    stop.cancel();
    after.sort_by(f64::total_cmp);
    let (rows, changed, p99) = (median(rows), median(changed), after[KILLS * 99 / 100]);
    println!("  two rows {rows:.2} ms, POST to changed answer {changed:.2} ms: {:.2}", changed / rows);
    println!("  commit to changed answer: p50 {:.3} ms, p99 {p99:.3} ms", after[KILLS / 2]);
}

/// When what answers says that the key is killed.
fn changed_answer(registry: &Arc<Registry>, key: &KeyId) -> tokio::task::JoinHandle<Instant> {
    let (registry, key) = (registry.clone(), key.clone());
    tokio::task::spawn_blocking(move || {
        while !registry.snapshot.get().pointer(&key, &production()).is_some_and(|pointer| pointer.killed) {
            std::thread::sleep(Duration::from_micros(20));
        }
        Instant::now()
    })
}

/// When another connection sees the next commit.
fn committed(registry: &Arc<Registry>) -> tokio::task::JoinHandle<Instant> {
    let (registry, before) = (registry.clone(), registry.snapshot.get().head().seq);
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || {
        loop {
            let seen = runtime.block_on(async {
                let mut tx = registry.db.read().await.unwrap();
                tx.conn().audit_head().await.unwrap().seq
            });
            if seen > before {
                return Instant::now();
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    })
}
