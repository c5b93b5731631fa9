//! Holding a rollout: safe, at once.

use super::moving::{self, AtOnce, Move, Place};
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Act, Action, Code, Environment, KeyId, Promotion, Refusal, Subject};
use crate::rules::access::Need;
use crate::rules::hidden::is_blank;
use crate::rules::{promotion, rollout};
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;

/// POST /v1/keys/{key}/pointers/{environment}/hold.
#[derive(Debug, Clone)]
pub struct HoldPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Act,
}

impl Verb for HoldPointer {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        no_nul("/rationale", &self.body.rationale)?;
        let place = moving::place(work, &self.key, &self.environment).await?;
        work.allow(Need::Hold, Some(&place.key), Some(&self.environment))?;
        moving::alive(&place.pointer)?;
        moving::seen(&place.pointer, self.body.seen_revision)?;
        if place.pointer.held {
            let last = work.conn.promotion_last_applied(&self.key, &self.environment).await?;
            let row = last.unwrap_or_else(|| row(work, &place, true, "held"));
            return Ok(moving::would(row, place.pointer));
        }
        if !rollout::runs(&place.pointer) {
            return Err(Refusal::new(Code::WrongState, "no rollout runs there: there is nothing to hold").current(&place.pointer));
        }
        let rationale = if is_blank(&self.body.rationale) { "held" } else { self.body.rationale.as_str() };
        hold(work, &place, true, rationale, self.body.dry_run).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }

    fn holds_back(&self) -> bool {
        true
    }
}

/// The row of hold and resume: the running rollout at the same share.
fn row(work: &Work<'_>, place: &Place, held: bool, rationale: &str) -> Promotion {
    let after = promotion::held(&place.pointer, held, work.at);
    let done = AtOnce { act: Act::Step, to: Some(after.digest), share: after.rollout_pct, rationale };
    moving::row(work, place, &done, &after)
}

/// Holds (`held`) or resumes.
pub(super) async fn hold(
    work: &mut Work<'_>,
    place: &Place,
    held: bool,
    rationale: &str,
    dry_run: bool,
) -> Result<Outcome<Moved>, Refusal> {
    let after = promotion::held(&place.pointer, held, work.at);
    let row = row(work, place, held, rationale);
    if dry_run {
        return Ok(moving::would(row, after));
    }
    let action = if held { Action::PointerHold } else { Action::PointerResume };
    moving::move_now(work, Move { before: Some(&place.pointer), after, promotion: row, action, rationale }).await
}
