//! Langfuse's read of one prompt: by label from the snapshot, by number only what served.

use super::sight::Sight;
use crate::model::{Code, ConfigKey, Content, Digest, Environment, KeyId, Refusal};
use crate::rules::access::{self, Caller, Need, allowed};
use crate::rules::{policy, template};
use crate::server::error::{Rejection, status};
use crate::server::extract::Names;
use crate::server::respond::shown;
use crate::snapshot::Snapshot;
use crate::wire::langfuse::{Problem, Prompt};
use crate::workflow::Registry;
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::sync::Arc;

/// The label that these clients ask for when they are given none.
const USUAL_LABEL: &str = "production";

/// GET /api/public/v2/prompts/{key}?label=&version=
pub async fn prompt(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    names: Result<Names, Rejection>,
    uri: Uri,
) -> Result<Response, Refused> {
    // A name that cannot be a key is a name that is not there.
    let key: KeyId = names.ok().and_then(|names| names.get("key").ok()).ok_or_else(Refusal::not_found)?;
    let Query(mut asked) = Query::<HashMap<String, String>>::try_from_uri(&uri)
        .map_err(|why| Refusal::invalid("query", format!("the query does not read: {}", why.body_text())))?;
    let version = asked.remove("version").map(|text| text.parse::<i64>()).transpose();
    let version = version.map_err(|_| Refusal::invalid("version", "the version is not a number"))?;
    let snapshot = registry.snapshot.get();
    let row = snapshot.key(&key).ok_or_else(Refusal::not_found)?;
    // Before a label is looked at: what is wrong with it would tell that the key is there.
    allowed(snapshot.policy(), &caller, Need::Resolve, Some(row), None)?;
    let (environment, labels) = place(&snapshot, &caller, &key, asked.remove("label"))?;
    allowed(snapshot.policy(), &caller, Need::Resolve, Some(row), Some(&environment))?;
    let (content, digest, number) = match version {
        None => labelled(&snapshot, &key, &environment)?,
        Some(number) => numbered(&registry, &snapshot, caller.clone(), row, &environment, number).await?,
    };
    registry.meter.count(&key, &environment, &caller.actor, registry.clock.now());
    template::plain(&content).map_err(|refusal| {
        let why = format!("v{number} of {key} reads over OFREP or /v1 only: {}", refusal.detail);
        Refusal { detail: why, ..refusal }
    })?;
    Ok(shown(&Prompt::of(&content, digest, number, labels)))
}

/// The environment that a label names, with all its labels: its name, and its alias for the key. Without a label, the token's
/// environment, else the usual label's.
fn place(
    snapshot: &Snapshot,
    caller: &Caller,
    key: &KeyId,
    label: Option<String>,
) -> Result<(Environment, Vec<String>), Refusal> {
    if label.as_deref() == Some("latest") {
        let why = "there is no `latest` here: what serves is what an environment points to";
        return Err(Refusal::invalid("label", why).hint("ask for an environment by its name"));
    }
    let wanted = match label {
        Some(label) => label,
        None => access::home(snapshot.policy(), caller).map_or_else(|| USUAL_LABEL.to_owned(), |home| home.to_string()),
    };
    let named = snapshot.policy().environments.iter().filter_map(|environment| {
        let environment: Environment = environment.name.parse().ok()?;
        let alias = policy::rule(snapshot.policy(), key, &environment)?.alias;
        Some((environment, alias))
    });
    let mut named: Vec<(Environment, Option<String>)> = named.collect();
    // A name counts more than an alias.
    let found = named.iter().position(|(environment, _)| environment.as_str() == wanted);
    let found = found.or_else(|| named.iter().position(|(_, alias)| alias.as_deref() == Some(&wanted)));
    let (environment, alias) = named.swap_remove(found.ok_or_else(Refusal::not_found)?);
    let labels = std::iter::once(environment.to_string()).chain(alias).collect();
    Ok((environment, labels))
}

/// What serves those who give no unit.
fn labelled(snapshot: &Snapshot, key: &KeyId, environment: &Environment) -> Result<(Content, Digest, i64), Refusal> {
    let choice = snapshot.resolve(key, environment, None, false)?.ok_or_else(Refusal::not_found)?;
    let served = choice.served.ok_or_else(|| {
        let why = if choice.pointer.killed { "it is killed and has no safe default" } else { "there is no baseline" };
        Refusal::new(Code::NotFound, format!("{key} has no value in {environment}: {why}"))
    })?;
    Ok((served.content.clone(), served.digest, served.number))
}

/// A version by its number: one that served this environment and is not quarantined. A killed pointer gives what its label
/// gives and nothing else; reads of confidential texts by number are /v1's to record.
async fn numbered(
    registry: &Registry,
    snapshot: &Snapshot,
    caller: Caller,
    key: &ConfigKey,
    environment: &Environment,
    number: i64,
) -> Result<(Content, Digest, i64), Refusal> {
    let pointer = snapshot.pointer(&key.key_id, environment).ok_or_else(Refusal::not_found)?;
    if pointer.killed || key.confidential {
        return labelled(snapshot, &key.key_id, environment)
            .and_then(|found| if found.2 == number { Ok(found) } else { Err(Refusal::not_found()) });
    }
    let mut sight = Sight::begin(registry, caller).await?;
    let version = sight.conn().version_by_number(&key.key_id, number).await?.ok_or_else(Refusal::not_found)?;
    let served = sight.conn().promotion_served(&key.key_id, environment, &version.digest).await?;
    if !served || version.quarantine.is_some() {
        return Err(Refusal::not_found());
    }
    let bytes = sight.conn().content_get(&version.digest).await?.ok_or_else(Refusal::not_found)?;
    let content = serde_json::from_slice(&bytes).map_err(|error| {
        tracing::error!(digest = %version.digest, %error, "a stored content does not read");
        crate::server::middleware::internal()
    })?;
    Ok((content, version.digest, number))
}

/// Why there is no prompt. These clients know 400 and 404, and print what stands in `message`.
pub struct Refused(Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<crate::storage::StorageError> for Refused {
    fn from(error: crate::storage::StorageError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = if self.0.code == Code::Invalid { StatusCode::BAD_REQUEST } else { status(self.0.code) };
        (status, shown(&Problem { message: self.0.detail, error: self.0.code.as_str() })).into_response()
    }
}
