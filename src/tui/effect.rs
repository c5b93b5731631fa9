//! Requests as data: what `update` wants done. `runtime` does it and answers with a `Msg`.

use super::msg::Asked;
use crate::model::{AuditEvent, Code, Digest, Environment, EnvironmentRule, KeyId, Promotion, Resolution, Version};
use crate::wire::Page;
use crate::wire::keys::{KeyHistory, ListKeys};
use crate::wire::people::Me;
use crate::wire::pointers::{Act, Kill, KillMany, KillOutcome, ListPointers, PointerView, Rollback, StepTo};
use crate::wire::promotions::{ListPromotions, Moved, OpenPromotion, PromotionView, Rationale, Vote};
use crate::wire::versions::{CreateVersion, Reason, Submit, Submitted, VersionView};
use crate::wire::world::{ListAudit, World};
use uuid::Uuid;

/// A place for background work in which only the newest request counts: a new one cancels the one before, and an answer
/// with an older generation is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Slot {
    /// Who am I, which world is this.
    Session,
    /// The Inbox's lists.
    Inbox,
    /// The change under review.
    Review,
    /// A difference of two versions.
    Diff,
    /// The text of a version.
    Content,
    /// The list of keys.
    Keys,
    /// A key's history.
    History,
    /// The content of the version under the cursor.
    Details,
    /// Pointers below 100 % or killed.
    Rollouts,
    /// Audit pages.
    Audit,
    /// One whole audit event.
    Record,
    /// Verifying the chain.
    Verify,
    /// What a dialog shows.
    Dialog,
    /// Whatever else a dialog needs beside it.
    DialogExtra,
    /// What a unit gets.
    Explain,
    /// Work on the processor: pre-wrapping, word marks.
    Work,
}

impl Slot {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::Work as usize + 1;
}

/// What is read from the registry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Query {
    /// `Me` and `World`, in one.
    Session,
    /// What awaits me, what I owe, what awaits others: three lists in one.
    Inbox(Extent),
    /// One promotion.
    Promotion(Uuid),
    /// Some promotions.
    Promotions(ListPromotions),
    /// One version with its content.
    Version(Digest),
    /// Both versions of a difference, to be compared here.
    Pair(Option<Digest>, Digest),
    /// Keys, all pages joined.
    Keys(ListKeys),
    /// One key.
    History(KeyId),
    /// Pointers, all pages joined.
    Pointers(ListPointers),
    /// A pointer, the key's history and its open promotions: what a dialog pins, in one.
    Facts(KeyId, Environment),
    /// Some of these, one after the other: what a dialog about many rows pins.
    Several(Vec<Query>),
    /// Audit events.
    Events(ListAudit),
    /// What a unit gets, and why.
    Explain(Asked),
    /// Verify the chain from this event on, also against what this machine saw before.
    Verify(u64),
}

/// How much of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The newest so many: what a first frame can show.
    Newest(u32),
    /// All.
    Whole,
}

/// The Inbox's lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct InboxLists {
    /// Open ones that I can approve or apply, or that I opened and others blocked.
    pub(crate) waiting: Vec<PromotionView>,
    /// Reviews and notes that I can settle.
    pub(crate) owed: Vec<PromotionView>,
    /// Open ones that wait for others.
    pub(crate) others: Vec<PromotionView>,
    /// Whether these are all.
    pub(crate) whole: bool,
}

/// What a dialog pins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    /// The pointer, where there is one.
    pub(crate) pointer: Option<PointerView>,
    /// Versions, pointers, promotions of the key.
    pub(crate) history: KeyHistory,
    /// Open promotions of the pointer.
    pub(crate) open: Vec<PromotionView>,
    /// The policy's rule there.
    pub(crate) rule: Option<EnvironmentRule>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// See [`Query::Session`].
    Session(Box<Me>, Box<World>),
    /// See [`Query::Inbox`].
    Inbox(Box<InboxLists>),
    /// See [`Query::Promotion`].
    Promotion(Box<PromotionView>),
    /// See [`Query::Promotions`].
    Promotions(Vec<PromotionView>),
    /// See [`Query::Version`].
    Version(Box<VersionView>),
    /// See [`Query::Pair`].
    Pair(Option<Box<VersionView>>, Box<VersionView>),
    /// See [`Query::Keys`].
    Keys(Vec<super::rooms::keys::Slim>),
    /// See [`Query::History`].
    History(Box<KeyHistory>),
    /// See [`Query::Pointers`].
    Pointers(Vec<PointerView>),
    /// See [`Query::Facts`].
    Facts(Box<Facts>),
    /// See [`Query::Several`]: in the same order.
    Several(Vec<Result<Answer, Failure>>),
    /// See [`Query::Events`].
    Events(Page<AuditEvent>),
    /// See [`Query::Explain`].
    Explained(Box<Resolution>),
    /// See [`Query::Verify`]: the chain holds from this event up to this head.
    Verified(u64, crate::model::ChainHead),
    /// See [`Query::Verify`]: it does not.
    Broken {
        /// The first bad number.
        seq: u64,
        /// Why.
        why: String,
    },
}

/// What is changed at the registry. Each is sent with an Idempotency-Key: the ticket of its [`Effect::Send`].
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Call {
    /// Approve, reject, override, comment, retract.
    Vote(Uuid, Vote),
    /// Apply a promotion.
    Apply(Uuid, Rationale),
    /// Take back.
    Withdraw(Uuid, Rationale),
    /// Open anew.
    Renew(Uuid, Rationale),
    /// Review afterwards.
    Review(Uuid, Rationale),
    /// The owed note.
    Note(Uuid, Rationale),
    /// Open a promotion or a revive.
    Open(Box<OpenPromotion>),
    /// Step.
    Step(KeyId, Environment, StepTo),
    /// Hold.
    Hold(KeyId, Environment, Act),
    /// Resume.
    Resume(KeyId, Environment, Act),
    /// Roll back.
    Rollback(KeyId, Environment, Rollback),
    /// Kill.
    Kill(KeyId, Environment, Kill),
    /// Kill many.
    KillMany(KillMany),
    /// Take a kill back.
    UndoKill(KeyId, Environment, Act),
    /// Save a version.
    Save(KeyId, Box<CreateVersion>),
    /// Submit for review.
    Submit(Digest, Submit),
    /// Hide.
    Discard(Digest, Reason),
    /// Mark.
    Quarantine(Digest, Reason),
    /// Lift the mark.
    Lift(Digest, Reason),
}

/// What a change gave back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Receipt {
    /// Number of the audit event; none where nothing changed.
    pub(crate) seq: Option<u64>,
    /// What was changed.
    pub(crate) done: Done,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Done {
    /// A vote was cast.
    Voted,
    /// A pointer or safe default moved.
    Moved(Box<Moved>),
    /// A promotion was opened or closed.
    Promotion(Box<Promotion>),
    /// A version was saved or marked.
    Version(Box<Version>),
    /// A version was submitted.
    Submitted(Box<Submitted>),
    /// Many kills.
    Kills(Vec<KillOutcome>),
}

/// Why something could not be read or changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    /// What kind.
    pub(crate) kind: FailureKind,
    /// For people: lower case, reads well after "failed to".
    pub(crate) text: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
    /// What the registry said.
    pub(crate) problem: Option<Box<crate::wire::Problem>>,
}

impl Failure {
    /// Whether the registry takes no token from here.
    pub(crate) fn is_of_token(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.code == Code::Unauthenticated)
    }

    /// Whether the registry takes nothing but what holds back.
    pub(crate) fn is_of_read_only(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.code == Code::ReadOnly)
    }
}

/// Kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// No connection: nothing was sent.
    Unreachable,
    /// Sent, and no answer: the outcome is unknown.
    Timeout,
    /// The registry refused.
    Refused,
    /// What came back is not what its digest says, or the chain is broken.
    Integrity,
    /// What came back could not be read.
    Protocol,
}

/// A request of `update`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    /// Read; the newest of a slot wins.
    Load {
        /// Where.
        slot: Slot,
        /// Which request of this slot.
        generation: u64,
        /// What.
        query: Query,
    },
    /// Forget what a slot is doing.
    Cancel(Slot),
    /// Change. Never cancelled; the answer is [`super::msg::Msg::Sent`] with the same ticket.
    Send {
        /// The Idempotency-Key, made once per dialog; the same ticket again repeats the same request.
        ticket: Uuid,
        /// What.
        call: Box<Call>,
    },
    /// Work on the processor, off the loop.
    Work {
        /// Which request of [`Slot::Work`].
        generation: u64,
        /// What.
        work: Box<super::rooms::review::Work>,
    },
    /// Feed a message back into `update`, before anything else.
    Tell(Box<super::msg::Msg>),
    /// Wake up at this moment with [`super::msg::Msg::Ticked`], even if nothing else happens.
    WakeAt(crate::model::Timestamp),
    /// Put text on the clipboard, through the terminal.
    Copy(String),
    /// Hand the terminal to `$EDITOR` with this text.
    Edit(String),
    /// Keep, or (none) forget, a draft on disk under a name.
    Draft {
        /// The draft's name: letters, digits, dots, dashes.
        name: String,
        /// The text.
        text: Option<String>,
    },
    /// Draw everything again.
    Redraw,
    /// Back to the shell until it says `fg`.
    Suspend,
    /// Leave.
    Quit,
}
