//! What each route takes and gives: a row for each row of the route table. The document is made of these and of the types that
//! they name.

use crate::model::bundle::SignedBundle;
use crate::model::diff::ContentDiff;
use crate::model::mirror::SignedMirror;
use crate::model::webhook::Delivery;
use crate::model::{
    Approval, AuditEvent, ChainHead, ConfigKey, EnvironmentRule, Fragment, GateVerdict, Promotion, Resolution, Token, Version,
};
use crate::server::handlers::people::{Nothing, Paged};
use crate::server::handlers::stream::AskStream;
use crate::server::handlers::versions::AskDiff;
use crate::wire::keys::{CreateKey, KeyHistory, KeyRow, ListKeys, UpdateKey, VersionRow};
use crate::wire::paths::template as t;
use crate::wire::people::{CreateToken, CreatedToken, LoginOffers, Me};
use crate::wire::pointers::{
    Act, AsOf, Kill, KillMany, KillOutcome, ListPointers, PointerView, Resolve, ResolvedAsOf, Rollback, StepTo,
};
use crate::wire::promotions::{
    AskPreview, DryRun, ListPromotions, Moved, OpenPromotion, Preview, PromotionView, Rationale, Vote,
};
use crate::wire::versions::{
    CreateFragment, CreateVersion, FragmentUser, Reason, RecordVerdict, Served, Submit, Submitted, VersionView,
};
use crate::wire::webhooks::{CreateWebhook, CreatedWebhook, Retried, WebhookView};
use crate::wire::world::{
    ApplyPolicy, AskPolicy, AskReport, AuditKey, ExplainPolicy, ExportAudit, ListAudit, PolicyExplained, PolicyText, World,
};
use crate::wire::{Page, langfuse, ofrep};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// The schema of a type, from a generator that keeps the names of what it holds.
pub type Shape = fn(&mut SchemaGenerator) -> Schema;

/// What an answer of 2xx holds.
#[derive(Clone, Copy)]
pub enum Gives {
    /// JSON.
    Json(Shape),
    /// A text of this media type.
    Text(&'static str),
}

/// What a route takes and gives.
#[derive(Clone, Copy)]
pub struct Operation {
    /// `get`, `post`, `patch` or `delete`.
    pub method: &'static str,
    /// The path's template.
    pub template: &'static str,
    /// What it is for, in few words.
    pub summary: &'static str,
    /// Its query.
    pub query: Option<Shape>,
    /// Its body, in JSON.
    pub body: Option<Shape>,
    /// What it gives.
    pub gives: Gives,
    /// Whether it may have made something: 201 beside 200.
    pub makes: bool,
    /// In what shape of its own its protocol refuses, and with which statuses.
    pub fails: Option<(Shape, &'static [u16])>,
}

impl Operation {
    const fn new(method: &'static str, template: &'static str, summary: &'static str, gives: Gives) -> Self {
        Self { method, template, summary, query: None, body: None, gives, makes: false, fails: None }
    }

    const fn asks(self, query: Shape) -> Self {
        Self { query: Some(query), ..self }
    }

    const fn takes(self, body: Shape) -> Self {
        Self { body: Some(body), ..self }
    }

    const fn makes(self) -> Self {
        Self { makes: true, ..self }
    }

    const fn fails(self, shape: Shape, statuses: &'static [u16]) -> Self {
        Self { fails: Some((shape, statuses)), ..self }
    }
}

const fn get(template: &'static str, summary: &'static str, gives: Shape) -> Operation {
    Operation::new("get", template, summary, Gives::Json(gives))
}

const fn post(template: &'static str, summary: &'static str, body: Shape, gives: Shape) -> Operation {
    Operation::new("post", template, summary, Gives::Json(gives)).takes(body)
}

const fn delete(template: &'static str, summary: &'static str, gives: Shape) -> Operation {
    Operation::new("delete", template, summary, Gives::Json(gives))
}

const fn text(template: &'static str, summary: &'static str, media: &'static str) -> Operation {
    Operation::new("get", template, summary, Gives::Text(media))
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn either<A: JsonSchema, B: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let (one, other) = (generator.subschema_for::<A>(), generator.subschema_for::<B>());
    json_schema!({ "anyOf": [one, other] })
}

/// `/healthz` and its like.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "says what handlers write by hand")]
struct Health {
    /// `ok`
    status: String,
    /// Number of the newest audit event.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// What somebody should look at, though it serves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alarms: Vec<String>,
}

/// What OFREP's clients send; what the protocol does not know of it is ignored.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the handler reads it by hand, as leniently as clients expect")]
struct AskOfrep {
    /// `targetingKey`, or an attribute named like the key's unit type, names the unit.
    context: Option<Map<String, Value>>,
}

/// The query of the OFREP change channel.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the handler reads it by hand, as leniently as clients expect")]
struct Ticket {
    /// As the bulk answer gives it in `eventStreams`.
    ticket: String,
}

/// The query of Langfuse's clients.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the handler reads it by hand, as leniently as clients expect")]
struct AskPrompt {
    /// An environment, or its alias; the token's environment, else `production`, unless given.
    label: Option<String>,
    /// A version's number, if it served there.
    version: Option<i64>,
}

/// Every operation, by area.
pub const AREAS: &[(&str, &str, &[Operation])] = &[
    ("server", "Health, and this document", SERVER),
    ("world", "Environments, the policy, and who the caller is", WORLD),
    ("keys", "Keys, versions, gates and fragments", KEYS),
    ("pointers", "What each environment serves, and what moves it at once", POINTERS),
    ("promotions", "Changes that collect gates and approvals", PROMOTIONS),
    ("resolve", "What a unit gets", RESOLVE),
    ("audit", "The chain of events, and what proves it", AUDIT),
    ("people", "Tokens and receivers of notices", PEOPLE),
];

const SERVER: &[Operation] = &[
    get(t::HEALTHZ, "Whether the process lives", of::<Health>),
    get(t::READYZ, "Whether reads work", of::<Health>),
    get(t::READYZ_WRITE, "Whether changes work", of::<Health>),
    text(t::METRICS, "Counts and state for Prometheus", "text/plain; version=0.0.4; charset=utf-8"),
    get(t::OPENAPI, "This document", of::<Map<String, Value>>),
    text(t::DOCS, "This document as a page", "text/html; charset=utf-8"),
];

const WORLD: &[Operation] = &[
    get(t::ENVIRONMENTS, "Environments in the policy's order", of::<World>),
    get(t::ME, "Who the caller is", of::<Me>),
    get(t::LOGIN, "Where one can log in", of::<LoginOffers>),
    get(t::POLICY, "The policy in force, or the merged rule of a key", either::<PolicyText, EnvironmentRule>)
        .asks(of::<AskPolicy>),
    post(t::POLICY, "Apply another policy", of::<ApplyPolicy>, of::<PolicyText>),
    post(t::POLICY_EXPLAIN, "A merged rule and where it comes from", of::<ExplainPolicy>, of::<PolicyExplained>),
];

const KEYS: &[Operation] = &[
    get(t::KEYS, "Keys by name", of::<Page<KeyRow>>).asks(of::<ListKeys>),
    post(t::KEYS, "Make a key", of::<CreateKey>, of::<ConfigKey>).makes(),
    get(t::KEY, "One key", of::<KeyRow>),
    Operation::new("patch", t::KEY, "Change a key", Gives::Json(of::<ConfigKey>)).takes(of::<UpdateKey>),
    get(t::KEY_HISTORY, "A key with versions, pointers and promotions", of::<KeyHistory>),
    get(t::VERSIONS, "Versions of a key, newest first", of::<Page<VersionRow>>).asks(of::<Paged>),
    post(t::VERSIONS, "Save a version", of::<CreateVersion>, of::<VersionView>).makes(),
    get(t::VERSION_BY_SELECTOR, "One version by `vN`, digest, the digest's beginning, or environment", of::<VersionView>),
    get(t::DIFF, "The difference of two versions", of::<ContentDiff>).asks(of::<AskDiff>),
    get(t::VERSION, "One version by digest", of::<VersionView>),
    post(t::SUBMIT, "Submit for review", of::<Submit>, of::<Submitted>),
    post(t::DISCARD, "Hide a version", of::<Reason>, of::<Version>),
    post(t::QUARANTINE, "Keep a version from coming to serve", of::<Reason>, of::<Version>),
    post(t::LIFT, "Lift that mark", of::<Reason>, of::<Version>),
    get(t::SERVED, "Where and when a version served, and who let it", of::<Served>),
    get(t::VERDICTS, "Verdicts of gates on a version", of::<Page<GateVerdict>>).asks(of::<Paged>),
    post(t::VERDICTS, "Report a verdict", of::<RecordVerdict>, of::<GateVerdict>).makes(),
    get(t::FRAGMENTS, "Fragments by name", of::<Page<Fragment>>).asks(of::<Paged>),
    post(t::FRAGMENTS, "Make a fragment's revision", of::<CreateFragment>, of::<Fragment>).makes(),
    get(t::FRAGMENT, "One revision by digest", of::<Fragment>),
    get(t::FRAGMENT_USERS, "Versions that pin a fragment", of::<Page<FragmentUser>>).asks(of::<Paged>),
];

const POINTERS: &[Operation] = &[
    get(t::POINTERS, "Pointers by key and environment", of::<Page<PointerView>>).asks(of::<ListPointers>),
    get(t::POINTER, "One pointer", of::<PointerView>),
    post(t::STEP, "Take a step of the rollout, up or down", of::<StepTo>, of::<Moved>),
    post(t::HOLD, "Hold a rollout", of::<Act>, of::<Moved>),
    post(t::RESUME, "Let a held rollout go on", of::<Act>, of::<Moved>),
    post(t::ROLLBACK, "Back to what served before", of::<Rollback>, of::<Moved>),
    post(t::KILL, "The kill switch", of::<Kill>, of::<Moved>),
    post(t::UNDO_KILL, "Take one's kill back within ten minutes", of::<Act>, of::<Moved>),
    post(t::KILL_MANY, "Kill many keys at once: an outcome a key", of::<KillMany>, of::<Vec<KillOutcome>>),
];

const PROMOTIONS: &[Operation] = &[
    get(t::PROMOTIONS, "Promotions, newest first", of::<Page<PromotionView>>).asks(of::<ListPromotions>),
    post(t::PROMOTIONS, "Open a promotion", of::<OpenPromotion>, either::<Promotion, DryRun>).makes(),
    post(t::PREVIEW, "What a change would do to units", of::<AskPreview>, of::<Preview>),
    get(t::PROMOTION, "One promotion", of::<PromotionView>),
    post(t::APPROVALS, "Approve, reject, override, comment or retract", of::<Vote>, of::<Approval>).makes(),
    post(t::APPLY, "Let a promotion take effect", of::<Rationale>, either::<Moved, DryRun>),
    post(t::WITHDRAW, "Take a promotion back", of::<Rationale>, of::<Promotion>),
    post(t::RENEW, "Open a closed promotion anew", of::<Rationale>, of::<Promotion>).makes(),
    post(t::REVIEW, "Review afterwards", of::<Rationale>, of::<Promotion>),
    post(t::NOTE, "Write the note that a kill owed", of::<Rationale>, of::<Promotion>),
];

const RESOLVE: &[Operation] = &[
    get(t::RESOLVE, "What those without a unit get", of::<Resolution>),
    post(t::RESOLVE, "What a unit gets", of::<Resolve>, of::<Resolution>),
    post(t::EXPLAIN, "What a unit gets, step by step", of::<Resolve>, of::<Resolution>),
    post(t::AS_OF, "What a unit got at an earlier time", of::<AsOf>, of::<ResolvedAsOf>),
    get(t::BUNDLE, "What an environment serves, whole and signed", of::<SignedBundle>),
    get(t::MIRROR, "All that a relay needs, signed", of::<SignedMirror>),
    post(t::OFREP_FLAGS, "OFREP: every key", of::<AskOfrep>, of::<ofrep::Bulk<'static>>).fails(of::<ofrep::Failure>, &[400, 404]),
    post(t::OFREP_FLAG, "OFREP: one key", of::<AskOfrep>, of::<ofrep::Evaluation<'static>>)
        .fails(of::<ofrep::Failure>, &[400, 404]),
    post(t::ENV_OFREP_FLAGS, "OFREP: every key of an environment", of::<AskOfrep>, of::<ofrep::Bulk<'static>>)
        .fails(of::<ofrep::Failure>, &[400, 404]),
    post(t::ENV_OFREP_FLAG, "OFREP: one key of an environment", of::<AskOfrep>, of::<ofrep::Evaluation<'static>>)
        .fails(of::<ofrep::Failure>, &[400, 404]),
    text(t::OFREP_EVENTS, "OFREP: says when to ask again", "text/event-stream").asks(of::<Ticket>),
    get(t::LANGFUSE_PROMPT, "A prompt as Langfuse's clients read it", of::<langfuse::Prompt>)
        .asks(of::<AskPrompt>)
        .fails(of::<langfuse::Problem>, &[400, 403, 404, 503]),
];

const AUDIT: &[Operation] = &[
    get(t::AUDIT, "Audit events, ascending", of::<Page<AuditEvent>>).asks(of::<ListAudit>),
    get(t::AUDIT_HEAD, "The chain's head", of::<ChainHead>),
    text(t::AUDIT_CHECKPOINT, "The head as a signed note", "text/plain; charset=utf-8"),
    get(t::AUDIT_KEY, "The key that signs", of::<AuditKey>),
    text(t::AUDIT_EXPORT, "All events, one a line", "application/x-ndjson").asks(of::<ExportAudit>),
    text(t::AUDIT_REPORT, "What came to serve, who let it, and why", "text/csv; charset=utf-8; header=present")
        .asks(of::<AskReport>),
    text(t::STREAM, "Events as they happen: `audit`, `pointer`, `heartbeat`", "text/event-stream").asks(of::<AskStream>),
];

const PEOPLE: &[Operation] = &[
    get(t::TOKENS, "Tokens", of::<Page<Token>>).asks(of::<Paged>),
    post(t::TOKENS, "Make a token", of::<CreateToken>, of::<CreatedToken>).makes(),
    delete(t::TOKEN, "Revoke a token", of::<Token>).takes(of::<Nothing>),
    get(t::WEBHOOKS, "Receivers of notices", of::<Page<WebhookView>>),
    post(t::WEBHOOKS, "Name a receiver", of::<CreateWebhook>, of::<CreatedWebhook>).makes(),
    delete(t::WEBHOOK, "Take a receiver away", of::<()>).takes(of::<Nothing>),
    get(t::WEBHOOK_DELIVERIES, "What a receiver has not taken", of::<Page<Delivery>>).asks(of::<Paged>),
    post(t::WEBHOOK_RETRY, "Send again what was given up", of::<Nothing>, of::<Retried>),
];
