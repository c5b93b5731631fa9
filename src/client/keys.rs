//! Calls about keys.

use super::{Answer, Client, pages};
use crate::model::{ConfigKey, KeyId};
use crate::wire::keys::{CreateKey, KeyHistory, KeyRow, ListKeys, UpdateKey};
use crate::wire::{Page, paths};

impl Client {
    /// One page of keys, ordered by name.
    pub async fn keys(&self, ask: &ListKeys) -> Answer<Page<KeyRow>> {
        self.get(&paths::keys(), ask).await
    }

    /// All keys that match.
    pub async fn all_keys(&self, ask: &ListKeys) -> Answer<Vec<KeyRow>> {
        pages::all(|cursor| {
            let ask = ListKeys { cursor, limit: ask.limit.or(Some(1000)), ..ask.clone() };
            async move { self.keys(&ask).await }
        })
        .await
    }

    /// One key with its pointers.
    pub async fn key(&self, key: &KeyId) -> Answer<KeyRow> {
        self.get(&paths::key(key), &()).await
    }

    /// A key with its versions, pointers and latest promotions.
    pub async fn key_history(&self, key: &KeyId) -> Answer<KeyHistory> {
        self.get(&paths::key_history(key), &()).await
    }

    /// Makes a key.
    pub async fn create_key(&self, body: &CreateKey, idempotency: &str) -> Answer<ConfigKey> {
        self.post(&paths::keys(), body, idempotency).await
    }

    /// Changes what is given of a key.
    pub async fn update_key(&self, key: &KeyId, body: &UpdateKey, idempotency: &str) -> Answer<ConfigKey> {
        self.patch(&paths::key(key), body, idempotency).await
    }
}
