//! Taking a kill back: the same person, within ten minutes, to exactly the earlier state (R13).

use super::moving::{self, AtOnce, Move};
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Act, Action, Code, Environment, KeyId, Refusal, Subject};
use crate::rules::access::Need;
use crate::rules::{policy, promotion};
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;

/// POST /v1/keys/{key}/pointers/{environment}/undo-kill.
#[derive(Debug, Clone)]
pub struct UndoKill {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Act,
}

impl Verb for UndoKill {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let place = moving::place(work, &self.key, &self.environment).await?;
        work.allow(Need::UndoKill, Some(&place.key), Some(&self.environment))?;
        moving::seen(&place.pointer, self.body.seen_revision)?;
        let last = work.conn.promotion_last_applied(&self.key, &self.environment).await?;
        let kill = promotion::undoable(&place.pointer, last, work.at)?;
        let same = kill.applied_by.as_ref().is_some_and(|by| policy::same_person(&work.policy, by, work.actor()));
        if !same {
            let by = kill.applied_by.as_ref().map_or_else(String::new, ToString::to_string);
            return Err(Refusal::new(Code::Forbidden, format!("only {by}, who killed it, can take the kill back"))
                .hint("a revive, approved as the policy asks, brings it back"));
        }
        let settled = work.conn.applied_settled(&self.key, &self.environment).await?;
        let after = promotion::undone(&place.pointer, settled, work.at);
        let done = AtOnce { act: Act::Revive, to: Some(after.digest), share: after.rollout_pct, rationale: &self.body.rationale };
        let mut row = moving::row(work, &place, &done, &after);
        // The kill's reason tells an undone kill from a revive that was approved.
        row.reason = kill.reason.or(Some(crate::model::KillReason::Test));
        row.review_owed = true;
        if self.body.dry_run {
            return Ok(moving::would(row, after));
        }
        let (before, rationale) = (Some(&place.pointer), self.body.rationale.as_str());
        moving::move_now(work, Move { before, after, promotion: row, action: Action::PointerUndoKill, rationale }).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }
}
