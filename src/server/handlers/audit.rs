//! The audit trail: pages of events, and the chain's head. Bodies about keys that the caller may not know of are withheld.

use super::sight::Sight;
use crate::model::{Action, AuditEvent, Digest, KeyId, KeyPattern, Refusal};
use crate::rules::access::{Caller, sees_free};
use crate::server::App;
use crate::server::extract::{Asked, NoQuery};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::storage::{AuditFilter, Conn, Direction, StorageError};
use crate::wire::world::ListAudit;
use crate::workflow::Registry;
use axum::extract::State;
use std::sync::Arc;
use uuid::Uuid;

/// How often the trail is read for one page; a page that finds less than it may hold says where to go on.
const MOST_READS: usize = 50;

/// GET /v1/audit, ascending by seq.
pub async fn list(State(app): State<App>, caller: Caller, Asked(ask): Asked<ListAudit>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let cursor: Option<u64> = pages::after(ask.cursor.as_deref())?;
    let backwards = ask.before.is_some();
    let most = u32::try_from(limit).unwrap_or(pages::MOST);
    let place = Place { environment: ask.environment, namespace: ask.namespace };
    let filter = AuditFilter {
        after: ask.after.unwrap_or(0).max(cursor.unwrap_or(0)),
        before: ask.before,
        subject: ask.subject,
        actor: ask.actor,
        action: ask.action,
        since: ask.since,
        until: ask.until,
        direction: if backwards { Direction::Newest } else { Direction::Oldest },
        limit: if backwards { most } else { most + 1 },
    };
    let filtered = filter.subject.is_some() || filter.actor.is_some() || filter.action.is_some() || place.asks();
    let _share = (most > pages::USUAL).then(|| app.limits.long_read(&caller)).transpose()?;
    let mut sight = Sight::begin(&app.registry, caller).await?;
    let (events, go_on) =
        collect(&mut sight, filter, &Sought { filtered, place, wanted: most as usize + usize::from(!backwards) }).await?;
    let mut page = pages::page(events, limit, |event| event.seq);
    if page.next_cursor.is_none() && !backwards {
        page.next_cursor = go_on.and_then(|seq| pages::cursor(&seq));
    }
    Ok(shown(&page))
}

/// What a page holds beside the filter of its rows.
struct Sought {
    /// Whether a filter would tell what a withheld body says, so that those are left out.
    filtered: bool,
    place: Place,
    wanted: usize,
}

/// Reads a page in ascending order. It may take several reads, but no more than [`MOST_READS`]; then also after which event to go on.
async fn collect(sight: &mut Sight, mut filter: AuditFilter, sought: &Sought) -> Result<(Vec<AuditEvent>, Option<u64>), Refusal> {
    if sought.place.asks() {
        filter.limit = pages::MOST;
    }
    let (mut events, mut go_on): (Vec<AuditEvent>, _) = (Vec::new(), None);
    for read in 1..=MOST_READS {
        let found = sight.conn().audit_list(&filter).await?;
        let (Some(first), Some(last)) = (found.first().map(|event| event.seq), found.last().map(|event| event.seq)) else {
            break;
        };
        let whole = found.len() >= filter.limit as usize;
        let mut kept = Vec::with_capacity(found.len());
        for event in found {
            let event = redacted(sight, event).await?;
            if !(sought.filtered && event.redacted) && sought.place.fits(sight, &event).await? {
                kept.push(event);
            }
        }
        if filter.direction == Direction::Newest {
            kept.append(&mut events);
            events = kept;
            filter.before = Some(first);
        } else {
            events.append(&mut kept);
            filter.after = last;
        }
        if !whole || events.len() >= sought.wanted {
            break;
        }
        go_on = (read == MOST_READS).then_some(last);
    }
    let surplus = events.len().saturating_sub(sought.wanted);
    if filter.direction == Direction::Newest {
        events.drain(..surplus);
    } else {
        events.truncate(sought.wanted);
    }
    Ok((events, go_on))
}

/// Where the events of a page happened.
struct Place {
    environment: Option<String>,
    namespace: Option<KeyPattern>,
}

impl Place {
    fn asks(&self) -> bool {
        self.environment.is_some() || self.namespace.is_some()
    }

    async fn fits(&self, sight: &mut Sight, event: &AuditEvent) -> Result<bool, Refusal> {
        let Some(body) = &event.body else { return Ok(!self.asks()) };
        if let Some(environment) = &self.environment
            && body.detail.get("environment").and_then(serde_json::Value::as_str) != Some(environment)
        {
            return Ok(false);
        }
        let Some(pattern) = &self.namespace else { return Ok(true) };
        let key = subject_key(&mut sight.conn(), &body.subject.0).await?;
        Ok(key.is_some_and(|key| pattern.covers(key.as_str())))
    }
}

/// GET /v1/audit/head
pub async fn head(State(registry): State<Arc<Registry>>, caller: Caller, _: NoQuery) -> Answer {
    let mut sight = Sight::begin(&registry, caller).await?;
    Ok(shown(&sight.conn().audit_head().await?))
}

/// The event, its body withheld where it is about a key that the caller may not know of.
///
/// # Errors
/// The database is away.
pub async fn redacted(sight: &mut Sight, event: AuditEvent) -> Result<AuditEvent, Refusal> {
    let Some(body) = &event.body else { return Ok(event) };
    let hidden = match subject_key(&mut sight.conn(), &body.subject.0).await? {
        Some(name) => match sight.conn().key_get(&name).await? {
            Some(key) => !sight.knows(&key),
            // Somebody was not let make it. Any other event of a name that no key has was changed: whoever verifies must see it.
            None => body.action == Action::AccessDenied && !sees_free(sight.snapshot.policy(), &sight.caller, &name),
        },
        None => false,
    };
    Ok(if hidden { AuditEvent { body: None, redacted: true, ..event } } else { event })
}

/// The key that a subject is about.
async fn subject_key(conn: &mut Conn<'_>, subject: &str) -> Result<Option<KeyId>, StorageError> {
    let Some((kind, name)) = subject.split_once(':') else { return Ok(None) };
    match kind {
        "key" => Ok(name.parse().ok()),
        "digest" => {
            let Ok(digest) = name.parse::<Digest>() else { return Ok(None) };
            Ok(conn.version_get(&digest).await?.map(|version| version.key_id))
        }
        "promotion" => {
            let Ok(id) = name.parse::<Uuid>() else { return Ok(None) };
            Ok(conn.promotion_get(id).await?.map(|promotion| promotion.key_id))
        }
        _ => Ok(None),
    }
}
