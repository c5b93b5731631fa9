//! An audit event in few bytes: what a row of the trail shows.

use crate::model::audit::AuditBody;
use crate::model::{Action, ActorKind, AuditEvent, Timestamp};
use serde_json::{Map, Value};

/// The longest text of a row that is kept, in characters.
const LONGEST: usize = 160;

/// A row of the trail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slim {
    /// The number.
    pub(crate) seq: u64,
    /// When.
    pub(crate) at: Timestamp,
    /// Who, without the kind where it is a person or a service.
    pub(crate) actor: String,
    /// The audited action; empty where the body is withheld.
    pub(crate) action: &'static str,
    /// What was done, as people say it: `reject`, where the action is that of all verdicts.
    pub(crate) said: &'static str,
    /// To what: a key where one is known.
    pub(crate) subject: String,
    /// Where, if it has a place.
    pub(crate) environment: String,
    /// The particulars.
    pub(crate) text: String,
}

impl Slim {
    /// The row of an event.
    pub(crate) fn of(event: &AuditEvent) -> Self {
        let Some(body) = &event.body else {
            return Self {
                seq: event.seq,
                at: event.at,
                actor: String::new(),
                action: "",
                said: "",
                subject: String::new(),
                environment: String::new(),
                text: "body withheld or erased; the chain holds without it".into(),
            };
        };
        // A reviewer looks for names; what only the registry or a history did keeps its kind.
        let named = matches!(body.actor.kind, ActorKind::Person | ActorKind::Service);
        let actor = if named { body.actor.name.to_string() } else { body.actor.to_string() };
        let detail = &body.detail;
        let key = text(detail, &["key_id", "key"]).or_else(|| deep(detail, "pointer", "key_id"));
        let named = body.subject.0.split_once(':').map_or(body.subject.0.as_str(), |(_, name)| name);
        let subject = match (body.subject.0.strip_prefix("key:"), key) {
            (Some(key), _) => key.to_owned(),
            (None, Some(key)) => key,
            (None, None) => named.trim_start_matches("sha256:").chars().take(12).collect(),
        };
        let environment = text(detail, &["environment"]).or_else(|| deep(detail, "pointer", "environment")).unwrap_or_default();
        Self {
            seq: event.seq,
            at: event.at,
            actor,
            action: body.action.as_str(),
            said: body.said(),
            subject,
            environment,
            text: particulars(body).chars().take(LONGEST).collect(),
        }
    }
}

fn text(detail: &Map<String, Value>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match detail.get(*name)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn deep(detail: &Map<String, Value>, outer: &str, inner: &str) -> Option<String> {
    text(detail.get(outer)?.as_object()?, &[inner])
}

/// `content · v9 · 25% · "tone ok"`
fn particulars(body: &AuditBody) -> String {
    let detail = &body.detail;
    let mut words = Vec::new();
    // A vote's verdict is what was done, said already.
    words.extend(text(detail, &["verdict"]).filter(|_| body.action != Action::PromotionApprove));
    let plain = ["act", "gate", "gate_name", "status", "score", "reason", "state", "name", "scope", "number"];
    words.extend(plain.iter().filter_map(|name| text(detail, &[name])));
    let pointer = detail.get("pointer").and_then(Value::as_object);
    if let Some(pointer) = pointer {
        if pointer.get("killed") == Some(&Value::Bool(true)) {
            words.push("KILLED".into());
        } else {
            words.extend(text(pointer, &["rollout_pct"]).map(|share| format!("{share}%")));
        }
        words.extend(text(pointer, &["digest"]).map(short));
    } else {
        words.extend(text(detail, &["to_digest", "digest", "version", "policy_digest"]).map(short));
    }
    words.extend(text(detail, &["rationale", "note"]).map(|why| format!("\"{why}\"")));
    words.join(" ")
}

fn short(digest: String) -> String {
    match digest.strip_prefix("sha256:") {
        Some(hex) => hex.chars().take(12).collect(),
        None => digest,
    }
}
