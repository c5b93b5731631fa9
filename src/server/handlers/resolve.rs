//! What a unit gets: answered from the snapshot, without a database, without a write.

use crate::model::{Environment, KeyId, Refusal};
use crate::rules::access::{Caller, Need, allowed, sees_unit_hash};
use crate::server::extract::{Names, NoQuery, Sent};
use crate::server::middleware::internal;
use crate::server::respond::{Answer, json};
use crate::snapshot::Freshness;
use crate::wire::pointers::Resolve;
use crate::workflow::Registry;
use axum::extract::State;
use std::sync::Arc;

/// GET /v1/environments/{environment}/resolve/{key}
pub async fn without_unit(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    answer(&registry, &caller, &names, None, false)
}

/// POST /v1/environments/{environment}/resolve/{key}
pub async fn resolve(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    names: Names,
    _: NoQuery,
    sent: Sent<Resolve>,
) -> Answer {
    answer(&registry, &caller, &names, sent.value.unit.as_deref(), false)
}

/// POST /v1/environments/{environment}/resolve/{key}/explain
pub async fn explain(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    names: Names,
    _: NoQuery,
    sent: Sent<Resolve>,
) -> Answer {
    answer(&registry, &caller, &names, sent.value.unit.as_deref(), true)
}

fn answer(registry: &Registry, caller: &Caller, names: &Names, unit: Option<&str>, explained: bool) -> Answer {
    let (key, environment): (KeyId, Environment) = (names.get("key")?, names.get("environment")?);
    let now = registry.clock.now();
    let snapshot = registry.snapshot.get();
    let stale = registry.snapshot.freshness(now) == Freshness::Stale;
    let row = snapshot.key(&key).ok_or_else(Refusal::not_found)?;
    allowed(snapshot.policy(), caller, Need::Resolve, Some(row), Some(&environment))?;
    let mut choice = snapshot.resolve(&key, &environment, unit, explained)?.ok_or_else(Refusal::not_found)?;
    if !sees_unit_hash(snapshot.policy(), caller) {
        choice.unit_hash = None;
    }
    if !explained {
        registry.meter.count(&key, &environment, &caller.actor, now);
    }
    choice.json(stale).map(json).map_err(|error| {
        tracing::error!(%error, "failed to write an answer");
        internal().into()
    })
}
