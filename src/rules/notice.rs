//! Notices: which audit events are told outside, what the body says (never any content), and how it is signed.
//!
//! Bodies are CloudEvents 1.0 in structured JSON (<https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/formats/json-format.md>)
//! or messages for Slack; headers are those of Standard Webhooks (<https://www.standardwebhooks.com>).

use super::canonical::canonical;
use super::hidden::visible;
use crate::model::webhook::{NoticeKind, Shape};
use crate::model::{Action, AuditEvent, Digest, Timestamp};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

/// What secrets begin with.
const SECRET: &str = "whsec_";
/// Characters of a reason that are told.
const REASON: usize = 500;
/// Tries before a notice is given up.
pub const MOST_TRIES: i64 = 16;
/// The longest wait between two tries, in milliseconds: six hours.
const LONGEST: i64 = 6 * 3600 * 1000;
/// Members of an event's detail that are told; whatever else stands there is not.
const TOLD: &[&str] = &[
    "key_id",
    "environment",
    "promotion_id",
    "act",
    "from",
    "to",
    "reason",
    "gate",
    "verdict",
    "change",
    "number",
    "attempt",
    "code",
    "serving_in",
    "supersedes",
    "renews",
    "staled",
    "safe_default",
    "had",
    "kills",
    "policies",
];

/// What a notice of this action is about; none where nobody is told.
pub fn kind(action: Action) -> Option<NoticeKind> {
    use Action as A;
    Some(match action {
        A::PromotionOpen
        | A::PromotionApply
        | A::PromotionWithdraw
        | A::PromotionRenew
        | A::PromotionExpire
        | A::PromotionReview
        | A::PromotionNote
        | A::VersionSubmit
        | A::PointerStep
        | A::PointerHold
        | A::PointerResume => NoticeKind::Promotion,
        A::PromotionApprove => NoticeKind::Approval,
        A::PointerRollback => NoticeKind::Rollback,
        A::PointerKill | A::PointerUndoKill | A::PointerRevive => NoticeKind::Kill,
        A::VersionQuarantine | A::AccessDenied | A::RegistryRestore | A::RegistryRelease => NoticeKind::Alarm,
        _ => return None,
    })
}

/// The actions that are told of.
pub fn actions() -> impl Iterator<Item = Action> {
    Action::ALL.iter().copied().filter(|action| kind(*action).is_some())
}

/// The name of a notice, the same whenever it is sent: receivers drop what they have.
pub fn id(event: &AuditEvent) -> String {
    format!("evt_{}", &event.event_id.hex()[..32])
}

/// The body of a notice. Of a key that not everybody may know of it says only that something happened.
pub fn body(registry: &Digest, event: &AuditEvent, shape: Shape, confidential: bool) -> Vec<u8> {
    match shape {
        Shape::CloudEvents => canonical(&cloud_event(registry, event, confidential)),
        Shape::Slack => canonical(&json!({ "text": message(event, confidential) })),
    }
}

/// The body's media type.
pub fn media_type(shape: Shape) -> &'static str {
    match shape {
        Shape::CloudEvents => "application/cloudevents+json; charset=utf-8",
        Shape::Slack => "application/json",
    }
}

fn cloud_event(registry: &Digest, event: &AuditEvent, confidential: bool) -> Value {
    let mut data = Map::from_iter([("seq".to_owned(), json!(event.seq)), ("event_id".to_owned(), json!(event.event_id))]);
    let mut whole = json!({
        "specversion": "1.0",
        "id": id(event),
        "source": format!("urn:countersign:{}", registry.hex()),
        "type": "countersign.redacted",
        "time": event.at,
        "datacontenttype": "application/json",
    });
    let body = event.body.as_ref().filter(|_| !confidential);
    match body.and_then(|body| kind(body.action).map(|kind| (body, kind))) {
        Some((body, kind)) => {
            whole["type"] = json!(format!("countersign.{kind}"));
            whole["subject"] = json!(body.subject);
            data.insert("action".into(), json!(body.action));
            data.insert("actor".into(), json!(body.actor));
            data.extend(told(&body.detail));
        }
        None => {
            data.insert("redacted".into(), json!(true));
        }
    }
    whole["data"] = Value::Object(data);
    whole
}

/// What is told of an event's detail.
fn told(detail: &Map<String, Value>) -> Map<String, Value> {
    let mut data: Map<String, Value> = TOLD
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), detail.get(*name).filter(|value| !value.is_null())?.clone())))
        .collect();
    if let Some(Value::Object(pointer)) = detail.get("pointer") {
        for name in ["digest", "rollout_pct", "killed", "revision"] {
            data.extend(pointer.get(name).map(|value| (name.to_owned(), value.clone())));
        }
    }
    // A submission that opens a promotion tells of that.
    if let Some(Value::Object(opened)) = detail.get("promotion") {
        for (name, value) in told(opened) {
            data.entry(name).or_insert(value);
        }
    }
    if let Some(Value::String(why)) = detail.get("rationale") {
        data.insert("rationale".into(), Value::String(why.chars().take(REASON).collect()));
    }
    data
}

/// One line for people: invisible characters shown, and what Slack would read as markup or as a call to everybody escaped
/// (`&`, `<` and `>`, <https://docs.slack.dev/messaging/formatting-message-text#escaping>).
fn message(event: &AuditEvent, confidential: bool) -> String {
    let Some(body) = event.body.as_ref().filter(|_| !confidential) else {
        return format!("#{} something happened to a confidential key", event.seq);
    };
    let data = told(&body.detail);
    let text = |name: &str| data.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut words = vec![format!("#{} {}", event.seq, body.action)];
    let key = if text("key_id").is_empty() { body.subject.to_string() } else { text("key_id") };
    words.push(key);
    if !text("environment").is_empty() {
        words.push(format!("in {}", text("environment")));
    }
    if let Some(percent) = data.get("rollout_pct") {
        words.push(format!("at {percent} %"));
    }
    words.push(format!("by {}", body.actor));
    for name in ["verdict", "gate", "reason"] {
        if !text(name).is_empty() {
            words.push(format!("{name} {}", text(name)));
        }
    }
    if !text("rationale").is_empty() {
        words.push(format!("\u{2014} {}", text("rationale")));
    }
    escaped(&words.join(" "))
}

fn escaped(text: &str) -> String {
    let shown = visible(text).plain();
    let flat = shown.replace('\n', " ");
    // Slack finds emphasis, code and links by these alone; a zero-width joint would be one more invisible character.
    flat.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A secret of 32 random bytes, as Standard Webhooks writes it.
pub fn secret(bytes: &[u8; 32]) -> String {
    format!("{SECRET}{}", STANDARD.encode(bytes))
}

/// The signature of a sending: `v1,` and the base64 of HMAC-SHA-256 over `ID.SECONDS.BODY`. None where the secret is none.
#[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
pub fn signature(secret: &str, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(SECRET)?).ok()?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("HMAC takes a key of any length");
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

/// When a notice is tried again after so many tries: a second, doubled each time up to six hours, the later half of it by chance
/// (`chance` any number) so that many do not come at once. None when it is given up.
pub fn again_at(now: Timestamp, tries: i64, chance: u64) -> Option<Timestamp> {
    if tries >= MOST_TRIES {
        return None;
    }
    let whole = 1000_i64.checked_shl(u32::try_from(tries - 1).unwrap_or(0)).map_or(LONGEST, |wait| wait.clamp(1, LONGEST));
    let half = whole / 2;
    let wait = half + i64::try_from(chance % u64::try_from(half.max(1)).unwrap_or(1)).unwrap_or(0);
    Some(Timestamp(now.0.saturating_add(wait * 1000)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::audit::AuditBody;
    use crate::model::{Actor, Subject};
    use crate::rules::chain::{EMPTY, seal};

    fn event(action: Action, detail: &Value) -> AuditEvent {
        let detail = detail.as_object().cloned().unwrap();
        let subject = Subject("key:support.greeting".into());
        seal(&EMPTY, Timestamp(1), AuditBody { actor: Actor::person("carol"), action, subject, detail, nonce: "0".repeat(32) })
    }

    #[test]
    fn a_body_tells_what_happened_and_nothing_that_is_not_on_the_list() {
        let detail = json!({
            "key_id": "support.greeting", "environment": "live", "act": "kill", "rationale": "r".repeat(900), "reason": "safety",
            "content": "secret text", "pointer": { "digest": "sha256:1", "rollout_pct": 25, "killed": true, "plan": ["secret plan"] },
        });
        let event = event(Action::PointerKill, &detail);
        let body: Value = serde_json::from_slice(&body(&Digest([4; 32]), &event, Shape::CloudEvents, false)).unwrap();
        assert_eq!((&body["specversion"], &body["type"]), (&json!("1.0"), &json!("countersign.kill")));
        assert_eq!(body["source"], format!("urn:countersign:{}", "04".repeat(32)));
        assert_eq!(body["id"], id(&event));
        assert_eq!((&body["data"]["killed"], &body["data"]["reason"]), (&json!(true), &json!("safety")));
        assert_eq!(body["data"]["rationale"].as_str().unwrap().len(), REASON);
        assert!(!body.to_string().contains("secret"), "{body}");
    }

    #[test]
    fn of_a_confidential_key_only_that_something_happened_is_told() {
        let event = event(Action::PointerKill, &json!({ "key_id": "support.secret", "rationale": "leak" }));
        for shape in [Shape::CloudEvents, Shape::Slack] {
            let text = String::from_utf8(body(&Digest([4; 32]), &event, shape, true)).unwrap();
            for word in ["support", "secret", "leak", "kill", "carol", "pointer"] {
                assert!(!text.contains(word), "{word}: {text}");
            }
        }
    }

    #[test]
    fn slack_reads_no_markup_and_no_call_to_everybody() {
        let event = event(
            Action::PointerKill,
            &json!({ "key_id": "support.greeting", "rationale": "<!channel> & <http://evil|ok>\u{202e}\nx" }),
        );
        let text: Value = serde_json::from_slice(&body(&Digest([4; 32]), &event, Shape::Slack, false)).unwrap();
        let text = text["text"].as_str().unwrap();
        assert!(
            text.contains("&lt;!channel&gt; &amp; &lt;http://evil|ok&gt;") && !text.contains(['<', '>', '\u{202e}', '\n']),
            "{text}"
        );
    }

    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        // The example of the specification's reference libraries.
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let signed = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(signature("nothing", "a", 0, b""), None);
        assert!(signature(&super::secret(&[7; 32]), "a", 0, b"").is_some());
    }

    #[test]
    fn waits_double_with_some_chance_and_end() {
        let wait = |tries, chance| again_at(Timestamp(0), tries, chance).map(|at| at.0 / 1000);
        assert_eq!((wait(1, 0), wait(1, 499), wait(1, 500)), (Some(500), Some(999), Some(500)));
        assert_eq!((wait(2, 0), wait(5, 0)), (Some(1000), Some(8000)));
        assert_eq!(wait(MOST_TRIES - 1, 0), Some(1000 << 13));
        assert_eq!(wait(MOST_TRIES, 0), None);
        let total: i64 = (1..MOST_TRIES).filter_map(|tries| wait(tries, u64::MAX)).sum();
        assert!(total > 4 * 3600 * 1000, "a receiver may be away for hours: {total}");
    }

    #[test]
    fn every_kind_has_an_action() {
        for kind_of in NoticeKind::ALL {
            assert!(actions().any(|action| kind(action) == Some(*kind_of)), "{kind_of}");
        }
    }
}
