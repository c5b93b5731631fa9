//! The next share of an approved plan, or a smaller one at once (R28).

use super::facts::{Asked, Facts, gather};
use super::moving::{self, AtOnce, Move};
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Act, Action, Code, ConfigKey, Environment, EnvironmentPointer, KeyId, Policy, Refusal, Subject, Timestamp};
use crate::rules::access::Need;
use crate::rules::readiness::Door;
use crate::rules::{promotion, rollout};
use crate::storage::Conn;
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;
use std::sync::Arc;

/// POST /v1/keys/{key}/pointers/{environment}/step.
#[derive(Debug, Clone)]
pub struct StepPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::StepTo,
}

impl Verb for StepPointer {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let place = moving::place(work, &self.key, &self.environment).await?;
        let need = if self.body.down { Need::StepDown } else { Need::Step };
        work.allow(need, Some(&place.key), Some(&self.environment))?;
        moving::alive(&place.pointer)?;
        moving::seen(&place.pointer, self.body.seen_revision)?;
        let share = if self.body.down {
            rollout::down(&place.pointer, self.body.to)?
        } else {
            let share = rollout::up(&place.pointer, self.body.to)?;
            let readiness = facts(&mut work.conn, &work.policy, work.at, &place.key, &place.pointer).await?.readiness();
            let unmet: Vec<_> = readiness.unmet().cloned().collect();
            if !unmet.is_empty() {
                return Err(Refusal::new(Code::PolicyUnmet, "the rollout must not go on yet")
                    .unmet(unmet)
                    .hint("see what is missing"));
            }
            share
        };
        let after = promotion::stepped(&place.pointer, share, work.at);
        let done = AtOnce { act: Act::Step, to: Some(after.digest), share, rationale: &self.body.rationale };
        let row = moving::row(work, &place, &done, &after);
        if self.body.dry_run {
            return Ok(moving::would(row, after));
        }
        let (before, rationale) = (Some(&place.pointer), self.body.rationale.as_str());
        moving::move_now(work, Move { before, after, promotion: row, action: Action::PointerStep, rationale }).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }
}

/// What a larger share may serve by: what was approved, as gates and marks are now.
///
/// # Errors
/// The policy has no such environment; the version is gone; the database is away.
pub(super) async fn facts(
    conn: &mut Conn<'_>,
    policy: &Arc<Policy>,
    now: Timestamp,
    key: &ConfigKey,
    pointer: &EnvironmentPointer,
) -> Result<Facts, Refusal> {
    let running = promotion::running(pointer, conn.applied_decided(&key.key_id, &pointer.environment).await?);
    let to = conn.version_get(&pointer.digest).await?.ok_or_else(Refusal::not_found)?;
    let (key, environment) = (key.clone(), pointer.environment.clone());
    gather(conn, policy, now, Asked { door: Door::Step, key, environment, to, promotion: running }).await
}
