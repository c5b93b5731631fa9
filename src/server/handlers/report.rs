//! GET /v1/audit/report: what came to serve in a time, who let it, and why, as CSV.

use super::sight::Sight;
use crate::model::{AuditEvent, EnvironmentPointer, Promotion, Refusal};
use crate::rules::access::Caller;
use crate::rules::chain::moves_a_pointer;
use crate::rules::policy::rule;
use crate::rules::report::{Change, header, row, version_of};
use crate::server::App;
use crate::server::auth::identify;
use crate::server::extract::Asked;
use crate::server::respond::Answer;
use crate::server::shares::Share;
use crate::storage::AuditFilter;
use crate::wire::world::AskReport;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header as http};
use axum::response::IntoResponse as _;
use futures_util::stream::unfold;
use uuid::Uuid;

/// Events read at once.
const CHUNK: u32 = 500;

/// GET /v1/audit/report: oldest first; in one environment, or in all that are protected. An answer that breaks off never looks
/// whole to HTTP.
pub async fn report(State(app): State<App>, caller: Caller, headers: HeaderMap, Asked(ask): Asked<AskReport>) -> Answer {
    if ask.from >= ask.to {
        return Err(Refusal::invalid("to", format!("{} is not after {}", ask.to, ask.from)).into());
    }
    let share = app.limits.sending_meanwhile(&caller)?;
    let feed = Feed { app, headers, ask, after: Some(0), begun: false, _share: share };
    let lines = unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        match feed.next().await {
            Ok(Some(lines)) => Some((Ok(Bytes::from(lines)), Some(feed))),
            Ok(None) => None,
            Err(refusal) => Some((Err(refusal), None)),
        }
    });
    let kind = HeaderValue::from_static("text/csv; charset=utf-8; header=present");
    let headers = [(http::CONTENT_TYPE, kind), (http::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// Where a report stands.
struct Feed {
    app: App,
    headers: HeaderMap,
    ask: AskReport,
    /// The event that was read last; none at the end.
    after: Option<u64>,
    begun: bool,
    _share: Share,
}

impl Feed {
    /// The next lines; none at the end.
    async fn next(&mut self) -> Result<Option<String>, Refusal> {
        if !self.begun {
            self.begun = true;
            return Ok(Some(header()));
        }
        let Some(after) = self.after else { return Ok(None) };
        let registry = &self.app.registry;
        let caller = identify(&self.app, &self.headers, false).await?;
        let mut sight = Sight::begin(registry, caller).await?;
        let (since, until) = (Some(self.ask.from), Some(self.ask.to));
        let filter = AuditFilter { after, since, until, limit: CHUNK, ..AuditFilter::default() };
        let page = sight.conn().audit_list(&filter).await?;
        self.after = page.last().filter(|_| page.len() == CHUNK as usize).map(|last| last.seq);
        let mut lines = String::new();
        for event in page {
            lines.push_str(&line(&mut sight, &self.ask, &event).await?.unwrap_or_default());
        }
        // An empty piece would end nothing and say nothing.
        Ok(Some(lines))
    }
}

/// The line of an event; none where it changes nothing that was asked for, or where the caller may not know of its key.
async fn line(sight: &mut Sight, ask: &AskReport, event: &AuditEvent) -> Result<Option<String>, Refusal> {
    let Some(body) = event.body.as_ref().filter(|body| moves_a_pointer(body.action)) else { return Ok(None) };
    let id = body.detail.get("promotion_id").and_then(serde_json::Value::as_str).and_then(|id| id.parse::<Uuid>().ok());
    let Some(id) = id else { return Ok(None) };
    let Some(promotion) = sight.conn().promotion_get(id).await? else { return Ok(None) };
    if !asked(sight, ask, &promotion) {
        return Ok(None);
    }
    let key = sight.conn().key_get(&promotion.key_id).await?;
    if !key.is_some_and(|key| sight.knows(&key)) {
        return Ok(None);
    }
    let pointer = body.detail.get("pointer").cloned();
    let pointer = pointer.and_then(|after| serde_json::from_value::<EnvironmentPointer>(after).ok());
    let digest = version_of(&promotion, pointer.as_ref());
    let (version, verdicts) = match digest {
        Some(digest) => (sight.conn().version_get(&digest).await?, sight.conn().verdict_list(&digest).await?),
        None => (None, Vec::new()),
    };
    let approvals = sight.conn().approval_list(id).await?;
    let approvals: Vec<_> = approvals.into_iter().filter(|vote| vote.at <= event.at).collect();
    let change = Change {
        event,
        promotion: &promotion,
        pointer: pointer.as_ref(),
        version: version.as_ref(),
        approvals: &approvals,
        verdicts: &verdicts,
    };
    Ok(Some(row(&change)))
}

fn asked(sight: &Sight, ask: &AskReport, promotion: &Promotion) -> bool {
    match &ask.environment {
        Some(environment) => promotion.environment == *environment,
        None => rule(sight.snapshot.policy(), &promotion.key_id, &promotion.environment)
            .is_some_and(|rule| rule.protected == Some(true)),
    }
}
