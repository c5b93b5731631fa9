//! Verbs that come at once share a transaction: one commit, one wait for the disk, for all of them. Each is undone alone where it
//! is refused, and none is answered before all of them are on the disk.

use super::command::{Refused, Registry};
use crate::model::ChainHead;
use crate::snapshot::Change;
use crate::storage::{StorageError, Tx};
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Mutex, MutexGuard, oneshot};

/// Verbs in a transaction at most: what a kill may have to wait for.
const MOST: usize = 16;

/// Where verbs meet: the transaction that is open for the next one, and how many want to be that one.
#[derive(Debug, Default)]
pub struct Together {
    open: Mutex<Option<Group>>,
    waiting: AtomicUsize,
}

/// Whoever holds it writes; in it stands the transaction that was left to them, if any.
pub(super) type Seat<'a> = MutexGuard<'a, Option<Group>>;
/// Whether what a verb did is on the disk.
pub(super) type Fate = Result<(), Refused>;

/// A transaction with what verbs did in it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) tx: Tx,
    done: Vec<(ChainHead, Vec<Change>)>,
    others: Vec<oneshot::Sender<Fate>>,
}

impl Group {
    pub(super) fn new(tx: Tx) -> Self {
        Self { tx, done: Vec::new(), others: Vec::new() }
    }

    /// Whether nobody did anything in it so far.
    pub(super) fn is_empty(&self) -> bool {
        self.done.is_empty()
    }
}

/// Counts one who waits, until it goes out of scope.
struct Ticket<'a>(&'a AtomicUsize);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Together {
    /// Waits for one's turn: first come, first served.
    pub(super) async fn seat(&self) -> Seat<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _ticket = Ticket(&self.waiting);
        self.open.lock().await
    }

    fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

impl Registry {
    /// Leaves the transaction to whoever waits, or commits; comes back when what stands in it is on the disk and published.
    /// `done` is what the caller did in it; `at_once` commits without waiting for anybody.
    pub(super) async fn commit_together(
        &self,
        mut seat: Seat<'_>,
        mut group: Group,
        done: Option<(ChainHead, Vec<Change>)>,
        at_once: bool,
    ) -> Fate {
        group.done.extend(done);
        if at_once || group.others.len() + 1 >= MOST || !self.together.is_awaited() {
            return self.commit(group).await;
        }
        let (tell, told) = oneshot::channel();
        group.others.push(tell);
        *seat = Some(group);
        drop(seat);
        // Where the one that was to commit broke off, nothing was written: it may be tried again.
        told.await.unwrap_or_else(|_| Err(StorageError::Busy.into()))
    }

    async fn commit(&self, group: Group) -> Fate {
        let fate = group.tx.commit().await.map_err(Refused::from);
        if fate.is_ok() {
            for (head, changes) in group.done {
                self.publish(head, changes);
            }
        }
        for other in group.others {
            let _ = other.send(fate.clone());
        }
        fate
    }
}
