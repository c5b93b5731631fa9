//! Fragments and who pins them.

use super::people::Paged;
use super::sight::Sight;
use super::versions::serving;
use crate::model::{Digest, Fragment, Refusal};
use crate::rules::access::Caller;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::wire::versions::{self, FragmentUser};
use crate::workflow::{CreateFragment, Registry};
use axum::extract::State;
use std::sync::Arc;

/// GET /v1/fragments: by name, the newest revision of a name first.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<Paged>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let after: Option<Digest> = pages::after(ask.cursor.as_deref())?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let after = match after {
        Some(digest) => sight.conn().fragment_get(&digest).await?,
        None => None,
    };
    let most = u32::try_from(limit + 1).unwrap_or(pages::MOST);
    let found = sight.conn().fragment_list(after.as_ref(), most).await?;
    Ok(shown(&pages::page(found, limit, |fragment: &Fragment| fragment.digest)))
}

/// GET /v1/fragments/{fragment}: one revision by its digest.
pub async fn show(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let digest: Digest = names.get("fragment")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let found = sight.conn().fragment_get(&digest).await?;
    Ok(shown(&found.ok_or_else(Refusal::not_found)?))
}

/// GET /v1/fragments/{fragment}/users: versions that pin any revision of a name, by digest.
pub async fn users(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, Asked(ask): Asked<Paged>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let name: String = names.get("fragment")?;
    let mut after: Option<Digest> = pages::after(ask.cursor.as_deref())?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let newest = sight.conn().fragment_newest(&name).await?.ok_or_else(Refusal::not_found)?;
    let most = u32::try_from(limit + 1).unwrap_or(pages::MOST);
    let mut users = Vec::new();
    // What the caller may not see is left out, so a page may take several reads.
    while users.len() <= limit {
        let pins = sight.conn().version_fragment_users(&name, after.as_ref(), most).await?;
        let Some(last) = pins.last() else { break };
        after = Some(last.digest);
        let whole = pins.len() > limit;
        for pin in pins {
            let Some(version) = sight.conn().version_get(&pin.digest).await? else { continue };
            let Some(key) = sight.snapshot.key(&version.key_id).cloned().filter(|key| sight.reads(key)) else { continue };
            let serving = serving(&sight.snapshot, &key, &version.digest);
            let newest = pin.fragment_digest == newest.digest;
            users.push(FragmentUser { version, fragment_digest: pin.fragment_digest, newest, serving });
        }
        if !whole {
            break;
        }
    }
    Ok(shown(&pages::page(users, limit, |user| user.version.digest)))
}

/// POST /v1/fragments
pub async fn create(State(registry): State<Arc<Registry>>, command: Command<versions::CreateFragment>) -> Answer {
    command.run(registry, |body| CreateFragment { body }).await
}
