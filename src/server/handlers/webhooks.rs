//! Receivers of notices.

use super::people::{Nothing, Paged};
use crate::model::Refusal;
use crate::model::webhook::DeliveryState;
use crate::outward::check_url;
use crate::rules::access::Caller;
use crate::server::App;
use crate::server::extract::{Asked, Command, Names, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::wire::Page;
use crate::wire::webhooks::{self, WebhookView};
use crate::workflow::{CreateWebhook, DeleteWebhook, Registry, RetryWebhook};
use axum::extract::State;
use std::sync::Arc;
use uuid::Uuid;

/// GET /v1/webhooks
pub async fn list(State(registry): State<Arc<Registry>>, _caller: Caller, _: NoQuery) -> Answer {
    let mut tx = registry.db.read().await?;
    let counts = tx.conn().delivery_counts().await?;
    let count = |id: Uuid, state| counts.iter().find(|(of, at, _)| (*of, *at) == (id, state)).map_or(0, |(.., count)| *count);
    let items = tx.conn().webhook_all().await?.into_iter().map(|there| WebhookView {
        due: count(there.webhook.webhook_id, DeliveryState::Due),
        parked: count(there.webhook.webhook_id, DeliveryState::Parked),
        webhook: there.webhook,
    });
    Ok(shown(&Page { items: items.collect::<Vec<_>>(), next_cursor: None }))
}

/// POST /v1/webhooks
pub async fn create(State(app): State<App>, command: Command<webhooks::CreateWebhook>) -> Answer {
    let fault = check_url(&command.body.url, &app.outside.webhook_allow).err();
    command.run(app.registry, |body| CreateWebhook { body, fault }).await
}

/// DELETE /v1/webhooks/{webhook_id}
pub async fn delete(State(registry): State<Arc<Registry>>, names: Names, command: Command<Nothing>) -> Answer {
    let id = names.get("webhook_id")?;
    command.run(registry, |_| DeleteWebhook { id }).await
}

/// GET /v1/webhooks/{webhook_id}/deliveries: what it has not taken, oldest first.
pub async fn deliveries(
    State(registry): State<Arc<Registry>>,
    _caller: Caller,
    names: Names,
    Asked(ask): Asked<Paged>,
) -> Answer {
    let id: Uuid = names.get("webhook_id")?;
    let limit = pages::limit(ask.limit)?;
    let after: i64 = pages::after(ask.cursor.as_deref())?.unwrap_or(0);
    let mut tx = registry.db.read().await?;
    if !tx.conn().webhook_all().await?.iter().any(|there| there.webhook.webhook_id == id) {
        return Err(Refusal::not_found().into());
    }
    let most = u32::try_from(limit).unwrap_or(pages::MOST) + 1;
    let found = tx.conn().delivery_list(id, after, most).await?;
    Ok(shown(&pages::page(found, limit, |delivery| delivery.seq)))
}

/// POST /v1/webhooks/{webhook_id}/retry
pub async fn retry(State(registry): State<Arc<Registry>>, names: Names, command: Command<Nothing>) -> Answer {
    let id = names.get("webhook_id")?;
    command.run(registry, |_| RetryWebhook { id }).await
}
