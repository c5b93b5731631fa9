//! Verbs that come at once share a transaction: one that is refused or breaks takes nothing of the others with it.

use super::support::engines::Place;
use super::support::engines::on_each_engine;
use super::support::rows::read;
use super::support::stage::Stage;
use countersign::model::{Action, Code, Refusal, Subject};
use countersign::storage::Db;
use countersign::workflow::{Outcome, Verb, Work};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Done,
    Unchanged,
    Refused,
    Broken,
}

/// Writes a row of its name, then ends in its way. `shared` counts those that found something uncommitted before them.
#[derive(Debug, Clone)]
struct Mark {
    name: String,
    end: End,
    db: Db,
    shared: Arc<AtomicUsize>,
    broken: Arc<AtomicUsize>,
}

impl Verb for Mark {
    type Answer = String;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<String>, Refusal> {
        let committed = read(&self.db, async |c| c.audit_head().await.unwrap()).await;
        if committed.seq + 1 < work.seq {
            self.shared.fetch_add(1, Ordering::Relaxed);
        }
        work.conn.meta_put(&self.name, "was here").await?;
        match self.end {
            End::Done => Ok(Outcome::done(self.name.clone(), Action::KeyUpdate, Subject(self.name.clone()), &())),
            End::Unchanged => Ok(Outcome::unchanged(self.name.clone())),
            End::Refused => Err(Refusal::new(Code::Invalid, "after it wrote")),
            End::Broken => {
                self.broken.fetch_add(1, Ordering::Relaxed);
                panic!("on purpose");
            }
        }
    }
}

async fn all_at_once(place: &Place, ends: &[End]) {
    let stage = Stage::on(place).await;
    let (shared, broken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let before = read(&place.db, async |c| c.audit_head().await.unwrap()).await.seq;
    let verbs: Vec<Mark> = (0..48)
        .map(|number| Mark {
            name: format!("mark-{number}"),
            end: ends[number % ends.len()],
            db: place.db.clone(),
            shared: shared.clone(),
            broken: broken.clone(),
        })
        .collect();
    let answers = join_all(verbs.iter().map(async |verb| {
        let answer = stage.run("person:ana", verb.clone()).await;
        // Whoever has an answer finds what it says in the database.
        let head = read(&place.db, async |c| c.audit_head().await.unwrap()).await.seq;
        assert!(answer.as_ref().ok().and_then(|answer| answer.seq).is_none_or(|seq| seq <= head), "answered before its commit");
        answer
    }))
    .await;
    let mut seqs = Vec::new();
    for (verb, answer) in verbs.iter().zip(answers) {
        let stands = read(&place.db, async |c| c.meta_get(&verb.name).await.unwrap()).await.is_some();
        assert_eq!(stands, verb.end == End::Done, "{verb:?}");
        match verb.end {
            End::Done => seqs.extend(answer.unwrap().seq),
            End::Unchanged => assert_eq!(answer.unwrap().seq, None),
            End::Refused => assert_eq!(answer.unwrap_err().code, Code::Invalid),
            End::Broken => assert_eq!(answer.unwrap_err().code, Code::Internal),
        }
    }
    seqs.sort_unstable();
    let count = u64::try_from(seqs.len()).unwrap();
    assert_eq!(seqs, (before + 1..=before + count).collect::<Vec<_>>(), "each has a number of its own");
    assert_eq!(read(&place.db, async |c| c.audit_head().await.unwrap()).await.seq, before + count);
    assert_eq!(stage.registry.snapshot.get().head().seq, before + count, "what is answered is published");
    assert!(shared.load(Ordering::Relaxed) > 0, "nobody shared a transaction");
    assert_eq!(
        broken.load(Ordering::Relaxed),
        verbs.iter().filter(|verb| verb.end == End::Broken).count(),
        "a broken one ran again"
    );
}

#[test]
fn one_that_is_refused_after_it_wrote_leaves_nothing_and_the_others_stand() {
    on_each_engine(async |place| all_at_once(place, &[End::Done, End::Refused, End::Done, End::Unchanged, End::Done]).await);
}

#[test]
fn one_that_breaks_takes_back_those_with_it_and_they_are_done_again() {
    on_each_engine(async |place| all_at_once(place, &[End::Done, End::Done, End::Broken, End::Done, End::Done, End::Done]).await);
}
