//! The beginning of a registry: its first policy, as the first event of its chain; and how one is opened again.

use super::{Outcome, Registry, Verb, Work};
use crate::clock::Clock;
use crate::model::{Action, Code, Refusal, Subject};
use crate::rules::{canonical, policy};
use crate::snapshot::{self, Change, Meter, Pepper, SnapshotCell};
use crate::storage::{Db, PolicyRow, StorageError, meta};
use crate::wire::world::PolicyText;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::watch;

/// Puts the first policy in force. Only where nothing has happened yet: it asks nobody's right, since nobody has one.
#[derive(Debug, Clone)]
pub struct FoundRegistry {
    /// The policy's TOML.
    pub policy: String,
    /// The registry's name, for people.
    pub name: String,
    /// The fingerprint of the unit pepper: a server with another one refuses to start.
    pub pepper: String,
}

impl Verb for FoundRegistry {
    type Answer = PolicyText;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<PolicyText>, Refusal> {
        if work.seq != 1 || work.conn.policy_get().await?.is_some() {
            return Err(Refusal::new(Code::Exists, "this database holds a registry already"));
        }
        let read = policy::read(&self.policy)?;
        let digest = canonical::sha256(self.policy.as_bytes());
        let rationale = "the registry's first policy".to_owned();
        let row = PolicyRow { digest, source: self.policy.clone(), actor: work.actor().clone(), rationale, at: work.at };
        work.conn.policy_put(&row).await?;
        work.conn.meta_put(meta::NAME, &self.name).await?;
        work.conn.meta_put(meta::PEPPER_FINGERPRINT, &self.pepper).await?;
        let detail = json!({ "rationale": row.rationale, "digest": digest });
        let answer = PolicyText { source: row.source, digest, waits_until: None };
        let outcome = Outcome::done(answer, Action::PolicyApply, Subject(format!("policy:{digest}")), &detail);
        Ok(outcome.created().changing([Change::Policy(Arc::new(read), digest)]))
    }
}

impl Registry {
    /// Opens a migrated database: loads its snapshot.
    ///
    /// # Errors
    /// The database is away, or holds what does not read.
    pub async fn load(db: Db, pepper: Pepper, clock: Clock) -> Result<Self, StorageError> {
        let loaded = snapshot::load(&db, pepper).await?.at(clock.now());
        let wake = watch::Sender::new(loaded.head().seq);
        let snapshot = Arc::new(SnapshotCell::new(loaded, clock.now()));
        Ok(Self {
            db,
            snapshot,
            wake,
            clock,
            meter: Arc::new(Meter::default()),
            together: Arc::default(),
            denials: Arc::default(),
            journal: None,
        })
    }
}
