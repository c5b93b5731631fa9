//! Calls about pointers: reading, steps, rollback, kill, and resolving.

use super::{Answer, Client, check, pages};
use crate::model::{Environment, KeyId, Resolution};
use crate::wire::pointers::{
    Act, AsOf, Kill, KillMany, KillOutcome, ListPointers, PointerView, Resolve, ResolvedAsOf, Rollback, StepTo,
};
use crate::wire::promotions::Moved;
use crate::wire::{Page, paths};

impl Client {
    /// One page of pointers, ordered by key and environment.
    pub async fn pointers(&self, ask: &ListPointers) -> Answer<Page<PointerView>> {
        self.get(&paths::pointers(), ask).await
    }

    /// All pointers that match.
    pub async fn all_pointers(&self, ask: &ListPointers) -> Answer<Vec<PointerView>> {
        pages::all(|cursor| {
            let ask = ListPointers { cursor, limit: ask.limit.or(Some(1000)), ..ask.clone() };
            async move { self.pointers(&ask).await }
        })
        .await
    }

    /// One pointer with everything that a dialog shows.
    pub async fn pointer(&self, key: &KeyId, environment: &Environment) -> Answer<PointerView> {
        self.get(&paths::pointer(key, environment), &()).await
    }

    /// The next share of the approved plan, or down.
    pub async fn step(&self, key: &KeyId, environment: &Environment, body: &StepTo, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::step(key, environment), body, idempotency).await
    }

    /// Holds automatic steps.
    pub async fn hold(&self, key: &KeyId, environment: &Environment, body: &Act, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::hold(key, environment), body, idempotency).await
    }

    /// Lets steps go on.
    pub async fn resume(&self, key: &KeyId, environment: &Environment, body: &Act, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::resume(key, environment), body, idempotency).await
    }

    /// Back to what served before.
    pub async fn rollback(&self, key: &KeyId, environment: &Environment, body: &Rollback, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::rollback(key, environment), body, idempotency).await
    }

    /// The kill switch.
    pub async fn kill(&self, key: &KeyId, environment: &Environment, body: &Kill, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::kill(key, environment), body, idempotency).await
    }

    /// Many kills, an outcome a key.
    pub async fn kill_many(&self, body: &KillMany, idempotency: &str) -> Answer<Vec<KillOutcome>> {
        self.post(&paths::kill_many(), body, idempotency).await
    }

    /// Takes one's own kill back within ten minutes.
    pub async fn undo_kill(&self, key: &KeyId, environment: &Environment, body: &Act, idempotency: &str) -> Answer<Moved> {
        self.post(&paths::undo_kill(key, environment), body, idempotency).await
    }

    /// What a unit gets.
    pub async fn resolve(&self, environment: &Environment, key: &KeyId, unit: Option<&str>) -> Answer<Resolution> {
        let body = Resolve { unit: unit.map(str::to_owned) };
        check::resolution(self.ask(&paths::resolve(environment, key), &body).await?)
    }

    /// What a unit got after an earlier event or at an earlier moment, and why.
    pub async fn as_of(&self, environment: &Environment, key: &KeyId, body: &AsOf) -> Answer<ResolvedAsOf> {
        let answer: ResolvedAsOf = self.ask(&paths::as_of(environment, key), body).await?;
        Ok(ResolvedAsOf { resolution: check::resolution(answer.resolution)?, ..answer })
    }

    /// What a unit gets, and why, step by step.
    pub async fn explain(&self, environment: &Environment, key: &KeyId, unit: Option<&str>) -> Answer<Resolution> {
        let body = Resolve { unit: unit.map(str::to_owned) };
        check::resolution(self.ask(&paths::explain(environment, key), &body).await?)
    }
}
