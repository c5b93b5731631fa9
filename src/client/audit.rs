//! Calls about the audit trail.

use super::{Answer, Client};
use crate::model::{AuditEvent, ChainHead};
use crate::wire::world::ListAudit;
use crate::wire::{Page, paths};

impl Client {
    /// One page of audit events, ascending. The events are not verified here: see [`super::verify_all`] and
    /// [`super::follow`].
    pub async fn audit(&self, ask: &ListAudit) -> Answer<Page<AuditEvent>> {
        self.get(&paths::audit(), ask).await
    }

    /// The newest link as the server states it.
    pub async fn audit_head(&self) -> Answer<ChainHead> {
        self.get(&paths::audit_head(), &()).await
    }
}
