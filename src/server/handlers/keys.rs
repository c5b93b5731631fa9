//! Keys and their history.

use super::sight::Sight;
use super::versions::{record, rows};
use crate::model::{ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Refusal};
use crate::rules::access::{Caller, Need, allowed};
use crate::server::apart::apart;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::snapshot::{Servable, Snapshot};
use crate::storage::{KeyFilter, KeySummary, PromotionFilter};
use crate::wire::keys::{self, KeyHistory, KeyRow, ListKeys};
use crate::workflow::{CreateKey, Registry, UpdateKey};
use axum::extract::State;
use std::sync::Arc;

/// How many promotions a history shows.
const LATEST: u32 = 100;

/// GET /v1/keys, ordered by name.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<ListKeys>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let filter = KeyFilter {
        names: ask.pattern.clone().unwrap_or_default(),
        archived: ask.archived.unwrap_or(false),
        after: pages::after(ask.cursor.as_deref())?,
        limit: pages::MOST,
    };
    let serving = Arc::new(Serving::of(&ask)?);
    let (mut sight, items) = if serving.asks() {
        search(&registry, caller, filter, &serving, limit + 1).await?
    } else {
        all(Sight::begin(&registry, caller).await?, filter, limit + 1).await?
    };
    let rows = items.into_iter().map(|summary| row(&sight.snapshot, summary)).collect();
    let page = pages::page(rows, limit, |row: &KeyRow| row.key.key_id.clone());
    if serving.text.is_some() {
        // That a text stands in it is a read of it.
        for row in page.items.iter().filter(|row| row.key.confidential) {
            let digests: Vec<Digest> = serving.places(&sight.snapshot, &row.key).map(|served| served.digest).collect();
            sight = record(&registry, sight, &row.key, &digests).await?;
        }
    }
    Ok(shown(&page))
}

/// The first keys that the filter covers, `most` of them.
async fn all(mut sight: Sight, mut filter: KeyFilter, most: usize) -> Result<(Sight, Vec<KeySummary>), Refusal> {
    filter.limit = u32::try_from(most).unwrap_or(pages::MOST);
    let mut items = Vec::new();
    // What the caller may not see is left out, so a page may take several reads.
    while items.len() < most {
        let found = sight.conn().key_list(&filter).await?;
        let Some(last) = found.last() else { break };
        filter.after = Some(last.key.key_id.clone());
        let whole = found.len() >= filter.limit as usize;
        items.extend(found.into_iter().filter(|summary| sight.reads(&summary.key)));
        if !whole {
            break;
        }
    }
    Ok((sight, items))
}

/// The first keys that the filter covers and that serve what is asked for, `most` of them. All texts that serve are looked through
/// in memory, apart; the database is asked for what was found alone.
async fn search(
    registry: &Registry,
    caller: Caller,
    filter: KeyFilter,
    serving: &Arc<Serving>,
    most: usize,
) -> Result<(Sight, Vec<KeySummary>), Refusal> {
    let (snapshot, serving) = (registry.snapshot.get(), serving.clone());
    let (caller, names) = apart(move || {
        let mut keys: Vec<&Arc<ConfigKey>> = snapshot.keys().filter(|key| filter.covers(key)).collect();
        keys.sort_unstable_by(|one, other| one.key_id.cmp(&other.key_id));
        let reads = |key: &ConfigKey| allowed(snapshot.policy(), &caller, Need::Read, Some(key), None).is_ok();
        let fits = |key: &&Arc<ConfigKey>| serving.places(&snapshot, key).next().is_some() && reads(key);
        let names: Vec<KeyId> = keys.into_iter().filter(fits).take(most).map(|key| key.key_id.clone()).collect();
        (caller, names)
    })
    .await?;
    let mut sight = Sight::begin(registry, caller).await?;
    let mut items = Vec::new();
    for name in names {
        items.extend(sight.conn().key_summary(&name).await?);
    }
    Ok((sight, items))
}

/// What a list asks of the contents that serve.
struct Serving {
    model_pin: Option<String>,
    text: Option<String>,
    environment: Option<Environment>,
}

impl Serving {
    fn of(ask: &ListKeys) -> Result<Self, Refusal> {
        let environment = ask
            .environment
            .as_deref()
            .map(|name| name.parse().map_err(|why| Refusal::invalid("environment", format!("{name:?}: {why}"))));
        let serving = Self { model_pin: ask.model_pin.clone(), text: ask.text.clone(), environment: environment.transpose()? };
        if serving.environment.is_some() && !serving.asks() {
            return Err(
                Refusal::invalid("environment", "goes with `model_pin` or `text`").hint("/v1/pointers lists an environment")
            );
        }
        if serving.text.as_ref().is_some_and(String::is_empty) {
            return Err(Refusal::invalid("text", "is empty"));
        }
        Ok(serving)
    }

    fn asks(&self) -> bool {
        self.model_pin.is_some() || self.text.is_some()
    }

    /// The contents of the key that serve there, to whomever, and are as asked.
    fn places<'a>(&'a self, snapshot: &'a Snapshot, key: &'a ConfigKey) -> impl Iterator<Item = &'a Servable> {
        let pointers = snapshot.pointers_of(&key.key_id);
        let here = pointers.filter(|pointer| self.environment.as_ref().is_none_or(|named| *named == pointer.environment));
        let named = here.flat_map(|pointer| {
            if pointer.killed { [key.safe_default_digest, None] } else { [Some(pointer.digest), pointer.baseline_digest] }
        });
        let served = named.flatten().filter_map(|digest| snapshot.servable(&key.key_id, &digest));
        served.filter(|served| {
            let pin = self.model_pin.as_ref().is_none_or(|pin| served.content.model_pin.as_ref() == Some(pin));
            pin && self.text.as_ref().is_none_or(|text| holds(served, text))
        })
    }
}

/// Whether a text stands in a string of the body or in a fragment.
fn holds(served: &Servable, text: &str) -> bool {
    fn within(value: &serde_json::Value, text: &str) -> bool {
        match value {
            serde_json::Value::String(string) => string.contains(text),
            serde_json::Value::Array(items) => items.iter().any(|item| within(item, text)),
            serde_json::Value::Object(members) => members.values().any(|member| within(member, text)),
            _ => false,
        }
    }
    within(&served.content.body, text) || served.fragments.values().any(|body| body.contains(text))
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
