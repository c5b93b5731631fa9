//! Long answers that are read from the database piece by piece while they are sent: the audit trail whole.

use super::audit::redacted;
use super::sight::Sight;
use crate::model::Refusal;
use crate::rules::access::Caller;
use crate::server::App;
use crate::server::auth::identify;
use crate::server::extract::Asked;
use crate::server::respond::Answer;
use crate::server::shares::Share;
use crate::wire::world::ExportAudit;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::IntoResponse as _;
use futures_util::stream::unfold;

/// Rows read at once, at least and at most.
const FEWEST: u32 = 8;
const MOST: u32 = 500;
/// Bytes that are made at once, about.
const CHUNK: usize = 512 * 1024;

/// GET /v1/audit/export: one event a line, up to the newest at the beginning. An answer that breaks off was cut, and says so to
/// HTTP: it never looks whole.
pub async fn export(State(app): State<App>, caller: Caller, headers: HeaderMap, Asked(ask): Asked<ExportAudit>) -> Answer {
    let share = app.limits.sending_meanwhile(&caller)?;
    let mut sight = Sight::begin(&app.registry, caller).await?;
    let last = sight.conn().audit_head().await?.seq;
    drop(sight);
    let feed = Feed { app, headers, after: ask.after.unwrap_or(0), last, rows: FEWEST, _share: share };
    let lines = unfold(Some(feed), |feed| async move {
        let mut feed = feed?;
        match feed.next().await {
            Ok(Some(lines)) => Some((Ok(lines), Some(feed))),
            Ok(None) => None,
            Err(refusal) => Some((Err(refusal), None)),
        }
    });
    let kind = HeaderValue::from_static("application/x-ndjson");
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// Where an export stands.
struct Feed {
    app: App,
    headers: HeaderMap,
    after: u64,
    last: u64,
    /// Rows read at once: fewer where they are long, so that little is in memory while the peer takes it.
    rows: u32,
    _share: Share,
}

impl Feed {
    /// The next lines; none at the end. The token is looked at again each time.
    async fn next(&mut self) -> Result<Option<Bytes>, Refusal> {
        if self.after >= self.last {
            return Ok(None);
        }
        let registry = &self.app.registry;
        let caller = identify(&self.app, &self.headers, false).await?;
        let mut sight = Sight::begin(registry, caller).await?;
        let mut lines = Vec::new();
        for event in sight.conn().audit_after(self.after, self.rows).await? {
            if event.seq > self.last {
                self.after = self.last;
                break;
            }
            self.after = event.seq;
            let event = redacted(&mut sight, event).await?;
            serde_json::to_writer(&mut lines, &event)
                .map_err(|why| Refusal::new(crate::model::Code::Internal, why.to_string()))?;
            lines.push(b'\n');
        }
        if lines.is_empty() {
            // Rows are missing: what is there was sent, and the reader's own check names the first that is not.
            self.after = self.last;
            return Ok(None);
        }
        self.rows = if lines.len() > CHUNK { self.rows / 2 } else { self.rows * 2 }.clamp(FEWEST, MOST);
        Ok(Some(Bytes::from(lines)))
    }
}
