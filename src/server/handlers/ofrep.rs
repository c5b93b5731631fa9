//! OFREP: stock OpenFeature clients read keys, from the snapshot alone. What it does not know of a request is ignored.

use super::ofrep_bulk::{Entries, Units};
use crate::model::{Code, ConfigKey, Environment, KeyId, Refusal, UnitType};
use crate::rules::access::{self, Caller, Need, allowed, sees_unit_hash};
use crate::rules::bucketing::unit_hash;
use crate::rules::ticket;
use crate::server::apart::apart_if;
use crate::server::error::Rejection;
use crate::server::extract::{Names, Unread};
use crate::server::reading::Reading;
use crate::server::respond::shown;
use crate::snapshot::{Choice, Freshness, Snapshot};
use crate::wire::ofrep::{Bulk, BulkMetadata, Endpoint, ErrorCode, Evaluation, EventStream, Failure, FlagValue, Metadata, words};
use crate::wire::paths;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A client that nobody looks at lets go of its channel after so many seconds.
const INACTIVE_SECONDS: u32 = 120;
/// A bulk answer that looks at more keys is made apart.
const AT_ONCE: usize = 500;

/// POST /ofrep/v1/evaluate/flags/{key}
pub async fn flag(
    State(reading): State<Arc<Reading>>,
    caller: Caller,
    names: Result<Names, Rejection>,
    sent: Result<Unread, Rejection>,
) -> Result<Response, Refused> {
    let names = names.map_err(|_| not_found(""))?;
    let asked: String = names.get("key").unwrap_or_default();
    let context = context(Some(&asked), sent)?;
    let now = reading.clock.now();
    let snapshot = reading.snapshot.get();
    let environment = environment(&snapshot, &caller, &names, Some(&asked))?;
    let key: KeyId = asked.parse().map_err(|_| not_found(&asked))?;
    let row = snapshot.key(&key).ok_or_else(|| not_found(&asked))?;
    allowed(snapshot.policy(), &caller, Need::Resolve, Some(row), Some(&environment))
        .map_err(|refusal| if refusal.code == Code::NotFound { not_found(&asked) } else { Refused::Problem(refusal.into()) })?;
    let stale = reading.snapshot.freshness(now) == Freshness::Stale;
    let look = Look::new(&snapshot, &caller, &environment, &context, stale);
    let evaluation = look.evaluate(row).map_err(bad)?.ok_or_else(|| not_found(&asked))?;
    reading.meter.count(&key, &environment, &caller.actor, now);
    Ok(shown(&evaluation))
}

/// POST /ofrep/v1/evaluate/flags: every key that the caller may resolve, but confidential ones.
pub async fn flags(
    State(reading): State<Arc<Reading>>,
    caller: Caller,
    headers: HeaderMap,
    names: Result<Names, Rejection>,
    sent: Result<Unread, Rejection>,
) -> Result<Response, Refused> {
    let general = |details: &str| bad(failure(None, ErrorCode::General, details));
    let names = names.map_err(|_| general("the path is not percent-encoded UTF-8"))?;
    let context = context(None, sent)?;
    let now = reading.clock.now();
    let snapshot = reading.snapshot.get();
    let environment = environment(&snapshot, &caller, &names, None)?;
    if !snapshot.policy().environments.iter().any(|known| known.name == environment.as_str()) {
        return Err(general(&format!("there is no environment {environment}")));
    }
    let stale = reading.snapshot.freshness(now) == Freshness::Stale;
    let many = snapshot.key_count() > AT_ONCE;
    let bulk = apart_if(many, move || {
        let look = Look::new(&snapshot, &caller, &environment, &context, stale);
        let units = Units::of(|unit_type| look.pseudonym(unit_type), stale, look.shows_hash)?;
        let entries = look.everything(&units, |key| reading.meter.count(key, &environment, &caller.actor, now))?;
        let ticket = ticket::ticket(&snapshot.pepper().0, &caller.token_id, &environment);
        let request_uri = format!("{}?ticket={ticket}", paths::ofrep_events());
        let channel = EventStream { kind: "sse", endpoint: Endpoint { request_uri }, inactivity_delay_sec: INACTIVE_SECONDS };
        let metadata = BulkMetadata { flag_set_id: &environment, stale };
        entries.answer(&headers, &context, &Bulk { flags: Vec::new(), event_streams: [channel], metadata })
    });
    bulk.await.flatten().map_err(|refusal| Refused::Problem(refusal.into()))
}

/// One caller's look at one state, for one context.
pub(super) struct Look<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) caller: &'a Caller,
    pub(super) environment: &'a Environment,
    pub(super) context: &'a Map<String, Value>,
    pub(super) stale: bool,
    pub(super) shows_hash: bool,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        caller: &'a Caller,
        environment: &'a Environment,
        context: &'a Map<String, Value>,
        stale: bool,
    ) -> Self {
        let shows_hash = sees_unit_hash(snapshot.policy(), caller);
        Self { snapshot, caller, environment, context, stale, shows_hash }
    }

    /// Every key that is not confidential, sorted by name; killed ones are there like all others. `count` gets each that was
    /// evaluated.
    pub(super) fn everything(&self, units: &'a Units, count: impl Fn(&KeyId)) -> Result<Entries<'a>, Refusal> {
        let within = access::reach(self.snapshot.policy(), self.caller, Need::Resolve, self.environment);
        let mut entries = Entries::of(self.snapshot.key_count());
        for state in self.snapshot.sorted().iter().filter(|state| !state.key.confidential && within(&state.key)) {
            let (key, unit) = (&state.key.key_id, units.get(state.key.unit_type));
            match &unit.pseudonym {
                Err(why) => entries.fail(&wrong(key, why))?,
                Ok(pseudonym) => {
                    let Some((choice, room)) = state.look(self.environment, pseudonym.as_deref()) else { continue };
                    count(key);
                    entries.add(room, || self.evaluation(choice), unit)?;
                }
            }
        }
        Ok(entries)
    }

    /// What the context's unit gets; none where the key has no pointer here.
    pub(super) fn evaluate(&self, key: &'a ConfigKey) -> Result<Option<Evaluation<'a>>, Failure> {
        let unit_hash = self.pseudonym(key.unit_type).map_err(|why| wrong(&key.key_id, &why))?;
        let looked = self.snapshot.state(&key.key_id).and_then(|state| state.look(self.environment, unit_hash.as_deref()));
        Ok(looked.map(|(choice, _)| self.evaluation(Choice { unit_hash, ..choice })))
    }

    /// The pseudonym of the context's unit of a type, or what is wrong with the unit.
    pub(super) fn pseudonym(&self, unit_type: UnitType) -> Result<Option<String>, String> {
        let hash = |unit: String| unit_hash(&self.snapshot.pepper().0, unit_type, &unit).map_err(|refusal| refusal.detail);
        unit(self.context, unit_type)?.map(hash).transpose()
    }

    fn evaluation(&self, choice: Choice<'a>) -> Evaluation<'a> {
        let served = choice.served;
        let (reason, variant) = words(choice.reason, served.is_some());
        Evaluation {
            key: &choice.key.key_id,
            value: served.map(|served| FlagValue::of(&served.content, &served.fragments)),
            reason,
            variant,
            metadata: Metadata {
                version: served.map(|served| served.digest),
                flag_set_id: &choice.pointer.environment,
                model_pin: served.and_then(|served| served.content.model_pin.as_deref()),
                killed: choice.pointer.killed,
                stale: self.stale,
                context_id: choice.unit_hash.filter(|_| self.shows_hash),
            },
        }
    }
}

/// The unit: the attribute that is named like the key's unit type, else `targetingKey`; an empty one is none.
fn unit(context: &Map<String, Value>, unit_type: UnitType) -> Result<Option<String>, String> {
    let present = |name: &str| context.get(name).filter(|value| !value.is_null()).map(|value| (name.to_owned(), value));
    let Some((name, value)) = present(&unit_type.to_string()).or_else(|| present("targetingKey")) else { return Ok(None) };
    match value {
        Value::String(text) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(Some(number.to_string())),
        _ => Err(format!("{name} in the context names the unit: it must be a text or an integer")),
    }
}

/// The environment: the one in the URL, else the token's.
fn environment(snapshot: &Snapshot, caller: &Caller, names: &Names, key: Option<&str>) -> Result<Environment, Refused> {
    let general = |details: String| bad(failure(key, ErrorCode::General, details));
    match names.find("environment") {
        Some(name) => name.parse().map_err(|why| general(format!("{name:?}: {why}"))),
        None => access::home(snapshot.policy(), caller).ok_or_else(|| {
            general("this token may resolve in several environments: use the base URL …/env/ENVIRONMENT".to_owned())
        }),
    }
}

/// The `context` of a request; a body without one, or no body, is an empty context.
fn context(key: Option<&str>, sent: Result<Unread, Rejection>) -> Result<Map<String, Value>, Refused> {
    let Unread(bytes) = sent.map_err(Refused::Problem)?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let parsed = serde_json::from_slice(&bytes);
    let parse_error = |why: String| bad(failure(key, ErrorCode::ParseError, why));
    let Value::Object(mut body) = parsed.map_err(|why| parse_error(format!("the body is not JSON: {why}")))? else {
        return Err(parse_error("the body is not an object".to_owned()));
    };
    match body.remove("context") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(context)) => Ok(context),
        Some(_) => Err(bad(failure(key, ErrorCode::InvalidContext, "the context is not an object"))),
    }
}

/// Why there is no answer: in the protocol's shape or, for who may not ask at all, as a problem.
pub enum Refused {
    /// In the protocol's shape.
    Failure(StatusCode, Failure),
    /// As everywhere else.
    Problem(Rejection),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::Failure(status, failure) => (status, shown(&failure)).into_response(),
            Self::Problem(rejection) => rejection.into_response(),
        }
    }
}

fn failure(key: Option<&str>, error_code: ErrorCode, error_details: impl Into<String>) -> Failure {
    Failure { key: key.map(str::to_owned), error_code, error_details: error_details.into() }
}

/// What is wrong with a key's unit.
fn wrong(key: &KeyId, details: &str) -> Failure {
    failure(Some(key.as_str()), ErrorCode::InvalidContext, details)
}

fn bad(failure: Failure) -> Refused {
    Refused::Failure(StatusCode::BAD_REQUEST, failure)
}

/// One constant answer for what is not there and what is not the caller's to know.
fn not_found(key: &str) -> Refused {
    let details = Refusal::not_found().detail;
    Refused::Failure(StatusCode::NOT_FOUND, failure(Some(key), ErrorCode::FlagNotFound, details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_unit_is_the_attribute_of_its_type_else_the_targeting_key() {
        for (context, found) in [
            (json!({}), Ok(None)),
            (json!({ "targetingKey": "t" }), Ok(Some("t"))),
            (json!({ "targetingKey": "t", "tenant": "acme" }), Ok(Some("acme"))),
            (json!({ "targetingKey": "t", "tenant": null }), Ok(Some("t"))),
            (json!({ "targetingKey": "t", "user": "u" }), Ok(Some("t"))),
            (json!({ "tenant": 42 }), Ok(Some("42"))),
            (json!({ "targetingKey": "" }), Ok(None)),
            (json!({ "tenant": 4.5 }), Err("tenant")),
            (json!({ "tenant": { "id": 1 }, "targetingKey": "t" }), Err("tenant")),
            (json!({ "targetingKey": true }), Err("targetingKey")),
        ] {
            let unit = unit(context.as_object().unwrap(), UnitType::Tenant);
            match (&unit, found) {
                (Ok(unit), Ok(found)) => assert_eq!(unit.as_deref(), found, "{context}"),
                (Err(why), Err(named)) => assert!(why.starts_with(named), "{context}: {why}"),
                _ => unreachable!("{context}: {unit:?}"),
            }
        }
    }
}
