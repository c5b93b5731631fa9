//! The root state: what the terminal knows and where the person is. Knows no terminal library.

use super::effect::{Answer, Effect, Query, Slot};
use super::keymap::{Key, Keymap};
use super::msg::{DialogKind, DialogRequest, Notice, NoticeKind};
use super::{dialogs, overlays, rooms};
use crate::model::{ChainHead, Digest, Environment, KeyId, Timestamp};
use crate::wire::people::Me;
use crate::wire::promotions::PromotionView;
use crate::wire::world::World;
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

/// Everything. Fifteen fields at most; a modal is one `Option`.
pub(crate) struct State {
    /// Who and where.
    pub(crate) session: Session,
    /// The connection, the chain.
    pub(crate) link: Link,
    /// Size, theme, what is shown.
    pub(crate) screen: Screen,
    /// The keys in force.
    pub(crate) keymap: Arc<Keymap>,
    /// Keys that began a chord, and a number before them.
    pub(crate) pending: Pending,
    /// The room in front.
    pub(crate) room: Room,
    /// Tab 1.
    pub(crate) inbox: rooms::inbox::State,
    /// In front of any tab while a change is open.
    pub(crate) review: rooms::review::State,
    /// Tab 2.
    pub(crate) keys: rooms::keys::State,
    /// Tab 3.
    pub(crate) rollouts: rooms::rollouts::State,
    /// Tab 5, and the dock.
    pub(crate) audit: rooms::audit::State,
    /// What lies over the room.
    pub(crate) modal: Option<Modal>,
    /// The status line.
    pub(crate) notices: Notices,
    /// Generations of requests, and fresh ids.
    pub(crate) slots: Slots,
    /// Texts that were not sent, acts that were not answered.
    pub(crate) desk: dialogs::desk::Desk,
}

impl State {
    /// The terminal before anything is known; ids are drawn from `seed`.
    pub(crate) fn new(keymap: Arc<Keymap>, seed: [u8; 16]) -> Self {
        Self {
            session: Session::default(),
            link: Link::default(),
            screen: Screen::default(),
            keymap,
            pending: Pending::default(),
            room: Room::Inbox,
            inbox: rooms::inbox::State::default(),
            review: rooms::review::State::default(),
            keys: rooms::keys::State::default(),
            rollouts: rooms::rollouts::State::default(),
            audit: rooms::audit::State::default(),
            modal: None,
            notices: Notices::default(),
            slots: Slots::new(seed),
            desk: dialogs::desk::Desk::default(),
        }
    }
}

/// The room in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Room {
    /// Tab 1.
    Inbox,
    /// A change, over the tab from which it was opened.
    Review(Tab),
    /// Tab 2.
    Keys,
    /// Tab 3.
    Rollouts,
    /// Tab 5.
    Audit,
}

/// Tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tab {
    /// 1
    Inbox,
    /// 2
    Keys,
    /// 3
    Rollouts,
    /// 4
    Audit,
}

impl Room {
    /// The tab that is lit.
    pub(crate) fn tab(self) -> Tab {
        match self {
            Self::Inbox => Tab::Inbox,
            Self::Review(tab) => tab,
            Self::Keys => Tab::Keys,
            Self::Rollouts => Tab::Rollouts,
            Self::Audit => Tab::Audit,
        }
    }
    /// The room of a tab.
    pub(crate) fn of(tab: Tab) -> Self {
        match tab {
            Tab::Inbox => Self::Inbox,
            Tab::Keys => Self::Keys,
            Tab::Rollouts => Self::Rollouts,
            Tab::Audit => Self::Audit,
        }
    }
}

/// Who and where.
#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// The server's address, for the title.
    pub(crate) server: String,
    /// The caller, once known.
    pub(crate) me: Option<Me>,
    /// Environments, the registry's name, once known.
    pub(crate) world: Option<World>,
    /// Whether nothing may be changed from here.
    pub(crate) read_only: bool,
    /// Confidential keys whose content the person has not asked for: it is not fetched.
    pub(crate) closed: BTreeSet<KeyId>,
    /// Confidential keys whose content the person asked to see.
    pub(crate) revealed: BTreeSet<KeyId>,
}

impl Session {
    /// Whether the content of a key stays closed until the person asks for it.
    pub(crate) fn is_closed(&self, key: &KeyId) -> bool {
        self.closed.contains(key)
    }

    /// Notes which keys an answer calls confidential, before any room sees it.
    pub(crate) fn learn(&mut self, answer: &Answer) {
        let of_views = |views: &[PromotionView]| -> Vec<KeyId> {
            views.iter().filter(|view| view.confidential).map(|view| view.promotion.key_id.clone()).collect()
        };
        let found = match answer {
            Answer::Inbox(lists) => [of_views(&lists.waiting), of_views(&lists.owed), of_views(&lists.others)].concat(),
            Answer::Promotions(views) => of_views(views),
            Answer::Promotion(view) => of_views(std::slice::from_ref(view)),
            Answer::Keys(rows) => rows.iter().filter(|row| row.confidential).map(|row| row.key.clone()).collect(),
            Answer::History(history) if history.key.confidential => vec![history.key.key_id.clone()],
            _ => Vec::new(),
        };
        self.closed.extend(found.into_iter().filter(|key| !self.revealed.contains(key)));
    }

    /// Opens the content of a key until the terminal is left; whether it was closed.
    pub(crate) fn reveal(&mut self, key: &KeyId) -> bool {
        let was = self.closed.remove(key);
        if was {
            self.revealed.insert(key.clone());
        }
        was
    }

    /// Whether the registry takes nothing but what holds back: it was put back from an older state.
    pub(crate) fn is_held_back(&self) -> bool {
        self.world.as_ref().is_some_and(|world| world.read_only.is_some())
    }

    /// Whether the policy protects an environment (for rows that do not say so themselves).
    pub(crate) fn is_protected(&self, environment: &Environment) -> bool {
        self.world.as_ref().is_some_and(|w| w.environments.iter().any(|e| e.name == environment.as_str() && e.protected))
    }
}

/// The connection and what it is worth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// How the stream stands.
    pub(crate) wire: Wire,
    /// When the server last said anything.
    pub(crate) heard_at: Option<Timestamp>,
    /// The newest head that the server named.
    pub(crate) head: Option<ChainHead>,
    /// The server's clock minus ours, in seconds.
    pub(crate) skew: i64,
    /// What was verified.
    pub(crate) chain: Chain,
}

/// How the stream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Wire {
    /// Not yet open.
    #[default]
    Connecting,
    /// Open and heard within three seconds.
    Live,
    /// Open, and silent for too long; since when is [`Link::heard_at`].
    Stale,
    /// Gone; which attempt comes next.
    Reconnecting(u32),
    /// The registry answers, and takes no token from here.
    SignedOut,
}

/// What this process verified of the audit chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Chain {
    /// Nothing yet.
    #[default]
    Unknown,
    /// Every event from one number to the head, hashed here.
    Verified {
        /// From.
        from: u64,
        /// The last.
        head: ChainHead,
        /// Whether this machine saw this registry for the first time: pinned, not compared.
        first: bool,
    },
    /// Broken: an alarm that cannot be missed.
    Broken {
        /// The first bad number.
        seq: u64,
        /// Why.
        why: String,
    },
}

impl Link {
    /// Whether what is shown is as fresh as the server can make it.
    pub(crate) fn is_live(&self) -> bool {
        self.wire == Wire::Live
    }
    /// What a person sees of it: a heartbeat that leaves this alone is no reason to draw.
    pub(crate) fn face(&self) -> (Wire, bool, i64) {
        (self.wire, matches!(self.chain, Chain::Broken { .. }), self.skew)
    }
    /// The audit head that this process verified, for approvals.
    pub(crate) fn verified_head(&self) -> Option<Digest> {
        match &self.chain {
            Chain::Verified { head, .. } => Some(head.event_id),
            _ => None,
        }
    }
}

/// Size, theme, what is shown.
#[derive(Debug, Clone)]
pub(crate) struct Screen {
    /// Columns.
    pub(crate) width: u16,
    /// Rows.
    pub(crate) height: u16,
    /// Name of the theme.
    pub(crate) theme: String,
    /// Name of the person's own theme.
    pub(crate) own_theme: Option<String>,
    /// Whether only ASCII signs are drawn.
    pub(crate) ascii: bool,
    /// Whether the audit dock is shown.
    pub(crate) dock: bool,
    /// Whether the preview is shown.
    pub(crate) preview: bool,
    /// Whether the focused pane has the whole body.
    pub(crate) zoom: bool,
    /// The steady clock when the state last changed.
    pub(crate) steady: std::time::Duration,
    /// Counts dialogs that were opened, so that a frame can tell which one it shows.
    pub(crate) dialogs: u64,
    /// Whether nothing happened since the frame was drawn that reached the terminal: what it shows is this state.
    pub(crate) settled: bool,
    /// The person's time zone offset in seconds, for absolute times.
    pub(crate) offset: i32,
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            width: 80,
            height: 24,
            theme: "ansi".into(),
            own_theme: None,
            ascii: false,
            dock: true,
            preview: true,
            zoom: false,
            steady: std::time::Duration::ZERO,
            dialogs: 0,
            settled: true,
            offset: 0,
        }
    }
}

/// Keys that began a chord, and a number before them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The keys so far.
    pub(crate) keys: Vec<Key>,
    /// The number before them.
    pub(crate) count: Option<u64>,
    /// When the last digit of the number was pressed.
    pub(crate) since: std::time::Duration,
    /// When ctrl-c was last pressed.
    pub(crate) cancelled_at: Option<Timestamp>,
}

/// What lies over the room and takes every key.
pub(crate) enum Modal {
    /// `?`
    Help(Box<overlays::help::Help>),
    /// `:` and ctrl-p
    Palette(Box<overlays::palette::Palette>),
    /// `!`
    Danger,
    /// `y`
    Copy,
    /// `E`
    Errors(overlays::errors::List),
    /// `:explain`
    Explain(Box<overlays::explain::Explain>),
    /// A dialog: approve, promote, kill …
    Dialog(Box<dialogs::Dialog>),
}

/// The status line: the newest result, and errors until they are dismissed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notices {
    /// The newest that is not an error, and when it was said.
    pub(crate) last: Option<(Notice, Timestamp)>,
    /// Errors, oldest first.
    pub(crate) errors: Vec<(Notice, Timestamp)>,
    /// The person's own newest event that no result claimed yet: answers to votes do not name theirs.
    own: Option<(u64, Timestamp)>,
}

/// A result and its event that are so many seconds apart belong together.
const TOGETHER: i64 = 5;

impl Notices {
    /// An event of the person's own came: the result that waits for its number gets it.
    pub(crate) fn own_event(&mut self, seq: u64, now: Timestamp) {
        match &mut self.last {
            Some((notice, at))
                if notice.kind == NoticeKind::Done && notice.seq.is_none() && now.seconds_since(*at) <= TOGETHER =>
            {
                notice.seq = Some(seq);
            }
            _ => self.own = Some((seq, now)),
        }
    }

    /// A remark was for its moment: the next key after a few seconds, or the minute, takes it away. Results stay.
    pub(crate) fn let_go(&mut self, now: Timestamp, seconds: i64) {
        let over = |(notice, at): &(Notice, Timestamp)| notice.kind == NoticeKind::Note && now.seconds_since(*at) >= seconds;
        if self.last.as_ref().is_some_and(over) {
            self.last = None;
        }
    }

    /// Says something.
    pub(crate) fn say(&mut self, mut notice: Notice, now: Timestamp) {
        if notice.kind == NoticeKind::Done && notice.seq.is_none() {
            notice.seq = self.own.take().filter(|(_, at)| now.seconds_since(*at) <= TOGETHER).map(|(seq, _)| seq);
        }
        if notice.kind == NoticeKind::Error {
            if self.errors.last().is_none_or(|(last, _)| last.text != notice.text) {
                self.errors.push((notice, now));
            }
            // A broken server must not fill the memory.
            if self.errors.len() > 200 {
                self.errors.remove(0);
            }
        } else {
            self.last = Some((notice, now));
        }
    }
}

/// Generations of requests, and fresh ids.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slots {
    generations: [u64; Slot::COUNT],
    waiting: [bool; Slot::COUNT],
    seed: [u8; 16],
    drawn: u64,
}

impl Slots {
    /// Slots whose ids come from `seed`: 16 random bytes, drawn once per process.
    pub(crate) fn new(seed: [u8; 16]) -> Self {
        Self { seed, ..Self::default() }
    }
    /// A request to read; answers to earlier ones of this slot will be dropped.
    pub(crate) fn load(&mut self, slot: Slot, query: Query) -> Effect {
        Effect::Load { slot, generation: self.next(slot), query }
    }
    /// The generation of the next request of a slot, for requests that are not reads.
    pub(crate) fn next(&mut self, slot: Slot) -> u64 {
        let at = slot as usize;
        self.generations[at] += 1;
        self.waiting[at] = true;
        self.generations[at]
    }
    /// Whether an answer is the newest of its slot; it is no longer awaited then.
    pub(crate) fn accept(&mut self, slot: Slot, generation: u64) -> bool {
        let newest = self.generations[slot as usize] == generation;
        if newest {
            self.waiting[slot as usize] = false;
        }
        newest
    }
    /// Whether an answer is awaited.
    pub(crate) fn is_waiting(&self, slot: Slot) -> bool {
        self.waiting[slot as usize]
    }
    /// A fresh id: an Idempotency-Key.
    pub(crate) fn ticket(&mut self) -> Uuid {
        self.drawn += 1;
        let mut bytes = self.seed;
        let count = u64::from_be_bytes([bytes[8], bytes[9], bytes[10], bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]])
            .wrapping_add(self.drawn);
        bytes[8..].copy_from_slice(&count.to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

/// What a room's update is given beside its own state.
pub(crate) struct Cx<'a> {
    /// Who and where.
    pub(crate) session: &'a Session,
    /// The connection, the chain.
    pub(crate) link: &'a Link,
    /// Size, theme.
    pub(crate) screen: &'a Screen,
    /// Requests and ids.
    pub(crate) slots: &'a mut Slots,
    /// Texts that were not sent, acts that were not answered.
    pub(crate) desk: &'a mut dialogs::desk::Desk,
    /// The number typed before the action.
    pub(crate) count: Option<u64>,
    /// This moment, on the wall.
    pub(crate) now: Timestamp,
    /// This moment, on the terminal's own steady clock: time since it started.
    pub(crate) steady: std::time::Duration,
}

/// This moment: `update` is given it with every message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Now {
    /// On the wall.
    pub(crate) wall: Timestamp,
    /// On the terminal's own steady clock: time since it started.
    pub(crate) steady: std::time::Duration,
}

/// What the focused row is about: what danger menu, copy menu and command lines work on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Subject {
    /// The key.
    pub(crate) key: Option<KeyId>,
    /// The environment of the row.
    pub(crate) environment: Option<Environment>,
    /// The promotion of the row.
    pub(crate) promotion: Option<Box<PromotionView>>,
    /// The version of the row.
    pub(crate) digest: Option<Digest>,
    /// Its rationale.
    pub(crate) rationale: Option<String>,
    /// What the marked rows are about, where some are.
    pub(crate) marked: Vec<Subject>,
    /// What Review saw.
    pub(crate) seen: Option<super::msg::Seen>,
}

impl Subject {
    /// The command line that shows the same.
    pub(crate) fn command(&self) -> Option<String> {
        if let Some(promotion) = &self.promotion {
            return Some(format!("countersign review {}", promotion.promotion.promotion_id));
        }
        let key = self.key.as_ref()?;
        Some(match &self.digest {
            Some(digest) => format!("countersign cat {key}@{}", digest.short()),
            None => format!("countersign show {key}"),
        })
    }
    /// A dialog about this.
    pub(crate) fn dialog(&self, kind: DialogKind) -> Option<DialogRequest> {
        if let ([only], false) = (self.marked.as_slice(), kind.is_writing()) {
            return only.dialog(kind);
        }
        let mut request = DialogRequest::new(kind, self.key.clone()?);
        request.environment.clone_from(&self.environment);
        request.promotion.clone_from(&self.promotion);
        request.digest = self.digest;
        request.seen.clone_from(&self.seen);
        if kind == DialogKind::Kill {
            // One kill is for one environment: that of the row under the cursor.
            let same = |row: &&Self| row.environment.is_none() || row.environment == self.environment;
            request.more = self.marked.iter().filter(same).filter_map(|row| row.key.clone()).collect();
        } else if !kind.is_writing() {
            request.set = self.marked.iter().filter_map(|row| row.dialog(kind)).collect();
        }
        Some(request)
    }
}
