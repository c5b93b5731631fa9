//! Rows of `gate_verdict`; only ever added.

use super::codec::Id;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Digest, GateVerdict};

macro_rules! columns {
    () => {
        "v.verdict_id, v.digest, v.gate_name, v.score, v.threshold, v.passed, v.status, v.reporter, v.attempt, v.summary, \
         v.details_url, v.at"
    };
}

const PUT: &str = "INSERT INTO gate_verdict (verdict_id, digest, gate_name, score, threshold, passed, status, reporter, attempt, \
    summary, details_url, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const LIST: &str =
    concat!("SELECT ", columns!(), " FROM gate_verdict v WHERE v.digest = $1 ORDER BY v.gate_name, v.attempt DESC LIMIT 1000");
pub(super) const NEWEST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM gate_verdict v WHERE v.digest = $1 AND v.attempt = \
     (SELECT MAX(n.attempt) FROM gate_verdict n WHERE n.digest = v.digest AND n.gate_name = v.gate_name) ORDER BY v.gate_name"
);
const ATTEMPTS: &str = "SELECT COALESCE(MAX(attempt), 0) FROM gate_verdict WHERE digest = $1 AND gate_name = $2";

pub(super) const ALL: &[&str] = &[PUT, LIST, NEWEST, ATTEMPTS];

decode!(GateVerdict, r => Ok(Self {
    verdict_id: r.try_get::<Id, _>("verdict_id")?.0,
    digest: r.try_get("digest")?,
    gate_name: r.try_get("gate_name")?,
    score: r.try_get("score")?,
    threshold: r.try_get("threshold")?,
    passed: r.try_get("passed")?,
    status: r.try_get("status")?,
    reporter: r.try_get("reporter")?,
    attempt: r.try_get("attempt")?,
    summary: r.try_get("summary")?,
    details_url: r.try_get("details_url")?,
    at: r.try_get("at")?,
}));

impl Conn<'_> {
    /// Adds a report; its attempt is one more than [`Conn::verdict_attempts`].
    pub async fn verdict_put(&mut self, v: &GateVerdict) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            Id(v.verdict_id),
            v.digest,
            &v.gate_name,
            v.score,
            v.threshold,
            v.passed,
            v.status,
            &v.reporter,
            v.attempt,
            &v.summary,
            &v.details_url,
            v.at
        )
        .map(drop)
    }

    /// The newest report of each gate on a version, by gate: what counts.
    pub async fn verdict_newest(&mut self, digest: &Digest) -> Result<Vec<GateVerdict>, StorageError> {
        rows!(self, NEWEST, digest)
    }

    /// Reports on a version by gate, newest first; a thousand at most.
    pub async fn verdict_list(&mut self, digest: &Digest) -> Result<Vec<GateVerdict>, StorageError> {
        rows!(self, LIST, digest)
    }

    /// How many reports of a gate a version has.
    pub async fn verdict_attempts(&mut self, digest: &Digest, gate: &str) -> Result<i64, StorageError> {
        let found: Option<(i64,)> = row!(self, ATTEMPTS, digest, gate)?;
        Ok(found.map_or(0, |(attempts,)| attempts))
    }
}
