//! A registry on a database of either engine, with a policy and people, on which verbs run without a server.

use super::engines::Place;
use super::rows::read;
use countersign::clock::Clock;
use countersign::model::{AuditEvent, Content, Digest, Format, Refusal, Timestamp, Version};
use countersign::rules::access::Caller;
use countersign::rules::chain;
use countersign::snapshot::{Meter, Pepper, SnapshotCell, load};
use countersign::wire::versions::{CreateVersion, VersionView};
use countersign::workflow::{Answered, ApplyPolicy, CreateKey, Idempotency, Registry, SaveVersion, SubmitVersion, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;

pub const POLICY: &str = r#"
environment = [
  { name = "dev" },
  { name = "production", protected = true, after = "dev", gates = ["safety"], approvals = [{ gate = "owner", group = "@owning", count = 1 }] },
]
role = [
  { who = "person:dee", role = "author" },
  { who = "person:dee", role = "author", namespace = "support.**" },
  { who = "person:eli", role = "author" },
  { who = "person:ana", role = "approver" },
  { who = "person:bob", role = "approver" },
  { who = "person:carol", role = "releaser" },
  { who = "person:olaf", role = "oncall" },
  { who = "person:ida", role = "importer" },
  { who = "person:rita", role = "reader", namespace = "search.**" },
  { who = "person:root", role = "admin" },
  { who = "service:ci", role = "evaluator" },
]

[gate.safety]
at_most = 0.1
reporters = ["service:ci"]

[group.owners]
members = ["person:ana", "person:bob", "person:dee"]

[group.search]
members = ["person:rita", "person:bob"]

[person.ana]
also = ["person:ana2"]
"#;

/// A registry with [`POLICY`] in force: event #1.
pub struct Stage {
    pub registry: Registry,
}

impl Stage {
    pub async fn on(place: &Place) -> Self {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let snapshot = load(&place.db, Pepper([7; 32])).await.unwrap();
        let registry = Registry {
            db: place.db.clone(),
            snapshot: Arc::new(SnapshotCell::new(snapshot, now)),
            wake: watch::channel(0).0,
            clock: Clock::fixed(now),
            meter: Arc::new(Meter::default()),
            together: Arc::default(),
            denials: Arc::default(),
            journal: None,
        };
        let stage = Self { registry };
        let body = countersign::wire::world::ApplyPolicy { source: POLICY.into(), rationale: "first".into(), dry_run: false };
        stage.run("system:init", ApplyPolicy { body }).await.unwrap();
        stage
    }

    pub async fn run<V: Verb>(&self, actor: &str, verb: V) -> Result<Answered<V::Answer>, Refusal> {
        self.registry.run(&caller(actor), None, verb).await
    }

    /// The same with an Idempotency-Key.
    pub async fn retry<V: Verb>(&self, actor: &str, key: &str, body: u8, verb: V) -> Result<Answered<V::Answer>, Refusal> {
        let sent = Idempotency { key: key.into(), method: "POST".into(), path: "/v1/here".into(), body: Digest([body; 32]) };
        self.registry.run(&caller(actor), Some(sent), verb).await
    }

    /// Makes a key that `owners` own.
    pub async fn key(&self, name: &str, confidential: bool) {
        let body = countersign::wire::keys::CreateKey {
            key_id: name.parse().unwrap(),
            owning_group: "owners".into(),
            unit_type: countersign::model::UnitType::User,
            confidential,
            description: String::new(),
        };
        self.run("person:root", CreateKey { body }).await.unwrap();
    }

    /// Saves a text.
    pub async fn save(&self, actor: &str, key: &str, body: &str) -> Result<Answered<VersionView>, Refusal> {
        self.run(actor, saving(text(key, body))).await
    }

    /// Saves a text as dee and submits it.
    pub async fn submitted(&self, key: &str, body: &str) -> Version {
        let saved = self.save("person:dee", key, body).await.unwrap().answer.version;
        let verb = SubmitVersion { digest: saved.digest, body: countersign::wire::versions::Submit::default() };
        self.run("person:dee", verb).await.unwrap().answer.version
    }

    /// The whole chain, verified.
    pub async fn events(&self) -> Vec<AuditEvent> {
        let events = read(&self.registry.db, async |c| c.audit_after(0, 100_000).await.unwrap()).await;
        let mut head = chain::EMPTY;
        for event in &events {
            head = chain::verify(&head, event).unwrap();
        }
        assert_eq!(self.registry.snapshot.get().head(), head, "what was committed is published");
        events
    }

    /// Action, subject and actor of the events after a number.
    pub async fn said_after(&self, seq: u64) -> Vec<(String, String, String)> {
        let bodies = self.events().await.into_iter().filter(|event| event.seq > seq).filter_map(|event| event.body);
        bodies.map(|body| (body.action.to_string(), body.subject.to_string(), body.actor.to_string())).collect()
    }
}

pub fn caller(actor: &str) -> Caller {
    Caller { token_id: "cs_aaaaaaaaaa".into(), ..Caller::whole(actor.parse().unwrap()) }
}

pub fn text(key: &str, body: &str) -> Content {
    Content {
        key: key.parse().unwrap(),
        format: Format::Text,
        body: body.into(),
        model_pin: None,
        parameters: serde_json::Map::new(),
        fragments: BTreeMap::new(),
        variables: Vec::new(),
        schema: 1,
    }
}

pub fn saving(content: Content) -> SaveVersion {
    SaveVersion { key: content.key.clone(), body: CreateVersion { content, rationale: "because".into(), imported: None } }
}
