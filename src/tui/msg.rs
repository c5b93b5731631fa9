//! Everything that can have happened, in one closed list.

use super::action::Action;
use super::effect::{Answer, Failure, Receipt, Slot};
use super::keymap::Key;
use crate::model::approval::HiddenSpan;
use crate::model::{AuditEvent, ChainHead, Digest, Environment, EnvironmentPointer, KeyId};
use crate::wire::promotions::PromotionView;
use uuid::Uuid;

/// Something that happened. `update` turns it into a new state and requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Msg {
    /// A key was pressed, is held, or came up.
    Pressed(Key),
    /// Text was pasted in one piece: one edit of a focused field, never keys.
    Pasted(String),
    /// The window has another size.
    Resized {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A person chose an action, by key, menu, hint or palette.
    Chosen(Action),
    /// The frame that shows the state after the last message reached the terminal, whole.
    Painted,
    /// A moment that was asked for, or the next minute, came.
    Ticked,
    /// A request was answered.
    Loaded {
        /// Where.
        slot: Slot,
        /// Which request of this slot; older ones are dropped before a room sees them.
        generation: u64,
        /// What came.
        answer: Result<Answer, Failure>,
    },
    /// A change was answered.
    Sent {
        /// Of which request.
        ticket: Uuid,
        /// What came.
        receipt: Result<Receipt, Failure>,
    },
    /// Work on the processor is done.
    Worked {
        /// Which request.
        generation: u64,
        /// What came.
        result: Box<super::rooms::review::Worked>,
    },
    /// The stream said something.
    Followed(Followed),
    /// `$EDITOR` ended: the new text, or none when nothing changed or it failed.
    Edited(Option<String>),
    /// Open a dialog (from a room, a menu, the palette).
    DialogAsked(Box<DialogRequest>),
    /// Go somewhere.
    Went(Place),
    /// Something to say in the status line.
    Said(Notice),
    /// An act on the marked rows is over: they are marked no longer.
    Settled,
}

/// What the stream says. The runtime makes it of the client's own type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Followed {
    /// The stream is open. With what is known of the chain; none where the caller may not read it, or where it is broken.
    Connected {
        /// What is known of the chain.
        contact: Option<Contact>,
    },
    /// A new link of the chain, verified.
    Audit(Box<AuditEvent>),
    /// A pointer as it is now.
    Pointer(Box<EnvironmentPointer>),
    /// The head, each second.
    Heartbeat(ChainHead),
    /// The stream is gone; tried again in so many milliseconds.
    Lost {
        /// Which attempt comes next, from 1.
        attempt: u32,
        /// Milliseconds.
        retry_in: u64,
        /// Why, where a person has to know: a token that is no longer valid.
        why: Option<String>,
        /// Whether the registry answers and takes no token from here.
        signed_out: bool,
    },
    /// On this machine a person took the chain as it stands for the true one: the alarm is over.
    Accepted,
    /// The chain is broken: the first bad number and why.
    Broken {
        /// The first bad number.
        seq: u64,
        /// Why.
        why: String,
    },
}

impl Followed {
    /// Whether something happened that environments, the policy or the caller's own rights follow from.
    pub(crate) fn changes_the_world(&self) -> bool {
        use crate::model::Action::{PolicyApply, RegistryRelease, RegistryRestore};
        let Self::Audit(event) = self else { return false };
        event.body.as_ref().is_some_and(|body| matches!(body.action, PolicyApply | RegistryRelease | RegistryRestore))
    }
}

/// What is known of the chain when the stream opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contact {
    /// The first event of the unbroken run that was hashed on this machine.
    pub(crate) from: u64,
    /// The last one.
    pub(crate) head: ChainHead,
    /// Whether this machine sees this registry for the first time.
    pub(crate) first: bool,
}

/// Somewhere in the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The Inbox.
    Inbox,
    /// A change under review.
    Review(ReviewTarget),
    /// The tree of keys, perhaps at a key.
    Keys(Option<KeyId>),
    /// Rollouts.
    Rollouts,
    /// Audit, perhaps at a number.
    Audit(Option<u64>),
    /// What a unit gets, over the room that is open.
    Explain(Asked),
}

/// Who gets what, of which it is asked why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The key.
    pub(crate) key: KeyId,
    /// Where.
    pub(crate) environment: Environment,
    /// The user, session or tenant.
    pub(crate) unit: Option<String>,
}

/// What Review shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReviewTarget {
    /// A promotion, opened at one of its panes.
    Promotion(Uuid, ReviewPane),
    /// Two versions of a key; no promotion, nothing to approve.
    Pair {
        /// The key.
        key: KeyId,
        /// From; none: everything is new.
        from: Option<Digest>,
        /// To.
        to: Digest,
    },
    /// One version, alone.
    Version {
        /// The key.
        key: KeyId,
        /// Which.
        digest: Digest,
        /// Opened at this pane.
        pane: ReviewPane,
    },
}

/// Panes of Review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReviewPane {
    /// The difference.
    #[default]
    Diff,
    /// Gates.
    Gates,
    /// Fragments.
    Fragments,
}

/// A dialog that somebody asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DialogRequest {
    /// Which.
    pub(crate) kind: DialogKind,
    /// The key that it is about.
    pub(crate) key: KeyId,
    /// Where; none: the dialog takes the first protected environment in which the key serves.
    pub(crate) environment: Option<Environment>,
    /// The promotion that it is about, as it was shown.
    pub(crate) promotion: Option<Box<PromotionView>>,
    /// The version that it is about (revive, quarantine, submit, edit).
    pub(crate) digest: Option<Digest>,
    /// What a command line filled in already.
    pub(crate) filled: Filled,
    /// What Review saw: only then can be approved.
    pub(crate) seen: Option<Seen>,
    /// More keys, for a kill of many.
    pub(crate) more: Vec<KeyId>,
    /// One request a row, where the act is for many rows.
    pub(crate) set: Vec<DialogRequest>,
    /// For a comment: the hash of the paragraph that it hangs on.
    pub(crate) anchor: Option<Digest>,
    /// For a comment: what it answers.
    pub(crate) reply_to: Option<Uuid>,
    /// For [`DialogKind::Unanswered`]: which act.
    pub(crate) ticket: Option<Uuid>,
}

impl DialogRequest {
    /// A request without particulars.
    pub(crate) fn new(kind: DialogKind, key: KeyId) -> Self {
        Self {
            kind,
            key,
            environment: None,
            promotion: None,
            digest: None,
            filled: Filled::default(),
            seen: None,
            more: Vec::new(),
            set: Vec::new(),
            anchor: None,
            reply_to: None,
            ticket: None,
        }
    }
}

/// What Review knows about reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Seen {
    /// Changes that were painted whole and passed.
    pub(crate) changes: usize,
    /// Changes in all.
    pub(crate) total: usize,
    /// Invisible characters that were acknowledged.
    pub(crate) acknowledged: Vec<HiddenSpan>,
}

/// What a command line filled in already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filled {
    /// `--rationale`, `--note`
    pub(crate) rationale: Option<String>,
    /// `--reason`
    pub(crate) reason: Option<crate::model::KillReason>,
    /// `--gate`
    pub(crate) gate: Option<String>,
    /// `--to`, `--percent`
    pub(crate) to: Option<String>,
    /// `--when-ready`
    pub(crate) when_ready: bool,
    /// `--at`
    pub(crate) at: Option<String>,
}

/// The dialogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DialogKind {
    /// Approve.
    Approve,
    /// Reject.
    RequestChanges,
    /// Say something.
    Comment,
    /// Apply an open promotion.
    Promote,
    /// Open a promotion of a version.
    Open,
    /// Roll back.
    Rollback,
    /// Kill.
    Kill,
    /// Take a kill back.
    UndoKill,
    /// Serve again.
    Revive,
    /// The next share.
    StepUp,
    /// The share before.
    StepDown,
    /// Go on.
    Resume,
    /// Hold.
    Hold,
    /// Override a gate.
    Override,
    /// Mark a version.
    Quarantine,
    /// Lift the mark.
    Lift,
    /// Take one's own promotion back.
    Withdraw,
    /// Review afterwards.
    SettleReview,
    /// The kill's owed note.
    SettleNote,
    /// Write a new version (with `digest`: from that one).
    Draft,
    /// Submit a draft.
    Submit,
    /// An act whose answer never came: send it again?
    Unanswered,
}

impl DialogKind {
    /// Whether it writes versions: that is for one key at a time, whatever is marked.
    pub(crate) fn is_writing(self) -> bool {
        matches!(self, Self::Draft | Self::Submit | Self::Open | Self::Unanswered)
    }
    /// Whether it only holds back: a registry that was put back from an older state still does it.
    pub(crate) fn holds_back(self) -> bool {
        matches!(self, Self::Kill | Self::Hold | Self::Quarantine | Self::Unanswered)
    }
}

/// Something for the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    /// How it reads.
    pub(crate) kind: NoticeKind,
    /// What happened.
    pub(crate) text: String,
    /// The number of the audit event.
    pub(crate) seq: Option<u64>,
}

/// How a notice reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    /// Done: `✓`
    Done,
    /// Worth knowing: no sign.
    Note,
    /// Went wrong: stays until dismissed.
    Error,
}

impl Notice {
    /// It worked.
    pub(crate) fn done(text: impl Into<String>, seq: Option<u64>) -> Self {
        Self { kind: NoticeKind::Done, text: text.into(), seq }
    }
    /// Worth knowing.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self { kind: NoticeKind::Note, text: text.into(), seq: None }
    }
    /// It went wrong.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { kind: NoticeKind::Error, text: text.into(), seq: None }
    }
}
