//! The catalogue of what a person can do: id, title, help, scope and danger. Keymaps, help, hints and the palette read it.

use std::fmt;

/// Where a key means something. A text field comes before every scope; a room's scope before the global one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everywhere.
    Global,
    /// The list of what waits.
    Inbox,
    /// A change under review.
    Review,
    /// The tree of keys.
    Keys,
    /// The versions of a key.
    History,
    /// Rollouts.
    Rollouts,
    /// The audit trail.
    Audit,
    /// Rows of a list.
    Select,
    /// The menu behind `!`.
    Danger,
    /// The menu behind `y`.
    Copy,
}

impl Scope {
    /// Every scope, in the order in which help shows them.
    pub const ALL: &'static [Self] = &[
        Self::Global,
        Self::Inbox,
        Self::Review,
        Self::Keys,
        Self::History,
        Self::Rollouts,
        Self::Audit,
        Self::Select,
        Self::Danger,
        Self::Copy,
    ];
    /// The name in keymaps.
    pub fn id(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Inbox => "inbox",
            Self::Review => "review",
            Self::Keys => "keys",
            Self::History => "history",
            Self::Rollouts => "rollouts",
            Self::Audit => "audit",
            Self::Select => "select",
            Self::Danger => "danger",
            Self::Copy => "copy",
        }
    }
    /// The heading in help.
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "Everywhere",
            Self::Inbox => "Inbox",
            Self::Review => "Review",
            Self::Keys => "Keys",
            Self::History => "History of a key",
            Self::Rollouts => "Rollouts",
            Self::Audit => "Audit",
            Self::Select => "Rows of Inbox, Keys and Rollouts",
            Self::Danger => "Danger (after !)",
            Self::Copy => "Copy (after y)",
        }
    }
}

/// How much an act can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Danger {
    /// Looks only.
    Look,
    /// Comments, drafts, hold.
    Small,
    /// A dialog with a rationale, focus on Cancel.
    Dialog,
    /// A dialog with a typed token; only behind `!` and `:`.
    Typed,
}

macro_rules! catalogue {
    ($($variant:ident $id:literal $scope:ident $danger:ident $title:literal $help:literal;)+) => {
        /// Something that a person can ask for, by key, menu, hint or palette.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action { $(#[doc = $help] $variant),+ }
        impl Action {
            /// Every action, in the order in which help shows them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            /// The name in keymaps: `scope.name` without the scope.
            pub fn id(self) -> &'static str { match self { $(Self::$variant => $id),+ } }
            /// Two words at most, for hints and menus.
            pub fn title(self) -> &'static str { match self { $(Self::$variant => $title),+ } }
            /// A sentence for help.
            pub fn help(self) -> &'static str { match self { $(Self::$variant => $help),+ } }
            /// Where its key means this.
            pub fn scope(self) -> Scope { match self { $(Self::$variant => Scope::$scope),+ } }
            /// How much it can break.
            pub fn danger(self) -> Danger { match self { $(Self::$variant => Danger::$danger),+ } }
        }
    };
}

catalogue! {
    TabInbox "tab-inbox" Global Look "Inbox" "Show what waits for you.";
    TabKeys "tab-keys" Global Look "Keys" "Show keys, versions and pointers.";
    TabRollouts "tab-rollouts" Global Look "Rollouts" "Show pointers below 100 % or killed.";
    TabAudit "tab-audit" Global Look "Audit" "Show the audit trail.";
    PaneNext "pane-next" Global Look "next pane" "Move to the next pane.";
    PanePrevious "pane-previous" Global Look "previous pane" "Move to the previous pane.";
    PaneLeft "pane-left" Global Look "left" "Move to the pane on the left, or back up the tree.";
    PaneRight "pane-right" Global Look "right" "Move to the pane on the right, or into the row.";
    Down "down" Global Look "down" "One row down.";
    Up "up" Global Look "up" "One row up.";
    Top "top" Global Look "top" "To the first row (with a number: to that one).";
    Bottom "bottom" Global Look "bottom" "To the last row (with a number: to that one).";
    HalfDown "half-down" Global Look "half page down" "Half a page down.";
    HalfUp "half-up" Global Look "half page up" "Half a page up.";
    PageDown "page-down" Global Look "page down" "A page down.";
    PageUp "page-up" Global Look "page up" "A page up.";
    Find "find" Global Look "filter" "Filter the list, or find in the text.";
    Palette "palette" Global Look "cmd" "Type a command; it opens the dialog filled in and never acts by itself.";
    GoTo "go-to" Global Look "go to" "Go to a key, a version, a screen.";
    Help "help" Global Look "help" "Every action with its key.";
    Back "back" Global Look "back" "One step back; never quits, never loses text.";
    Quit "quit" Global Look "quit" "One level up; at the top, quit.";
    Cancel "cancel" Global Look "cancel" "Cancel; twice within a second quits.";
    Suspend "suspend" Global Look "suspend" "Back to the shell; `fg` returns.";
    Redraw "redraw" Global Look "redraw" "Draw the whole screen again.";
    Refetch "refetch" Global Look "refetch" "Fetch what is shown again.";
    Dock "dock" Global Look "audit dock" "Show or hide the audit dock.";
    Errors "errors" Global Look "errors" "List the errors that were not dismissed.";
    Theme "theme" Global Look "theme" "Next theme.";
    Preview "preview" Global Look "preview" "Show or hide the preview.";
    Zoom "zoom" Global Look "zoom" "Give the focused pane the whole body.";
    InsertNewer "insert-newer" Global Look "insert newer" "Insert the rows that wait.";
    Copy "copy" Global Look "copy" "Copy something of this row.";
    Reveal "reveal" Global Small "reveal" "Show the content of a confidential key until you leave; each reading is recorded.";
    Danger "danger" Global Look "danger" "The acts that change what is served.";

    InboxOpen "inbox-open" Inbox Look "review" "Open the change.";
    InboxApprove "inbox-approve" Inbox Dialog "approve" "Approve the change, with a rationale.";
    InboxReject "inbox-reject" Inbox Dialog "reject" "Block the change until it is answered.";
    InboxComment "inbox-comment" Inbox Small "comment" "Say something about the change.";
    InboxWithdraw "inbox-withdraw" Inbox Dialog "withdraw" "Take your own promotion back.";
    InboxDiff "inbox-diff" Inbox Look "diff" "Open the change at its text.";
    InboxGates "inbox-gates" Inbox Look "gates" "Open the change at its gates.";
    InboxSettle "inbox-settle" Inbox Dialog "settle" "Give the review or the note that is owed.";

    ReviewApprove "review-approve" Review Dialog "approve" "Approve the change, with a rationale.";
    ReviewReject "review-reject" Review Dialog "reject" "Block the change until it is answered.";
    ReviewComment "review-comment" Review Small "comment" "Say something about this paragraph.";
    ReviewWithdraw "review-withdraw" Review Dialog "withdraw" "Take your own promotion back.";
    ReviewSettle "review-settle" Review Dialog "settle" "Give the review or the note that is owed.";
    ReviewDiff "review-diff" Review Look "diff" "Show the difference.";
    ReviewGates "review-gates" Review Look "gates" "Show the gates.";
    ReviewFragments "review-fragments" Review Look "fragments" "Show the pinned fragments.";
    ReviewBase "review-base" Review Look "base" "Compare with another base: what serves, what you last reviewed, the previous attempt.";
    ReviewNext "review-next" Review Look "next change" "To the next change.";
    ReviewPrevious "review-previous" Review Look "previous change" "To the previous change.";
    ReviewNextParagraph "review-next-paragraph" Review Look "next paragraph" "To the next paragraph.";
    ReviewPreviousParagraph "review-previous-paragraph" Review Look "previous paragraph" "To the previous paragraph.";
    ReviewNextUnseen "review-next-unseen" Review Look "next unseen" "To the next change that you have not seen.";
    ReviewPreviousUnseen "review-previous-unseen" Review Look "previous unseen" "To the previous change that you have not seen.";
    ReviewSplit "review-split" Review Look "split" "Side by side, from 140 columns.";
    ReviewUnit "review-unit" Review Look "words/lines" "Mark words, sentences, lines or characters.";
    ReviewWrap "review-wrap" Review Look "wrap" "Wrap long lines or cut them.";
    ReviewHidden "review-hidden" Review Look "invisibles" "List the invisible characters.";
    ReviewAcknowledge "review-acknowledge" Review Small "acknowledge" "Accept the invisible characters that are listed.";
    ReviewFold "review-fold" Review Look "fold" "Fold or unfold these unchanged paragraphs.";
    ReviewFoldAll "review-fold-all" Review Look "fold all" "Fold or unfold all unchanged paragraphs.";
    ReviewSeen "review-seen" Review Small "seen" "Mark the change as seen.";
    ReviewEffective "review-effective" Review Look "effective" "Show the text with its fragments expanded.";

    KeysOpen "keys-open" Keys Look "open" "Open the key's history, or the folder.";
    KeysDraft "keys-draft" Keys Small "new draft" "Write a new version.";
    KeysSort "keys-sort" Keys Look "sort" "Sort by name, or by last change.";

    HistoryOpen "history-open" History Look "open" "Show the version.";
    HistoryDiff "history-diff" History Look "diff served" "Compare with what the protected environment serves.";
    HistoryBase "history-base" History Look "mark base" "Compare from this version.";
    HistoryDiffMark "history-diff-mark" History Look "diff mark" "Compare the marked version with this one.";
    HistoryGates "history-gates" History Look "gates" "Show the version's gates.";
    HistoryFragments "history-fragments" History Look "fragments" "Show the pinned fragments.";
    HistoryEdit "history-edit" History Small "edit" "Edit this version into a new draft.";
    HistoryDraft "history-draft" History Small "new draft" "Write a new version.";
    HistorySubmit "history-submit" History Dialog "submit" "Submit the draft for review.";

    RolloutsOpen "rollouts-open" Rollouts Look "focus" "Show the key.";
    RolloutsHold "rollouts-hold" Rollouts Small "hold" "Hold the rollout: no step until it is resumed. At once.";

    AuditOpen "audit-open" Audit Look "record" "Show the whole event.";
    AuditPause "audit-pause" Audit Look "pause" "Stop following, or follow again.";
    AuditVerify "audit-verify" Audit Look "verify" "Verify the chain from the event under the cursor on; while the newest is followed: all of it.";

    SelectMark "select-mark" Select Look "mark" "Mark the row, or not: an act then asks once for all that are marked; on a folder: open or close it.";
    SelectRange "select-range" Select Look "mark range" "Mark from the row that was marked last to this one.";
    SelectAll "select-all" Select Look "mark all" "Mark every row that the filter leaves, or none; esc unmarks too.";

    DangerPromote "danger-promote" Danger Typed "promote" "Apply the open promotion.";
    DangerRollback "danger-rollback" Danger Typed "roll back" "Go back to what served before.";
    DangerKill "danger-kill" Danger Typed "kill" "Stop serving at once: everybody gets the safe default.";
    DangerUndoKill "danger-undo-kill" Danger Typed "undo kill" "Take your own kill back, within ten minutes.";
    DangerRevive "danger-revive" Danger Typed "revive" "Open a promotion that serves again after a kill.";
    DangerStepUp "danger-step-up" Danger Typed "next step" "Raise the share to the plan's next step.";
    DangerStepDown "danger-step-down" Danger Typed "step down" "Lower the share to the step before.";
    DangerResume "danger-resume" Danger Typed "resume" "Let a held rollout go on.";
    DangerOverride "danger-override" Danger Typed "override gate" "Open one gate for this promotion.";
    DangerQuarantine "danger-quarantine" Danger Typed "quarantine" "Mark the version so that it cannot come to serve.";
    DangerLift "danger-lift" Danger Typed "lift" "Lift the quarantine of another person.";

    CopyDigest "copy-digest" Copy Look "digest" "Copy the digest.";
    CopyKey "copy-key" Copy Look "key" "Copy the key's name.";
    CopyRationale "copy-rationale" Copy Look "rationale" "Copy the rationale.";
    CopyCommand "copy-command" Copy Look "command line" "Copy the command line that does the same.";
}

impl Action {
    /// The name in the scope's own table of a keymap: without the scope in front.
    pub fn short_id(self) -> &'static str {
        let id = self.id();
        id.strip_prefix(self.scope().id()).and_then(|rest| rest.strip_prefix('-')).unwrap_or(id)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
