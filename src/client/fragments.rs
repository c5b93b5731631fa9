//! Calls about fragments.

use super::{Answer, Client, check, pages};
use crate::model::{Digest, Fragment};
use crate::wire::versions::{CreateFragment, FragmentUser};
use crate::wire::{Page, paths};

impl Client {
    /// All fragment revisions.
    pub async fn fragments(&self) -> Answer<Vec<Fragment>> {
        let all: Vec<Fragment> =
            pages::all(|cursor| async move { self.get::<Page<Fragment>>(&paths::fragments(), &pages::at(cursor)).await }).await?;
        all.iter().try_for_each(check::fragment)?;
        Ok(all)
    }

    /// One fragment revision.
    pub async fn fragment(&self, digest: &Digest) -> Answer<Fragment> {
        let found: Fragment = self.get(&paths::fragment(digest), &()).await?;
        check::asked_for(digest, &found.digest)?;
        check::fragment(&found)?;
        Ok(found)
    }

    /// Saves a fragment revision.
    pub async fn create_fragment(&self, body: &CreateFragment, idempotency: &str) -> Answer<Fragment> {
        let made: Fragment = self.post(&paths::fragments(), body, idempotency).await?;
        check::fragment(&made)?;
        Ok(made)
    }

    /// All versions that pin some revision of a fragment.
    pub async fn fragment_users(&self, name: &str) -> Answer<Vec<FragmentUser>> {
        pages::all(|cursor| async move { self.get::<Page<FragmentUser>>(&paths::fragment_users(name), &pages::at(cursor)).await })
            .await
    }
}
