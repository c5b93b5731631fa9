//! Applied changes of a pointer, each with the state in which its event says that the pointer was left.

use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Environment, EnvironmentPointer, KeyId, Promotion};

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

pub(super) const ALL: &[&str] = &[AFTER, AS_OF];

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

impl Conn<'_> {
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
