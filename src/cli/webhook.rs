//! `webhook create|list|deliveries|retry|delete`.

use super::context::{Acts, Context};
use super::exit::Done;
use super::output::{Output, Table, line, note};
use crate::model::webhook::{Delivery, NoticeKind, Shape};
use crate::wire::webhooks::{CreateWebhook, WebhookView};
use uuid::Uuid;

/// Receivers of notices about promotions, approvals, rollbacks, kills and alarms
#[derive(Debug, clap::Subcommand)]
pub enum WebhookCommand {
    /// Name a receiver; the secret that signs what it gets is printed once
    Create {
        /// Its address: https, and public unless the operator listed it
        #[arg(long)]
        url: String,
        /// cloudevents, or slack
        #[arg(long, default_value = "cloudevents")]
        shape: Shape,
        /// What it is told of, like kill,rollback; everything unless given
        #[arg(long, value_delimiter = ',', value_name = "KIND")]
        kinds: Vec<NoticeKind>,
        /// What it is for
        #[arg(long, default_value = "")]
        note: String,
        /// Sent with the request: the same key and request act once
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
    },
    /// List receivers, with what each has not taken
    List,
    /// List what a receiver has not taken, and why
    Deliveries {
        /// The receiver
        id: Uuid,
    },
    /// Send again what was given up
    Retry {
        /// The receiver
        id: Uuid,
    },
    /// Take a receiver away
    Delete {
        /// The receiver
        id: Uuid,
    },
}

impl WebhookCommand {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let fresh = || context.idempotency(&Acts::default());
        match self {
            Self::Create { url, shape, kinds, note: words, idempotency_key } => {
                let body = CreateWebhook { url, shape, kinds, note: words };
                let key = context.idempotency(&Acts { idempotency_key, ..Acts::default() });
                let made = client.create_webhook(&body, &key).await?;
                note(&format!("{} is told from now on; its secret:", made.webhook.webhook_id));
                context.out.answer(&made, |_, made| line(&made.secret))
            }
            Self::List => context.out.list(&client.webhooks().await?, receivers),
            Self::Deliveries { id } => context.out.list(&client.webhook_deliveries(id).await?, deliveries),
            Self::Retry { id } => {
                let again = client.retry_webhook(id, &fresh()).await?;
                context.out.answer(&again, |_, again| format!("{} notices are sent again", again.notices))
            }
            Self::Delete { id } => {
                client.delete_webhook(id, &fresh()).await?;
                context.out.answer(&serde_json::json!({ "webhook_id": id }), |_, _| format!("{id} is told nothing any more"))
            }
        }
    }
}

fn receivers(out: &Output, all: &[WebhookView]) -> String {
    let mut table = Table::new(&["RECEIVER", "ADDRESS", "SHAPE", "KINDS", "TAKEN", "DUE", "PARKED", "NOTE"]);
    for view in all {
        let there = &view.webhook;
        let kinds: Vec<&str> = there.kinds.iter().map(|kind| kind.as_str()).collect();
        let kinds = if kinds.len() == NoticeKind::ALL.len() { "all".to_owned() } else { kinds.join(",") };
        table.row([
            there.webhook_id.to_string(),
            line(&there.url),
            there.shape.to_string(),
            kinds,
            there.delivered.to_string(),
            view.due.to_string(),
            view.parked.to_string(),
            line(&there.note),
        ]);
    }
    table.text(out)
}

fn deliveries(out: &Output, all: &[Delivery]) -> String {
    let mut table = Table::new(&["EVENT", "STATE", "TRIES", "NEXT", "WHY"]);
    for delivery in all {
        let next = if delivery.state == crate::model::webhook::DeliveryState::Due {
            delivery.next_at.to_string()
        } else {
            "-".to_owned()
        };
        let why = line(&delivery.last_error);
        table.row([format!("#{}", delivery.seq), delivery.state.to_string(), delivery.attempts.to_string(), next, why]);
    }
    table.text(out)
}
