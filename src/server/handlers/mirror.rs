//! What a relay takes from the registry: all that it needs to answer by itself, in one signed piece.

use crate::model::Refusal;
use crate::rules::access::{Caller, Need, allowed};
use crate::server::App;
use crate::server::apart::apart;
use crate::server::extract::NoQuery;
use crate::server::respond::{Answer, shown};
use axum::extract::State;

/// GET /v1/mirror: for who may both list tokens and resolve; what it may not resolve is not in it.
pub async fn show(State(app): State<App>, caller: Caller, _: NoQuery) -> Answer {
    let snapshot = app.registry.snapshot.get();
    allowed(snapshot.policy(), &caller, Need::Resolve, None, None)?;
    let made = apart(move || {
        let mirror = snapshot.mirror(&caller, app.registry.clock.now()).ok_or_else(Refusal::not_found)?;
        Ok::<_, Refusal>(shown(&app.outside.sign(&snapshot, mirror)?))
    });
    Ok(made.await??)
}
