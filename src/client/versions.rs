//! Calls about versions, their gates and their differences. Contents are hashed again as they come in.

use super::{Answer, Client, check, pages};
use crate::model::diff::ContentDiff;
use crate::model::{Digest, GateVerdict, KeyId, Version};
use crate::wire::keys::VersionRow;
use crate::wire::versions::{CreateVersion, Reason, RecordVerdict, Served, Submit, Submitted, VersionView};
use crate::wire::{Page, paths};

impl Client {
    /// All versions of a key, newest first.
    pub async fn versions(&self, key: &KeyId) -> Answer<Vec<VersionRow>> {
        pages::all(|cursor| async move { self.get::<Page<VersionRow>>(&paths::versions(key), &pages::at(cursor)).await }).await
    }

    /// One version with its content.
    pub async fn version(&self, digest: &Digest) -> Answer<VersionView> {
        let view: VersionView = self.get(&paths::version(digest), &()).await?;
        check::asked_for(digest, &view.version.digest)?;
        check::version(view)
    }

    /// Where a version served, when, to how many, and who let it.
    pub async fn served(&self, digest: &Digest) -> Answer<Served> {
        let served: Served = self.get(&paths::served(digest), &()).await?;
        check::asked_for(digest, &served.version.digest)?;
        Ok(served)
    }

    /// One version by selector: `sha256:…`, a prefix of it, `vN`, or an environment.
    pub async fn version_by_selector(&self, key: &KeyId, selector: &str) -> Answer<VersionView> {
        let view: VersionView = self.get(&paths::version_by_selector(key, selector), &()).await?;
        if let Ok(digest) = selector.parse() {
            check::asked_for(&digest, &view.version.digest)?;
        }
        check::version(view)
    }

    /// Saves content: a new draft, or the version that has it already.
    pub async fn create_version(&self, key: &KeyId, body: &CreateVersion, idempotency: &str) -> Answer<VersionView> {
        check::version(self.post(&paths::versions(key), body, idempotency).await?)
    }

    /// Draft to review, with `environment` also opening a promotion.
    pub async fn submit_version(&self, digest: &Digest, body: &Submit, idempotency: &str) -> Answer<Submitted> {
        self.post(&paths::submit(digest), body, idempotency).await
    }

    /// Hides a version.
    pub async fn discard_version(&self, digest: &Digest, body: &Reason, idempotency: &str) -> Answer<Version> {
        self.post(&paths::discard(digest), body, idempotency).await
    }

    /// Marks a version so that it cannot come to serve.
    pub async fn quarantine_version(&self, digest: &Digest, body: &Reason, idempotency: &str) -> Answer<Version> {
        self.post(&paths::quarantine(digest), body, idempotency).await
    }

    /// Lifts another person's mark.
    pub async fn lift_version(&self, digest: &Digest, body: &Reason, idempotency: &str) -> Answer<Version> {
        self.post(&paths::lift(digest), body, idempotency).await
    }

    /// All gate verdicts of a version.
    pub async fn verdicts(&self, digest: &Digest) -> Answer<Vec<GateVerdict>> {
        pages::all(|cursor| async move { self.get::<Page<GateVerdict>>(&paths::verdicts(digest), &pages::at(cursor)).await })
            .await
    }

    /// Reports what an evaluation gate found.
    pub async fn record_verdict(&self, digest: &Digest, body: &RecordVerdict, idempotency: &str) -> Answer<GateVerdict> {
        self.post(&paths::verdicts(digest), body, idempotency).await
    }

    /// The server's difference of two versions of a key.
    pub async fn diff(&self, key: &KeyId, from: &str, to: &str) -> Answer<ContentDiff> {
        self.get(&paths::diff(key), &[("from", from), ("to", to)]).await
    }
}
