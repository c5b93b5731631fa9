//! Calls about the audit trail.

use super::transport::Download;
use super::{Answer, Client};
use crate::model::{AuditEvent, ChainHead};
use crate::wire::world::{AskReport, AuditKey, ExportAudit, ListAudit};
use crate::wire::{Page, paths};

impl Client {
    /// One page of audit events, ascending. The events are not verified here: see [`super::verify_all`] and
    /// [`super::follow`].
    pub async fn audit(&self, ask: &ListAudit) -> Answer<Page<AuditEvent>> {
        let page: Page<AuditEvent> = self.get(&paths::audit(), ask).await?;
        self.heard_of(page.items.iter().map(|event| event.seq).max().unwrap_or(0));
        Ok(page)
    }

    /// The head, signed: a note.
    pub async fn audit_checkpoint(&self) -> Answer<String> {
        self.heard_of(1);
        self.text(&paths::audit_checkpoint()).await
    }

    /// The public key that signs checkpoints and bundles, as the server states it.
    pub async fn audit_key(&self) -> Answer<AuditKey> {
        self.get(&paths::audit_key(), &()).await
    }

    /// All events after a number, one a line, as they come. They are not verified here.
    pub async fn audit_export(&self, ask: &ExportAudit) -> Answer<Download> {
        self.heard_of(1);
        self.download(&paths::audit_export(), ask).await
    }

    /// What came to serve in a time, who let it, and why, as CSV.
    pub async fn audit_report(&self, ask: &AskReport) -> Answer<Download> {
        self.heard_of(1);
        self.download(&paths::audit_report(), ask).await
    }

    /// The newest link as the server states it.
    pub async fn audit_head(&self) -> Answer<ChainHead> {
        let head: ChainHead = self.get(&paths::audit_head(), &()).await?;
        self.heard_of(head.seq);
        Ok(head)
    }
}
