//! Applied changes of a pointer, each with the state in which its event says that the pointer was left.

use super::batch::Batch;
use super::codec::{Id, limit};
use super::db::Conn;
use super::error::StorageError;
use super::{pointers, promotions, versions};
use crate::model::{Environment, EnvironmentPointer, KeyId, Promotion, VersionState};
use uuid::Uuid;

macro_rules! moves {
    ($bound:literal) => {
        concat!(
            "SELECT p.*, e.detail AS event_detail, e.seq AS event_seq FROM promotion p JOIN audit_event e ON e.seq = p.applied_seq \
             WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq IS NOT NULL AND ",
            $bound
        )
    };
}

const AFTER: &str = moves!("p.applied_seq > $3 ORDER BY p.applied_seq LIMIT $4");
const AS_OF: &str = moves!("p.applied_seq <= $3 ORDER BY p.applied_seq DESC LIMIT $4");

/// The newest change of every pointer: one walk over the index of applied changes, then one row each.
const LAST_ALL: &str = "SELECT q.key_id, q.environment, e.detail AS event_detail FROM \
    (SELECT p.key_id, p.environment, MAX(p.applied_seq) AS seq FROM promotion p \
     WHERE p.applied_seq IS NOT NULL AND p.environment <> '@safe-default' GROUP BY p.key_id, p.environment) q \
    LEFT JOIN audit_event e ON e.seq = q.seq";

pub(super) const ALL: &[&str] = &[AFTER, AS_OF, LAST_ALL];

/// A pointer, and the state in which its newest event left it; none where that does not read.
pub type Left = ((KeyId, Environment), Option<EnvironmentPointer>);

struct LeftRow(Left);

decode!(LeftRow, r => {
    let detail: Option<Vec<u8>> = r.try_get("event_detail")?;
    let told = detail.and_then(|detail| serde_json::from_slice::<Told>(&detail).ok());
    let place: (KeyId, Environment) = (r.try_get("key_id")?, r.try_get("environment")?);
    let after = told.and_then(|told| told.pointer).filter(|after| (&after.key_id, &after.environment) == (&place.0, &place.1));
    Ok(Self((place, after)))
});

/// One applied change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRow {
    /// Its event's number.
    pub seq: u64,
    /// The row.
    pub promotion: Promotion,
    /// The pointer after it; none for a safe default, and where the event does not read.
    pub pointer: Option<EnvironmentPointer>,
}

decode!(MoveRow, r => {
    let seq: i64 = r.try_get("event_seq")?;
    let detail: Vec<u8> = r.try_get("event_detail")?;
    let pointer = serde_json::from_slice::<Told>(&detail).ok().and_then(|told| told.pointer);
    Ok(Self { seq: u64::try_from(seq).unwrap_or(0), promotion: <Promotion as sqlx::FromRow<_>>::from_row(r)?, pointer })
});

/// What of an event's detail is needed here.
#[derive(serde::Deserialize)]
struct Told {
    pointer: Option<EnvironmentPointer>,
}

/// A move of a pointer that was decided: the pointer, the row of its promotion, the losers.
#[derive(Debug, Clone, Copy)]
pub struct Moving<'a> {
    /// The pointer as it was seen; none for the first of its key there.
    pub before: Option<&'a EnvironmentPointer>,
    /// As it is to be.
    pub after: &'a EnvironmentPointer,
    /// The promotion, as applied.
    pub promotion: &'a Promotion,
    /// Whether the row stands open in the table; else it is added.
    pub opened: bool,
    /// Whether what serves becomes published by it.
    pub publishes: bool,
    /// What the losers are told.
    pub reason: &'a str,
}

/// What became of it. Unless both hold, the transaction must be rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Whether the pointer was still as it was seen (R8).
    pub swapped: bool,
    /// Whether the promotion was still open.
    pub marked: bool,
    /// The pointer's other open promotions, which are stale now; sorted.
    pub staled: Vec<Uuid>,
}

impl Conn<'_> {
    /// Writes a move, in one go.
    ///
    /// # Errors
    /// The database is away or full, or refuses a row.
    pub async fn move_put(&mut self, moving: &Moving<'_>) -> Result<Taken, StorageError> {
        let Moving { before, after, promotion, opened, publishes, reason } = *moving;
        let Promotion { promotion_id, key_id, environment, applied_at, applied_by, review_owed, .. } = promotion;
        let mut batch = Batch::on(self);
        if opened {
            statement!(batch, promotions::APPLY, Id(*promotion_id), applied_at, applied_by, review_owed);
        } else {
            promotions::put(&mut batch, promotion)?;
        }
        match before {
            Some(before) => pointers::swap(&mut batch, after, &before.digest, before.revision)?,
            None => pointers::put(&mut batch, after)?,
        }
        statement!(batch, promotions::STALE_OTHERS, key_id, environment, reason, promotion_id.to_string());
        if publishes {
            statement!(batch, versions::STATE_SET, after.digest, VersionState::Published);
        }
        match batch.run(self).await {
            Ok(mut done) => {
                let (marked, swapped) = (done.touched() == 1, done.touched() == 1);
                Ok(Taken { swapped, marked, staled: promotions::staled(&mut done)? })
            }
            // Another was the first of its key there.
            Err(StorageError::Unique(_)) if before.is_none() => Ok(Taken { swapped: false, marked: false, staled: Vec::new() }),
            Err(other) => Err(other),
        }
    }

    /// Applied changes of a pointer (or of `@safe-default`) after a number, oldest first.
    pub async fn move_after(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        seq: u64,
        most: u32,
    ) -> Result<Vec<MoveRow>, StorageError> {
        rows!(self, AFTER, key, environment, i64::try_from(seq).unwrap_or(i64::MAX), limit(most))
    }

    /// Every pointer that was ever moved, as its newest event left it.
    pub async fn move_last_all(&mut self) -> Result<Vec<Left>, StorageError> {
        let rows: Vec<LeftRow> = rows!(self, LAST_ALL)?;
        Ok(rows.into_iter().map(|row| row.0).collect())
    }

    /// The newest applied change of a pointer (or of `@safe-default`) up to a number, that one included.
    pub async fn move_as_of(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        seq: u64,
    ) -> Result<Option<MoveRow>, StorageError> {
        row!(self, AS_OF, key, environment, i64::try_from(seq).unwrap_or(i64::MAX), limit(1))
    }
}
