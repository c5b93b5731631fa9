//! Versions, their content, their gates, and the difference of two.

use super::people::Paged;
use super::sight::Sight;
use crate::model::{Code, ConfigKey, Content, Digest, Fragment, KeyId, Refusal, Version};
use crate::rules::access::Caller;
use crate::rules::structure::content_diff;
use crate::server::apart::{LONG, apart, apart_if};
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::snapshot::Snapshot;
use crate::wire::keys::{GateSign, Selector, VersionRow};
use crate::wire::versions::{self, CreateVersion, Reason, Submit, VersionView};
use crate::workflow::{
    DiscardVersion, LiftVersion, QuarantineVersion, RecordRead, RecordVerdict, Registry, SaveVersion, SubmitVersion, served,
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many versions are read at once.
const CHUNK: u32 = 500;

/// Versions of a key below a number, newest first, with gates and where they serve; discarded ones are left out.
///
/// # Errors
/// The database is away.
pub async fn rows(
    sight: &mut Sight,
    key: &ConfigKey,
    below: Option<i64>,
    most: Option<usize>,
) -> Result<Vec<VersionRow>, Refusal> {
    let (mut rows, mut below) = (Vec::new(), below);
    loop {
        let found = sight.conn().version_list(&key.key_id, below, CHUNK).await?;
        let Some(last) = found.last() else { return Ok(rows) };
        below = Some(last.number);
        for version in found.into_iter().filter(|version| !version.discarded) {
            if most.is_some_and(|most| rows.len() >= most) {
                return Ok(rows);
            }
            let newest = sight.conn().verdict_newest(&version.digest).await?;
            let gates = newest.into_iter().map(|v| GateSign { gate_name: v.gate_name, status: v.status }).collect();
            rows.push(VersionRow { gates, serving: serving(&sight.snapshot, key, &version.digest), version });
        }
    }
}

/// Where a digest serves: `production 100%`, `baseline of staging`, `safe default`.
pub fn serving(snapshot: &Snapshot, key: &ConfigKey, digest: &Digest) -> Vec<String> {
    let mut places = Vec::new();
    for pointer in snapshot.pointers_of(&key.key_id) {
        let killed = if pointer.killed { " killed" } else { "" };
        if pointer.digest == *digest {
            places.push(format!("{} {}%{killed}", pointer.environment, pointer.rollout_pct));
        }
        if pointer.baseline_digest == Some(*digest) {
            places.push(format!("baseline of {}", pointer.environment));
        }
    }
    if key.safe_default_digest == Some(*digest) {
        places.push("safe default".to_owned());
    }
    places
}

/// GET /v1/keys/{key}/versions, newest first.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, Asked(ask): Asked<Paged>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let below: Option<i64> = pages::after(ask.cursor.as_deref())?;
    let key: KeyId = names.get("key")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&key).await?;
    let found = rows(&mut sight, &key, below, Some(limit + 1)).await?;
    Ok(shown(&pages::page(found, limit, |row| row.version.number)))
}

/// GET /v1/versions/{digest}
pub async fn show(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let digest: Digest = names.get("digest")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let version = sight.version(&digest).await?;
    let key = sight.key(&version.key_id).await?;
    let sight = record(&registry, sight, &key, &[digest]).await?;
    view(sight, version).await
}

/// GET /v1/versions/{digest}/served
pub async fn served(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let digest: Digest = names.get("digest")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let version = sight.version(&digest).await?;
    Ok(shown(&served::served(&mut sight.conn(), version).await?))
}

/// GET /v1/keys/{key}/versions/{selector}
pub async fn by_selector(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let key: KeyId = names.get("key")?;
    let selector: Selector = names.get("selector")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&key).await?;
    let version = select(&mut sight, &key, &selector).await?;
    let sight = record(&registry, sight, &key, &[version.digest]).await?;
    view(sight, version).await
}

/// Records the read of confidential texts; what cannot be recorded is not shown. The read that is open is closed meanwhile: who
/// waits for a second connection with one in hand can wait for ever.
///
/// # Errors
/// The database is away.
pub async fn record(registry: &Registry, sight: Sight, key: &ConfigKey, digests: &[Digest]) -> Result<Sight, Refusal> {
    if !key.confidential {
        return Ok(sight);
    }
    let caller = sight.caller.clone();
    drop(sight);
    for digest in digests {
        registry.run(&caller, None, RecordRead { digest: *digest }).await?;
    }
    Sight::begin(registry, caller).await
}

/// A version with its content.
async fn view(mut sight: Sight, version: Version) -> Answer {
    let stored = Stored::of(&mut sight, &version.digest).await?;
    drop(sight);
    let view = apart_if(stored.is_long(), move || {
        let (content, fragment_bodies) = stored.read()?;
        Ok::<_, Refusal>(shown(&VersionView { version, content: Some(content), fragment_bodies, warnings: Vec::new() }))
    });
    Ok(view.await??)
}

/// A content as it is stored, with the fragments that it pins.
struct Stored {
    digest: Digest,
    bytes: Vec<u8>,
    fragments: Vec<Fragment>,
}

impl Stored {
    async fn of(sight: &mut Sight, digest: &Digest) -> Result<Self, Refusal> {
        let bytes = sight.conn().content_get(digest).await?.ok_or_else(Refusal::not_found)?;
        Ok(Self { digest: *digest, bytes, fragments: sight.conn().version_fragment_list(digest).await? })
    }

    fn is_long(&self) -> bool {
        self.bytes.len() + self.fragments.iter().map(|fragment| fragment.body.len()).sum::<usize>() > LONG
    }

    fn read(self) -> Result<(Content, Vec<Fragment>), Refusal> {
        let content = serde_json::from_slice(&self.bytes).map_err(|error| {
            tracing::error!(digest = %self.digest, %error, "a stored content does not read");
            crate::server::middleware::internal()
        })?;
        Ok((content, self.fragments))
    }
}

/// The version that a selector names in its key.
async fn select(sight: &mut Sight, key: &ConfigKey, selector: &Selector) -> Result<Version, Refusal> {
    let found = match selector {
        Selector::Digest(digest) => {
            let found = sight.conn().version_get(digest).await?;
            found.filter(|version| version.key_id == key.key_id)
        }
        Selector::Number(number) => sight.conn().version_by_number(&key.key_id, *number).await?,
        Selector::Prefix(hex) => {
            let mut found = sight.conn().version_by_prefix(&key.key_id, hex).await?;
            if found.len() > 1 {
                let both = format!("{hex} begins the digests of v{} and v{}", found[0].number, found[1].number);
                return Err(Refusal::new(Code::Ambiguous, both).hint("give more digits"));
            }
            found.pop()
        }
        Selector::Environment(name) => {
            let environment = name.parse().map_err(|why| Refusal::invalid("selector", format!("{name:?}: {why}")))?;
            let pointer = sight.conn().pointer_get(&key.key_id, &environment).await?;
            match pointer {
                Some(pointer) => sight.conn().version_get(&pointer.digest).await?,
                None => None,
            }
        }
    };
    found.ok_or_else(Refusal::not_found)
}

/// GET /v1/keys/{key}/diff query: two selectors.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskDiff {
    from: String,
    to: String,
}

/// GET /v1/keys/{key}/diff
pub async fn diff(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, Asked(ask): Asked<AskDiff>) -> Answer {
    let key: KeyId = names.get("key")?;
    let read =
        |name: &str, text: &str| text.parse::<Selector>().map_err(|why| Refusal::invalid(name, format!("{text:?}: {why}")));
    let (from, to) = (read("from", &ask.from)?, read("to", &ask.to)?);
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&key).await?;
    let from = select(&mut sight, &key, &from).await?;
    let to = select(&mut sight, &key, &to).await?;
    let mut sight = record(&registry, sight, &key, &[from.digest, to.digest]).await?;
    let (from, to) = (Stored::of(&mut sight, &from.digest).await?, Stored::of(&mut sight, &to.digest).await?);
    drop(sight);
    let diff = apart(move || {
        let ((from, from_bodies), (to, to_bodies)) = (from.read()?, to.read()?);
        Ok::<_, Refusal>(shown(&content_diff(Some(&from), &to, &named(from_bodies), &named(to_bodies))))
    });
    Ok(diff.await??)
}

fn named(fragments: Vec<Fragment>) -> BTreeMap<String, String> {
    fragments.into_iter().map(|fragment| (fragment.name, fragment.body)).collect()
}

/// GET /v1/versions/{digest}/verdicts: a page of all.
pub async fn verdicts(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, Asked(ask): Asked<Paged>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let after: Option<usize> = pages::after(ask.cursor.as_deref())?;
    let digest: Digest = names.get("digest")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    sight.version(&digest).await?;
    let all = sight.conn().verdict_list(&digest).await?;
    let from = after.map_or(0, |place| place + 1);
    let items: Vec<_> = all.into_iter().enumerate().skip(from).take(limit + 1).collect();
    let page = pages::page(items, limit, |(place, _)| *place);
    let items = page.items.into_iter().map(|(_, verdict)| verdict).collect();
    Ok(shown(&crate::wire::Page { items, next_cursor: page.next_cursor }))
}

/// POST /v1/keys/{key}/versions
pub async fn save(State(registry): State<Arc<Registry>>, names: Names, command: Command<CreateVersion>) -> Answer {
    let key: KeyId = names.get("key")?;
    command.run(registry, |body| SaveVersion { key, body }).await
}

/// POST /v1/versions/{digest}/submit
pub async fn submit(State(registry): State<Arc<Registry>>, names: Names, command: Command<Submit>) -> Answer {
    let digest: Digest = names.get("digest")?;
    command.run(registry, |body| SubmitVersion { digest, body }).await
}

/// POST /v1/versions/{digest}/discard
pub async fn discard(State(registry): State<Arc<Registry>>, names: Names, command: Command<Reason>) -> Answer {
    let digest: Digest = names.get("digest")?;
    command.run(registry, |body| DiscardVersion { digest, body }).await
}

/// POST /v1/versions/{digest}/quarantine
pub async fn quarantine(State(registry): State<Arc<Registry>>, names: Names, command: Command<Reason>) -> Answer {
    let digest: Digest = names.get("digest")?;
    command.run(registry, |body| QuarantineVersion { digest, body }).await
}

/// POST /v1/versions/{digest}/lift
pub async fn lift(State(registry): State<Arc<Registry>>, names: Names, command: Command<Reason>) -> Answer {
    let digest: Digest = names.get("digest")?;
    command.run(registry, |body| LiftVersion { digest, body }).await
}

/// POST /v1/versions/{digest}/verdicts
pub async fn record_verdict(
    State(registry): State<Arc<Registry>>,
    names: Names,
    command: Command<versions::RecordVerdict>,
) -> Answer {
    let digest: Digest = names.get("digest")?;
    command.run(registry, |body| RecordVerdict { digest, body }).await
}
