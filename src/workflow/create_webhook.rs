//! Naming a receiver of notices.

use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::webhook::{NoticeKind, Webhook};
use crate::model::{Action, Refusal, Subject};
use crate::rules::access::Need;
use crate::rules::notice;
use crate::wire::webhooks as wire;
use serde_json::json;

/// Most receivers.
const MOST: usize = 100;
/// Most bytes of a note.
const NOTE: usize = 1000;

/// POST /v1/webhooks.
#[derive(Debug, Clone)]
pub struct CreateWebhook {
    /// The request.
    pub body: wire::CreateWebhook,
    /// What is wrong with the address, as the server that would call it sees it.
    pub fault: Option<String>,
}

impl Verb for CreateWebhook {
    type Answer = wire::CreatedWebhook;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<wire::CreatedWebhook>, Refusal> {
        work.allow(Need::Webhooks, None, None)?;
        let wire::CreateWebhook { url, shape, kinds, note } = self.body.clone();
        if let Some(fault) = &self.fault {
            return Err(Refusal::invalid("/url", fault.clone())
                .hint("give an https address; the operator lists others with `serve --webhook-allow`"));
        }
        no_nul("/note", &note)?;
        if note.len() > NOTE {
            return Err(Refusal::invalid("/note", format!("is longer than {NOTE} bytes")));
        }
        if work.conn.webhook_all().await?.len() >= MOST {
            return Err(Refusal::invalid("/url", format!("there are {MOST} receivers already")).hint("take one away first"));
        }
        let mut kinds = if kinds.is_empty() { NoticeKind::ALL.to_vec() } else { kinds };
        kinds.sort();
        kinds.dedup();
        let webhook = Webhook {
            webhook_id: work.uuid(),
            url,
            shape,
            kinds,
            note,
            created_by: work.actor().clone(),
            created_at: work.at,
            since: i64::try_from(work.seq).unwrap_or(i64::MAX),
            delivered: 0,
            delivered_at: None,
        };
        let secret = notice::secret(&work.clock.bytes());
        work.conn.webhook_put(&webhook, &secret).await?;
        // Of the address only the host: a path may be a secret.
        let host = webhook.url.split('/').nth(2).unwrap_or_default();
        let detail = json!({ "host": host, "shape": webhook.shape, "kinds": webhook.kinds, "note": webhook.note });
        let subject = Subject(format!("webhook:{}", webhook.webhook_id));
        let answer = wire::CreatedWebhook { webhook, secret };
        Ok(Outcome::done(answer, Action::WebhookCreate, subject, &detail).created())
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject("webhook:new".into()))
    }

    fn keep(answer: &Self::Answer) -> serde_json::Value {
        let kept = wire::CreatedWebhook { secret: String::new(), ..answer.clone() };
        serde_json::to_value(kept).unwrap_or_default()
    }
}
