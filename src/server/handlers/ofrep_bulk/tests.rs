//! The bulk answer in each state of a registry, beside what serde writes of the same evaluations.

use super::super::ofrep::Look;
use super::*;
use crate::model::policy::{EnvironmentFields, EnvironmentPolicy, RoleGrant};
use crate::model::{Actor, BasisPoints, ConfigKey, Digest, EnvironmentPointer, KeyId, Policy, Role};
use crate::rules::access::{Caller, Need, allowed};
use crate::snapshot::tests::{key_changes, prod, share, snapshot};
use crate::snapshot::{Change, Servable, Snapshot};
use crate::wire::ofrep::{BulkMetadata, Endpoint, Entry, EventStream};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

fn around(stale: bool, environment: &crate::model::Environment) -> Bulk<'_> {
    let endpoint = Endpoint { request_uri: "/ofrep/v1/events?ticket=t".into() };
    let channel = EventStream { kind: "sse", endpoint, inactivity_delay_sec: 120 };
    Bulk { flags: Vec::new(), event_streams: [channel], metadata: BulkMetadata { flag_set_id: environment, stale } }
}

/// A key as [`key_changes`] makes it, changed.
fn key(name: &str, points: u16, change: impl Fn(&mut ConfigKey, &mut EnvironmentPointer)) -> Vec<Change> {
    let mut changes = key_changes(&name.parse().unwrap(), BasisPoints::new(points).unwrap());
    let [Change::Key(row), .., Change::Pointer(pointer)] = &mut changes[..] else { unreachable!() };
    change(row, pointer);
    changes
}

/// The live content of a key, as something else.
fn content(name: &str, change: impl Fn(&mut Servable)) -> Vec<Change> {
    let mut changes = key(name, 10_000, |_, _| {});
    let Change::Content(live) = &mut changes[1] else { unreachable!() };
    change(live);
    live.digest = crate::rules::canonical::content_digest(&live.content);
    let digest = live.digest;
    let Change::Pointer(pointer) = &mut changes[3] else { unreachable!() };
    pointer.digest = digest;
    changes
}

fn policy(roles: &[(&str, Role, Option<&str>)]) -> Change {
    let environment = |name: &str| EnvironmentPolicy {
        name: name.into(),
        fields: EnvironmentFields::default(),
        lines: BTreeMap::new(),
        overrides: Vec::new(),
    };
    let grant = |(who, role, namespace): &(&str, Role, Option<&str>)| RoleGrant {
        who: (*who).into(),
        role: *role,
        namespace: namespace.map(str::to_owned),
        environment: None,
    };
    let roles = roles.iter().map(grant).collect();
    Change::Policy(Arc::new(Policy { environments: vec![environment("prod")], roles, ..Policy::default() }), Digest::ZERO)
}

/// One key in each state that a pointer can have.
fn registry() -> Snapshot {
    let (base, ..) = snapshot();
    let lists = [
        vec![policy(&[("service:web", Role::Service, None), ("person:ana", Role::Reader, None)])],
        key("a.static", 10_000, |_, _| {}),
        key("a.half", 5000, |_, _| {}),
        key("a.nobody", 0, |_, _| {}),
        key("a.bare", 5000, |_, pointer| pointer.baseline_digest = None),
        key("a.killed", 10_000, |_, pointer| pointer.killed = true),
        key("a.dead", 5000, |row, pointer| (row.safe_default_digest, pointer.killed) = (None, true)),
        key("a.tenant", 5000, |row, _| row.unit_type = UnitType::Tenant),
        key("a.secret", 10_000, |row, _| row.confidential = true),
        key("a.elsewhere", 10_000, |_, pointer| pointer.environment = "stage".parse().unwrap()),
        key("b.other", 10_000, |_, _| {}),
        content("a.json", |live| {
            live.content.format = crate::model::Format::Json;
            (live.content.body, live.content.model_pin) = (json!({ "b": [1, 2.5, "\u{1}\"é"] }), Some("m-1".into()));
        }),
        content("a.long", |live| live.content.body = json!("x".repeat(MOST_BYTES))),
    ];
    base.after(share::next(&base), lists.concat())
}

/// A state, and those that follow it, each by one change to something that was answered before.
fn states() -> Vec<Snapshot> {
    let mut states = vec![registry()];
    let safe = |name: &str| states[0].key(&name.parse().unwrap()).unwrap().safe_default_digest.unwrap();
    let marked = |name: &str, on| vec![Change::Quarantine(name.parse().unwrap(), safe(name), on)];
    let changes = [
        key("a.static", 10_000, |_, pointer| pointer.killed = true),
        marked("a.static", true),
        marked("a.half", true),
        marked("a.half", false),
        key("a.half", 7000, |_, _| {}),
        key("a.half", 7000, |row, _| row.unit_type = UnitType::Session),
        key("b.other", 10_000, |row, _| row.confidential = true),
        key("b.other", 10_000, |_, _| {}),
        content("b.other", |live| live.content.body = json!("another text")),
        key("a.killed", 10_000, |_, _| {}),
        key("a.new", 10_000, |_, _| {}),
        vec![policy(&[("service:web", Role::Service, Some("a.**")), ("person:ana", Role::Privacy, None)])],
        vec![policy(&[("service:web", Role::Service, None), ("person:ana", Role::Reader, Some("b"))])],
    ];
    for change in changes {
        let last = &states[states.len() - 1];
        states.push(last.after(share::next(last), change));
    }
    states
}

/// The answer's status, tag and bytes, to who has the answers with `known` tags; and which keys were counted.
async fn asked(look: &Look<'_>, known: &str) -> (StatusCode, String, Vec<u8>, Vec<KeyId>) {
    let counted = std::cell::RefCell::new(Vec::new());
    let units = Units::of(|unit_type| look.pseudonym(unit_type), look.stale, look.shows_hash).unwrap();
    let entries = look.everything(&units, |key| counted.borrow_mut().push(key.clone())).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(header::IF_NONE_MATCH, known.parse().unwrap());
    let response = entries.answer(&headers, look.context, &around(look.stale, look.environment)).unwrap();
    let (status, tag) = (response.status(), response.headers()[header::ETAG].to_str().unwrap().to_owned());
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec();
    (status, tag, body, counted.into_inner())
}

/// The same answer, each key by itself and nothing kept; and which keys were evaluated.
fn plain(look: &Look<'_>) -> (Vec<u8>, Vec<KeyId>) {
    let mut keys: Vec<_> = look.snapshot.keys().filter(|key| !key.confidential).collect();
    keys.retain(|key| allowed(look.snapshot.policy(), look.caller, Need::Resolve, Some(key), Some(look.environment)).is_ok());
    keys.sort_by_key(|key| key.key_id.clone());
    let mut bulk = around(look.stale, look.environment);
    let entries = keys.into_iter().filter_map(|key| match look.evaluate(key) {
        Ok(evaluation) => evaluation.map(Entry::Evaluation),
        Err(failure) => Some(Entry::Failure(failure)),
    });
    bulk.flags = entries.collect();
    let evaluated = bulk.flags.iter().filter_map(|entry| match entry {
        Entry::Evaluation(evaluation) => Some(evaluation.key.clone()),
        Entry::Failure(_) => None,
    });
    (serde_json::to_vec(&bulk).unwrap(), evaluated.collect())
}

#[tokio::test]
async fn in_every_state_the_pieces_are_the_whole_and_the_tag_is_the_same_for_the_same_context_and_answer_alone() {
    let contexts = [
        json!({}),
        json!({ "targetingKey": "u1" }),
        json!({ "targetingKey": "u1", "plan": "free" }),
        json!({ "targetingKey": "u2" }),
        json!({ "user": "u3", "tenant": 5 }),
        json!({ "tenant": { "id": 5 }, "user": "u3" }),
        json!({ "targetingKey": "u".repeat(513) }),
    ];
    let callers = ["service:web", "person:ana"].map(|who| Caller::whole(who.parse().unwrap()));
    let (mut by_tag, mut by_answer) = (BTreeMap::new(), BTreeMap::new());
    // Twice over: whatever was kept of later states says nothing of earlier ones, nor the other way round.
    let states = states();
    for state in states.iter().chain(&states) {
        for (context, caller) in contexts.iter().flat_map(|context| callers.iter().map(move |caller| (context, caller))) {
            for stale in [false, true] {
                let (environment, map) = (prod(), context.as_object().unwrap());
                let look = Look::new(state, caller, &environment, map, stale);
                let (status, tag, body, counted) = asked(&look, "\"another\"").await;
                let (whole, evaluated) = plain(&look);
                assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&whole));
                assert_eq!((status, &counted), (StatusCode::OK, &evaluated), "what was evaluated counts, and nothing else");
                let again = asked(&look, &format!("\"another\", W/{tag}")).await;
                assert_eq!(again, (StatusCode::NOT_MODIFIED, tag.clone(), Vec::new(), counted), "and counts again");
                let answer = (context.to_string(), body);
                assert_eq!(by_tag.entry(tag.clone()).or_insert_with(|| answer.clone()), &answer, "one tag, one answer");
                assert_eq!(by_answer.entry(answer).or_insert_with(|| tag.clone()), &tag, "one answer, one tag");
            }
        }
    }
    assert!(by_tag.len() > 100, "{} different answers", by_tag.len());
}

#[tokio::test]
async fn what_is_written_once_is_kept_unless_it_is_long_or_of_a_registry_of_very_many_keys() {
    let (state, environment, context) = (registry(), prod(), Map::new());
    let caller = Caller::whole(Actor::service("web"));
    let kept = |state: &Snapshot, name: &str| {
        let held = state.state(&name.parse().unwrap()).unwrap();
        let (_, room) = held.look(&environment, None).unwrap();
        room.unwrap().get().is_some()
    };
    assert!(!kept(&state, "a.static"), "nobody asked yet");
    asked(&Look::new(&state, &caller, &environment, &context, false), "").await;
    assert_eq!(["a.static", "a.half", "a.long", "a.secret"].map(|name| kept(&state, name)), [true, true, false, false]);
    let moved = state.after(share::next(&state), key("a.static", 5000, |_, _| {}));
    assert_eq!(["a.static", "a.half"].map(|name| kept(&moved, name)), [false, true], "a key that changed begins anew");
    let many = (0..MOST_KEYS).flat_map(|n| key(&format!("many.k{n}"), 10_000, |_, _| {})).collect();
    let many = state.after(share::next(&state), many);
    asked(&Look::new(&many, &caller, &environment, &context, false), "").await;
    assert!(!kept(&many, "many.k0"));
}
