//! Receivers of notices outside, and how far each has got.

use super::promotion::words;
use super::{Actor, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
use uuid::Uuid;

words! {
    /// What notices are about.
    NoticeKind ("kind") {
        /// A promotion was opened, took effect, stepped, or was closed.
        Promotion = "promotion",
        /// Somebody approved, rejected, retracted, overrode or commented.
        Approval = "approval",
        /// What served before serves again.
        Rollback = "rollback",
        /// The kill switch, its undoing, a revive.
        Kill = "kill",
        /// What people must look at: a quarantine, a denied attempt, a database that was put back.
        Alarm = "alarm",
    }
}
words! {
    /// What bodies look like.
    Shape ("shape") {
        /// A CloudEvent in structured JSON.
        CloudEvents = "cloudevents",
        /// A message as Slack's incoming webhooks take it.
        Slack = "slack",
    }
}
words! {
    /// Where a notice stands.
    DeliveryState ("state") {
        /// It is to be sent, for the first time or again.
        Due = "due",
        /// It was given up after too many tries.
        Parked = "parked",
    }
}

/// A row of `webhook` without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Webhook {
    /// Its id.
    pub webhook_id: Uuid,
    /// Where notices go.
    pub url: String,
    /// What bodies look like.
    pub shape: Shape,
    /// What it is told of.
    pub kinds: Vec<NoticeKind>,
    /// For people.
    pub note: String,
    /// Who named it.
    pub created_by: Actor,
    /// When.
    pub created_at: Timestamp,
    /// Number of the event that made it; it is told of what came later.
    pub since: i64,
    /// How many notices it took.
    pub delivered: i64,
    /// When it last took one.
    pub delivered_at: Option<Timestamp>,
}

/// A row of `delivery`: a notice that a receiver has not taken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The receiver.
    pub webhook_id: Uuid,
    /// Number of the audit event.
    pub seq: i64,
    /// Where it stands.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// When it is tried next.
    pub next_at: Timestamp,
    /// When it was tried last.
    pub last_at: Option<Timestamp>,
    /// What went wrong then.
    pub last_error: String,
}
