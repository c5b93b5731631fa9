//! What was applied to a pointer, asked of the database by index, against the same answers computed from the whole history.

use super::support::engines::{Place, on_each_engine};
use super::support::rows::{append, environment, key, key_id, numbered, pointer, promotion, raw, read, version, write};
use countersign::model::{
    Act, Action, BasisPoints, Digest, Environment, KeyId, KillReason, Promotion, PromotionState, Standing, Timestamp,
};
use countersign::rules::promotion::outdated_kill;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// One applied change: `A` promoted at 100 %, `b25` at 25 %, `step B` to 100 %, `back B A`, `kill A`, `revive A`, `undo A`;
/// `safe A` made it the safe default.
type Word = String;

/// The history as the rules knew it before the database was asked: the whole of it, oldest first.
struct Whole(Vec<Promotion>);

impl Whole {
    fn place(rows: &[Promotion], place: &str) -> Self {
        Self(rows.iter().filter(|row| row.environment.as_str() == place).cloned().collect())
    }
    fn undo(row: &Promotion) -> bool {
        row.act == Act::Revive && row.reason.is_some()
    }
    fn serves_all(row: &Promotion) -> bool {
        let moves = matches!(row.act, Act::Promote | Act::Step | Act::Rollback | Act::Revive) && !Self::undo(row);
        moves && row.rollout_pct == BasisPoints::ALL
    }
    fn last(&self, found: impl Fn(&Promotion) -> bool) -> Option<usize> {
        self.0.iter().rposition(found)
    }
    fn standing(&self, digest: Digest) -> Standing {
        let to = |row: &Promotion| row.to_digest == Some(digest);
        let from = |row: &Promotion| row.from_digest == Some(digest);
        let killed = self.last(|row| row.act == Act::Kill && from(row));
        let back = self.last(|row| matches!(row.act, Act::Promote | Act::Revive) && to(row));
        Standing {
            reached_all: self.0.iter().any(|row| Self::serves_all(row) && to(row)),
            rolled_away: self.0.iter().any(|row| row.act == Act::Rollback && from(row)),
            killed_away: killed > back,
        }
    }
    fn back(&self, current: Digest, unfit: &[Digest]) -> Option<Digest> {
        let first = self.0.iter().position(|row| row.act != Act::Kill && row.to_digest == Some(current));
        let before = &self.0[..first.unwrap_or(0)];
        let served = before.iter().rev().filter(|row| Self::serves_all(row)).filter_map(|row| row.to_digest);
        let good = |digest: &Digest| {
            let standing = self.standing(*digest);
            *digest != current && !unfit.contains(digest) && !standing.rolled_away && !standing.killed_away
        };
        served.into_iter().find(good)
    }
    fn decided(&self) -> Option<&Promotion> {
        let started = |row: &&Promotion| matches!(row.act, Act::Promote | Act::Revive | Act::Rollback) && !Self::undo(row);
        self.0.iter().rfind(started)
    }
    fn outdated(&self, issued_at: Option<Timestamp>, seen: Option<i64>) -> Option<&Promotion> {
        let newer = |row: &&Promotion| match (seen, issued_at) {
            (Some(seen), _) => row.pointer_revision >= seen,
            (None, Some(issued)) => row.applied_at.is_some_and(|at| at > issued),
            (None, None) => false,
        };
        self.0.iter().filter(|row| row.act == Act::Revive).rfind(newer)
    }
    /// When the change from `revision` to the next one was made; a kill that was taken back, and its taking back, are looked
    /// through.
    fn changed_at(&self, revision: i64) -> Option<Timestamp> {
        let row = self.0.iter().find(|row| row.pointer_revision == revision)?;
        if Self::undo(row) { self.changed_at(revision - 2) } else { row.applied_at }
    }
}

/// A key of its own with versions A to D, its history, and what the whole history says.
struct Told<'p> {
    place: &'p Place,
    key: KeyId,
    digests: [Digest; 4],
    rows: Vec<Promotion>,
}

impl<'p> Told<'p> {
    async fn new(place: &'p Place, number: usize) -> Self {
        let name = format!("past.k{number}");
        let versions: Vec<_> = (1..=4).map(|n| version(&name, n, &format!("text {n}"))).collect();
        write(&place.db, async |c| {
            c.key_put(&key(&name)).await.unwrap();
            for (version, content) in &versions {
                c.version_put(version, content).await.unwrap();
            }
            c.pointer_put(&pointer(&name, "prod", versions[0].0.digest)).await.unwrap();
        })
        .await;
        let digests = [0, 1, 2, 3].map(|n: usize| versions[n].0.digest);
        Self { place, key: key_id(&name), digests, rows: Vec::new() }
    }

    fn digest(&self, text: &str) -> Digest {
        let letter = text.chars().next().unwrap().to_ascii_uppercase();
        self.digests["ABCD".find(letter).unwrap()]
    }

    fn row(&self, word: &str) -> Promotion {
        let parts: Vec<&str> = word.split(' ').collect();
        let (place, act, from, to, percent) = match parts.as_slice() {
            ["step", to] => ("prod", Act::Step, Some(*to), Some(*to), 100.0),
            ["back", from, to] => ("prod", Act::Rollback, Some(*from), Some(*to), 100.0),
            ["kill", from] => ("prod", Act::Kill, Some(*from), None, 100.0),
            // What the kill serves: the safe default never counts as served by it.
            ["kill", from, to] => ("prod", Act::Kill, Some(*from), Some(*to), 100.0),
            ["revive" | "undo", to] => ("prod", Act::Revive, None, Some(*to), 100.0),
            ["safe", to] => ("@safe-default", Act::Promote, None, Some(*to), 100.0),
            ["elsewhere", to] => ("stage", Act::Promote, None, Some(*to), 100.0),
            [to] if to.len() > 1 => ("prod", Act::Promote, None, Some(*to), to[1..].parse().unwrap()),
            [to] => ("prod", Act::Promote, None, Some(*to), 100.0),
            other => panic!("{other:?}"),
        };
        let revision = i64::try_from(self.rows.iter().filter(|row| row.environment.as_str() == place).count()).unwrap();
        // Ids run against the order of applying: only the chain tells.
        let count = self.rows.len();
        let id = u64::MAX - u64::try_from(count).unwrap() - 1000 * self.key.as_str()[6..].parse::<u64>().unwrap();
        let mut row = promotion(0, self.key.as_str(), place, act, self.digests[0]);
        row.promotion_id = numbered(id);
        (row.from_digest, row.to_digest) = (from.map(|text| self.digest(text)), to.map(|text| self.digest(text)));
        row.reason = matches!(parts[0], "kill" | "undo").then_some(KillReason::Outage);
        row.rollout_pct = BasisPoints::from_percent(percent).unwrap();
        (row.state, row.applied_by) = (PromotionState::Applied, Some(row.actor.clone()));
        (row.pointer_revision, row.applied_at) = (revision, Some(Timestamp(10 * i64::try_from(count).unwrap())));
        row
    }

    async fn apply(&mut self, word: &str) {
        let row = self.row(word);
        write(&self.place.db, async |c| {
            let head = c.audit_head().await.unwrap();
            c.promotion_put(&row).await.unwrap();
            append(c, &head, "person:carol", Action::PromotionApply, "promotion:x").await;
        })
        .await;
        if row.environment.is_safe_default() {
            let set =
                format!("UPDATE config_key SET safe_default_digest = '{}' WHERE key_id = '{}'", row.to_digest.unwrap(), self.key);
            raw(&self.place.db, set).await.unwrap();
        }
        self.rows.push(row);
    }

    async fn told(place: &'p Place, number: usize, words: &[&str]) -> Self {
        let mut told = Self::new(place, number).await;
        for word in words {
            told.apply(word).await;
        }
        told
    }

    async fn back(&self, current: char) -> Option<char> {
        let current = self.digest(&current.to_string());
        let found =
            read(&self.place.db, async |c| c.applied_back(&self.key, &environment("prod"), &current).await.unwrap()).await;
        found.map(|digest| "ABCD".chars().nth(self.digests.iter().position(|known| *known == digest).unwrap()).unwrap())
    }

    /// Asks the database everything and compares it with the whole history.
    async fn check(&self, unfit: &[Digest], said: &str) {
        let whole = Whole::place(&self.rows, "prod");
        let approved = Whole::place(&self.rows, "@safe-default");
        let prod = environment("prod");
        read(&self.place.db, async |c| {
            for digest in &self.digests {
                let standing = whole.standing(*digest);
                assert_eq!(c.applied_standing(&self.key, &prod, digest).await.unwrap(), standing, "{said}");
                assert_eq!(c.applied_back(&self.key, &prod, digest).await.unwrap(), whole.back(*digest, unfit), "{said}");
                let seq = |found: Option<usize>, whole: &Whole| found.map(|at| whole.0[at].applied_at.unwrap());
                let killed = seq(whole.last(|row| row.act == Act::Kill && row.from_digest == Some(*digest)), &whole);
                let safe = seq(approved.last(|row| row.to_digest == Some(*digest)), &approved);
                let distrusted = standing.killed_away && killed > safe;
                assert_eq!(c.applied_distrusted(&self.key, &prod, digest).await.unwrap(), distrusted, "{said}");
            }
            let decided = c.applied_decided(&self.key, &prod).await.unwrap();
            assert_eq!(decided.as_ref(), whole.decided(), "{said}");
            let revived = c.applied_revived(&self.key, &prod).await.unwrap();
            for at in 0..=i64::try_from(whole.0.len()).unwrap() {
                for (issued, seen) in [(None, Some(at)), (Some(Timestamp(10 * at)), None), (None, None)] {
                    assert_eq!(outdated_kill(revived.clone(), issued, seen).as_ref(), whole.outdated(issued, seen), "{said}");
                }
            }
            if whole.0.last().is_some_and(|row| row.act == Act::Kill) {
                let kill = whole.0.last().unwrap().pointer_revision;
                assert_eq!(c.applied_settled(&self.key, &prod).await.unwrap(), whole.changed_at(kill - 1), "{said}");
            }
            let listed: Vec<(KeyId, Environment)> = c.applied_distrusted_all().await.unwrap();
            let newest = approved.0.last().and_then(|row| row.to_digest);
            let expected = match newest {
                Some(safe) => c.applied_distrusted(&self.key, &prod, &safe).await.unwrap(),
                None => false,
            };
            assert_eq!(listed.contains(&(self.key.clone(), prod.clone())), expected, "{said}");
        })
        .await;
    }
}

#[test]
fn a_rollback_walks_back_and_never_forward_to_what_was_rolled_away() {
    on_each_engine(async |place| {
        for (number, (words, current, want)) in [
            (vec!["A", "B"], 'B', Some('A')),
            (vec!["A", "b5"], 'B', Some('A')),
            (vec!["A", "b5", "step B", "C"], 'C', Some('B')),
            (vec!["A", "b5", "C"], 'C', Some('A')),
            (vec!["A", "B", "C", "back C B"], 'B', Some('A')),
            (vec!["A", "B", "C", "back C B", "back B A"], 'A', None),
            (vec!["A", "B", "C", "back C A"], 'A', None),
            (vec!["A", "B", "C", "back C B", "D"], 'D', Some('B')),
            (vec!["A", "B", "back B A", "B", "C"], 'C', Some('A')),
            (vec!["A"], 'A', None),
            (vec![], 'A', None),
            (vec!["A", "B", "kill B", "revive C"], 'C', Some('A')),
            (vec!["A", "kill A", "revive B"], 'B', None),
            (vec!["A", "kill A", "undo A", "B"], 'B', Some('A')),
            (vec!["A", "kill A", "revive A", "B"], 'B', Some('A')),
            (vec!["elsewhere A", "safe A", "B"], 'B', None),
        ]
        .into_iter()
        .enumerate()
        {
            let told = Told::told(place, number, &words).await;
            assert_eq!(told.back(current).await, want, "{words:?} from {current}");
        }
    });
}

#[test]
fn a_rollback_goes_past_quarantined_and_discarded_digests() {
    on_each_engine(async |place| {
        let told = Told::told(place, 0, &["A", "B", "C", "D"]).await;
        assert_eq!(told.back('D').await, Some('C'));
        mark(place, told.digests[2], "quarantined_by = 'person:ana', quarantine_reason = 'bad', quarantined_at = 1").await;
        assert_eq!(told.back('D').await, Some('B'));
        mark(place, told.digests[1], "discarded = TRUE").await;
        assert_eq!(told.back('D').await, Some('A'));
    });
}

async fn mark(place: &Place, digest: Digest, set: &str) {
    raw(&place.db, format!("UPDATE version SET {set} WHERE digest = '{digest}'")).await.unwrap();
}

/// Histories as they can come about: a kill only where something serves, its taking back only right after it.
fn histories(count: usize) -> Vec<Vec<Word>> {
    let letter = prop::sample::select(vec!["A", "B", "C", "D"]);
    let draw = (0..12_u8, letter.clone(), letter);
    let strategy = prop::collection::vec(draw, 1..30).prop_map(|draws| {
        let (mut words, mut current, mut killed) = (Vec::new(), None, false);
        for (kind, one, other) in draws {
            let word = match (kind, current, killed) {
                (0, ..) => format!("safe {one}"),
                (1, ..) => format!("elsewhere {one}"),
                (2..=5, Some(dead), true) if words.last().is_some_and(|word: &Word| word.starts_with("kill")) => {
                    killed = false;
                    format!("undo {dead}")
                }
                (_, Some(_), true) => {
                    (current, killed) = (Some(one), false);
                    format!("revive {one}")
                }
                (2..=4, Some(dead), false) => {
                    killed = true;
                    if kind == 2 { format!("kill {dead} {other}") } else { format!("kill {dead}") }
                }
                (5..=6, Some(serving), false) => {
                    current = Some(one);
                    format!("back {serving} {one}")
                }
                (7, Some(serving), false) => format!("step {serving}"),
                (8..=9, ..) => {
                    current = Some(one);
                    format!("{}25", one.to_lowercase())
                }
                _ => {
                    current = Some(one);
                    one.to_owned()
                }
            };
            words.push(word);
        }
        words
    });
    let seed = *b"what was applied to each pointer";
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn every_answer_equals_the_one_that_the_whole_history_gives() {
    on_each_engine(async |place| {
        for (number, words) in histories(24).into_iter().enumerate() {
            let mut told = Told::new(place, number).await;
            let mut unfit = Vec::new();
            if number % 3 == 0 {
                unfit.push(told.digests[1]);
                mark(place, told.digests[1], "quarantined_by = 'person:ana', quarantine_reason = 'bad', quarantined_at = 1")
                    .await;
            }
            for (at, word) in words.iter().enumerate() {
                told.apply(word).await;
                told.check(&unfit, &format!("{:?}", &words[..=at])).await;
            }
        }
    });
}
