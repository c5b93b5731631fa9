//! Whether the process lives, reads work, writes work.

use crate::model::{Code, Refusal};
use crate::server::error::Rejection;
use crate::server::respond::{Answer, shown};
use crate::snapshot::Freshness;
use crate::workflow::Registry;
use axum::extract::State;
use serde_json::json;
use std::sync::Arc;

/// The process lives.
pub async fn healthz() -> Answer {
    Ok(shown(&json!({ "status": "ok" })))
}

/// Reads work: the snapshot is loaded and within its budget. Alarms are named; they take nothing out of service.
pub async fn readyz(State(registry): State<Arc<Registry>>) -> Answer {
    let state = registry.snapshot.get();
    let head = state.head();
    match registry.snapshot.freshness(registry.clock.now()) {
        Freshness::Fresh => {
            let alarms = [
                registry.snapshot.foreign_policy_file().map(|_| "policy_file"),
                // Restored and not released yet: reads and kills work.
                state.read_only().map(|_| "read_only"),
                (state.doubts() > 0).then_some("integrity"),
            ];
            let alarms: Vec<&str> = alarms.into_iter().flatten().collect();
            Ok(shown(&json!({ "status": "ok", "seq": head.seq, "alarms": alarms })))
        }
        Freshness::Stale => {
            Err(Rejection(Refusal::new(Code::Unavailable, "the database has been away for longer than the budget")))
        }
    }
}

/// Writes work: the database answers, and its chain has a head.
pub async fn readyz_write(State(registry): State<Arc<Registry>>) -> Answer {
    if let Some(why) = registry.snapshot.get().read_only() {
        return Err(Rejection(Refusal::new(Code::Unavailable, format!("read-only: {why}"))));
    }
    let mut tx = registry.db.read().await?;
    let head = tx.conn().audit_head().await?;
    Ok(shown(&json!({ "status": "ok", "seq": head.seq })))
}
