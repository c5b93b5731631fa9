//! Applying a promotion that its opener left to the server: at a time, or when everything is met (R11).
//!
//! One that is due and not ready stays open and is applied as soon as it is ready, until it expires.

use super::apply::{self, promotion};
use super::work::{Outcome, Verb, Work};
use crate::model::{Act, Actor, ConfigKey, Policy, Promotion, PromotionState, Refusal};
use crate::rules::access::{Caller, Need, allowed};
use crate::wire::promotions::Moved;
use uuid::Uuid;

/// Run by the server as [`ApplyDue::caller`]; the answer is nothing where the promotion is not to be applied now.
#[derive(Debug, Clone, Copy)]
pub struct ApplyDue {
    /// The promotion.
    pub id: Uuid,
}

impl ApplyDue {
    /// `system:schedule`.
    pub fn caller() -> Caller {
        Caller::whole(Actor::system("schedule"))
    }
}

/// Why the one who left it to the server may not apply it any more: the server does nothing that this person may not.
pub(super) fn disowned(policy: &Policy, key: &ConfigKey, row: &Promotion) -> Option<String> {
    let actor = &row.actor;
    let caller = Caller::whole(actor.clone());
    let need = if row.act == Act::Revive { Need::Revive } else { Need::Apply };
    let may = allowed(policy, &caller, need, Some(key), Some(&row.environment)).is_ok();
    (!may).then(|| format!("{actor}, who left it to the registry, may not {need} here any more"))
}

impl Verb for ApplyDue {
    type Answer = Option<Moved>;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Option<Moved>>, Refusal> {
        let (key, row) = promotion(work, self.id).await?;
        if row.state != PromotionState::Open || !row.is_due(work.at) || disowned(&work.policy, &key, &row).is_some() {
            return Ok(Outcome::unchanged(None));
        }
        let facts = apply::facts(work, key, row.clone()).await?;
        if !facts.readiness().is_ready() {
            return Ok(Outcome::unchanged(None));
        }
        let rationale = row.rationale.clone();
        let Outcome { answer, created, event, changes } = apply::take_effect(work, facts, row, &rationale).await?;
        Ok(Outcome { answer: Some(answer), created, event, changes })
    }
}
