//! A registry with people in it, without a server: what tests of verbs stand on.

use super::engines::Place;
use countersign::clock::Clock;
use countersign::model::{
    Actor, Approval, AuditEvent, Content, Digest, Environment, EnvironmentPointer, Format, KeyId, KillReason, Promotion, Refusal,
    Timestamp, Verdict,
};
use countersign::rules::access::Caller;
use countersign::rules::canonical::sha256;
use countersign::rules::statement::Statement;
use countersign::rules::{chain, policy};
use countersign::snapshot::{Meter, Pepper, SnapshotCell, load};
use countersign::storage::PolicyRow;
use countersign::wire::keys::CreateKey as NewKey;
use countersign::wire::pointers::{Act, Kill, Rollback, StepTo};
use countersign::wire::promotions::{Moved, OpenPromotion as Wish, Rationale, Vote};
use countersign::wire::versions::{CreateVersion, RecordVerdict as Report, Submit};
use countersign::workflow::{
    Applied, ApplyPromotion, CastVote, CreateKey, HoldPointer, KillPointer, OpenPromotion, Opened, RecordVerdict, Registry,
    ResumePointer, RollbackPointer, SaveVersion, StepPointer, SubmitVersion, UndoKill, Verb,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::watch;
use uuid::Uuid;

pub use super::policy::WORLD as POLICY;

/// The key that every world has.
pub const KEY: &str = "support.greeting";

/// The registry and its clock.
pub struct World {
    pub registry: Registry,
    pub clock: Clock,
}

pub fn caller(who: &str) -> Caller {
    let actor: Actor = who.parse().unwrap();
    let owner = if actor.is_person() { actor.clone() } else { Actor::person("root") };
    Caller { token_id: "cs_test".into(), owner, ..Caller::whole(actor) }
}

pub fn key() -> KeyId {
    KEY.parse().unwrap()
}

pub fn env(name: &str) -> Environment {
    name.parse().unwrap()
}

impl World {
    /// A world under [`POLICY`].
    pub async fn new(place: &Place) -> Self {
        Self::under(place, POLICY).await
    }

    /// A world under another policy, with the key [`KEY`] in it.
    pub async fn under(place: &Place, source: &str) -> Self {
        let clock = Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap());
        policy::read(source).unwrap();
        let mut tx = place.db.begin().await.unwrap();
        let row = PolicyRow {
            digest: sha256(source.as_bytes()),
            source: source.to_owned(),
            actor: Actor::person("root"),
            rationale: "first".into(),
            at: clock.now(),
        };
        tx.conn().policy_put(&row).await.unwrap();
        tx.commit().await.unwrap();
        let snapshot = load(&place.db, Pepper([7; 32])).await.unwrap();
        let registry = Registry {
            db: place.db.clone(),
            snapshot: Arc::new(SnapshotCell::new(snapshot, clock.now())),
            wake: watch::Sender::new(0),
            clock: clock.clone(),
            meter: Arc::new(Meter::default()),
            together: Arc::default(),
            denials: Arc::default(),
            journal: None,
        };
        let world = Self { registry, clock };
        let body = NewKey {
            key_id: key(),
            owning_group: "owners".into(),
            unit_type: countersign::model::UnitType::User,
            confidential: false,
            description: String::new(),
        };
        world.run("person:root", CreateKey { body }).await.unwrap();
        world
    }

    pub async fn run<V: Verb>(&self, who: &str, verb: V) -> Result<V::Answer, Refusal> {
        self.registry.run(&caller(who), None, verb).await.map(|done| done.answer)
    }

    pub fn later(&self, seconds: i64) {
        self.clock.set(self.clock.now().plus_seconds(seconds));
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A draft of a text by fay.
    pub async fn draft(&self, body: &str) -> Digest {
        self.draft_by("person:fay", body).await
    }

    pub async fn draft_by(&self, who: &str, body: &str) -> Digest {
        let content = Content {
            key: key(),
            format: Format::Text,
            body: body.into(),
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: BTreeMap::new(),
            variables: Vec::new(),
            schema: 1,
        };
        let body = CreateVersion { content, rationale: "better".into(), imported: None };
        self.run(who, SaveVersion { key: key(), body }).await.unwrap().version.digest
    }

    /// A version of a text by fay, in review, with a passing gate.
    pub async fn version(&self, body: &str) -> Digest {
        let digest = self.draft(body).await;
        self.run("person:fay", SubmitVersion { digest, body: Submit::default() }).await.unwrap();
        self.report(digest, Some(0.95), None).await.unwrap();
        digest
    }

    pub async fn report(
        &self,
        digest: Digest,
        score: Option<f64>,
        status: Option<countersign::model::GateStatus>,
    ) -> Result<(), Refusal> {
        let body = Report { gate: "quality".into(), score, status, threshold: None, summary: String::new(), details_url: None };
        self.run("service:ci", RecordVerdict { digest, body }).await.map(drop)
    }

    /// Opens as carol.
    pub async fn open(&self, wish: Wish) -> Result<Promotion, Refusal> {
        match self.run("person:carol", OpenPromotion { body: wish }).await? {
            Opened::Promotion(row) => Ok(*row),
            Opened::DryRun(_) => panic!("a dry run was not asked for"),
        }
    }

    /// Votes on what the row says, with the row's unusual characters acknowledged where they are given.
    pub async fn vote(&self, who: &str, row: &Promotion, verdict: Verdict, gate: &str) -> Result<Approval, Refusal> {
        self.run(who, CastVote { id: row.promotion_id, body: ballot(row, verdict, gate) }).await
    }

    /// ana for the owners, eve for safety.
    pub async fn approve(&self, row: &Promotion) {
        self.vote("person:ana", row, Verdict::Approve, "owner").await.unwrap();
        self.vote("person:eve", row, Verdict::Approve, "safety").await.unwrap();
    }

    pub async fn apply(&self, id: Uuid) -> Result<Moved, Refusal> {
        match self.run("person:carol", ApplyPromotion { id, body: Rationale::default() }).await? {
            Applied::Moved(moved) => Ok(*moved),
            Applied::DryRun(_) => panic!("a dry run was not asked for"),
        }
    }

    /// Opens and applies where nothing is asked for (dev, stage).
    pub async fn promote(&self, environment: &str, to: Digest, percent: f64) -> Moved {
        let row = self.open(wish(environment, to, Some(percent))).await.unwrap();
        self.apply(row.promotion_id).await.unwrap()
    }

    /// Makes a digest the safe default, by all that production asks for.
    pub async fn safe_default(&self, digest: Digest) {
        let row = self.open(wish("@safe-default", digest, None)).await.unwrap();
        self.approve(&row).await;
        self.apply(row.promotion_id).await.unwrap();
    }

    pub async fn pointer(&self, environment: &str) -> Option<EnvironmentPointer> {
        let mut tx = self.registry.db.read().await.unwrap();
        tx.conn().pointer_get(&key(), &env(environment)).await.unwrap()
    }

    pub async fn promotion(&self, id: Uuid) -> Promotion {
        let mut tx = self.registry.db.read().await.unwrap();
        tx.conn().promotion_get(id).await.unwrap().unwrap()
    }

    pub async fn events(&self) -> Vec<AuditEvent> {
        let mut tx = self.registry.db.read().await.unwrap();
        tx.conn().audit_after(0, u32::MAX).await.unwrap()
    }

    pub async fn kill(&self, who: &str, environment: &str) -> Result<Moved, Refusal> {
        self.run(who, KillPointer { key: key(), environment: env(environment), body: kill() }).await
    }

    pub async fn undo_kill(&self, who: &str, environment: &str) -> Result<Moved, Refusal> {
        self.run(who, UndoKill { key: key(), environment: env(environment), body: act() }).await
    }

    pub async fn hold(&self, who: &str, environment: &str) -> Result<Moved, Refusal> {
        self.run(who, HoldPointer { key: key(), environment: env(environment), body: act() }).await
    }

    pub async fn resume(&self, who: &str, environment: &str) -> Result<Moved, Refusal> {
        self.run(who, ResumePointer { key: key(), environment: env(environment), body: act() }).await
    }

    pub async fn step(&self, who: &str, environment: &str, down: bool, to: Option<f64>) -> Result<Moved, Refusal> {
        let to = to.map(|percent| countersign::model::BasisPoints::from_percent(percent).unwrap());
        let body = StepTo { to, down, rationale: "because".into(), ..StepTo::default() };
        self.run(who, StepPointer { key: key(), environment: env(environment), body }).await
    }

    pub async fn rollback(&self, who: &str, environment: &str, to: Option<Digest>) -> Result<Moved, Refusal> {
        let body = Rollback { to_digest: to, rationale: "bad".into(), ..Rollback::default() };
        self.run(who, RollbackPointer { key: key(), environment: env(environment), body }).await
    }

    /// The chain verifies, and what its events say of pointers is what the tables hold (R14).
    pub async fn check_chain(&self) {
        let events = self.events().await;
        let mut head = countersign::model::ChainHead { seq: 0, event_id: Digest::ZERO, at: Timestamp(0) };
        for event in &events {
            head = chain::verify(&head, event).unwrap_or_else(|broken| panic!("{}: {}", broken.seq, broken.why));
        }
        let mut tx = self.registry.db.read().await.unwrap();
        let stored = tx.conn().pointer_all().await.unwrap();
        let stored: BTreeMap<_, _> =
            stored.into_iter().map(|pointer| ((pointer.key_id.clone(), pointer.environment.clone()), pointer)).collect();
        assert_eq!(chain::fold(&events), stored);
        let snapshot = self.registry.snapshot.get();
        for (place, pointer) in &stored {
            assert_eq!(snapshot.pointer(&place.0, &place.1).map(|held| (**held).clone()).as_ref(), Some(pointer));
        }
    }
}

pub fn wish(environment: &str, to: Digest, percent: Option<f64>) -> Wish {
    Wish {
        key_id: key(),
        environment: env(environment),
        to_digest: to,
        rationale: "ship it".into(),
        percent: percent.map(|percent| countersign::model::BasisPoints::from_percent(percent).unwrap()),
        plan: None,
        supersedes: None,
        change: None,
        revive: false,
        baseline: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        dry_run: false,
    }
}

pub fn ballot(row: &Promotion, verdict: Verdict, gate: &str) -> Vote {
    Vote {
        verdict,
        gate: Some(gate.to_owned()).filter(|gate| !gate.is_empty()),
        rationale: "read it".into(),
        statement: Some(Statement::of(row).digest()),
        head: None,
        acknowledged_hidden: Vec::new(),
        anchor: None,
        reply_to: None,
    }
}

pub fn kill() -> Kill {
    Kill { reason: KillReason::Quality, note: Some("wrong answers".into()), issued_at: None, seen_revision: None, dry_run: false }
}

pub fn act() -> Act {
    Act { rationale: "because".into(), ..Act::default() }
}
