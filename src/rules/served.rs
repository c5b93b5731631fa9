//! The history of a pointer, folded: where and when a digest served, to how many, under which approvals.

use super::promotion::{is_undo, kill_serves};
use crate::model::{Act, BasisPoints, Began, Digest, EnvironmentPointer, Moment, Period, Promotion, ServedAs};
use uuid::Uuid;

/// A pointer as one applied change left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The change's place in the audit trail.
    pub moment: Moment,
    /// The applied row.
    pub promotion: Promotion,
    /// The pointer after it.
    pub pointer: EnvironmentPointer,
}

/// What one digest is at one time.
type Way = (ServedAs, BasisPoints);

/// The periods in which `digest` served by one pointer, oldest first.
///
/// `history`: the pointer's applied changes, oldest first. `marks`: when the digest was quarantined (true) and lifted (false),
/// oldest first; a quarantined baseline or safe default is no value, a quarantined digest serves on. `defaults`: the numbers of the
/// changes that approved the digest as safe default.
pub fn periods(digest: &Digest, history: &[Change], marks: &[(Moment, bool)], defaults: &[u64]) -> Vec<Period> {
    let mut fold = Fold { digest, marked: false, approved: None, now: None, before: 0, history, defaults, periods: Vec::new() };
    let mut marks = marks.iter().peekable();
    for change in history {
        while let Some((moment, on)) = marks.next_if(|(moment, _)| moment.seq < change.moment.seq) {
            fold.mark(*moment, *on);
        }
        fold.change(change);
    }
    for (moment, on) in marks {
        fold.mark(*moment, *on);
    }
    fold.periods
}

/// Whether a safe default was itself killed at a pointer, and after that approved neither there nor as safe default: a kill must not
/// serve it. `history`, `defaults`: as for [`periods`].
pub fn distrusted(digest: &Digest, history: &[Change], defaults: &[u64]) -> bool {
    let concerns = |change: &&Change| {
        change.pointer.digest == *digest && matches!(change.promotion.act, Act::Kill | Act::Promote | Act::Revive)
    };
    let newest = history.iter().rfind(concerns).filter(|change| change.promotion.act == Act::Kill);
    newest.is_some_and(|kill| !defaults.iter().any(|default| *default > kill.moment.seq))
}

struct Fold<'a> {
    digest: &'a Digest,
    marked: bool,
    approved: Option<Uuid>,
    now: Option<&'a Change>,
    /// How many changes came before the one that holds now.
    before: usize,
    history: &'a [Change],
    defaults: &'a [u64],
    periods: Vec<Period>,
}

impl<'a> Fold<'a> {
    fn change(&mut self, change: &'a Change) {
        let row = &change.promotion;
        if matches!(row.act, Act::Promote | Act::Revive) && !is_undo(row) {
            self.approved = Some(row.promotion_id);
        } else if row.act == Act::Rollback {
            self.approved = None;
        }
        self.before = self.history.iter().take_while(|other| other.moment.seq < change.moment.seq).count();
        self.now = Some(change);
        let began = Began {
            promotion_id: row.promotion_id,
            act: row.act,
            actor: row.applied_by.clone().unwrap_or_else(|| row.actor.clone()),
            rationale: row.rationale.clone(),
        };
        self.turn(change.moment, Some(began));
    }

    fn mark(&mut self, moment: Moment, on: bool) {
        self.marked = on;
        self.turn(moment, None);
    }

    /// Ends the period that runs where the digest now serves in another way, and begins the next.
    fn turn(&mut self, moment: Moment, began_by: Option<Began>) {
        let Some(change) = self.now else { return };
        let way = self.way(change);
        let running = self.periods.last_mut().filter(|period| period.until.is_none());
        if running.as_ref().map(|period| (period.served_as, period.share)) == way {
            return;
        }
        if let Some(running) = running {
            running.until = Some(moment);
        }
        let Some((served_as, share)) = way else { return };
        let approved = self.approved;
        let environment = change.pointer.environment.clone();
        self.periods.push(Period { environment, served_as, share, from: moment, until: None, began_by, approved });
    }

    /// How the digest serves while the pointer is as `change` left it.
    fn way(&self, change: &Change) -> Option<Way> {
        let (digest, pointer) = (self.digest, &change.pointer);
        let marked = |other: &Digest| self.marked && other == digest;
        if pointer.killed {
            // A safe default cannot move while a pointer of its key is killed: each row since the kill names the same one.
            let earlier = self.history.get(..self.before).unwrap_or_default();
            if distrusted(digest, earlier, self.defaults) {
                return None;
            }
            let served = kill_serves(pointer, change.promotion.safe_default_digest, marked);
            return (served == Some(*digest)).then_some((ServedAs::SafeDefault, BasisPoints::ALL));
        }
        if pointer.digest == *digest {
            return (pointer.rollout_pct != BasisPoints::ZERO).then_some((ServedAs::Digest, pointer.rollout_pct));
        }
        let rest = BasisPoints::new(BasisPoints::ALL.get() - pointer.rollout_pct.get()).unwrap_or(BasisPoints::ZERO);
        let baseline = pointer.baseline_digest == Some(*digest) && !marked(digest) && rest != BasisPoints::ZERO;
        baseline.then_some((ServedAs::Baseline, rest))
    }
}

#[cfg(test)]
mod tests;
