//! Promotions: opening, votes, applying, and what is owed afterwards.

use super::sight::Sight;
use crate::model::{Environment, Promotion, PromotionState, Refusal, Timestamp};
use crate::rules::access::Caller;
use crate::server::apart::apart_if;
use crate::server::extract::{Asked, Command, Names, NoQuery, Sent};
use crate::server::pages;
use crate::server::respond::{Answer, shown};
use crate::storage::PromotionFilter;
use crate::wire::promotions::{self, AskPreview, ListPromotions, PromotionView, Rationale, Vote};
use crate::workflow::{
    ApplyPromotion, CastVote, NotePromotion, OpenPromotion, Registry, RenewPromotion, ReviewPromotion, WithdrawPromotion, inbox,
    preview, view,
};
use axum::extract::State;
use std::sync::Arc;
use uuid::Uuid;

/// A preview that looks at more units is made apart.
const AT_ONCE: usize = 500;

/// Which promotions a list is about, beside the filter of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Concern {
    /// All.
    Any,
    /// Open ones that wait for the caller.
    Awaiting,
    /// Those whose review or note the caller can settle, and those of the caller's that the registry could not apply.
    Owed,
}

impl Concern {
    fn of(ask: &ListPromotions) -> Result<Self, Refusal> {
        let me = |name: &str, value: &Option<String>| match value.as_deref() {
            None => Ok(false),
            Some("me") => Ok(true),
            Some(other) => Err(Refusal::invalid(name, format!("{other:?} is not `me`"))),
        };
        match (me("awaiting", &ask.awaiting)?, me("owed", &ask.owed)?) {
            (true, true) => Err(Refusal::invalid("owed", "excludes `awaiting`")),
            (true, false) => Ok(Self::Awaiting),
            (false, true) => Ok(Self::Owed),
            (false, false) => Ok(Self::Any),
        }
    }

    /// What can be left out before all that a view holds is read.
    async fn shortlist(self, registry: &Registry, sight: &mut Sight, rows: Vec<Promotion>) -> Result<Vec<Promotion>, Refusal> {
        if self != Self::Awaiting {
            return Ok(rows);
        }
        let (caller, snapshot) = (sight.caller.clone(), sight.snapshot.clone());
        inbox::shortlist(&mut sight.conn(), &snapshot, &caller, registry.clock.now(), rows).await
    }

    fn includes(self, view: &PromotionView, now: Timestamp) -> bool {
        match self {
            Self::Any => true,
            Self::Awaiting => inbox::awaits(view, now),
            Self::Owed => view.mine.can_review || view.mine.owes_note || (view.promotion.missed && view.mine.opened),
        }
    }
}

/// POST /v1/promotions/preview: a read that sends what it asks about.
pub async fn preview(State(registry): State<Arc<Registry>>, caller: Caller, _: NoQuery, Sent(ask): Sent<AskPreview>) -> Answer {
    let mut sight = Sight::begin(&registry, caller).await?;
    let key = sight.key(&ask.key_id).await?;
    let asked = preview::preview(&registry, &mut sight.conn(), key, ask).await?;
    drop(sight);
    Ok(shown(&apart_if(asked.units() > AT_ONCE, move || asked.counted()).await?))
}

/// GET /v1/promotions, newest first.
pub async fn list(State(registry): State<Arc<Registry>>, caller: Caller, Asked(ask): Asked<ListPromotions>) -> Answer {
    let limit = pages::limit(ask.limit)?;
    let concern = Concern::of(&ask)?;
    let mut filter = filter(&ask, concern, limit)?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let mut items: Vec<PromotionView> = Vec::new();
    // What the caller may not see, or what does not wait for it, is left out, so a page may take several reads.
    while items.len() <= limit {
        let rows = match concern {
            Concern::Owed => sight.conn().promotion_owed(filter.before, filter.limit).await?,
            _ => sight.conn().promotion_list(&filter).await?,
        };
        let Some(last) = rows.last() else { break };
        filter.before = Some(last.promotion_id);
        let whole = u32::try_from(rows.len()).is_ok_and(|found| found == filter.limit);
        let rows: Vec<Promotion> = rows.into_iter().filter(|row| fits(&filter, row)).collect();
        for row in concern.shortlist(&registry, &mut sight, rows).await? {
            let readable = sight.snapshot.key(&row.key_id).is_some_and(|key| sight.reads(key));
            if !readable || items.len() > limit {
                continue;
            }
            let view = shown_promotion(&registry, &mut sight, row).await?;
            if concern.includes(&view, registry.clock.now()) {
                items.push(view);
            }
        }
        if !whole {
            break;
        }
        // Most rows may wait for somebody else: look at more and more of them at once.
        filter.limit = (filter.limit * 4).min(pages::MOST);
    }
    Ok(shown(&pages::page(items, limit, |view| view.promotion.promotion_id)))
}

fn filter(ask: &ListPromotions, concern: Concern, limit: usize) -> Result<PromotionFilter, Refusal> {
    let word = |name: &str, text: &str, why: &dyn std::fmt::Display| Refusal::invalid(name, format!("{text:?}: {why}"));
    let state = ask.state.as_deref().map(|text| text.parse().map_err(|why| word("state", text, &why))).transpose()?;
    let environment = ask.environment.as_deref();
    let environment = environment.map(|text| text.parse::<Environment>().map_err(|why| word("environment", text, &why)));
    Ok(PromotionFilter {
        state: if concern == Concern::Awaiting { Some(PromotionState::Open) } else { state },
        environment: environment.transpose()?,
        key: ask.key.clone(),
        change: ask.change.clone(),
        before: pages::after(ask.cursor.as_deref())?,
        limit: u32::try_from(limit + 1).unwrap_or(pages::MOST),
    })
}

/// What the query did not look at itself (that of owed ones looks at nothing else).
fn fits(filter: &PromotionFilter, row: &Promotion) -> bool {
    filter.state.is_none_or(|state| row.state == state)
        && filter.environment.as_ref().is_none_or(|environment| row.environment == *environment)
        && filter.key.as_ref().is_none_or(|key| row.key_id == *key)
        && filter.change.as_ref().is_none_or(|change| row.change.as_ref() == Some(change))
}

async fn shown_promotion(registry: &Registry, sight: &mut Sight, row: Promotion) -> Result<PromotionView, Refusal> {
    let (caller, snapshot) = (sight.caller.clone(), sight.snapshot.clone());
    view::promotion(registry, &mut sight.conn(), &snapshot, &caller, row).await
}

/// GET /v1/promotions/{id}
pub async fn show(State(registry): State<Arc<Registry>>, caller: Caller, names: Names, _: NoQuery) -> Answer {
    let id: Uuid = names.get("id")?;
    let mut sight = Sight::begin(&registry, caller).await?;
    let row = sight.conn().promotion_get(id).await?.ok_or_else(Refusal::not_found)?;
    sight.key(&row.key_id).await?;
    Ok(shown(&shown_promotion(&registry, &mut sight, row).await?))
}

/// POST /v1/promotions
pub async fn open(State(registry): State<Arc<Registry>>, command: Command<promotions::OpenPromotion>) -> Answer {
    command.run(registry, |body| OpenPromotion { body }).await
}

/// POST /v1/promotions/{id}/approvals
pub async fn vote(State(registry): State<Arc<Registry>>, names: Names, command: Command<Vote>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| CastVote { id, body }).await
}

/// POST /v1/promotions/{id}/apply
pub async fn apply(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rationale>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| ApplyPromotion { id, body }).await
}

/// POST /v1/promotions/{id}/withdraw
pub async fn withdraw(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rationale>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| WithdrawPromotion { id, body }).await
}

/// POST /v1/promotions/{id}/renew
pub async fn renew(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rationale>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| RenewPromotion { id, body }).await
}

/// POST /v1/promotions/{id}/review
pub async fn review(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rationale>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| ReviewPromotion { id, body }).await
}

/// POST /v1/promotions/{id}/note
pub async fn note(State(registry): State<Arc<Registry>>, names: Names, command: Command<Rationale>) -> Answer {
    let id: Uuid = names.get("id")?;
    command.run(registry, |body| NotePromotion { id, body }).await
}
