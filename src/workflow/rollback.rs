//! Back to what served everybody before (R12).

use super::facts::{Asked, gather};
use super::moving::{self, AtOnce, Move, Place};
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Act, Action, BasisPoints, Code, Digest, Environment, EnvironmentPointer, KeyId, Refusal, Subject, Version};
use crate::rules::access::Need;
use crate::rules::promotion::{self, rollback_named, rollback_walked};
use crate::rules::readiness::Door;
use crate::storage::{Conn, StorageError};
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;
use std::collections::BTreeSet;

/// POST /v1/keys/{key}/pointers/{environment}/rollback.
#[derive(Debug, Clone)]
pub struct RollbackPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Rollback,
}

impl Verb for RollbackPointer {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let place = moving::place(work, &self.key, &self.environment).await?;
        work.allow(Need::Rollback, Some(&place.key), Some(&self.environment))?;
        moving::alive(&place.pointer)?;
        moving::seen(&place.pointer, self.body.seen_revision)?;
        let to = target(&mut work.conn, &place.pointer, self.body.to_digest).await?;
        let version = work.conn.version_get(&to).await?.ok_or_else(Refusal::not_found)?;
        ready(work, &place, version.clone()).await?;
        let after = promotion::rolled_back(&place.pointer, to, work.at);
        let done = AtOnce { act: Act::Rollback, to: Some(to), share: BasisPoints::ALL, rationale: &self.body.rationale };
        let row = moving::row(work, &place, &done, &after);
        if self.body.dry_run {
            return Ok(moving::would(row, after));
        }
        moving::publish(work, &to, version.state).await?;
        let (before, rationale) = (Some(&place.pointer), self.body.rationale.as_str());
        moving::move_now(work, Move { before, after, promotion: row, action: Action::PointerRollback, rationale }).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }
}

/// Where a rollback goes; quarantined and discarded digests are passed by.
///
/// # Errors
/// As `rules::promotion::rollback_named` and `rollback_walked`; the database is away.
pub(super) async fn target(conn: &mut Conn<'_>, pointer: &EnvironmentPointer, named: Option<Digest>) -> Result<Digest, Refusal> {
    let EnvironmentPointer { key_id, environment, digest: current, .. } = pointer;
    match named {
        Some(named) => rollback_named(current, named, conn.applied_standing(key_id, environment, &named).await?),
        None => rollback_walked(conn.applied_back(key_id, environment, current).await?),
    }
}

/// Those of the digests that must not come to serve by themselves: quarantined, discarded or gone.
pub(super) async fn unfit(
    conn: &mut Conn<'_>,
    digests: impl IntoIterator<Item = Digest>,
) -> Result<BTreeSet<Digest>, StorageError> {
    let digests: BTreeSet<Digest> = digests.into_iter().collect();
    let mut unfit = BTreeSet::new();
    for digest in digests {
        let fit = |version: &Version| version.quarantine.is_none() && !version.discarded;
        if !conn.version_get(&digest).await?.as_ref().is_some_and(fit) {
            unfit.insert(digest);
        }
    }
    Ok(unfit)
}

async fn ready(work: &mut Work<'_>, place: &Place, to: Version) -> Result<(), Refusal> {
    let asked = Asked {
        door: Door::Rollback,
        key: place.key.clone(),
        environment: place.pointer.environment.clone(),
        to,
        promotion: None,
    };
    let readiness = gather(&mut work.conn, &work.policy, work.at, asked).await?.readiness();
    let unmet: Vec<_> = readiness.unmet().cloned().collect();
    if unmet.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Code::PolicyUnmet, "this digest must not come to serve").unmet(unmet))
}
