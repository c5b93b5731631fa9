//! What the server does by itself: keeps the snapshot true, lets old promotions expire, forgets old answers.

use crate::snapshot::{self, Snapshot, SnapshotCell};
use crate::storage::StorageError;
use crate::workflow::{ExpirePromotions, Registry};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How often the database is asked whether it holds something newer.
const REFRESH: Duration = Duration::from_secs(1);
/// How often promotions are looked through for those that are too old.
const EXPIRE: Duration = Duration::from_secs(30);
/// How often answers that are kept for retries are looked through for those that are too old.
const FORGET: Duration = Duration::from_mins(10);

/// Starts the jobs; they end with `shutdown`.
pub fn start(registry: Arc<Registry>, shutdown: &CancellationToken) -> TaskTracker {
    let tracker = TaskTracker::new();
    let refreshed = registry.clone();
    tracker.spawn(every(REFRESH, shutdown.clone(), move || refresh(refreshed.clone())));
    let forgetting = registry.clone();
    tracker.spawn(every(FORGET, shutdown.clone(), move || forget(forgetting.clone())));
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

/// Notes that the database is there, and loads anew where it holds what was never published: a commit whose answer was
/// lost, or another program's.
async fn refresh(registry: Arc<Registry>) {
    let known = registry.snapshot.get().head();
    let head = async { registry.db.read().await?.conn().audit_head().await };
    let reloaded = match head.await {
        // What was published was committed before: a chain that is behind it, or another, was put there by someone else's hand.
        Ok(head) if head.seq < known.seq || (head.seq == known.seq && head.event_id != known.event_id) => {
            tracing::error!(found = head.seq, known = known.seq, "the chain in the database is not the one that was served");
            reload(&registry, SnapshotCell::rewind).await
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
    let loaded = snapshot::load(&registry.db, *current.pepper()).await?;
    let seq = loaded.head().seq;
    take(&registry.snapshot, loaded);
    registry.wake.send_replace(seq);
    tracing::info!(seq, "loaded the snapshot anew");
    Ok(())
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
