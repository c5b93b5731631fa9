//! Pointers, and what moves them at once: step, hold, resume, rollback, kill, undo-kill.

use super::sight::Sight;
use crate::model::{Environment, EnvironmentPointer, KeyId, Refusal};
use crate::rules::access::{Caller, Need, allowed};
use crate::server::error::problem;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::middleware::internal;
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::storage::PointerFilter;
use crate::wire::pointers::{Act, Kill, KillMany, ListPointers, PointerView, Rollback, StepTo};
use crate::workflow::{
    HoldPointer, KillPointer, Registry, ResumePointer, RollbackPointer, StepPointer, UndoKill, kill_many as kill_all, view,
};
use axum::extract::State;
use std::sync::Arc;

/// GET /v1/pointers, ordered by key, then environment.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<ListPointers>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let mut filter = PointerFilter {
        pattern: ask.namespace.unwrap_or_default(),
        environment: ask.environment.as_deref().map(environment).transpose()?,
        partial: partial(ask.show.as_deref())?,
        after: pages::after(ask.cursor.as_deref())?,
        limit: u32::try_from(limit + 1).unwrap_or(pages::MOST),
    };
    let mut sight = Sight::begin(&registry, caller).await?;
    let mut found: Vec<EnvironmentPointer> = Vec::new();
    // What the caller may not see is left out, so a page may take several reads.
    while found.len() <= limit {
        let rows = sight.conn().pointer_list(&filter).await?;
        let Some(last) = rows.last() else { break };
        filter.after = Some((last.key_id.clone(), last.environment.clone()));
        let whole = rows.len() > limit;
        found.extend(rows.into_iter().filter(|row| sight.snapshot.key(&row.key_id).is_some_and(|key| sight.reads(key))));
        if !whole {
            break;
        }
    }
    let page = pages::page(found, limit, |row| (row.key_id.clone(), row.environment.clone()));
    let mut items = Vec::with_capacity(page.items.len());
    for pointer in page.items {
        items.push(shown_pointer(&registry, &mut sight, pointer).await?);
    }
    Ok(shown(&crate::wire::Page { items, next_cursor: page.next_cursor }))
}

fn environment(name: &str) -> Result<Environment, Refusal> {
    name.parse().map_err(|why| Refusal::invalid("environment", format!("{name:?}: {why}")))
}

fn partial(show: Option<&str>) -> Result<bool, Refusal> {
    match show {
        None => Ok(false),
        Some("partial") => Ok(true),
        Some(other) => Err(Refusal::invalid("show", format!("{other:?} is not `partial`"))),
    }
}

async fn shown_pointer(registry: &Registry, sight: &mut Sight, pointer: EnvironmentPointer) -> Result<PointerView, Refusal> {
    let (caller, snapshot) = (sight.caller.clone(), sight.snapshot.clone());
    view::pointer(registry, &mut sight.conn(), &snapshot, &caller, pointer).await
}

/// GET /v1/keys/{key}/pointers/{environment}
pub async fn show(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let (key, environment): (KeyId, Environment) = (names.get("key")?, names.get("environment")?);
    let mut sight = Sight::begin(&registry, caller).await?;
    sight.key(&key).await?;
    let pointer = sight.conn().pointer_get(&key, &environment).await?.ok_or_else(Refusal::not_found)?;
    Ok(shown(&shown_pointer(&registry, &mut sight, pointer).await?))
}

/// POST …/step
pub async fn step(State(registry): State<Arc<Registry>>, names: Names, command: Command<StepTo>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| StepPointer { key, environment, body }).await
}

/// POST …/hold
pub async fn hold(State(registry): State<Arc<Registry>>, names: Names, command: Command<Act>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| HoldPointer { key, environment, body }).await
}

/// POST …/resume
pub async fn resume(State(registry): State<Arc<Registry>>, names: Names, command: Command<Act>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| ResumePointer { key, environment, body }).await
}

/// POST …/rollback
pub async fn rollback(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rollback>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| RollbackPointer { key, environment, body }).await
}

/// POST …/kill
pub async fn kill(State(registry): State<Arc<Registry>>, names: Names, command: Command<Kill>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| KillPointer { key, environment, body }).await
}

/// POST …/undo-kill
pub async fn undo_kill(State(registry): State<Arc<Registry>>, names: Names, command: Command<Act>) -> Answer {
    let (key, environment) = (names.get("key")?, names.get("environment")?);
    command.run(registry, |body| UndoKill { key, environment, body }).await
}

/// POST /v1/kill: an outcome a key. It goes on when the caller goes away: what was meant to be stopped is stopped.
pub async fn kill_many(State(registry): State<Arc<Registry>>, command: Command<KillMany>) -> Answer {
    let Command { caller, body, .. } = command;
    allowed(registry.snapshot.get().policy(), &caller, Need::Kill, None, Some(&body.environment))?;
    let killing = tokio::spawn(async move { kill_all(&registry, &caller, body, problem).await });
    let outcomes = killing.await.map_err(|error| {
        tracing::error!(%error, "a kill of many broke");
        internal()
    })?;
    Ok(shown(&outcomes?))
}
