//! Taking a receiver of notices away.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Refusal, Subject};
use crate::rules::access::Need;
use serde_json::json;
use uuid::Uuid;

/// DELETE /v1/webhooks/{webhook_id}.
#[derive(Debug, Clone, Copy)]
pub struct DeleteWebhook {
    /// The receiver.
    pub id: Uuid,
}

impl Verb for DeleteWebhook {
    type Answer = ();

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<()>, Refusal> {
        work.allow(Need::Webhooks, None, None)?;
        if !work.conn.webhook_delete(self.id).await? {
            return Err(Refusal::not_found());
        }
        Ok(Outcome::done((), Action::WebhookDelete, subject(self.id), &json!({})))
    }

    fn protects(&self) -> Option<Subject> {
        Some(subject(self.id))
    }
}

fn subject(id: Uuid) -> Subject {
    Subject(format!("webhook:{id}"))
}
