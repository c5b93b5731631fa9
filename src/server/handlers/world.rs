//! Environments and the policy.

use super::sight::Sight;
use crate::model::{Environment, Refusal};
use crate::rules::access::Caller;
use crate::rules::policy::rule;
use crate::server::extract::{Asked, Command, NoQuery, Sent};
use crate::server::respond::{Answer, shown};
use crate::wire::world::{self, AskPolicy, EnvironmentView, ExplainPolicy, PolicyText, World};
use crate::workflow::{self, ApplyPolicy, Registry};
use axum::extract::State;
use std::sync::Arc;

/// GET /v1/environments
pub async fn environments(State(registry): State<Arc<Registry>>, _caller: Caller, _: NoQuery) -> Answer {
    let snapshot = registry.snapshot.get();
    let policy = snapshot.policy();
    let environments = policy.environments.iter().map(|environment| EnvironmentView {
        name: environment.name.clone(),
        protected: environment.fields.protected.unwrap_or(false),
        after: environment.fields.after.clone(),
        plan: environment.fields.plan.clone(),
        alias: environment.fields.alias.clone(),
    });
    Ok(shown(&World {
        name: snapshot.name().to_owned(),
        environments: environments.collect(),
        policy: snapshot.policy_digest(),
        now: registry.clock.now(),
        genesis: snapshot.genesis(),
        groups: policy.groups.keys().cloned().collect(),
        policy_file: registry.snapshot.foreign_policy_file(),
        read_only: snapshot.read_only().map(str::to_owned),
        doubts: snapshot.doubts() as u64,
    }))
}

/// GET /v1/policy: the text, or with `key` and `environment` the merged rule.
pub async fn policy(State(registry): State<Arc<Registry>>, _caller: Caller, Asked(ask): Asked<AskPolicy>) -> Answer {
    let snapshot = registry.snapshot.get();
    match (ask.key, ask.environment) {
        (None, None) => Ok(shown(&PolicyText {
            source: snapshot.policy().source.clone(),
            digest: snapshot.policy_digest(),
            waits_until: None,
        })),
        (Some(key), Some(environment)) => {
            let environment: Environment =
                environment.parse().map_err(|why| Refusal::invalid("environment", format!("{environment:?}: {why}")))?;
            Ok(shown(&rule(snapshot.policy(), &key, &environment).ok_or_else(Refusal::not_found)?))
        }
        (Some(_), None) => Err(Refusal::invalid("environment", "`key` asks for a rule, which also takes `environment`").into()),
        (None, Some(_)) => Err(Refusal::invalid("key", "`environment` asks for a rule, which also takes `key`").into()),
    }
}

/// POST /v1/policy/explain
pub async fn explain_policy(
    State(registry): State<Arc<Registry>>,
    caller: Caller,
    _: NoQuery,
    Sent(ask): Sent<ExplainPolicy>,
) -> Answer {
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&ask.key).await?;
    let (snapshot, now) = (sight.snapshot.clone(), registry.clock.now());
    let conn = &mut sight.conn();
    Ok(shown(&workflow::explain_policy(conn, &snapshot, now, key, ask.environment, ask.to_digest).await?))
}

/// POST /v1/policy
pub async fn apply_policy(State(registry): State<Arc<Registry>>, command: Command<world::ApplyPolicy>) -> Answer {
    command.run(registry, |body| ApplyPolicy { body }).await
}
