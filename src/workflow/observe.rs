//! Taking note of what an issuer says of somebody's groups.

use super::Registry;
use crate::model::oidc::OidcSight;
use crate::storage::StorageError;
use std::sync::Arc;

/// What an issuer repeats is not kept again for so many seconds.
const REPEATED_SECONDS: i64 = 15 * 60;

impl Registry {
    /// Takes note of what an issuer says of a person's groups, unless something newer is known: at once for all that is decided
    /// from now on, and soon in the database, so that a restart does not forget it. It is no change of the registry: no event,
    /// and nobody waits for it.
    pub fn observe(&self, sight: OidcSight) {
        let snapshot = self.snapshot.get();
        if !snapshot.policy().oidc_groups.values().any(|group| group.issuer == sight.issuer) {
            return;
        }
        let known = |held: &Arc<OidcSight>| {
            let same = held.issuer == sight.issuer && held.groups == sight.groups;
            sight.at <= held.at || (same && sight.at.seconds_since(held.at) < REPEATED_SECONDS)
        };
        if snapshot.sight(&sight.actor).is_some_and(known) {
            return;
        }
        self.snapshot.observe(sight.clone(), self.clock.now());
        let registry = self.clone();
        tokio::spawn(async move {
            if let Err(error) = registry.keep_sight(&sight).await {
                tracing::warn!(%error, "failed to keep what an issuer said of somebody's groups");
            }
        });
    }

    async fn keep_sight(&self, sight: &OidcSight) -> Result<(), StorageError> {
        let mut tx = self.db.begin().await?;
        tx.conn().audit_head_lock().await?;
        tx.conn().sight_put(sight).await?;
        tx.commit().await
    }
}
