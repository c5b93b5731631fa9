//! A terminal for tests: messages in, requests out, cells to look at; a clock that moves when told.

use crate::model::audit::AuditBody;
use crate::model::{
    Action as Audited, Actor, AuditEvent, BasisPoints, ChainHead, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId,
    Scope, Subject, Timestamp, UnitType,
};
use crate::tui::dialogs::fixture::{NOON, digest, key, pointer, promotion, version};
use crate::tui::effect::{Answer, Effect, InboxLists, Slot};
use crate::tui::frame;
use crate::tui::keymap::{Key, KeyCode, Keymap};
use crate::tui::msg::{Contact, Followed, Msg};
use crate::tui::rooms::keys::Slim;
use crate::tui::state::{Now, State};
use crate::tui::theme::Theme;
use crate::tui::update;
use crate::wire::Page;
use crate::wire::keys::{GateSign, KeyHistory, KeyRow, VersionRow};
use crate::wire::people::{Grant, Me};
use crate::wire::pointers::{PointerView, Reach};
use crate::wire::promotions::PromotionView;
use crate::wire::world::{EnvironmentView, World};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The terminal and all that it asked for.
pub(super) struct Bench {
    pub(super) state: State,
    pub(super) now: Now,
    pub(super) asked: Vec<Effect>,
}

impl Bench {
    /// A terminal that is live and has everything of a small registry on every screen.
    pub(super) fn full() -> Self {
        let mut bench = Self::empty();
        bench.answer(Slot::Session, Answer::Session(Box::new(me()), Box::new(world())));
        bench.tell(Msg::Followed(Followed::Connected { contact: Some(Contact { from: 1, head: head(40), first: false }) }));
        bench.answer(Slot::Inbox, Answer::Inbox(Box::new(inbox())));
        bench.answer(Slot::Rollouts, Answer::Pointers(rollouts()));
        bench.answer(Slot::Audit, Answer::Events(Page { items: (1..=40).map(event).collect(), next_cursor: None }));
        bench
    }

    /// A terminal that has only just started.
    pub(super) fn empty() -> Self {
        let state = State::new(Arc::new(Keymap::standard()), [7; 16]);
        let mut bench = Self { state, now: Now { wall: NOON, steady: Duration::ZERO }, asked: Vec::new() };
        "http://127.0.0.1:7070".clone_into(&mut bench.state.session.server);
        bench.asked = update::start(&mut bench.state, bench.now);
        bench
    }

    /// A message; what it asks for is added to what was asked.
    pub(super) fn tell(&mut self, msg: Msg) -> &mut Self {
        let effects = update::update(&mut self.state, msg, self.now);
        self.asked.extend(effects);
        self
    }

    /// The answer to the newest request of a slot.
    pub(super) fn answer(&mut self, slot: Slot, answer: Answer) -> &mut Self {
        let newest = self.asked.iter().rev().find_map(|e| match e {
            Effect::Load { slot: s, generation, .. } if *s == slot => Some(*generation),
            _ => None,
        });
        let generation = newest.unwrap_or_else(|| panic!("{slot:?} was not asked for"));
        self.tell(Msg::Loaded { slot, generation, answer: Ok(answer) })
    }

    /// The answer to a request of a slot by its number, from 1.
    pub(super) fn answer_late(&mut self, slot: Slot, generation: u64, answer: Answer) -> &mut Self {
        self.tell(Msg::Loaded { slot, generation, answer: Ok(answer) })
    }

    /// Whether a slot was asked for since the last [`Self::forget`].
    pub(super) fn asks(&self, slot: Slot) -> bool {
        self.asked.iter().any(|e| matches!(e, Effect::Load { slot: s, .. } if *s == slot))
    }

    /// Forgets what was asked.
    pub(super) fn forget(&mut self) -> &mut Self {
        self.asked.clear();
        self
    }

    /// Keys one after the other, written as in a keymap: `j`, `ctrl-p`, `enter`.
    pub(super) fn keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.split_whitespace() {
            self.tell(Msg::Pressed(key.parse::<Key>().unwrap()));
        }
        self
    }

    /// Letters typed one by one.
    pub(super) fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.tell(Msg::Pressed(Key::plain(KeyCode::Char(c))));
        }
        self
    }

    /// Time goes by.
    pub(super) fn wait(&mut self, millis: u64) -> &mut Self {
        self.now.steady += Duration::from_millis(millis);
        self.now.wall = Timestamp(self.now.wall.0 + i64::try_from(millis).unwrap() * 1000);
        self.tell(Msg::Ticked)
    }

    /// The window has another size.
    pub(super) fn size(&mut self, width: u16, height: u16) -> &mut Self {
        self.tell(Msg::Resized { width, height })
    }

    /// The cells as they are drawn now.
    pub(super) fn cells(&self) -> Buffer {
        let (width, height) = (self.state.screen.width, self.state.screen.height);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::built_in(&self.state.screen.theme);
        terminal.draw(|f| frame::draw(f, &self.state, &theme, self.now.wall)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// The rows of the screen as text.
    pub(super) fn text(&self) -> String {
        text(&self.cells())
    }

    /// Text and styles: what a snapshot keeps.
    pub(super) fn picture(&self) -> String {
        let cells = self.cells();
        format!("{}{}", text(&cells), styles(&cells))
    }
}

fn text(cells: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..cells.area.height {
        let row: String = (0..cells.area.width).map(|x| cells[(x, y)].symbol()).collect();
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

/// `3: 1-20 Yellow BOLD` for each run of cells that is not plain.
fn styles(cells: &Buffer) -> String {
    let mut out = String::from("--- styles\n");
    for y in 0..cells.area.height {
        let mut runs = Vec::new();
        let mut x = 0;
        while x < cells.area.width {
            let style = |x: u16| (cells[(x, y)].fg, cells[(x, y)].bg, cells[(x, y)].modifier);
            let begin = x;
            while x < cells.area.width && style(x) == style(begin) {
                x += 1;
            }
            let (fg, bg, modifier) = style(begin);
            let mut words = Vec::new();
            if fg != ratatui::style::Color::Reset {
                words.push(fg.to_string());
            }
            if bg != ratatui::style::Color::Reset {
                words.push(format!("on {bg}"));
            }
            if !modifier.is_empty() {
                words.push(format!("{modifier:?}"));
            }
            if !words.is_empty() {
                runs.push(format!("{begin}-{} {}", x - 1, words.join(" ")));
            }
        }
        if !runs.is_empty() {
            let _ = writeln!(out, "{y}: {}", runs.join(", "));
        }
    }
    out
}

pub(super) fn head(seq: u64) -> ChainHead {
    ChainHead { seq, event_id: digest(9), at: NOON }
}

fn me() -> Me {
    let grant = |role| Grant { role, namespace: None, environment: None };
    Me {
        actor: Actor::person("ana"),
        token_id: "cs_aaaaaaaaaa".into(),
        scope: Scope::Full,
        environment: None,
        login: "token".into(),
        groups: vec!["support-ai".into()],
        roles: vec![grant(crate::model::Role::Approver), grant(crate::model::Role::Releaser)],
    }
}

fn world() -> World {
    let environment =
        |name: &str, protected| EnvironmentView { name: name.into(), protected, after: None, plan: None, alias: None };
    World {
        name: "acme".into(),
        environments: vec![environment("dev", false), environment("stage", false), environment("prod", true)],
        policy: digest(1),
        now: NOON,
        genesis: Some(digest(2)),
        groups: vec!["support-ai".into()],
        policy_file: None,
        read_only: None,
        doubts: 0,
    }
}

/// A promotion of another key, waiting for somebody else unless changed.
pub(super) fn other(n: u8, name: &str) -> PromotionView {
    let mut view = promotion();
    view.promotion.promotion_id = Uuid::from_u128(u128::from(n));
    view.promotion.key_id = name.parse().unwrap();
    view.promotion.at = NOON.plus_seconds(-3600 * i64::from(n));
    view.mine = crate::wire::promotions::Mine::default();
    view
}

/// Two for me, one ready to apply, one for others.
pub(super) fn inbox() -> InboxLists {
    let mut second = other(31, "search.rerank.query");
    second.mine.can_approve = vec!["owners".into()];
    let mut ready = other(32, "billing.dunning.user");
    ready.mine.can_apply = true;
    ready.rule.protected = None;
    ready.promotion.environment = "stage".parse().unwrap();
    let (waiting, others) = (vec![promotion(), second, ready], vec![other(33, "legal.disclaimer.global")]);
    InboxLists { waiting, owed: Vec::new(), others, whole: true }
}

/// One at 5 %, one killed.
pub(super) fn rollouts() -> Vec<PointerView> {
    let view = PointerView {
        pointer: pointer(),
        unit_type: UnitType::User,
        safe_default_digest: Some(digest(1)),
        version: Some(version(4)),
        baseline: Some(version(3)),
        safe_default: Some(version(1)),
        protected: true,
        reach: Reach { per_minute: 41_200, services: vec!["service:chat-edge".into()] },
        moved_by: Some("person:carol".into()),
        open_promotions: 1,
        rollback_to: Some(digest(3)),
        undo_kill_until: None,
        running: Some(Uuid::from_u128(9)),
        next: None,
    };
    let mut killed = view.clone();
    killed.pointer = EnvironmentPointer { key_id: "search.rerank.query".parse().unwrap(), killed: true, ..pointer() };
    vec![view, killed]
}

/// An event of the trail; every seventh is a kill.
pub(super) fn event(seq: u64) -> AuditEvent {
    let kill = seq.is_multiple_of(7);
    let detail = serde_json::json!({
        "key_id": "support.refund.system", "environment": "prod", "verdict": if kill { "" } else { "approve" },
        "reason": if kill { "outage" } else { "" }, "rationale": "tone ok, refusal wording checked",
    });
    let body = AuditBody {
        actor: if kill { Actor::person("carol") } else { Actor::person("bob") },
        action: if kill { Audited::PointerKill } else { Audited::PromotionApprove },
        subject: Subject::key(&key()),
        detail: detail.as_object().unwrap().clone(),
        nonce: "0".repeat(32),
    };
    AuditEvent {
        seq,
        event_id: digest(9),
        at: NOON.plus_seconds(i64::try_from(seq).unwrap()),
        prev_hash: Digest::ZERO,
        body_hash: Digest::ZERO,
        body: Some(body),
        redacted: false,
    }
}

/// The row of a key.
pub(super) fn row(name: &str) -> Slim {
    let mut pointer = pointer();
    pointer.key_id = name.parse().unwrap();
    Slim::of(KeyRow { key: config(&pointer.key_id), versions: 5, changed_at: NOON, pointers: vec![pointer] })
}

pub(super) fn config(key: &KeyId) -> ConfigKey {
    ConfigKey {
        key_id: key.clone(),
        namespace: key.namespace().into(),
        owning_group: "support-ai".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: Some(digest(1)),
        description: "What a refund request is answered with".into(),
        archived: false,
        created_at: NOON,
    }
}

/// The history of `support.refund.system`.
pub(super) fn history() -> KeyHistory {
    let gates = vec![GateSign { gate_name: "tone".into(), status: crate::model::GateStatus::Pass }];
    let row = |n: u8| VersionRow {
        version: version(n),
        gates: gates.clone(),
        serving: if n == 4 { vec!["stage 100%".into(), "prod 5%".into()] } else { Vec::new() },
    };
    let stage = EnvironmentPointer {
        environment: "stage".parse::<Environment>().unwrap(),
        rollout_pct: BasisPoints::ALL,
        baseline_digest: None,
        ..pointer()
    };
    KeyHistory {
        key: config(&key()),
        versions: [5, 4, 3, 2, 1].map(row).to_vec(),
        pointers: vec![stage, pointer()],
        promotions: vec![promotion().promotion],
    }
}
