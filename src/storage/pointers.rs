//! Rows of `environment_pointer`.

use super::batch::Batch;
use super::codec::{AsJson, limit};
use super::db::Conn;
use super::error::StorageError;
use super::keys;
use crate::model::{ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, KeyPattern, Plan};

macro_rules! columns {
    () => {
        "p.key_id, p.environment, p.digest, p.rollout_pct, p.killed, p.updated_at, p.revision, p.baseline_digest, p.held, p.plan, \
         p.next_step_at"
    };
}

pub(super) const GET: &str =
    concat!("SELECT ", columns!(), " FROM environment_pointer p WHERE p.key_id = $1 AND p.environment = $2");
const PUT: &str = "INSERT INTO environment_pointer (key_id, environment, digest, rollout_pct, killed, updated_at, revision, \
    baseline_digest, held, plan, next_step_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
const SWAP: &str = "UPDATE environment_pointer SET digest = $3, rollout_pct = $4, killed = $5, updated_at = $6, revision = $7, \
    baseline_digest = $8, held = $9, plan = $10, next_step_at = $11 \
    WHERE key_id = $1 AND environment = $2 AND digest = $12 AND revision = $13";
pub(super) const BY_KEY: &str =
    concat!("SELECT ", columns!(), " FROM environment_pointer p WHERE p.key_id = $1 ORDER BY p.environment");
const BY_DIGEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM environment_pointer p WHERE p.digest = $1 OR p.baseline_digest = $1 ORDER BY p.key_id, p.environment"
);
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM environment_pointer p WHERE (p.key_id > $1 OR (p.key_id = $1 AND p.environment > $2)) AND p.key_id >= $3 AND p.key_id < $4 \
     AND p.key_id NOT LIKE $5 ESCAPE '!' AND ($6 = '' OR p.environment = $6) ORDER BY p.key_id, p.environment LIMIT $7"
);
/// The same for those below 100 % or killed, by their own index.
const LIST_PARTIAL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM environment_pointer p WHERE (p.rollout_pct < 10000 OR p.killed) \
     AND (p.key_id > $1 OR (p.key_id = $1 AND p.environment > $2)) AND p.key_id >= $3 AND p.key_id < $4 \
     AND p.key_id NOT LIKE $5 ESCAPE '!' AND ($6 = '' OR p.environment = $6) ORDER BY p.key_id, p.environment LIMIT $7"
);
const ALL_POINTERS: &str = concat!("SELECT ", columns!(), " FROM environment_pointer p ORDER BY p.key_id, p.environment");

pub(super) const ALL: &[&str] = &[GET, PUT, SWAP, BY_KEY, BY_DIGEST, LIST, LIST_PARTIAL, ALL_POINTERS];

decode!(EnvironmentPointer, r => Ok(Self {
    key_id: r.try_get("key_id")?,
    environment: r.try_get("environment")?,
    digest: r.try_get("digest")?,
    rollout_pct: r.try_get("rollout_pct")?,
    killed: r.try_get("killed")?,
    updated_at: r.try_get("updated_at")?,
    revision: r.try_get("revision")?,
    baseline_digest: r.try_get("baseline_digest")?,
    held: r.try_get("held")?,
    plan: r.try_get::<AsJson<Plan>, _>("plan")?.0,
    next_step_at: r.try_get("next_step_at")?,
}));

/// A key and one of its pointers, as far as they are there and read.
pub type Place = (Result<Option<ConfigKey>, StorageError>, Result<Option<EnvironmentPointer>, StorageError>);

/// What a page of pointers asks for. Ordered by key, then environment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointerFilter {
    /// Which keys.
    pub pattern: KeyPattern,
    /// Only of this environment.
    pub environment: Option<Environment>,
    /// Only below 100 % or killed.
    pub partial: bool,
    /// Only after this one.
    pub after: Option<(KeyId, Environment)>,
    /// At most so many.
    pub limit: u32,
}

/// Adds what [`Conn::pointer_put`] does.
pub(super) fn put(batch: &mut Batch, pointer: &EnvironmentPointer) -> Result<(), StorageError> {
    statement(batch, PUT, pointer)
}

/// Adds what [`Conn::pointer_swap`] does.
pub(super) fn swap(batch: &mut Batch, after: &EnvironmentPointer, from: &Digest, revision: i64) -> Result<(), StorageError> {
    statement(batch, SWAP, after)?;
    batch.bind(from)?;
    batch.bind(revision)
}

/// Both begin with the whole row.
fn statement(batch: &mut Batch, sql: &'static str, pointer: &EnvironmentPointer) -> Result<(), StorageError> {
    statement!(
        batch,
        sql,
        &pointer.key_id,
        &pointer.environment,
        pointer.digest,
        pointer.rollout_pct,
        pointer.killed,
        pointer.updated_at,
        pointer.revision,
        pointer.baseline_digest,
        pointer.held,
        AsJson(&pointer.plan),
        pointer.next_step_at
    );
    Ok(())
}

impl Conn<'_> {
    /// One pointer.
    pub async fn pointer_get(
        &mut self,
        key: &KeyId,
        environment: &Environment,
    ) -> Result<Option<EnvironmentPointer>, StorageError> {
        row!(self, GET, key, environment)
    }

    /// A pointer and its key, each for itself: one that does not read leaves the other.
    ///
    /// # Errors
    /// The database is away.
    pub async fn pointer_place(&mut self, key: &KeyId, environment: &Environment) -> Result<Place, StorageError> {
        let mut found = batch!(self, keys::GET, key; GET, key, environment)?;
        Ok((found.row(), found.row()))
    }

    /// Adds a pointer: the first of its key in its environment. [`StorageError::Unique`] where there is one.
    pub async fn pointer_put(&mut self, pointer: &EnvironmentPointer) -> Result<(), StorageError> {
        let mut batch = Batch::on(self);
        put(&mut batch, pointer)?;
        batch.run(self).await.map(drop)
    }

    /// Compare-and-swap: writes `after` where the row still holds `from` at `revision`; whether it did (R8).
    pub async fn pointer_swap(&mut self, after: &EnvironmentPointer, from: &Digest, revision: i64) -> Result<bool, StorageError> {
        let mut batch = Batch::on(self);
        swap(&mut batch, after, from, revision)?;
        Ok(batch.run(self).await?.touched() == 1)
    }

    /// The pointers of a key, by environment.
    pub async fn pointer_by_key(&mut self, key: &KeyId) -> Result<Vec<EnvironmentPointer>, StorageError> {
        rows!(self, BY_KEY, key)
    }

    /// The pointers that hold a digest, as what they serve or as their baseline.
    pub async fn pointer_by_digest(&mut self, digest: &Digest) -> Result<Vec<EnvironmentPointer>, StorageError> {
        rows!(self, BY_DIGEST, digest)
    }

    /// A page of pointers.
    pub async fn pointer_list(&mut self, filter: &PointerFilter) -> Result<Vec<EnvironmentPointer>, StorageError> {
        let sql = if filter.partial { LIST_PARTIAL } else { LIST };
        let (from, to, unlike) = keys::bounds(&filter.pattern);
        let (key, environment) =
            filter.after.as_ref().map_or_else(Default::default, |(key, environment)| (key.to_string(), environment.to_string()));
        let only = filter.environment.as_ref().map_or("", Environment::as_str);
        rows!(self, sql, &key, &environment, &from, &to, &unlike, only, limit(filter.limit))
    }

    /// Every pointer: what the snapshot loads.
    pub async fn pointer_all(&mut self) -> Result<Vec<EnvironmentPointer>, StorageError> {
        rows!(self, ALL_POINTERS)
    }
}
