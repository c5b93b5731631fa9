//! A bench for tests: a terminal around one dialog, with a world, facts and a clock that moves when told.

use super::Dialog;
use super::desk::Desk;
use super::dialog::Outcome;
use crate::model::audit::AuditBody;
use crate::model::{
    Action, Actor, AuditEvent, BasisPoints, ConfigKey, Digest, EnvironmentPointer, EnvironmentRule, Format, KeyId, PlanStep,
    Promotion, PromotionKind, PromotionState, Readiness, Role, Scope, Subject, Timestamp, UnitType, Version, VersionState,
};
use crate::model::{Content, Variable, VariableType};
use crate::tui::effect::{Answer, Call, Effect, Facts, Failure, FailureKind, Receipt, Slot};
use crate::tui::keymap::{Key, KeyCode};
use crate::tui::msg::{DialogKind, DialogRequest, Msg, Seen};
use crate::tui::state::{Cx, Link, Screen, Session, Slots, Wire};
use crate::wire::keys::{KeyHistory, VersionRow};
use crate::wire::people::{Grant, Me};
use crate::wire::pointers::{PointerView, Reach};
use crate::wire::promotions::{Mine, PromotionView};
use crate::wire::versions::VersionView;
use crate::wire::world::{EnvironmentView, World};
use std::time::Duration;
use uuid::Uuid;

/// When tests happen.
pub(crate) const NOON: Timestamp = Timestamp(1_796_040_000_000_000);

/// `support.refund.system`
pub(crate) fn key() -> KeyId {
    "support.refund.system".parse().unwrap()
}

/// A digest of which every byte is `n`.
pub(crate) fn digest(n: u8) -> Digest {
    Digest([n; 32])
}

/// Version `n` of the key, published, by dee.
pub(crate) fn version(n: u8) -> Version {
    Version {
        digest: digest(n),
        key_id: key(),
        number: i64::from(n),
        author: Actor::person("dee"),
        submitter: None,
        rationale: "Shorter.".into(),
        model_pin: None,
        format: Format::Text,
        state: VersionState::Published,
        created_at: NOON.plus_seconds(-86_400),
        quarantine: None,
        discarded: false,
        authors: vec![Actor::person("dee")],
    }
}

/// The pointer in prod: v4 at 5 %, the others v3, revision 41.
pub(crate) fn pointer() -> EnvironmentPointer {
    EnvironmentPointer {
        key_id: key(),
        environment: "prod".parse().unwrap(),
        digest: digest(4),
        rollout_pct: BasisPoints::new(500).unwrap(),
        killed: false,
        updated_at: NOON.plus_seconds(-600),
        revision: 41,
        baseline_digest: Some(digest(3)),
        held: false,
        plan: [500, 2_500, 10_000].map(|share| PlanStep(BasisPoints::new(share).unwrap(), None)).to_vec(),
        next_step_at: None,
    }
}

/// What a dialog reads about the pointer.
pub(crate) fn facts() -> Facts {
    let view = PointerView {
        pointer: pointer(),
        unit_type: UnitType::User,
        safe_default_digest: Some(digest(1)),
        version: Some(version(4)),
        baseline: Some(version(3)),
        safe_default: Some(version(1)),
        protected: true,
        reach: Reach { per_minute: 41_200, services: vec!["service:chat-edge".into(), "service:ivr".into()] },
        moved_by: Some("person:carol".into()),
        open_promotions: 1,
        rollback_to: Some(digest(3)),
        undo_kill_until: None,
        running: Some(Uuid::from_u128(9)),
        next: None,
    };
    let key = ConfigKey {
        key_id: key(),
        namespace: "support.refund".into(),
        owning_group: "support-ai".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: Some(digest(1)),
        description: String::new(),
        archived: false,
        created_at: NOON.plus_seconds(-864_000),
    };
    let row = |n| VersionRow { version: version(n), gates: Vec::new(), serving: Vec::new() };
    let history = KeyHistory { key, versions: [4, 3, 2, 1].map(row).to_vec(), pointers: vec![pointer()], promotions: Vec::new() };
    Facts { pointer: Some(view), history, open: vec![promotion()], rule: Some(promotion().rule) }
}

/// An open, ready promotion of v5 to prod that ana may approve and apply.
pub(crate) fn promotion() -> PromotionView {
    let rule = EnvironmentRule {
        name: "prod".into(),
        protected: Some(true),
        after: None,
        soak: None,
        plan: None,
        gates: Some(vec![]),
        approvals: Some(vec![]),
        freeze: None,
        safe_default: None,
        expires: None,
        acknowledge_hidden: Some(true),
        advance: None,
        break_glass: None,
        guards: None,
        alias: None,
        gate: std::collections::BTreeMap::new(),
    };
    let mut row = Promotion {
        promotion_id: Uuid::from_u128(7),
        key_id: key(),
        from_digest: Some(digest(4)),
        to_digest: Some(digest(5)),
        environment: "prod".parse().unwrap(),
        actor: Actor::person("dee"),
        kind: PromotionKind::Promote,
        at: NOON.plus_seconds(-720),
        act: crate::model::Act::Promote,
        state: PromotionState::Open,
        rationale: "Customers over 90 days were told \"no refund ever\".".into(),
        reason: None,
        rollout_pct: BasisPoints::new(500).unwrap(),
        plan: pointer().plan,
        baseline_digest: Some(digest(3)),
        safe_default_digest: Some(digest(1)),
        pointer_revision: 41,
        policy_digest: crate::rules::statement::policy_digest(&rule),
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: None,
        applied_at: None,
        applied_by: None,
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    };
    row.statement = crate::rules::statement::Statement::of(&row).digest();
    PromotionView {
        confidential: false,
        promotion: row,
        to: Some(version(5)),
        from: Some(version(4)),
        rule,
        pointer: Some(pointer()),
        readiness: Readiness::default(),
        approvals: Vec::new(),
        verdicts: Vec::new(),
        hidden: Vec::new(),
        mine: Mine { can_approve: vec!["safety".into()], can_apply: true, ..Mine::default() },
        reach: Reach { per_minute: 41_200, services: vec!["service:chat-edge".into()] },
    }
}

/// A terminal around one dialog.
pub(super) struct Bench {
    pub(super) session: Session,
    pub(super) link: Link,
    pub(super) slots: Slots,
    pub(super) desk: Desk,
    pub(super) steady: Duration,
    pub(super) dialog: Option<Box<Dialog>>,
    /// Everything that was asked of the runtime.
    pub(super) effects: Vec<Effect>,
}

impl Bench {
    /// ana, signed in to a world of stage and prod (protected), live.
    pub(super) fn new() -> Self {
        let environment =
            |name: &str, protected| EnvironmentView { name: name.into(), protected, after: None, plan: None, alias: None };
        let world = World {
            name: "acme".into(),
            environments: vec![environment("stage", false), environment("prod", true)],
            policy: Digest::ZERO,
            now: NOON,
            genesis: None,
            groups: Vec::new(),
            policy_file: None,
            read_only: None,
            doubts: 0,
        };
        let me = Me {
            actor: Actor::person("ana"),
            token_id: "t".into(),
            scope: Scope::Full,
            environment: None,
            login: "token".into(),
            groups: Vec::new(),
            roles: vec![Grant { role: Role::Releaser, namespace: Some("support.**".into()), environment: None }],
        };
        let session = Session { server: "http://127.0.0.1:1".into(), me: Some(me), world: Some(world), ..Session::default() };
        let link = Link { wire: Wire::Live, ..Link::default() };
        let (slots, desk) = (Slots::new([7; 16]), Desk::default());
        Self { session, link, slots, desk, steady: Duration::from_secs(100), dialog: None, effects: Vec::new() }
    }

    /// Runs with everything that an update is given.
    pub(super) fn with<R>(&mut self, run: impl FnOnce(&mut Option<Box<Dialog>>, &mut Cx) -> R) -> R {
        let screen = Screen::default();
        let mut cx = Cx {
            session: &self.session,
            link: &self.link,
            screen: &screen,
            slots: &mut self.slots,
            desk: &mut self.desk,
            count: None,
            now: Timestamp(NOON.0 + i64::try_from(self.steady.as_micros()).unwrap()),
            steady: self.steady,
        };
        run(&mut self.dialog, &mut cx)
    }

    /// Opens a dialog; nothing is painted yet.
    pub(super) fn open(&mut self, kind: DialogKind) -> &mut Self {
        let mut request = DialogRequest::new(kind, key());
        request.environment = Some("prod".parse().unwrap());
        if super::start::is_about_promotion(kind) {
            request.promotion = Some(Box::new(promotion()));
            request.seen = Some(Seen { changes: 3, total: 3, acknowledged: Vec::new() });
        }
        self.open_request(request)
    }

    /// Opens the dialog of a request.
    pub(super) fn open_request(&mut self, request: DialogRequest) -> &mut Self {
        let (dialog, effects) = self.with(|_, cx| Dialog::open(request, cx));
        self.dialog = dialog;
        self.effects.extend(effects);
        self
    }

    /// A message, given to the desk and the dialog as the root does.
    pub(super) fn tell(&mut self, msg: &Msg) -> &mut Self {
        let (effects, close) = self.with(|dialog, cx| {
            let mut effects = {
                let mut desk = std::mem::take(cx.desk);
                let effects = desk.update(msg, cx);
                *cx.desk = desk;
                effects
            };
            let outcome = dialog.as_mut().map_or_else(Outcome::default, |dialog| dialog.update(msg, cx));
            effects.extend(outcome.effects);
            (effects, outcome.close)
        });
        if close {
            self.dialog = None;
        }
        self.effects.extend(effects);
        self
    }

    /// Painted, a second later, facts and promotion read: as a person meets it.
    pub(super) fn ready(&mut self) -> &mut Self {
        self.tell(&Msg::Painted).wait(1_000);
        if self.dialog.as_ref().unwrap().known.promotion.is_some() {
            self.read(Slot::Dialog, Answer::Promotion(Box::new(promotion())));
        }
        self.read(Slot::DialogExtra, Answer::Facts(Box::new(facts())))
    }

    /// An answer to the dialog's reading.
    pub(super) fn read(&mut self, slot: Slot, answer: Answer) -> &mut Self {
        self.tell(&Msg::Loaded { slot, generation: 1, answer: Ok(answer) })
    }

    /// Time passes.
    pub(super) fn wait(&mut self, millis: u64) -> &mut Self {
        self.steady += Duration::from_millis(millis);
        self.tell(&Msg::Ticked)
    }

    /// A key.
    pub(super) fn key(&mut self, key: Key) -> &mut Self {
        self.tell(&Msg::Pressed(key))
    }

    /// Keys as a person types them; `⇥` is tab, `⏎` enter, `⎋` esc, `§` ctrl-s.
    pub(super) fn typing(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.steady += Duration::from_millis(90);
            self.key(match c {
                '⇥' => Key::plain(KeyCode::Tab),
                '⏎' => Key::plain(KeyCode::Enter),
                '⎋' => Key::plain(KeyCode::Esc),
                '§' => Key::ctrl('s'),
                c => Key::char(c),
            });
        }
        self
    }

    /// The calls that went out, in order.
    pub(super) fn sent(&self) -> Vec<(Uuid, Call)> {
        let call = |effect: &Effect| match effect {
            Effect::Send { ticket, call } => Some((*ticket, (**call).clone())),
            _ => None,
        };
        self.effects.iter().filter_map(call).collect()
    }

    /// What the status line was told.
    pub(super) fn said(&self) -> Vec<String> {
        let text = |effect: &Effect| match effect {
            Effect::Tell(msg) => match &**msg {
                Msg::Said(notice) => Some(format!("{}{}", notice.text, notice.seq.map(|n| format!(" #{n}")).unwrap_or_default())),
                _ => None,
            },
            _ => None,
        };
        self.effects.iter().filter_map(text).collect()
    }

    /// The registry answers the newest call.
    pub(super) fn answer(&mut self, receipt: Result<Receipt, Failure>) -> &mut Self {
        let ticket = self.sent().last().unwrap().0;
        self.tell(&Msg::Sent { ticket, receipt })
    }

    /// What keeps the dialog from being sent.
    pub(super) fn blocked(&self) -> Vec<String> {
        self.dialog.as_ref().unwrap().blocked.clone()
    }

    /// Everything that the dialog shows to be read, as plain text.
    pub(super) fn text(&self) -> String {
        let dialog = self.dialog.as_ref().unwrap();
        dialog.shown.rows.iter().map(super::sheet::Row::plain).collect::<Vec<_>>().join("\n")
    }
}

/// A template of the key, with its content.
pub(super) fn written() -> VersionView {
    let content = Content {
        key: key(),
        format: Format::Template,
        body: "Refunds take {{ days }} days.\n".into(),
        model_pin: Some("gpt-x-2026-08".into()),
        parameters: serde_json::Map::new(),
        fragments: std::collections::BTreeMap::new(),
        variables: vec![Variable {
            name: "days".into(),
            kind: VariableType::Integer,
            required: true,
            default: serde_json::Value::Null,
        }],
        schema: 1,
    };
    let digest = crate::rules::canonical::content_digest(&content);
    let version = Version { digest, format: Format::Template, ..version(4) };
    VersionView { version, content: Some(content), fragment_bodies: Vec::new(), warnings: Vec::new() }
}

/// An audit event by somebody about the promotion.
pub(super) fn event(seq: u64, actor: &str) -> AuditEvent {
    let body = AuditBody {
        actor: Actor::person(actor),
        action: Action::PromotionApprove,
        subject: Subject::promotion(promotion().promotion.promotion_id),
        detail: serde_json::Map::new(),
        nonce: "0".repeat(32),
    };
    let (event_id, prev_hash, body_hash) = (Digest::ZERO, Digest::ZERO, Digest::ZERO);
    AuditEvent { seq, event_id, at: NOON, prev_hash, body_hash, body: Some(body), redacted: false }
}

/// A failure of a kind.
pub(super) fn failure(kind: FailureKind) -> Failure {
    Failure { kind, text: "no answer".into(), hint: None, problem: None }
}
