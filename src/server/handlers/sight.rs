//! What a caller may see: the check that every read begins with.

use crate::model::{ConfigKey, Digest, KeyId, Refusal, Version};
use crate::rules::access::{Caller, Need, allowed, sees};
use crate::snapshot::Snapshot;
use crate::storage::{Conn, Tx};
use crate::workflow::Registry;
use std::sync::Arc;

/// One caller's read: one state of the snapshot, one state of the database.
pub struct Sight {
    /// The newest state of what serves.
    pub snapshot: Arc<Snapshot>,
    /// Who reads.
    pub caller: Caller,
    tx: Tx,
}

impl Sight {
    /// Begins a read.
    ///
    /// # Errors
    /// The database is away.
    pub async fn begin(registry: &Registry, caller: Caller) -> Result<Self, Refusal> {
        let tx = registry.db.read().await?;
        Ok(Self { snapshot: registry.snapshot.get(), caller, tx })
    }

    /// What statements run on.
    pub fn conn(&mut self) -> Conn<'_> {
        self.tx.conn()
    }

    /// A key that the caller may read.
    ///
    /// # Errors
    /// `not_found` where it is not there or not the caller's to know; `forbidden` where it may be known but not read.
    pub async fn key(&mut self, key: &KeyId) -> Result<ConfigKey, Refusal> {
        let found = self.conn().key_get(key).await?.ok_or_else(Refusal::not_found)?;
        allowed(self.snapshot.policy(), &self.caller, Need::Read, Some(&found), None)?;
        Ok(found)
    }

    /// Whether the caller may know of a key.
    pub fn knows(&self, key: &ConfigKey) -> bool {
        sees(self.snapshot.policy(), &self.caller, key)
    }

    /// Whether the caller may read a key: what lists leave out otherwise.
    pub fn reads(&self, key: &ConfigKey) -> bool {
        allowed(self.snapshot.policy(), &self.caller, Need::Read, Some(key), None).is_ok()
    }

    /// A version of a key that the caller may read.
    ///
    /// # Errors
    /// As [`Sight::key`].
    pub async fn version(&mut self, digest: &Digest) -> Result<Version, Refusal> {
        let found = self.conn().version_get(digest).await?.ok_or_else(Refusal::not_found)?;
        self.key(&found.key_id).await?;
        Ok(found)
    }
}
