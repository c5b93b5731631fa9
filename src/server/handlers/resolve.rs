//! What a unit gets: answered from the snapshot, without a database, without a write. What one got earlier is read from history.

use super::sight::Sight;
use super::versions::record;
use crate::model::{Environment, KeyId, Refusal, Resolution};
use crate::rules;
use crate::rules::access::{Caller, Need, allowed, sees_unit_hash};
use crate::rules::bucketing::unit_hash;
use crate::rules::resolution::Facts;
use crate::server::extract::{Names, NoQuery, Sent};
use crate::server::reading::Reading;
use crate::server::respond::{Answer, json, shown, written};
use crate::snapshot::{Freshness, servable};
use crate::wire::pointers::{AsOf, Resolve, ResolvedAsOf};
use crate::workflow::{Registry, served};
use axum::extract::State;
use std::sync::Arc;

/// GET /v1/environments/{environment}/resolve/{key}
pub async fn without_unit(State(reading): State<Arc<Reading>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    answer(&reading, &caller, &names, None, false)
}

/// POST /v1/environments/{environment}/resolve/{key}
pub async fn resolve(
    State(reading): State<Arc<Reading>>,
    caller: Caller,
    names: Names,
    _: NoQuery,
    Sent(body): Sent<Resolve>,
) -> Answer {
    answer(&reading, &caller, &names, body.unit.as_deref(), false)
}

/// POST /v1/environments/{environment}/resolve/{key}/explain
pub async fn explain(
    State(reading): State<Arc<Reading>>,
    caller: Caller,
    names: Names,
    _: NoQuery,
    Sent(body): Sent<Resolve>,
) -> Answer {
    answer(&reading, &caller, &names, body.unit.as_deref(), true)
}

/// POST /v1/environments/{environment}/resolve/{key}/as-of: from the database, explained.
pub async fn as_of(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    names: Names,
    _: NoQuery,
    Sent(ask): Sent<AsOf>,
) -> Answer {
    let (id, environment): (KeyId, Environment) = (names.get("key")?, names.get("environment")?);
    let AsOf { seq, time, unit } = ask;
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&id).await?;
    let moment = served::moment(&mut sight.conn(), seq, time).await?;
    let then = served::as_of(&mut sight.conn(), key, &environment, moment).await?.ok_or_else(Refusal::not_found)?;
    let unit_hash = unit.map(|unit| unit_hash(&sight.snapshot.pepper().0, then.key.unit_type, &unit)).transpose()?;
    let chosen = rules::resolution::resolve(&Facts {
        key: &then.key,
        pointer: &then.pointer,
        quarantined: &|digest| then.quarantined.contains(digest),
        distrusted: then.distrusted,
        unit_hash: unit_hash.as_deref(),
        explain: true,
    });
    let mut sight = match &chosen.digest {
        Some(digest) => record(&registry, sight, &then.key, &[*digest]).await?,
        None => sight,
    };
    let served = match &chosen.digest {
        Some(digest) => servable(&mut sight.conn(), digest).await?,
        None => None,
    };
    let (content, fragments) = served.map(|served| (served.content, served.fragments)).unzip();
    let resolution = Resolution {
        key_id: id,
        environment,
        digest: chosen.digest,
        reason: chosen.reason,
        variant: None,
        content,
        fragments: fragments.unwrap_or_default(),
        revision: then.pointer.revision,
        killed: then.pointer.killed,
        stale: false,
        bucket: chosen.bucket,
        unit_hash: unit_hash.filter(|_| sees_unit_hash(sight.snapshot.policy(), &sight.caller)),
        steps: chosen.steps,
    };
    Ok(shown(&ResolvedAsOf { as_of: moment, resolution }))
}

fn answer(reading: &Reading, caller: &Caller, names: &Names, unit: Option<&str>, explained: bool) -> Answer {
    let (key, environment): (KeyId, Environment) = (names.get("key")?, names.get("environment")?);
    let now = reading.clock.now();
    let snapshot = reading.snapshot.get();
    let stale = reading.snapshot.freshness(now) == Freshness::Stale;
    let row = snapshot.key(&key).ok_or_else(Refusal::not_found)?;
    allowed(snapshot.policy(), caller, Need::Resolve, Some(row), Some(&environment))?;
    let mut choice = snapshot.resolve(&key, &environment, unit, explained)?.ok_or_else(Refusal::not_found)?;
    if !sees_unit_hash(snapshot.policy(), caller) {
        choice.unit_hash = None;
    }
    if !explained {
        reading.meter.count(&key, &environment, &caller.actor, now);
    }
    Ok(json(written(choice.json(stale))?))
}
