//! GET /metrics: counts and state as Prometheus reads them (text format 0.0.4). Of keys it names those that the caller may read,
//! and never a confidential one: whoever reads the time series is not known here.

use crate::model::webhook::DeliveryState;
use crate::model::{BasisPoints, ConfigKey, Timestamp};
use crate::rules::access::{Caller, Need, allowed};
use crate::server::App;
use crate::server::apart::apart;
use crate::server::limits::Limits;
use crate::server::metrics::{BOUNDS, CLASSES};
use crate::server::respond::Answer;
use crate::snapshot::{Freshness, Snapshot};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::IntoResponse as _;
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A database that does not answer within this time is away.
const PATIENCE: Duration = Duration::from_secs(2);
const KIND: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// GET /metrics
pub async fn metrics(State(app): State<App>, caller: Caller) -> Answer {
    let outbox = tokio::time::timeout(PATIENCE, outbox(&app)).await.ok().flatten();
    let text = apart(move || {
        let mut text = Text::default();
        state(&mut text, &app, outbox);
        pointers(&mut text, &app.registry.snapshot.get(), &caller);
        requests(&mut text, &app);
        text.0
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, KIND), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], text).into_response())
}

/// Notices that are due and that were given up; none while the database is away.
async fn outbox(app: &App) -> Option<[i64; 2]> {
    let counts = app.registry.db.read().await.ok()?.conn().delivery_counts().await.ok()?;
    let sum = |wanted| counts.iter().filter(|(_, state, _)| *state == wanted).map(|(.., count)| *count).sum();
    Some([sum(DeliveryState::Due), sum(DeliveryState::Parked)])
}

/// The text, family by family.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"{}\"", if at == 0 { '{' } else { ',' }, escaped(text));
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    /// A gauge of one value.
    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Seconds of microseconds, exactly.
fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

fn age(now: Timestamp, then: Timestamp) -> String {
    seconds(u64::try_from(now.0.saturating_sub(then.0)).unwrap_or(0))
}

fn state(text: &mut Text, app: &App, outbox: Option<[i64; 2]>) {
    let (registry, now) = (&app.registry, app.registry.clock.now());
    let snapshot = registry.snapshot.get();
    let head = snapshot.head();
    text.family("countersign_build_info", "gauge", "The program that answers.");
    text.sample("countersign_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.gauge("countersign_audit_head_seq", "Number of the newest audit event.", head.seq);
    text.gauge("countersign_audit_head_age_seconds", "Time since the newest audit event.", age(now, head.at));
    if let Some((seq, at)) = app.metrics.checkpoint() {
        text.gauge("countersign_checkpoint_seq", "Newest event in a checkpoint that was put outside.", seq);
        text.gauge("countersign_checkpoint_age_seconds", "Time since a checkpoint was put outside.", age(now, at));
    }
    text.gauge("countersign_database_up", "Whether the database answers.", u8::from(outbox.is_some()));
    let stale = registry.snapshot.freshness(now) == Freshness::Stale;
    text.gauge("countersign_snapshot_stale", "Whether the database was away for longer than the budget.", u8::from(stale));
    let shut = snapshot.read_only().is_some();
    text.gauge("countersign_read_only", "Whether the registry was put back and is not released yet.", u8::from(shut));
    let foreign = registry.snapshot.foreign_policy_file().is_some();
    text.gauge("countersign_policy_file_differs", "Whether the server's policy file is not in force.", u8::from(foreign));
    let doubts = "Pointers and contents that do not serve, since they are not what the audit trail and their digests say.";
    text.gauge("countersign_integrity_doubts", doubts, snapshot.doubts());
    if let Some(counts) = outbox {
        text.family("countersign_outbox_notices", "gauge", "Notices that receivers have not taken.");
        for (state, count) in ["due", "parked"].iter().zip(counts) {
            text.sample("countersign_outbox_notices", &[("state", state)], count);
        }
    }
    taken(text, &app.limits);
    text.family("countersign_resolves_total", "counter", "Keys that were resolved, whichever protocol asked.");
    for (environment, count) in registry.meter.totals() {
        text.sample("countersign_resolves_total", &[("environment", environment.as_str())], count);
    }
}

/// What is scarce: how much of it is taken, how much there is, and who had to go without.
fn taken(text: &mut Text, limits: &Limits) {
    let room = &limits.room;
    text.gauge("countersign_connections", "Open connections.", room.taken());
    text.gauge(
        "countersign_connections_most",
        "As many may be open; then idle ones are closed for those that come.",
        room.most(),
    );
    let name = "countersign_connections_closed_total";
    text.family(name, "counter", "Connections that the server closed: for room, for silence, because nothing was taken.");
    for (why, count) in room.closed() {
        text.sample(name, &[("why", why)], count);
    }
    text.family("countersign_stream_clients", "gauge", "Who follows a stream now.");
    text.sample("countersign_stream_clients", &[("channel", "v1")], limits.streams.held());
    text.sample("countersign_stream_clients", &[("channel", "ofrep")], limits.channels.held());
    text.gauge(
        "countersign_answers_under_way_bytes",
        "Bytes of long answers that their callers have not taken.",
        limits.answers.held(),
    );
    text.family("countersign_shares_refused_total", "counter", "Requests refused because a token, or all, had their share.");
    let shares =
        [("stream", &limits.streams), ("channel", &limits.channels), ("read", &limits.reads), ("answer", &limits.answers)];
    for (what, shares) in shares {
        text.sample("countersign_shares_refused_total", &[("of", what)], shares.refused());
    }
}

/// Whether a key may be named to this caller.
fn named(snapshot: &Snapshot, caller: &Caller, key: &ConfigKey) -> bool {
    !key.confidential && allowed(snapshot.policy(), caller, Need::Read, Some(key), None).is_ok()
}

fn pointers(text: &mut Text, snapshot: &Snapshot, caller: &Caller) {
    let seen = snapshot.pointers().filter(|p| snapshot.key(&p.key_id).is_some_and(|key| named(snapshot, caller, key)));
    let mut seen: Vec<_> = seen.collect();
    seen.sort_unstable_by(|one, other| (&one.key_id, &one.environment).cmp(&(&other.key_id, &other.environment)));
    let name = "countersign_pointer_info";
    text.family(name, "gauge", "What a key serves in an environment: the digest, and the baseline of a rollout.");
    for pointer in &seen {
        let baseline = pointer.baseline_digest.map(|digest| digest.to_string()).unwrap_or_default();
        let labels = [
            ("key", pointer.key_id.as_str()),
            ("environment", pointer.environment.as_str()),
            ("digest", &pointer.digest.to_string()),
            ("baseline", &baseline),
        ];
        text.sample(name, &labels, 1);
    }
    let mut family = |name: &str, help: &str, value: &dyn Fn(&crate::model::EnvironmentPointer) -> String| {
        text.family(name, "gauge", help);
        for pointer in &seen {
            let labels = [("key", pointer.key_id.as_str()), ("environment", pointer.environment.as_str())];
            text.sample(name, &labels, value(pointer));
        }
    };
    let flag = |on: bool| u8::from(on).to_string();
    family("countersign_pointer_rollout_ratio", "Share of the units that get the digest.", &|p| ratio(p.rollout_pct));
    family("countersign_pointer_killed", "Whether the kill switch is on.", &|p| flag(p.killed));
    family("countersign_pointer_held", "Whether the rollout is held.", &|p| flag(p.held));
    family("countersign_pointer_revision", "How often the pointer changed.", &|p| p.revision.to_string());
    let mut killed: BTreeMap<&str, u64> = BTreeMap::new();
    for pointer in &seen {
        *killed.entry(pointer.environment.as_str()).or_default() += u64::from(pointer.killed);
    }
    text.family("countersign_pointers_killed", "gauge", "Keys whose kill switch is on.");
    for (environment, count) in killed {
        text.sample("countersign_pointers_killed", &[("environment", environment)], count);
    }
}

fn ratio(share: BasisPoints) -> String {
    (f64::from(share.get()) / 10_000.0).to_string()
}

fn requests(text: &mut Text, app: &App) {
    let name = "countersign_http_requests_total";
    text.family(name, "counter", "Answers by route and status.");
    for (method, route, counts) in app.metrics.routes() {
        for (status, count) in CLASSES.iter().zip(&counts.answers) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                text.sample(name, &[("method", method), ("route", route), ("status", status)], count);
            }
        }
    }
    let name = "countersign_http_request_duration_seconds";
    text.family(name, "histogram", "Time to an answer's first byte by route.");
    let (bucket, sum, total) = (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
    for (method, route, counts) in app.metrics.routes() {
        let mut so_far = 0;
        let bounds = BOUNDS.iter().map(|bound| (f64::from(*bound) / 1e6).to_string()).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(&counts.took) {
            so_far += count.load(Ordering::Relaxed);
            text.sample(&bucket, &[("method", method), ("route", route), ("le", &bound)], so_far);
        }
        text.sample(&sum, &[("method", method), ("route", route)], seconds(counts.micros.load(Ordering::Relaxed)));
        text.sample(&total, &[("method", method), ("route", route)], so_far);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_numbers_are_exact() {
        let mut text = Text::default();
        text.family("a_total", "counter", "Counts.");
        text.sample("a_total", &[("x", "quote \" slash \\ line\n"), ("y", "")], seconds(1_000_001));
        text.gauge("b", "Is.", 1);
        let wanted = "# HELP a_total Counts.\n# TYPE a_total counter\na_total{x=\"quote \\\" slash \\\\ line\\n\",y=\"\"} 1.000001\n\
                      # HELP b Is.\n# TYPE b gauge\nb 1\n";
        assert_eq!(text.0, wanted);
    }
}
