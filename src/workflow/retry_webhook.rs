//! Sending again what was given up.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Refusal, Subject};
use crate::rules::access::Need;
use crate::wire::webhooks::Retried;
use serde_json::json;
use uuid::Uuid;

/// POST /v1/webhooks/{webhook_id}/retry.
#[derive(Debug, Clone, Copy)]
pub struct RetryWebhook {
    /// The receiver.
    pub id: Uuid,
}

impl Verb for RetryWebhook {
    type Answer = Retried;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Retried>, Refusal> {
        work.allow(Need::Webhooks, None, None)?;
        if !work.conn.webhook_all().await?.iter().any(|there| there.webhook.webhook_id == self.id) {
            return Err(Refusal::not_found());
        }
        let notices = work.conn.delivery_again(self.id, work.at).await?;
        if notices == 0 {
            return Ok(Outcome::unchanged(Retried { notices }));
        }
        let subject = Subject(format!("webhook:{}", self.id));
        Ok(Outcome::done(Retried { notices }, Action::WebhookRetry, subject, &json!({ "notices": notices })))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject(format!("webhook:{}", self.id)))
    }
}
