//! Holds the newest snapshot: readers never wait, commits are published in the order of the chain.

use super::{Change, Snapshot};
use crate::model::oidc::OidcSight;
use crate::model::{ChainHead, Digest, Timestamp};
use arc_swap::ArcSwap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How old a snapshot may be before its answers are marked stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The database was heard of within the budget.
    Fresh,
    /// The database has been away for longer: this is the last good state.
    Stale,
}

/// The newest snapshot, swapped whole.
#[derive(Debug)]
pub struct SnapshotCell {
    current: ArcSwap<Snapshot>,
    waiting: Mutex<BTreeMap<u64, (ChainHead, Vec<Change>)>>,
    heard_at: AtomicI64,
    policy_file: Mutex<Option<Digest>>,
}

impl SnapshotCell {
    /// Seconds without the database after which answers are marked stale.
    pub const BUDGET_SECONDS: i64 = 15;

    /// A cell that holds `snapshot`, loaded at `now`.
    pub fn new(snapshot: Snapshot, now: Timestamp) -> Self {
        let (current, heard_at) = (ArcSwap::from_pointee(snapshot), AtomicI64::new(now.0));
        Self { current, waiting: Mutex::default(), heard_at, policy_file: Mutex::default() }
    }

    /// The newest state.
    pub fn get(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Publishes a commit whose one audit event is `head`. Commits that arrive out of order wait for those before them, so
    /// that every state that a reader sees is a prefix of the chain; one that was published before is ignored.
    /// Answers whether nothing is waiting: where it stays false, a commit's fate is unknown and a reload is due.
    pub fn publish(&self, head: ChainHead, changes: Vec<Change>) -> bool {
        let mut waiting = self.waiting();
        waiting.insert(head.seq, (head, changes));
        let mut state = self.get();
        while let Some(entry) = waiting.first_entry() {
            let seq = *entry.key();
            if seq > state.head().seq + 1 {
                break;
            }
            let (head, changes) = entry.remove();
            if seq == state.head().seq + 1 {
                state = Arc::new(state.after(head, changes));
            }
        }
        self.current.store(state);
        waiting.is_empty()
    }

    /// Takes a freshly loaded state, unless commits have been published meanwhile that it does not include.
    pub fn replace(&self, loaded: Snapshot) {
        let mut waiting = self.waiting();
        if loaded.head().seq >= self.get().head().seq {
            waiting.retain(|seq, _| *seq > loaded.head().seq);
            self.current.store(Arc::new(loaded));
        }
    }

    /// Takes a freshly loaded state whatever was published before: the database's chain was put back or exchanged, and what
    /// serves must be what it says now.
    pub fn rewind(&self, loaded: Snapshot) {
        let mut waiting = self.waiting();
        waiting.clear();
        self.current.store(Arc::new(loaded));
    }

    /// Takes note of what an issuer said of a person's groups.
    pub fn observe(&self, sight: OidcSight, now: Timestamp) {
        let _waiting = self.waiting();
        let mut next = Snapshot::clone(&self.get());
        next.sights.insert(sight.actor.clone(), Arc::new(sight));
        self.current.store(Arc::new(next.at(now)));
    }

    /// Lets what issuers said too long ago count no more.
    pub fn age(&self, now: Timestamp) {
        let _waiting = self.waiting();
        let state = self.get();
        let policy = state.with_members(state.policy(), now);
        if policy.groups != state.policy().groups {
            self.current.store(Arc::new(Snapshot { policy, ..Snapshot::clone(&state) }));
        }
    }

    /// Whether a commit waits for one before it.
    pub fn has_gap(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Notes which policy file the server has beside it; none where there is none.
    pub fn note_policy_file(&self, digest: Option<Digest>) {
        *self.policy_file.lock().unwrap_or_else(PoisonError::into_inner) = digest;
    }

    /// The policy file that the server has beside it, where it is not the policy in force: an alarm that ends by itself when that
    /// file is applied.
    pub fn foreign_policy_file(&self) -> Option<Digest> {
        let noted = *self.policy_file.lock().unwrap_or_else(PoisonError::into_inner);
        noted.filter(|digest| *digest != self.get().policy_digest())
    }

    /// Notes that the database answered at `now` and holds nothing newer.
    pub fn heard(&self, now: Timestamp) {
        self.heard_at.fetch_max(now.0, Ordering::Relaxed);
    }

    /// When what is newest was last known to be so.
    pub fn heard_at(&self) -> Timestamp {
        Timestamp(self.heard_at.load(Ordering::Relaxed))
    }

    /// Changes the newest state in place: what a relay withholds by itself.
    pub fn amend(&self, change: impl FnOnce(&Snapshot) -> Option<Snapshot>) -> bool {
        let _waiting = self.waiting();
        let amended = change(&self.get());
        let done = amended.is_some();
        if let Some(state) = amended {
            self.current.store(Arc::new(state));
        }
        done
    }

    /// Whether the database was heard of within the budget.
    pub fn freshness(&self, now: Timestamp) -> Freshness {
        if now.seconds_since(self.heard_at()) > Self::BUDGET_SECONDS { Freshness::Stale } else { Freshness::Fresh }
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, (ChainHead, Vec<Change>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
