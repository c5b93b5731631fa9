//! Making a token: for oneself, for a service that one answers for, or as an admin for those whom the policy names.

use super::token_text::mint;
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Action, Actor, ActorKind, Environment, Refusal, Subject, Token};
use crate::rules::access::Need;
use crate::snapshot::{Change, HeldToken};
use crate::wire::people as wire;
use serde_json::json;

/// Days until a token ends, unless said.
const DAYS: u32 = 90;
/// Most days.
const MOST_DAYS: u32 = 3650;
/// Most bytes of a note.
const NOTE: usize = 1000;

/// POST /v1/tokens.
#[derive(Debug, Clone)]
pub struct CreateToken {
    /// The request.
    pub body: wire::CreateToken,
}

impl Verb for CreateToken {
    type Answer = wire::CreatedToken;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<wire::CreatedToken>, Refusal> {
        let wire::CreateToken { actor, scope, environment, expires_days, note } = self.body.clone();
        let days = expires_days.unwrap_or(DAYS);
        if days == 0 || days > MOST_DAYS {
            return Err(Refusal::invalid("/expires_days", format!("is not between 1 and {MOST_DAYS}")));
        }
        no_nul("/note", &note)?;
        if note.len() > NOTE {
            return Err(Refusal::invalid("/note", format!("is longer than {NOTE} bytes")));
        }
        if !matches!(actor.kind, ActorKind::Person | ActorKind::Service) {
            return Err(Refusal::invalid("/actor", "is neither a person nor a service; no token acts for anyone else"));
        }
        if let Some(environment) = &environment {
            known(work, environment)?;
        }
        may_make(work, &actor).await?;
        let minted = mint(work.clock);
        let token = Token {
            token_id: minted.token_id,
            owner: owner(work, &actor),
            actor,
            scope,
            environment,
            note,
            created_at: work.at,
            expires_at: work.at.plus_seconds(i64::from(days) * 24 * 3600),
            revoked_at: None,
        };
        work.conn.token_put(&token, &minted.hash).await?;
        let subject = Subject(format!("token:{}", token.token_id));
        let detail = json!({
            "actor": token.actor, "owner": token.owner, "scope": token.scope, "environment": token.environment,
            "expires_at": token.expires_at, "note": token.note,
        });
        let change = Change::Token(Box::new(HeldToken { token: token.clone(), hash: minted.hash }));
        let answer = wire::CreatedToken { token, secret: minted.text };
        Ok(Outcome::done(answer, Action::TokenCreate, subject, &detail).created().changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject(format!("token:{}", self.body.actor)))
    }

    fn keep(answer: &Self::Answer) -> serde_json::Value {
        let kept = wire::CreatedToken { secret: String::new(), ..answer.clone() };
        serde_json::to_value(kept).unwrap_or_default()
    }
}

/// Who answers for it: the person who makes it; for a first token that the registry makes itself, its actor. Whoever makes one for
/// themselves with another's token does not come to own it: the other may hold it.
fn owner(work: &Work<'_>, actor: &Actor) -> Actor {
    match work.actor().kind {
        ActorKind::System => actor.clone(),
        ActorKind::Person if work.actor() == actor => work.caller.owner.clone(),
        ActorKind::Person => work.actor().clone(),
        _ => work.caller.owner.clone(),
    }
}

/// Refuses an environment that the policy does not have.
fn known(work: &Work<'_>, environment: &Environment) -> Result<(), Refusal> {
    let names: Vec<&str> = work.policy.environments.iter().map(|known| known.name.as_str()).collect();
    if names.contains(&environment.as_str()) {
        return Ok(());
    }
    let refusal = Refusal::invalid("/environment", format!("the policy has no environment {environment}"));
    Err(refusal.hint(format!("it has: {}", names.join(", "))))
}

async fn may_make(work: &mut Work<'_>, actor: &Actor) -> Result<(), Refusal> {
    let full = work.caller.is_whole();
    if full && work.actor() == actor && actor.is_person() {
        return Ok(());
    }
    let owners = work.conn.token_owners(actor).await?;
    if full && actor.kind == ActorKind::Service && work.actor().is_person() && owners.contains(work.actor()) {
        return Ok(());
    }
    work.allow(Need::Tokens, None, None)?;
    if work.actor().kind == ActorKind::System || is_named(work, actor) {
        return Ok(());
    }
    Err(Refusal::invalid("/actor", "is not named by the policy").hint("give it a role or a group in the policy first"))
}

/// Whether the policy names an actor anywhere: in a group, a role, a gate, or as another account.
fn is_named(work: &Work<'_>, actor: &Actor) -> bool {
    let policy = &work.policy;
    let text = actor.to_string();
    policy.roles.iter().any(|grant| grant.who == text)
        || policy.groups.values().any(|members| members.contains(actor))
        || policy.gates.values().any(|gate| gate.reporters.contains(actor))
        || policy.persons.values().any(|also| also.contains(actor))
}
