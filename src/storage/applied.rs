//! What was applied to a pointer (R12, R13), asked one question at a time by an index: no answer reads a whole history.
//!
//! A kill that was taken back stands in the table as a revive with the kill's reason: `act = 'revive' AND reason IS NOT NULL`.

use super::codec::Id;
use super::db::Conn;
use super::error::StorageError;
use super::versions;
use crate::model::{Digest, Environment, KeyId, Promotion, Standing, Timestamp, Version};

/// The promote, revive or rollback that was applied last; kills that were taken back are looked through.
const DECIDED: &str = "SELECT p.promotion_id FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq = \
    (SELECT MAX(q.seq) FROM (\
        SELECT MAX(applied_seq) AS seq FROM promotion \
        WHERE key_id = $1 AND environment = $2 AND act = 'promote' AND applied_seq IS NOT NULL \
        UNION ALL SELECT MAX(applied_seq) AS seq FROM promotion \
        WHERE key_id = $1 AND environment = $2 AND act = 'revive' AND reason IS NULL AND applied_seq IS NOT NULL \
        UNION ALL SELECT MAX(applied_seq) AS seq FROM promotion \
        WHERE key_id = $1 AND environment = $2 AND act = 'rollback' AND applied_seq IS NOT NULL) q)";
const REVIVED: &str = "SELECT p.promotion_id FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.act = 'revive' \
    AND p.applied_seq IS NOT NULL ORDER BY p.applied_seq DESC LIMIT 1";
/// When the newest change was made that is neither a kill nor its taking back.
const SETTLED: &str = "SELECT p.applied_at FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq IS NOT NULL \
    AND p.act <> 'kill' AND NOT (p.act = 'revive' AND p.reason IS NOT NULL) ORDER BY p.applied_seq DESC LIMIT 1";

/// The order number of the last kill of digest `$d` at the place `$1`, `$2`; 0 where there was none.
macro_rules! killed {
    ($d:literal) => {
        concat!(
            "COALESCE((SELECT MAX(k.applied_seq) FROM promotion k WHERE k.key_id = $1 AND k.environment = $2 AND k.act = 'kill' \
             AND k.from_digest = ",
            $d,
            "), 0)"
        )
    };
}
/// The order number of the last promote, revive or undone kill that brought digest `$d` to a place; 0 where there was none.
macro_rules! back {
    ($key:literal, $place:literal, $d:literal) => {
        concat!(
            "COALESCE((SELECT MAX(b.applied_seq) FROM promotion b WHERE b.key_id = ",
            $key,
            " AND b.environment = ",
            $place,
            " AND b.to_digest = ",
            $d,
            " AND b.act IN ('promote', 'revive') AND b.applied_seq IS NOT NULL), 0)"
        )
    };
}
macro_rules! left {
    ($d:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM promotion r WHERE r.key_id = $1 AND r.environment = $2 AND r.act = 'rollback' AND r.from_digest = ",
            $d,
            ")"
        )
    };
}
/// Whether row `$p` of `promotion` gave a digest to everybody.
macro_rules! whole {
    ($p:literal) => {
        concat!(
            $p,
            ".rollout_pct = 10000 AND (",
            $p,
            ".act IN ('promote', 'step', 'rollback') OR (",
            $p,
            ".act = 'revive' AND ",
            $p,
            ".reason IS NULL))"
        )
    };
}

pub(super) const STANDING: &str = concat!(
    "SELECT EXISTS (SELECT 1 FROM promotion f WHERE f.key_id = $1 AND f.environment = $2 AND f.to_digest = $3 \
     AND f.applied_seq IS NOT NULL AND ",
    whole!("f"),
    ") AS reached_all, ",
    left!("$3"),
    " AS rolled_away, ",
    killed!("$3"),
    " > ",
    back!("$1", "$2", "$3"),
    " AS killed_away"
);

/// Walks back from before the first apply of `$3`, past what is unfit, was rolled away or killed.
const BACK: &str = concat!(
    "SELECT p.to_digest FROM promotion p JOIN version v ON v.digest = p.to_digest \
     WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq IS NOT NULL AND p.applied_seq < \
     (SELECT MIN(c.applied_seq) FROM promotion c WHERE c.key_id = $1 AND c.environment = $2 AND c.to_digest = $3 \
     AND c.act <> 'kill' AND c.applied_seq IS NOT NULL) \
     AND p.to_digest <> $3 AND v.quarantined_at IS NULL AND NOT v.discarded AND ",
    whole!("p"),
    " AND NOT ",
    left!("p.to_digest"),
    " AND ",
    killed!("p.to_digest"),
    " <= ",
    back!("$1", "$2", "p.to_digest"),
    " ORDER BY p.applied_seq DESC LIMIT 1"
);

/// A safe default that was killed at a place is trusted there again once it was approved again: there, or as safe default.
const DISTRUSTED: &str = concat!(
    "SELECT ",
    killed!("$3"),
    " > ",
    back!("$1", "$2", "$3"),
    " AND ",
    killed!("$3"),
    " > ",
    back!("$1", "'@safe-default'", "$3"),
    " AS distrusted"
);
const DISTRUSTED_ALL: &str = concat!(
    "SELECT DISTINCT p.key_id, p.environment FROM promotion p \
     JOIN config_key c ON c.key_id = p.key_id AND c.safe_default_digest = p.from_digest \
     WHERE p.act = 'kill' AND p.applied_seq > ",
    back!("p.key_id", "p.environment", "p.from_digest"),
    " AND p.applied_seq > ",
    back!("p.key_id", "'@safe-default'", "p.from_digest")
);

pub(super) const ALL: &[&str] = &[DECIDED, REVIVED, SETTLED, STANDING, BACK, DISTRUSTED, DISTRUSTED_ALL];

decode!(Standing, r => Ok(Self {
    reached_all: r.try_get("reached_all")?,
    rolled_away: r.try_get("rolled_away")?,
    killed_away: r.try_get("killed_away")?,
}));

impl Conn<'_> {
    /// The promote, revive or rollback that was applied to a pointer last: what decides which rollout runs. A kill that was taken
    /// back is looked through.
    pub async fn applied_decided(&mut self, key: &KeyId, environment: &Environment) -> Result<Option<Promotion>, StorageError> {
        let found: Option<(Id,)> = row!(self, DECIDED, key, environment)?;
        self.named(found).await
    }

    /// The revive, or kill taken back, that was applied to a pointer last.
    pub async fn applied_revived(&mut self, key: &KeyId, environment: &Environment) -> Result<Option<Promotion>, StorageError> {
        let found: Option<(Id,)> = row!(self, REVIVED, key, environment)?;
        self.named(found).await
    }

    /// When a pointer was last changed by anything but a kill or its taking back.
    pub async fn applied_settled(&mut self, key: &KeyId, environment: &Environment) -> Result<Option<Timestamp>, StorageError> {
        let found: Option<(Timestamp,)> = row!(self, SETTLED, key, environment)?;
        Ok(found.map(|(at,)| at))
    }

    /// What became of a digest at a pointer.
    pub async fn applied_standing(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        digest: &Digest,
    ) -> Result<Standing, StorageError> {
        let found: Option<Standing> = row!(self, STANDING, key, environment, digest)?;
        Ok(found.unwrap_or_default())
    }

    /// Where a rollback from `current` goes by itself: to the newest digest that everybody got before `current` was first applied,
    /// past those that were rolled away or killed, are quarantined or discarded.
    pub async fn applied_back(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        current: &Digest,
    ) -> Result<Option<Digest>, StorageError> {
        let found: Option<(Digest,)> = row!(self, BACK, key, environment, current)?;
        Ok(found.map(|(digest,)| digest))
    }

    /// Whether the safe default `digest` was itself killed at a pointer, and has been approved neither there nor as safe default
    /// since: a kill must not serve it.
    pub async fn applied_distrusted(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        digest: &Digest,
    ) -> Result<bool, StorageError> {
        let found: Option<(bool,)> = row!(self, DISTRUSTED, key, environment, digest)?;
        Ok(found.is_some_and(|(distrusted,)| distrusted))
    }

    /// The same, with the version; one that does not read leaves the answer.
    ///
    /// # Errors
    /// The database is away.
    pub async fn applied_distrusted_version(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        digest: &Digest,
    ) -> Result<(bool, Result<Option<Version>, StorageError>), StorageError> {
        let mut found = batch!(
            self,
            DISTRUSTED, key, environment, digest;
            versions::GET, digest;
            versions::AUTHOR_LIST, digest
        )?;
        let distrusted: Option<(bool,)> = found.row()?;
        Ok((distrusted.is_some_and(|(distrusted,)| distrusted), versions::read(&mut found)))
    }

    /// The pointers whose key's safe default is distrusted there.
    pub async fn applied_distrusted_all(&mut self) -> Result<Vec<(KeyId, Environment)>, StorageError> {
        rows!(self, DISTRUSTED_ALL)
    }

    async fn named(&mut self, found: Option<(Id,)>) -> Result<Option<Promotion>, StorageError> {
        match found {
            Some((id,)) => self.promotion_get(id.0).await,
            None => Ok(None),
        }
    }
}
