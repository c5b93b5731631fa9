//! Who the caller is, and tokens.

use crate::model::Token;
use crate::model::oidc::LoginOffer;
use crate::rules::access::{Caller, Need, allowed, grants};
use crate::rules::policy::groups_of;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::wire::people::{self, Grant, LoginOffers, Me};
use crate::workflow::{CreateToken, Registry, RevokeToken};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// GET /v1/login: where one can log in.
pub async fn login(State(registry): State<Arc<Registry>>, _: NoQuery) -> Answer {
    let snapshot = registry.snapshot.get();
    let issuers = snapshot.policy().issuers.values().filter_map(|issuer| {
        let (name, url, scopes) = (issuer.name.clone(), issuer.url.clone(), issuer.scopes.clone());
        issuer.client.clone().map(|client| LoginOffer { name, url, client, scopes })
    });
    Ok(shown(&LoginOffers { issuers: issuers.collect() }))
}

/// GET /v1/me
pub async fn me(State(registry): State<Arc<Registry>>, caller: Caller, _: NoQuery) -> Answer {
    let snapshot = registry.snapshot.get();
    let roles = grants(snapshot.policy(), &caller.actor).map(|grant| Grant {
        role: grant.role,
        namespace: grant.namespace.clone(),
        environment: grant.environment.clone(),
    });
    Ok(shown(&Me {
        roles: roles.collect(),
        groups: groups_of(snapshot.policy(), &caller.actor),
        actor: caller.actor,
        token_id: caller.token_id,
        scope: caller.scope,
        environment: caller.environment,
        login: caller.login.to_string(),
    }))
}

/// Query of lists that only page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Paged {
    /// Items per page.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u32>,
    /// From the page before.
    pub cursor: Option<String>,
}

/// GET /v1/tokens: the caller's own and those that it owns; all, for who may list them. Ordered by id.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<Paged>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let after: Option<String> = pages::after(ask.cursor.as_deref())?;
    let snapshot = registry.snapshot.get();
    let all = allowed(snapshot.policy(), &caller, Need::TokensRead, None, None).is_ok();
    let own = |token: &Token| all || token.actor == caller.actor || token.owner == caller.actor;
    let later = |token: &Token| after.as_deref().is_none_or(|after| token.token_id.as_str() > after);
    let mut tokens: Vec<Token> = snapshot.tokens().map(|held| &held.token).filter(|t| own(t) && later(t)).cloned().collect();
    tokens.sort_by(|one, other| one.token_id.cmp(&other.token_id));
    Ok(shown(&pages::page(tokens, limit, |token| token.token_id.clone())))
}

/// POST /v1/tokens
pub async fn create(State(registry): State<Arc<Registry>>, command: Command<people::CreateToken>) -> Answer {
    command.run(registry, |body| CreateToken { body }).await
}

/// DELETE /v1/tokens/{token_id}
pub async fn revoke(State(registry): State<Arc<Registry>>, names: Names, command: Command<Nothing>) -> Answer {
    let token_id: String = names.get("token_id")?;
    command.run(registry, |_| RevokeToken { token_id }).await
}

/// A body that may only be empty.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
