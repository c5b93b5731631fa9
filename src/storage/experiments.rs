//! Rows of `experiment` and `variant`.

use super::codec::Id;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Experiment, Variant};
use uuid::Uuid;

const PUT: &str = "INSERT INTO experiment (experiment_id, key_id, environment, salt, primary_metric, min_exposures, exclusion_group, \
    state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const GET: &str = "SELECT experiment_id, key_id, environment, salt, primary_metric, min_exposures, exclusion_group, state \
    FROM experiment WHERE experiment_id = $1";
const VARIANT_PUT: &str = "INSERT INTO variant (variant_id, experiment_id, digest, weight_pct) VALUES ($1, $2, $3, $4)";
const VARIANT_LIST: &str =
    "SELECT variant_id, experiment_id, digest, weight_pct FROM variant WHERE experiment_id = $1 ORDER BY variant_id";

pub(super) const ALL: &[&str] = &[PUT, GET, VARIANT_PUT, VARIANT_LIST];

decode!(Experiment, r => Ok(Self {
    experiment_id: r.try_get::<Id, _>("experiment_id")?.0,
    key_id: r.try_get("key_id")?,
    environment: r.try_get("environment")?,
    salt: r.try_get("salt")?,
    primary_metric: r.try_get("primary_metric")?,
    min_exposures: r.try_get("min_exposures")?,
    exclusion_group: r.try_get("exclusion_group")?,
    state: r.try_get("state")?,
}));

decode!(Variant, r => Ok(Self {
    variant_id: r.try_get::<Id, _>("variant_id")?.0,
    experiment_id: r.try_get::<Id, _>("experiment_id")?.0,
    digest: r.try_get("digest")?,
    weight_pct: r.try_get("weight_pct")?,
}));

impl Conn<'_> {
    /// Adds an experiment.
    pub async fn experiment_put(&mut self, e: &Experiment) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            Id(e.experiment_id),
            &e.key_id,
            &e.environment,
            &e.salt,
            &e.primary_metric,
            e.min_exposures,
            &e.exclusion_group,
            e.state
        )
        .map(drop)
    }

    /// One experiment.
    pub async fn experiment_get(&mut self, id: Uuid) -> Result<Option<Experiment>, StorageError> {
        row!(self, GET, Id(id))
    }

    /// Adds an arm.
    pub async fn variant_put(&mut self, v: &Variant) -> Result<(), StorageError> {
        run!(self, VARIANT_PUT, Id(v.variant_id), Id(v.experiment_id), v.digest, v.weight_pct).map(drop)
    }

    /// The arms of an experiment, in the order in which they were made.
    pub async fn variant_list(&mut self, experiment: Uuid) -> Result<Vec<Variant>, StorageError> {
        rows!(self, VARIANT_LIST, Id(experiment))
    }
}
