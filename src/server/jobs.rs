//! What the server does by itself: keeps the snapshot true, does what falls due, lets old promotions expire, forgets old answers.

use super::App;
use super::metrics::Metrics;
use super::outside::Outside;
use crate::outward::Post;
use crate::outward::webhooks::Sender;
use crate::snapshot::{self, Snapshot, SnapshotCell};
use crate::storage::StorageError;
use crate::workflow::{Agenda, ExpirePromotions, Registry};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often the database is asked whether it holds something newer.
const REFRESH: Duration = Duration::from_secs(1);
/// How often promotions are looked through for those that are too old.
const EXPIRE: Duration = Duration::from_secs(30);
/// How often a database's log is copied into its file, when something was written.
const WRITE_BACK: Duration = Duration::from_secs(1);
/// How often answers that are kept for retries are looked through for those that are too old.
const FORGET: Duration = Duration::from_mins(10);
/// How long commits are gathered before receivers are told of them.
const GATHER: Duration = Duration::from_millis(200);
/// How often a checkpoint is put where its operator cannot rewrite it, when there is a newer head.
const CHECKPOINT: Duration = Duration::from_secs(10);

/// Starts the jobs; they end with `shutdown`.
pub fn start(app: &App, shutdown: &CancellationToken) -> TaskTracker {
    let tracker = TaskTracker::new();
    let (registry, outside) = (app.registry.clone(), &app.outside);
    let refreshed = registry.clone();
    tracker.spawn(every(REFRESH, shutdown.clone(), move || refresh(refreshed.clone())));
    let (written, last) = (registry.clone(), Arc::new(AtomicU64::new(0)));
    tracker.spawn(every(WRITE_BACK, shutdown.clone(), move || write_back(written.clone(), last.clone())));
    let forgetting = registry.clone();
    tracker.spawn(every(FORGET, shutdown.clone(), move || forget(forgetting.clone())));
    if let Some(folder) = outside.checkpoint_dir.clone() {
        let (proven, outside, metrics) = (registry.clone(), outside.clone(), app.metrics.clone());
        let push = move || push_checkpoint(proven.clone(), outside.clone(), folder.clone(), metrics.clone());
        tracker.spawn(every(CHECKPOINT, shutdown.clone(), push));
    }
    tracker.spawn(send_notices(registry.clone(), outside.clone(), shutdown.clone()));
    tracker.spawn(keep_agenda(registry.clone(), shutdown.clone()));
    tracker.spawn(every(EXPIRE, shutdown.clone(), move || expire(registry.clone())));
    tracker.close();
    tracker
}

async fn every<F: Future<Output = ()>>(period: Duration, shutdown: CancellationToken, job: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while let Some(_tick) = shutdown.run_until_cancelled(ticks.tick()).await {
        job().await;
    }
}

/// Steps rollouts and applies what was left to the registry: when something falls due, or when something happened. A second is
/// the longest sleep, since the clock may be set; waking without either costs nothing.
async fn keep_agenda(registry: Arc<Registry>, shutdown: CancellationToken) {
    let mut agenda = Agenda::default();
    let mut wake = registry.wake.subscribe();
    loop {
        wake.mark_unchanged();
        let next = match agenda.turn(&registry).await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!(%error, "failed to look at what is due");
                None
            }
        };
        let micros = next.map_or(i64::MAX, |at| at.0.saturating_sub(registry.clock.now().0).max(0));
        let sleep = Duration::from_micros(u64::try_from(micros).unwrap_or(0)).clamp(Duration::from_millis(1), REFRESH);
        let rest = async {
            tokio::select! {
                _ = wake.changed() => {}
                () = tokio::time::sleep(sleep) => {}
            }
        };
        if shutdown.run_until_cancelled(rest).await.is_none() {
            return;
        }
    }
}

/// Notes that the database is there, and loads anew where it holds what was never published: a commit whose answer was
/// lost, or another program's.
async fn refresh(registry: Arc<Registry>) {
    registry.snapshot.age(registry.clock.now());
    let known = registry.snapshot.get().head();
    let head = async { registry.db.read().await?.conn().audit_head().await };
    let reloaded = match head.await {
        // What was published was committed before: a chain that is behind it, or another, was put there by someone else's hand.
        Ok(head) if head.seq < known.seq || (head.seq == known.seq && head.event_id != known.event_id) => {
            tracing::error!(found = head.seq, known = known.seq, "the chain in the database is not the one that was served");
            let reloaded = reload(&registry, SnapshotCell::rewind).await;
            registry.recall("put back under a running server").await;
            reloaded
        }
        // Commits on their way are published within the second; what is still missing then will not come by itself.
        Ok(head) if head.seq > known.seq && behind_after_a_while(&registry, head.seq).await => {
            reload(&registry, SnapshotCell::replace).await
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    match reloaded {
        Ok(()) => registry.snapshot.heard(registry.clock.now()),
        Err(error) => tracing::warn!(%error, "the database is away; reads go on"),
    }
}

async fn behind_after_a_while(registry: &Registry, seq: u64) -> bool {
    tokio::time::sleep(Duration::from_millis(250)).await;
    registry.snapshot.get().head().seq < seq
}

async fn reload(registry: &Registry, take: impl Fn(&SnapshotCell, Snapshot)) -> Result<(), StorageError> {
    let current = registry.snapshot.get();
    let loaded = snapshot::load(&registry.db, *current.pepper()).await?.at(registry.clock.now());
    let seq = loaded.head().seq;
    take(&registry.snapshot, loaded);
    registry.wake.send_replace(seq);
    tracing::info!(seq, "loaded the snapshot anew");
    Ok(())
}

/// Tells receivers of notices what happened, soon after each commit.
async fn send_notices(registry: Arc<Registry>, outside: Arc<Outside>, shutdown: CancellationToken) {
    let sender = Sender::new(registry.db.clone(), registry.clock.clone(), Post::new(&outside.webhook_allow));
    let (mut wake, mut tasks) = (registry.wake.subscribe(), JoinSet::new());
    while let Some(()) = shutdown.run_until_cancelled(commits(&mut wake)).await {
        if let Err(error) = sender.round(&mut tasks).await {
            tracing::warn!(%error, "notices wait");
        }
    }
    // What is being sent is sent again after the next start, under the same id.
    tasks.shutdown().await;
}

/// Waits for commits, a second at most. They come in bursts: one round takes them all.
async fn commits(wake: &mut watch::Receiver<u64>) {
    let _ = tokio::time::timeout(REFRESH, wake.changed()).await;
    tokio::time::sleep(GATHER).await;
}

/// Writes a checkpoint of a newer head into a file of its own, which is never written again.
async fn push_checkpoint(registry: Arc<Registry>, outside: Arc<Outside>, folder: PathBuf, metrics: Arc<Metrics>) {
    let snapshot = registry.snapshot.get();
    let Ok((head, note)) = outside.checkpoint(&snapshot, None) else { return };
    if metrics.checkpoint().is_some_and(|(seq, _)| seq == head.seq) {
        return;
    }
    let file = folder.join(format!("{:012}-{}.checkpoint", head.seq, head.event_id.short()));
    let written = tokio::task::spawn_blocking(move || write_once(&file, note.as_bytes())).await;
    match written.unwrap_or_else(|why| Err(std::io::Error::other(why))) {
        Ok(()) => metrics.checkpoint_put(head.seq, registry.clock.now()),
        Err(error) => tracing::error!(%error, seq = head.seq, folder = %folder.display(), "failed to put a checkpoint"),
    }
}

/// Makes a file, down to the disk. One that is there is never written again: it must be the same, as the same head gives the same
/// note.
fn write_once(file: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::io::Write as _;
    match std::fs::OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut made) => made.write_all(bytes).and_then(|()| made.sync_all()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => match std::fs::read(file)? {
            there if there == bytes => Ok(()),
            _ => Err(std::io::Error::other("a file of that name says something else")),
        },
        Err(error) => Err(error),
    }
}

/// A commit that had to copy the log itself would hold up a kill.
async fn write_back(registry: Arc<Registry>, last: Arc<AtomicU64>) {
    let seq = registry.snapshot.get().head().seq;
    if seq == last.swap(seq, Ordering::Relaxed) {
        return;
    }
    if let Err(error) = registry.db.write_back().await {
        tracing::warn!(%error, "the database's log could not be copied into its file");
    }
}

async fn forget(registry: Arc<Registry>) {
    if let Err(error) = registry.forget_answers().await {
        tracing::warn!(%error, "failed to forget old answers");
    }
}

/// Each run closes one promotion, with its own event, until none is left.
async fn expire(registry: Arc<Registry>) {
    loop {
        match registry.run(&ExpirePromotions::caller(), None, ExpirePromotions).await {
            Ok(answered) if answered.seq.is_some() => {}
            Ok(_) => return,
            Err(refusal) => {
                tracing::warn!(%refusal, "failed to let promotions expire");
                return;
            }
        }
    }
}
