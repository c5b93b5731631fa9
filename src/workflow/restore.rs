//! A database that was put back: what it forgot is done again, and nothing else is changed until somebody releases it.

use super::work::{Outcome, Verb, Work, not_blank};
use super::{KillPointer, QuarantineVersion, Registry, RevokeToken};
use crate::model::restraint::{JournalEntry, Restraint};
use crate::model::{Action, Actor, ChainHead, Code, Digest, Refusal, Subject};
use crate::rules::access::Caller;
use crate::rules::restraint::{self, Again};
use crate::snapshot::Change;
use crate::storage::{Journal, StorageError, meta};
use crate::wire::pointers::Kill;
use crate::wire::versions::Reason;
use serde_json::json;
use std::collections::HashSet;
use std::io;
use std::sync::Arc;

/// Restraining events read at once.
const CHUNK: u32 = 500;

/// What was done again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// The newest event that the database had when it was put back.
    pub had: u64,
    /// Pointers that were killed again: `KEY in ENVIRONMENT`.
    pub killed: Vec<String>,
    /// Tokens that were ended again.
    pub revoked: Vec<String>,
    /// Versions that were marked again.
    pub quarantined: Vec<String>,
    /// What could not be done again, and why.
    pub left: Vec<String>,
    /// How many policies came into force that the database does not have.
    pub policies: usize,
}

/// Records that the database was put back; from then on only what holds back is done.
#[derive(Debug, Clone)]
struct Mark {
    rationale: String,
    again: Again,
}

impl Verb for Mark {
    type Answer = ();

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<()>, Refusal> {
        let why = format!("this registry was put back from an older state at {}: {}", work.at, self.rationale);
        work.conn.meta_put(meta::READ_ONLY, &why).await?;
        let detail = json!({
            "rationale": self.rationale, "had": work.seq - 1, "kills": self.again.kills.len(), "tokens": self.again.tokens.len(),
            "quarantines": self.again.quarantines.len(), "erasures": self.again.erasures, "policies": self.again.policies,
        });
        let change = Change::ReadOnly(Some(why.into()));
        Ok(Outcome::done((), Action::RegistryRestore, subject(work), &detail).changing([change]))
    }

    fn holds_back(&self) -> bool {
        true
    }
}

/// Lets a registry that was put back be changed again.
#[derive(Debug, Clone)]
pub struct ReleaseRegistry {
    /// Why; not blank.
    pub rationale: String,
}

impl Verb for ReleaseRegistry {
    type Answer = ();

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<()>, Refusal> {
        not_blank("/rationale", &self.rationale)?;
        if work.conn.meta_get(meta::READ_ONLY).await?.is_none_or(|why| why.is_empty()) {
            return Err(Refusal::new(Code::WrongState, "this registry is not read-only"));
        }
        work.conn.meta_put(meta::READ_ONLY, "").await?;
        let detail = json!({ "rationale": self.rationale });
        let change = Change::ReadOnly(None);
        Ok(Outcome::done((), Action::RegistryRelease, subject(work), &detail).changing([change]))
    }

    fn holds_back(&self) -> bool {
        true
    }
}

fn subject(work: &Work<'_>) -> Subject {
    Subject(format!("registry:{}", work.snapshot.genesis().unwrap_or(Digest::ZERO)))
}

/// Who does again what was forgotten, and who releases: whoever runs the registry's machine.
pub fn operator() -> Caller {
    Caller::whole(Actor::system("restore"))
}

impl Registry {
    /// The registry with a journal: from now on each restraint is on the disk there before it is acknowledged.
    #[must_use]
    pub fn with_journal(mut self, journal: Journal) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// What the journal holds and the database does not: what an older copy that was put back forgot.
    ///
    /// # Errors
    /// The database is away, or the journal cannot be read.
    pub async fn forgotten(&self) -> Result<Vec<JournalEntry>, StorageError> {
        let (Some(journal), Some(registry)) = (&self.journal, self.snapshot.get().genesis()) else { return Ok(Vec::new()) };
        let (entries, damaged) = journal.entries().map_err(|why| unreadable(journal, &why))?;
        if damaged > 0 {
            tracing::warn!(damaged, journal = %journal.path().display(), "lines of the journal cannot be read");
        }
        let mut tx = self.db.read().await?;
        let mut there = HashSet::new();
        for entry in &entries {
            let found = tx.conn().audit_range(entry.seq, entry.seq).await?;
            there.extend(found.into_iter().map(|event| (event.seq, event.event_id)));
        }
        Ok(restraint::missing(registry, &entries, |entry| there.contains(&(entry.seq, entry.event_id))))
    }

    /// Notes in the journal what the database holds and the journal does not: it was kept elsewhere, or a crash came between.
    ///
    /// # Errors
    /// The database is away, or the journal cannot be written.
    pub async fn catch_journal_up(&self) -> Result<usize, StorageError> {
        let (Some(journal), Some(registry)) = (&self.journal, self.snapshot.get().genesis()) else { return Ok(0) };
        let (entries, _) = journal.entries().map_err(|why| unreadable(journal, &why))?;
        let known: HashSet<_> = entries.iter().map(|entry| (entry.seq, entry.event_id)).collect();
        let mut fresh = Vec::new();
        for action in restraint::KEPT {
            fresh.extend(self.restraints(registry, *action).await?);
        }
        fresh.retain(|entry| !known.contains(&(entry.seq, entry.event_id)));
        fresh.sort_by_key(|entry| entry.seq);
        journal.append(&fresh).map_err(|why| unreadable(journal, &why))?;
        Ok(fresh.len())
    }

    async fn restraints(&self, registry: Digest, action: Action) -> Result<Vec<JournalEntry>, StorageError> {
        let mut found = Vec::new();
        let mut filter = crate::storage::AuditFilter { action: Some(action), limit: CHUNK, ..Default::default() };
        let mut tx = self.db.read().await?;
        loop {
            let page = tx.conn().audit_list(&filter).await?;
            found.extend(page.iter().filter_map(|event| restraint::entry(registry, event)));
            match page.last() {
                Some(last) => filter.after = last.seq,
                None => return Ok(found),
            }
        }
    }

    /// Does again what was forgotten, and makes the registry read-only until it is released. Each act is an event of its own.
    ///
    /// # Errors
    /// The database is away. What cannot be done again (a pointer that was made later) is said and left.
    pub async fn settle(&self, forgotten: &[JournalEntry], rationale: &str) -> Result<Settled, Refusal> {
        let again = restraint::again(forgotten);
        let had = self.snapshot.get().head().seq;
        let mut settled = Settled { had, policies: again.policies, ..Settled::default() };
        self.run(&operator(), None, Mark { rationale: rationale.to_owned(), again: again.clone() }).await?;
        for ((key, environment), (reason, actor)) in again.kills {
            let what = format!("{key} in {environment}");
            let note = format!("killed again after a restore: {actor} killed it");
            let body = Kill { reason, note: Some(note), issued_at: None, seen_revision: None, dry_run: false };
            let done = self.run(&operator(), None, KillPointer { key, environment, body }).await;
            sort(done, what, &mut settled.killed, &mut settled.left)?;
        }
        for token_id in again.tokens {
            let done = self.run(&operator(), None, RevokeToken { token_id: token_id.clone() }).await;
            sort(done, format!("token {token_id}"), &mut settled.revoked, &mut settled.left)?;
        }
        for (digest, (rationale, actor)) in again.quarantines {
            let body = Reason { rationale: format!("{rationale} (marked by {actor}, again after a restore)") };
            let done = self.run(&operator(), None, QuarantineVersion { digest, body }).await;
            sort(done, digest.to_string(), &mut settled.quarantined, &mut settled.left)?;
        }
        settled.left.extend(again.erasures.into_iter().map(|subject| format!("the erasure of {subject}: run it again")));
        self.seal_journal(self.snapshot.get().head())?;
        Ok(settled)
    }

    /// Does again at once what a database forgot that somebody put back by hand; what comes of it is logged.
    pub async fn recall(&self, rationale: &str) {
        let forgotten = match self.forgotten().await {
            Ok(forgotten) if forgotten.is_empty() => return,
            Ok(forgotten) => forgotten,
            Err(error) => return tracing::error!(%error, "the journal cannot be compared with the database"),
        };
        tracing::error!(
            forgotten = forgotten.len(),
            newest = forgotten.iter().map(|entry| entry.seq).max(),
            "the database is older than its journal: what it forgot is done again, and it is read-only until released"
        );
        match self.settle(&forgotten, rationale).await {
            Ok(settled) => tracing::error!(?settled, "look at it, then: countersign restore DIR --release --rationale …"),
            Err(refusal) => tracing::error!(%refusal, "what it forgot could not be done again"),
        }
    }

    /// Says in the journal that all before is done in the database whose head this is.
    fn seal_journal(&self, head: ChainHead) -> Result<(), Refusal> {
        let (Some(journal), Some(registry)) = (&self.journal, self.snapshot.get().genesis()) else { return Ok(()) };
        let ChainHead { seq, event_id, at } = head;
        let line = JournalEntry { registry, seq, event_id, at, restraint: Restraint::Settled };
        Ok(journal.append(&[line]).map_err(|why| unreadable(journal, &why))?)
    }
}

/// What is not there any more cannot be done again; anything else stops.
fn sort<A>(
    done: Result<super::Answered<A>, Refusal>,
    what: String,
    again: &mut Vec<String>,
    left: &mut Vec<String>,
) -> Result<(), Refusal> {
    match done {
        Ok(_) => again.push(what),
        Err(refusal) if refusal.code == Code::NotFound => left.push(format!("{what}: this older state does not have it")),
        Err(refusal) => return Err(refusal),
    }
    Ok(())
}

fn unreadable(journal: &Journal, why: &io::Error) -> StorageError {
    StorageError::Unavailable(format!("the journal {}: {why}", journal.path().display()))
}
