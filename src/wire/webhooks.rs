//! Envelopes of receivers of notices.

use crate::model::webhook::{NoticeKind, Shape, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// POST /v1/webhooks
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateWebhook {
    /// Where notices go: https, and no private address unless the server's operator listed it.
    pub url: String,
    /// What bodies look like.
    #[serde(default = "cloudevents")]
    pub shape: Shape,
    /// What it is told of; everything unless given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<NoticeKind>,
    /// For people.
    #[serde(default)]
    pub note: String,
}

fn cloudevents() -> Shape {
    Shape::CloudEvents
}

/// The answer: the only time that the secret is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedWebhook {
    /// The row.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// `whsec_…`: what receivers check signatures with.
    pub secret: String,
}

/// GET /v1/webhooks
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookView {
    /// The row.
    #[serde(flatten)]
    pub webhook: Webhook,
    /// How many notices are to be sent, for the first time or again.
    pub due: i64,
    /// How many were given up.
    pub parked: i64,
}

/// POST /v1/webhooks/{webhook_id}/retry: the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Retried {
    /// How many notices are sent again.
    pub notices: u64,
}
