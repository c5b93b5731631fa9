//! What becomes of an act once it is sent: answered, refused, or unknown and sent again with the same key. Pure.
//!
//! A kill keeps trying while the registry is away and says `NOT YET IN EFFECT`; after [`ASK_AFTER`], and after a restart,
//! it asks before it sends. Any other act is sent again only where its outcome is unknown.

use super::arming::Moment;
use crate::tui::effect::{Failure, FailureKind};
use std::time::Duration;

/// After so long nothing is sent again without asking.
pub const ASK_AFTER: Duration = Duration::from_mins(10);
/// The first pause before it is sent again; doubles up to [`LONGEST_PAUSE`].
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause: a kill must not wait long for a registry that came back.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// After so long without an answer it is said that a kill is not known to be in effect; the request goes on waiting.
pub const NO_ANSWER: Duration = Duration::from_secs(3);

/// Where an act stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Not sent.
    Idle,
    /// On its way.
    Waiting,
    /// Not known to have taken effect; sent again at this moment.
    Again(Moment),
    /// The person is asked before it is sent again.
    Asking,
    /// It took effect.
    Done,
}

/// What the dialog has to do after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Close, and say so.
    Done,
    /// Stay: the facts are others; read them again.
    Conflict,
    /// Stay, and show the failure until it is dismissed.
    Failed,
    /// Keep trying.
    Unknown,
}

/// The attempts of one act.
#[derive(Debug, Clone)]
pub struct Sending {
    insists: bool,
    stage: Stage,
    first: Option<Moment>,
    attempts: u32,
    /// Whether some attempt may have arrived.
    uncertain: bool,
}

impl Sending {
    /// An act that was not sent; a kill insists.
    pub fn new(insists: bool) -> Self {
        Self { insists, stage: Stage::Idle, first: None, attempts: 0, uncertain: false }
    }

    /// An act that an earlier process sent without seeing its answer.
    pub fn left_over(insists: bool, now: Moment) -> Self {
        Self { insists, stage: Stage::Asking, first: Some(now), attempts: 1, uncertain: true }
    }

    /// Where it stands.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// How often it was sent.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// For how long it has been tried.
    pub fn trying_for(&self, now: Moment) -> Duration {
        self.first.map_or(Duration::ZERO, |first| now.saturating_sub(first))
    }

    /// Whether an attempt may have taken effect without our knowing.
    pub fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    /// It goes out now.
    pub fn sent(&mut self, now: Moment) {
        self.first.get_or_insert(now);
        self.attempts += 1;
        self.stage = Stage::Waiting;
    }

    /// An answer, or the lack of one.
    pub fn answered(&mut self, now: Moment, failure: Option<&Failure>) -> Outcome {
        let Some(failure) = failure else {
            self.stage = Stage::Done;
            return Outcome::Done;
        };
        // A registry that is up but cannot write now (5xx) is as good as away: for a kill worth trying again.
        let away = match failure.kind {
            FailureKind::Unreachable => true,
            FailureKind::Timeout => {
                self.uncertain = true;
                true
            }
            FailureKind::Protocol => {
                self.uncertain = true;
                self.insists
            }
            FailureKind::Refused => self.insists && failure.problem.as_ref().is_some_and(|p| p.status >= 500 || p.status == 408),
            FailureKind::Integrity => false,
        };
        if away && (self.insists || self.uncertain) {
            self.stage = if self.trying_for(now) >= ASK_AFTER { Stage::Asking } else { Stage::Again(now + self.pause()) };
            return Outcome::Unknown;
        }
        self.stage = Stage::Idle;
        self.first = None;
        self.attempts = 0;
        self.uncertain = false;
        let conflict = failure.problem.as_ref().is_some_and(|p| p.status == 409 || p.status == 412);
        if conflict { Outcome::Conflict } else { Outcome::Failed }
    }

    fn pause(&self) -> Duration {
        FIRST_PAUSE.saturating_mul(1 << self.attempts.saturating_sub(1).min(4)).min(LONGEST_PAUSE)
    }

    /// Whether it is to be sent again now.
    pub fn is_due(&self, now: Moment) -> bool {
        matches!(self.stage, Stage::Again(at) if now >= at)
    }

    /// The registry answers again: no need to wait.
    pub fn back(&mut self, now: Moment) {
        if let Stage::Again(at) = self.stage {
            self.stage = Stage::Again(at.min(now));
        }
    }

    /// The person was asked and said yes: from here it is tried for another [`ASK_AFTER`].
    pub fn confirm(&mut self, now: Moment) {
        if self.stage == Stage::Asking {
            self.first = Some(now);
            self.stage = Stage::Again(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Code, Refusal};
    use crate::wire::Problem;

    fn s(seconds: u64) -> Moment {
        Duration::from_secs(seconds)
    }

    fn failure(kind: FailureKind) -> Failure {
        Failure { kind, text: "x".into(), hint: None, problem: None }
    }

    fn refused(status: u16) -> Failure {
        let problem = Problem::of(Refusal::new(Code::PointerMoved, "moved"), status);
        Failure { problem: Some(Box::new(problem)), ..failure(FailureKind::Refused) }
    }

    fn sent(insists: bool) -> Sending {
        let mut sending = Sending::new(insists);
        sending.sent(s(0));
        sending
    }

    #[test]
    fn each_answer_leads_where_it_should() {
        use FailureKind::{Integrity, Protocol, Timeout, Unreachable};
        let cases = [
            (None, Outcome::Done, Outcome::Done),
            (Some(failure(Unreachable)), Outcome::Failed, Outcome::Unknown),
            (Some(failure(Timeout)), Outcome::Unknown, Outcome::Unknown),
            (Some(failure(Protocol)), Outcome::Failed, Outcome::Unknown),
            (Some(failure(Integrity)), Outcome::Failed, Outcome::Failed),
            (Some(refused(409)), Outcome::Conflict, Outcome::Conflict),
            (Some(refused(412)), Outcome::Conflict, Outcome::Conflict),
            (Some(refused(403)), Outcome::Failed, Outcome::Failed),
            (Some(refused(422)), Outcome::Failed, Outcome::Failed),
            (Some(refused(503)), Outcome::Failed, Outcome::Unknown),
            (Some(refused(507)), Outcome::Failed, Outcome::Unknown),
        ];
        for (answer, ordinary, kill) in cases {
            assert_eq!(sent(false).answered(s(1), answer.as_ref()), ordinary, "{answer:?}");
            assert_eq!(sent(true).answered(s(1), answer.as_ref()), kill, "kill: {answer:?}");
        }
    }

    #[test]
    fn after_a_timeout_the_connection_may_be_refused_and_the_outcome_is_still_unknown() {
        let mut sending = sent(false);
        assert_eq!(sending.answered(s(1), Some(&failure(FailureKind::Timeout))), Outcome::Unknown);
        sending.sent(s(2));
        assert_eq!(sending.answered(s(3), Some(&failure(FailureKind::Unreachable))), Outcome::Unknown);
        assert!(sending.is_uncertain());
    }

    #[test]
    fn it_waits_longer_each_time_but_never_long_and_not_at_all_when_the_registry_is_back() {
        let mut sending = sent(true);
        let mut pauses = Vec::new();
        for n in 0..5 {
            sending.answered(s(n), Some(&failure(FailureKind::Unreachable)));
            let Stage::Again(at) = sending.stage() else { panic!("{:?}", sending.stage()) };
            pauses.push(at.saturating_sub(s(n)).as_secs());
            assert!(!sending.is_due(at.saturating_sub(Duration::from_millis(1))));
            assert!(sending.is_due(at));
            sending.sent(s(n));
        }
        assert_eq!(pauses, [1, 2, 4, 4, 4]);
        sending.answered(s(9), Some(&failure(FailureKind::Unreachable)));
        assert!(!sending.is_due(s(9)));
        sending.back(s(9));
        assert!(sending.is_due(s(9)));
    }

    #[test]
    fn after_ten_minutes_and_after_a_restart_it_asks_first() {
        let mut sending = sent(true);
        sending.answered(s(599), Some(&failure(FailureKind::Unreachable)));
        assert!(matches!(sending.stage(), Stage::Again(_)));
        sending.sent(s(600));
        sending.answered(s(600), Some(&failure(FailureKind::Unreachable)));
        let mut restarted = Sending::left_over(true, s(0));
        for asking in [&mut sending, &mut restarted] {
            assert_eq!(asking.stage(), Stage::Asking);
            asking.back(s(700));
            assert!(!asking.is_due(s(9_999)), "nothing goes out unasked");
            asking.confirm(s(9_999));
            assert!(asking.is_due(s(9_999)));
            asking.sent(s(9_999));
            asking.answered(s(10_000), Some(&failure(FailureKind::Unreachable)));
            assert!(matches!(asking.stage(), Stage::Again(_)), "and it is tried for another ten minutes");
        }
    }
}
