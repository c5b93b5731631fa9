//! Rows of `policy`: every policy that was in force; the newest is.

use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, Digest, Timestamp};

const GET: &str = "SELECT digest, source, actor, rationale, at FROM policy ORDER BY policy_id DESC LIMIT 1";
const LIST: &str = "SELECT digest, source, actor, rationale, at FROM policy ORDER BY policy_id DESC LIMIT $1";
const PUT: &str = "INSERT INTO policy (policy_id, digest, source, actor, rationale, at) \
    VALUES ((SELECT COALESCE(MAX(policy_id), 0) + 1 FROM policy), $1, $2, $3, $4, $5)";

pub(super) const ALL: &[&str] = &[GET, LIST, PUT];

/// A policy and how it came into force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRow {
    /// SHA-256 of the TOML's bytes.
    pub digest: Digest,
    /// The TOML.
    pub source: String,
    /// Who applied it.
    pub actor: Actor,
    /// Why.
    pub rationale: String,
    /// When.
    pub at: Timestamp,
}

decode!(PolicyRow, r => Ok(Self {
    digest: r.try_get("digest")?,
    source: r.try_get("source")?,
    actor: r.try_get("actor")?,
    rationale: r.try_get("rationale")?,
    at: r.try_get("at")?,
}));

impl Conn<'_> {
    /// The policy in force.
    pub async fn policy_get(&mut self) -> Result<Option<PolicyRow>, StorageError> {
        row!(self, GET)
    }

    /// Policies that were in force, newest first.
    pub async fn policy_list(&mut self, most: u32) -> Result<Vec<PolicyRow>, StorageError> {
        rows!(self, LIST, limit(most))
    }

    /// Puts a policy in force.
    pub async fn policy_put(&mut self, policy: &PolicyRow) -> Result<(), StorageError> {
        run!(self, PUT, policy.digest, &policy.source, &policy.actor, &policy.rationale, policy.at).map(drop)
    }
}
