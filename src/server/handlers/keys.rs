//! Keys and their history.

use super::sight::Sight;
use super::versions::rows;
use crate::model::{ConfigKey, EnvironmentPointer, KeyId};
use crate::rules::access::Caller;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::snapshot::Snapshot;
use crate::storage::{KeyFilter, KeyPattern, KeySummary, PromotionFilter};
use crate::wire::keys::{self, KeyHistory, KeyRow, ListKeys};
use crate::workflow::{CreateKey, Registry, UpdateKey};
use axum::extract::State;
use std::sync::Arc;

/// How many promotions a history shows.
const LATEST: u32 = 100;

/// GET /v1/keys, ordered by name.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<ListKeys>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let mut filter = KeyFilter {
        pattern: ask.pattern.as_deref().map_or(KeyPattern::All, KeyPattern::read),
        archived: ask.archived.unwrap_or(false),
        after: pages::after(ask.cursor.as_deref())?,
        limit: pages::MOST,
    };
    let mut sight = Sight::begin(&registry, caller).await?;
    let mut items = Vec::new();
    // What the caller may not see is left out, so a page may take several reads.
    while items.len() <= limit {
        filter.limit = u32::try_from(limit + 1).unwrap_or(pages::MOST);
        let found = sight.conn().key_list(&filter).await?;
        let Some(last) = found.last() else { break };
        filter.after = Some(last.key.key_id.clone());
        let whole = found.len() > limit;
        items.extend(found.into_iter().filter(|summary| sight.reads(&summary.key)));
        if !whole {
            break;
        }
    }
    let rows = items.into_iter().map(|summary| row(&sight.snapshot, summary)).collect();
    Ok(shown(&pages::page(rows, limit, |row: &KeyRow| row.key.key_id.clone())))
}

fn row(snapshot: &Snapshot, summary: KeySummary) -> KeyRow {
    let KeySummary { key, versions, changed_at } = summary;
    KeyRow { pointers: ordered(snapshot, &key), key, versions, changed_at }
}

/// A key's pointers in the policy's order of environments; those of environments that it no longer has come last.
fn ordered(snapshot: &Snapshot, key: &ConfigKey) -> Vec<EnvironmentPointer> {
    let mut pointers: Vec<EnvironmentPointer> = snapshot.pointers_of(&key.key_id).map(|p| (**p).clone()).collect();
    let place = |pointer: &EnvironmentPointer| {
        let found = snapshot.policy().environments.iter().position(|e| e.name == pointer.environment.as_str());
        found.unwrap_or(usize::MAX)
    };
    pointers.sort_by(|a, b| (place(a), a.environment.as_str()).cmp(&(place(b), b.environment.as_str())));
    pointers
}

/// GET /v1/keys/{key}
pub async fn show(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let key: KeyId = names.get("key")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    sight.key(&key).await?;
    let found = sight.conn().key_summary(&key).await?;
    let summary = found.ok_or_else(crate::model::Refusal::not_found)?;
    Ok(shown(&row(&sight.snapshot, summary)))
}

/// GET /v1/keys/{key}/history
pub async fn history(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let id: KeyId = names.get("key")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&id).await?;
    let versions = rows(&mut sight, &key, None, None).await?;
    let filter = PromotionFilter { state: None, environment: None, key: Some(id), change: None, before: None, limit: LATEST };
    let promotions = sight.conn().promotion_list(&filter).await?;
    Ok(shown(&KeyHistory { versions, pointers: ordered(&sight.snapshot, &key), promotions, key }))
}

/// POST /v1/keys
pub async fn create(State(registry): State<Arc<Registry>>, command: Command<keys::CreateKey>) -> Answer {
    command.run(registry, |body| CreateKey { body }).await
}

/// PATCH /v1/keys/{key}
pub async fn update(State(registry): State<Arc<Registry>>, names: Names, command: Command<keys::UpdateKey>) -> Answer {
    let key: KeyId = names.get("key")?;
    command.run(registry, |body| UpdateKey { key, body }).await
}
