//! Calls about receivers of notices.

use super::{Answer, Client, pages};
use crate::model::webhook::Delivery;
use crate::wire::webhooks::{CreateWebhook, CreatedWebhook, Retried, WebhookView};
use crate::wire::{Page, paths};
use uuid::Uuid;

impl Client {
    /// Every receiver.
    pub async fn webhooks(&self) -> Answer<Vec<WebhookView>> {
        let page: Page<WebhookView> = self.get(&paths::webhooks(), &()).await?;
        Ok(page.items)
    }

    /// Names a receiver; the only time that its secret is seen.
    pub async fn create_webhook(&self, body: &CreateWebhook, idempotency: &str) -> Answer<CreatedWebhook> {
        self.post(&paths::webhooks(), body, idempotency).await
    }

    /// Takes a receiver away.
    pub async fn delete_webhook(&self, id: Uuid, idempotency: &str) -> Answer<()> {
        self.delete(&paths::webhook(id), idempotency).await
    }

    /// What a receiver has not taken.
    pub async fn webhook_deliveries(&self, id: Uuid) -> Answer<Vec<Delivery>> {
        pages::all(|cursor| async move { self.get::<Page<Delivery>>(&paths::webhook_deliveries(id), &pages::at(cursor)).await })
            .await
    }

    /// Sends again what was given up.
    pub async fn retry_webhook(&self, id: Uuid, idempotency: &str) -> Answer<Retried> {
        self.post(&paths::webhook_retry(id), &serde_json::json!({}), idempotency).await
    }
}
