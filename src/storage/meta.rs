//! Rows of `meta`: the registry's name, its pepper's fingerprint and the like.

use super::db::Conn;
use super::error::StorageError;

const GET: &str = "SELECT value FROM meta WHERE name = $1";
const PUT: &str = "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";

pub(super) const ALL: &[&str] = &[GET, PUT];

/// Name of the registry, for people.
pub const NAME: &str = "name";
/// Fingerprint of the pepper: a server with another one refuses to start.
pub const PEPPER_FINGERPRINT: &str = "pepper_fingerprint";
/// Why nothing may be changed; empty or missing where all may.
pub const READ_ONLY: &str = "read_only";

impl Conn<'_> {
    /// A value by its name.
    pub async fn meta_get(&mut self, name: &str) -> Result<Option<String>, StorageError> {
        let found: Option<(String,)> = row!(self, GET, name)?;
        Ok(found.map(|(value,)| value))
    }

    /// Sets a value.
    pub async fn meta_put(&mut self, name: &str, value: &str) -> Result<(), StorageError> {
        run!(self, PUT, name, value).map(drop)
    }
}
