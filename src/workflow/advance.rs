//! The step that the server takes by itself when the bake of a share is over (R28).

use super::moving::{self, AtOnce, Move, Place};
use super::step;
use super::work::{Outcome, Verb, Work};
use crate::model::{Act, Action, Actor, Environment, KeyId, Readiness, Refusal};
use crate::rules::access::Caller;
use crate::rules::{policy, promotion, rollout};
use crate::wire::promotions::Moved;
use serde::{Deserialize, Serialize};

/// Run by the server as [`AdvanceRollout::caller`] when a step is due. It looks again inside its transaction, so that of two
/// that try, one steps and the other finds nothing to do.
#[derive(Debug, Clone)]
pub struct AdvanceRollout {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advanced {
    /// The step, where one was taken.
    pub moved: Option<Moved>,
    /// What the rollout waits for, where its bake is over and it does not go on.
    pub waits: Readiness,
}

impl AdvanceRollout {
    /// `system:rollout`.
    pub fn caller() -> Caller {
        Caller::whole(Actor::system("rollout"))
    }

    /// The place, where its next step is due and the policy lets the server take it.
    async fn due(&self, work: &mut Work<'_>) -> Result<Option<Place>, Refusal> {
        let Some(pointer) = work.conn.pointer_get(&self.key, &self.environment).await? else { return Ok(None) };
        let baked = pointer.next_step_at.is_some_and(|at| at <= work.at);
        let rule = policy::rule(&work.policy, &self.key, &self.environment);
        if !baked || pointer.held || !rollout::runs(&pointer) || !rule.is_some_and(|rule| rule.advances()) {
            return Ok(None);
        }
        Ok(Some(Place { key: work.key(&self.key).await?, pointer }))
    }
}

impl Verb for AdvanceRollout {
    type Answer = Advanced;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Advanced>, Refusal> {
        let Some(place) = self.due(work).await? else { return Ok(Outcome::unchanged(Advanced::default())) };
        let waits = step::facts(&mut work.conn, &work.policy, work.at, &place.key, &place.pointer).await?.readiness();
        if !waits.is_ready() {
            return Ok(Outcome::unchanged(Advanced { moved: None, waits: Readiness(waits.unmet().cloned().collect()) }));
        }
        let share = rollout::up(&place.pointer, None)?;
        let rationale = format!("the bake of {} % is over", place.pointer.rollout_pct);
        let after = promotion::stepped(&place.pointer, share, work.at);
        let done = AtOnce { act: Act::Step, to: Some(after.digest), share, rationale: &rationale };
        let row = moving::row(work, &place, &done, &after);
        let step =
            Move { before: Some(&place.pointer), after, promotion: row, action: Action::PointerStep, rationale: &rationale };
        let Outcome { answer, created, event, changes } = moving::move_now(work, step).await?;
        let answer = Advanced { moved: Some(answer), waits: Readiness::default() };
        Ok(Outcome { answer, created, event, changes })
    }
}
