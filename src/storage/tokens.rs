//! Rows of `token`; of the secret only its hash.

use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, Digest, Timestamp, Token};

macro_rules! columns {
    () => {
        "t.token_id, t.secret_hash, t.actor, t.owner, t.scope, t.environment, t.note, t.created_at, t.expires_at, t.revoked_at"
    };
}

const PUT: &str = "INSERT INTO token (token_id, secret_hash, actor, owner, scope, environment, note, created_at, \
    expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const GET: &str = concat!("SELECT ", columns!(), " FROM token t WHERE t.token_id = $1");
const LIST: &str = concat!("SELECT ", columns!(), " FROM token t WHERE t.token_id > $1 ORDER BY t.token_id LIMIT $2");
const REVOKE: &str = "UPDATE token SET revoked_at = $2 WHERE token_id = $1 AND revoked_at IS NULL";
const OWNERS: &str = "SELECT DISTINCT owner FROM token WHERE actor = $1";

pub(super) const ALL: &[&str] = &[PUT, GET, LIST, REVOKE, OWNERS];

/// A token with the hash of its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredToken {
    /// The row.
    pub token: Token,
    /// SHA-256 of the whole token text.
    pub secret_hash: Digest,
}

decode!(StoredToken, r => Ok(Self {
    secret_hash: r.try_get("secret_hash")?,
    token: Token {
        token_id: r.try_get("token_id")?,
        actor: r.try_get("actor")?,
        owner: r.try_get("owner")?,
        scope: r.try_get("scope")?,
        environment: r.try_get("environment")?,
        note: r.try_get("note")?,
        created_at: r.try_get("created_at")?,
        expires_at: r.try_get("expires_at")?,
        revoked_at: r.try_get("revoked_at")?,
    },
}));

impl Conn<'_> {
    /// Adds a token.
    pub async fn token_put(&mut self, token: &Token, secret_hash: &Digest) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            &token.token_id,
            secret_hash,
            &token.actor,
            &token.owner,
            token.scope,
            &token.environment,
            &token.note,
            token.created_at,
            token.expires_at,
            token.revoked_at
        )
        .map(drop)
    }

    /// One token.
    pub async fn token_get(&mut self, id: &str) -> Result<Option<StoredToken>, StorageError> {
        row!(self, GET, id.replace('\0', " "))
    }

    /// Tokens after an id, by id (`None`: from the first).
    pub async fn token_list(&mut self, after: Option<&str>, most: u32) -> Result<Vec<StoredToken>, StorageError> {
        rows!(self, LIST, after.unwrap_or("").replace('\0', " "), limit(most))
    }

    /// Ends a token; false where it was revoked before or does not exist.
    pub async fn token_revoke(&mut self, id: &str, at: Timestamp) -> Result<bool, StorageError> {
        Ok(run!(self, REVOKE, id, at)? == 1)
    }

    /// Who made tokens that act for an actor: they answer for what it did. Sorted.
    pub async fn token_owners(&mut self, actor: &Actor) -> Result<Vec<Actor>, StorageError> {
        let found: Vec<(Actor,)> = rows!(self, OWNERS, actor)?;
        let mut owners: Vec<Actor> = found.into_iter().map(|(owner,)| owner).collect();
        owners.sort();
        Ok(owners)
    }
}
