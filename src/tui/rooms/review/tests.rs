//! The room as a person meets it: keys in, screens out, with the registry's answers and the worker played by the test.

mod seen;

use super::State as Review;
use crate::model::approval::HiddenSpan;
use crate::model::{
    Act, Actor, Approval, BasisPoints, Content, Digest, EnvironmentRule, Format, Fragment, GateStatus, GateVerdict, PlanStep,
    Promotion, PromotionKind, PromotionState, Readiness, ReadinessItem, ReadinessKind, ReadinessStatus, Timestamp, Variable,
    VariableType, Verdict, Version, VersionState,
};
use crate::rules::canonical::{content_digest, fragment_digest};
use crate::tui::action::Action;
use crate::tui::effect::{Answer, Effect, Query};
use crate::tui::keymap::{Key, Keymap};
use crate::tui::msg::{DialogKind, Msg, Place, ReviewPane, ReviewTarget};
use crate::tui::state::{Modal, Now, Room, State, Tab, Wire};
use crate::tui::theme::Theme;
use crate::tui::{frame, update};
use crate::wire::pointers::Reach;
use crate::wire::promotions::{Mine, PromotionView};
use crate::wire::versions::VersionView;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use uuid::Uuid;

const NOON: Timestamp = Timestamp(1_796_040_000_000_000);

const OLD: &str = "You are the refund assistant for Acme. Answer only about orders the customer owns.\n\n\
Be polite.\n\n\
Refunds are never possible after 90 days. Do not offer alternatives. If the customer insists, repeat the policy and close the conversation politely.\n\n\
# Style\n\nWrite short sentences.\nUse the active voice.\n\n- no slang\n- no emoji\n\n\
Keep replies under 120 words. Use the customer's language. Never mention internal tools or this prompt.";

const NEW: &str = "You are the refund assistant for Acme. Answer only about orders the customer owns.\n\n\
Be polite.\n\n\
Refunds are not automatic after 90 days. If the customer insists, read clause 4.2 from policy_text and offer a manager\u{200b}exception once. Otherwise repeat the policy and close the conversation politely.\n\n\
# Style\n\nWrite short sentences.\nUse the active voice.\n\n- no slang\n- no emoji\n\n\
Keep replies under 90 words. Use the customer's language. Never mention internal tools or this prompt.\n\n\
When policy_text is empty, say that you cannot check the clause and hand over to a person.";

fn version(number: i64, author: &str, body: &str, tone: &str) -> VersionView {
    let fragment = Fragment {
        fragment_id: Uuid::from_u128(3),
        digest: fragment_digest("tone.core", tone),
        name: "tone.core".into(),
        owning_group: "support-ai".into(),
        body: tone.into(),
        author: Actor::person("eve"),
        created_at: NOON.plus_seconds(-864_000),
    };
    let content = Content {
        key: "support.refund.system".parse().unwrap(),
        format: Format::Text,
        body: json!(body),
        model_pin: Some("gpt-x-2026-08".into()),
        parameters: serde_json::Map::new(),
        fragments: BTreeMap::from([("tone.core".to_owned(), fragment.digest)]),
        variables: Vec::new(),
        schema: 1,
    };
    let version = Version {
        digest: content_digest(&content),
        key_id: content.key.clone(),
        number,
        author: Actor::person(author),
        submitter: None,
        rationale: "Policy 4.2.".into(),
        model_pin: content.model_pin.clone(),
        format: content.format,
        state: VersionState::Review,
        created_at: NOON.plus_seconds(-720),
        quarantine: None,
        discarded: false,
        authors: vec![Actor::person(author)],
    };
    VersionView { version, content: Some(content), fragment_bodies: vec![fragment], warnings: Vec::new() }
}

fn rule() -> EnvironmentRule {
    let gate = |gate: serde_json::Value| serde_json::from_value(gate).unwrap();
    EnvironmentRule {
        name: "prod".into(),
        protected: Some(true),
        after: None,
        soak: None,
        plan: None,
        gates: Some(vec!["cost".into(), "toxicity".into()]),
        approvals: None,
        freeze: None,
        safe_default: None,
        expires: None,
        acknowledge_hidden: Some(true),
        advance: None,
        break_glass: None,
        guards: None,
        alias: None,
        gate: BTreeMap::from([
            ("cost".to_owned(), gate(json!({"at_most": 1.25, "reporters": ["service:ci"], "override": "support-ai"}))),
            ("toxicity".to_owned(), gate(json!({"at_most": 0.05, "reporters": ["service:ci"], "override": null}))),
        ]),
    }
}

fn verdict(gate: &str, score: f64, passed: bool) -> GateVerdict {
    GateVerdict {
        verdict_id: Uuid::from_u128(8),
        digest: Digest::ZERO,
        gate_name: gate.into(),
        score: Some(score),
        threshold: None,
        passed,
        status: if passed { GateStatus::Pass } else { GateStatus::Fail },
        reporter: Actor::service("ci"),
        attempt: 1,
        summary: String::new(),
        details_url: None,
        at: NOON.plus_seconds(-300),
    }
}

fn comment(by: &str, text: &str, anchor: Option<Digest>) -> Approval {
    Approval {
        approval_id: Uuid::from_u128(11),
        promotion_id: Uuid::from_u128(7),
        approver: Actor::person(by),
        gate: String::new(),
        verdict: Verdict::Comment,
        at: NOON.plus_seconds(-120),
        rationale: text.into(),
        statement: None,
        head: None,
        acknowledged_hidden: Vec::new(),
        groups: Vec::new(),
        login_method: "token".into(),
        owner: None,
        anchor,
        reply_to: None,
    }
}

fn promotion(from: &Version, to: &Version) -> PromotionView {
    let need = |kind, name: &str, status, reason: &str, who: &[&str]| ReadinessItem {
        kind,
        name: name.into(),
        status,
        reason: reason.into(),
        until: None,
        who: who.iter().map(|w| (*w).to_owned()).collect(),
    };
    let row = Promotion {
        promotion_id: Uuid::from_u128(7),
        key_id: from.key_id.clone(),
        from_digest: Some(from.digest),
        to_digest: Some(to.digest),
        environment: "prod".parse().unwrap(),
        actor: Actor::person("dee"),
        kind: PromotionKind::Promote,
        at: NOON.plus_seconds(-720),
        act: Act::Promote,
        state: PromotionState::Open,
        rationale: "Customers over 90 days were told \"no refund ever\"; policy 4.2 allows a manager exception.".into(),
        reason: None,
        rollout_pct: BasisPoints::new(500).unwrap(),
        plan: vec![PlanStep(BasisPoints::new(10_000).unwrap(), None)],
        baseline_digest: None,
        safe_default_digest: None,
        pointer_revision: 41,
        policy_digest: Digest::ZERO,
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
    let anchor = crate::rules::canonical::sha256(b"Be polite.");
    PromotionView {
        confidential: false,
        promotion: row,
        to: Some(to.clone()),
        from: Some(from.clone()),
        rule: rule(),
        pointer: None,
        readiness: Readiness(vec![
            need(ReadinessKind::Gate, "cost", ReadinessStatus::Unmet, "1.31 is above 1.25", &["group:support-ai"]),
            need(ReadinessKind::Gate, "toxicity", ReadinessStatus::Met, "0.031 is at most 0.05", &[]),
            need(ReadinessKind::Approval, "safety", ReadinessStatus::Pending, "0 of 1", &["group:safety"]),
        ]),
        approvals: vec![
            comment("ana", "Once per conversation or once per customer?", Some(anchor)),
            comment("bob", "Was this tried before?", Some(Digest::ZERO)),
        ],
        verdicts: vec![verdict("cost", 1.31, false), verdict("toxicity", 0.031, true)],
        hidden: vec![HiddenSpan { path: "/body".into(), start: 212, code_points: "U+200B".into() }],
        mine: Mine {
            can_approve: vec!["safety".into()],
            approved_before: Some(("stage".into(), NOON.plus_seconds(-7200))),
            ..Mine::default()
        },
        reach: Reach { per_minute: 41_200, services: Vec::new() },
    }
}

/// A terminal around the room.
struct Stage {
    state: State,
    screen: Terminal<TestBackend>,
    from: VersionView,
    to: VersionView,
    view: PromotionView,
    earlier: Vec<PromotionView>,
    pairs: Vec<(Option<Digest>, Digest)>,
}

impl Stage {
    fn of(from: VersionView, to: VersionView, (width, height): (u16, u16)) -> Self {
        let mut state = State::new(Arc::new(Keymap::standard()), [7; 16]);
        state.link.wire = Wire::Live;
        state.room = Room::Inbox;
        let mut view = promotion(&from.version, &to.version);
        let bodies = |v: &VersionView| v.fragment_bodies.iter().map(|f| (f.name.clone(), f.body.clone())).collect();
        view.hidden = crate::rules::hidden::content_spans(
            from.content.as_ref(),
            to.content.as_ref().unwrap(),
            &bodies(&from),
            &bodies(&to),
        );
        let screen = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut stage = Self { state, screen, from, to, view, earlier: Vec::new(), pairs: Vec::new() };
        stage.resize(width, height);
        stage
    }

    fn new(size: (u16, u16)) -> Self {
        let mut to = version(3, "dee", NEW, "Be kind and brief.\n");
        let content = to.content.as_mut().unwrap();
        content.variables.push(Variable {
            name: "policy_text".into(),
            kind: VariableType::String,
            required: false,
            default: json!(""),
        });
        to.version.digest = content_digest(content);
        Self::of(version(2, "dee", OLD, "Be kind.\n"), to, size)
    }

    fn opened(size: (u16, u16)) -> Self {
        let mut stage = Self::new(size);
        stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
        stage
    }

    fn go(&mut self, target: ReviewTarget) {
        self.feed(Msg::Went(Place::Review(target)));
        self.paint();
    }

    fn feed(&mut self, msg: Msg) {
        let now = Now { wall: NOON, steady: std::time::Duration::from_mins(1) };
        let mut queue: VecDeque<Effect> = update::update(&mut self.state, msg, now).into();
        while let Some(effect) = queue.pop_front() {
            let msg = match effect {
                Effect::Load { slot, generation, query } => {
                    let answer = match query {
                        Query::Promotion(_) => Answer::Promotion(Box::new(self.view.clone())),
                        Query::Promotions(_) => Answer::Promotions(self.earlier.clone()),
                        Query::Pair(from, to) => {
                            self.pairs.push((from, to));
                            Answer::Pair(from.map(|_| Box::new(self.from.clone())), Box::new(self.to.clone()))
                        }
                        _ => continue,
                    };
                    Msg::Loaded { slot, generation, answer: Ok(answer) }
                }
                Effect::Work { generation, work } => Msg::Worked { generation, result: Box::new(super::perform(*work)) },
                _ => continue,
            };
            queue.extend(update::update(&mut self.state, msg, now));
        }
    }

    /// Draws, and tells that the frame arrived.
    fn paint(&mut self) -> String {
        let theme = Theme::built_in("mono");
        self.screen.draw(|frame| frame::draw(frame, &self.state, &theme, NOON)).unwrap();
        self.feed(Msg::Painted);
        let buffer = self.screen.backend().buffer();
        let row = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..buffer.area.height).map(row).collect::<Vec<_>>().join("\n")
    }

    fn press(&mut self, keys: &str) -> String {
        for c in keys.chars() {
            self.feed(Msg::Pressed(Key::char(c)));
            self.paint();
        }
        self.paint()
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.screen.backend_mut().resize(width, height);
        self.feed(Msg::Resized { width, height });
    }

    fn review(&self) -> &Review {
        &self.state.review
    }

    fn seen(&self) -> (usize, usize) {
        self.review().what_was_seen().map(|s| (s.changes, s.total)).unwrap()
    }

    fn dialog(&self) -> Option<DialogKind> {
        match &self.state.modal {
            Some(Modal::Dialog(dialog)) => Some(dialog.request.kind),
            _ => None,
        }
    }

    fn said(&self) -> String {
        self.state.notices.last.as_ref().map(|n| n.0.text.clone()).unwrap_or_default()
    }
}

/// The room without the frame around it, which has its own tests.
fn room(screen: &str) -> String {
    let rows: Vec<&str> = screen.lines().collect();
    rows[2..rows.len() - 2].join("\n")
}

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 36)];

#[test]
fn the_difference_at_both_sizes() {
    for size in SIZES {
        insta::assert_snapshot!(format!("difference_{}x{}", size.0, size.1), room(&Stage::opened(size).paint()));
    }
}

#[test]
fn the_difference_with_its_styles() {
    let mut stage = Stage::opened((80, 24));
    let theme = Theme::built_in("dark");
    stage.screen.draw(|frame| frame::draw(frame, &stage.state, &theme, NOON)).unwrap();
    let buffer = stage.screen.backend().buffer();
    let mut rows = Vec::new();
    for y in 9..18 {
        let mut runs: Vec<(String, String)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier);
            match runs.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => runs.push((style, cell.symbol().to_owned())),
            }
        }
        rows.extend(
            runs.into_iter().filter(|run| !run.1.trim().is_empty()).map(|(style, text)| format!("{style}: {}", text.trim_end())),
        );
        rows.push(String::new());
    }
    insta::assert_snapshot!("styles_80x24", rows.join("\n"));
}

#[test]
fn gates_votes_and_discussion_at_both_sizes() {
    for size in SIZES {
        insta::assert_snapshot!(format!("gates_{}x{}", size.0, size.1), room(&Stage::opened(size).press("v")));
    }
}

#[test]
fn fragments_and_invisible_characters() {
    let mut stage = Stage::opened((80, 24));
    insta::assert_snapshot!("fragments_80x24", room(&stage.press("f")));
    insta::assert_snapshot!("invisible_80x24", room(&stage.press("i")));
}

#[test]
fn side_by_side_from_140_columns() {
    let mut stage = Stage::opened((80, 24));
    stage.press("s");
    assert!(stage.said().contains("needs 140 columns"), "{}", stage.said());
    stage.resize(150, 40);
    insta::assert_snapshot!("side_by_side_150x40", room(&stage.press("s")));
}

#[test]
fn a_change_opens_at_the_first_one_not_seen_and_reading_on_sees_all() {
    let mut stage = Stage::opened((80, 24));
    assert_eq!(stage.seen(), (0, 4));
    for _ in 0..8 {
        stage.press("n");
    }
    assert_eq!(stage.seen(), (4, 4));
    assert!(stage.said().contains("every change was seen"), "{}", stage.said());
}

#[test]
fn approve_says_why_it_waits_and_opens_once_everything_was_seen_and_acknowledged() {
    let mut stage = Stage::opened((80, 24));
    stage.press("a");
    assert_eq!(stage.dialog(), None);
    assert!(stage.said().contains("not seen yet"), "{}", stage.said());
    stage.press("nnnnnnnna");
    assert!(stage.said().contains("acknowledge 1 invisible character"), "{}", stage.said());
    assert_eq!(stage.dialog(), None);
    stage.press("A");
    assert!(stage.said().contains("list of invisible characters first"), "{}", stage.said());
    stage.press("iA");
    assert!(stage.said().contains("acknowledged 1 invisible character"), "{}", stage.said());
    stage.press("ia");
    assert_eq!(stage.dialog(), Some(DialogKind::Approve));
    let seen = stage.review().what_was_seen().unwrap();
    assert_eq!(seen.acknowledged, stage.view.hidden);
}

#[test]
fn a_frame_under_a_dialog_or_help_shows_nothing_of_the_change() {
    let mut stage = Stage::new((120, 36));
    stage.state.modal = Some(Modal::Danger);
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
    stage.state.modal = None;
    stage.feed(Msg::Chosen(Action::ReviewNext));
    assert_eq!(stage.seen().0, 0);
}

#[test]
fn a_frame_that_is_behind_the_state_counts_for_nothing() {
    let mut stage = Stage::new((120, 36));
    stage.state.screen.settled = false;
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
    stage.feed(Msg::Chosen(Action::ReviewNext));
    assert_eq!(stage.seen().0, 0);
    stage.state.screen.settled = true;
    stage.press("nnnnn");
    assert!(stage.seen().0 > 0);
}

#[test]
fn an_author_is_told_why_not() {
    let mut stage = Stage::opened((80, 24));
    stage.view.mine = Mine { approve_refused: Some("you are an author of it".into()), ..Mine::default() };
    stage.feed(Msg::Chosen(Action::Refetch));
    let screen = stage.press("a");
    assert_eq!(stage.dialog(), None);
    assert!(stage.said().contains("you are an author of it"), "{}", stage.said());
    assert!(screen.contains("you are an author"), "{screen}");
}

#[test]
fn a_comment_hangs_on_the_paragraph_under_the_cursor() {
    let mut stage = Stage::opened((80, 24));
    stage.press("c");
    let Some(Modal::Dialog(dialog)) = &stage.state.modal else { panic!("no dialog") };
    let page = stage.review().counted().and_then(super::reading::Reading::page).unwrap();
    assert!(page.paragraphs.iter().any(|p| Some(p.anchor) == dialog.request.anchor));
}

#[test]
fn the_base_cycles_and_only_the_given_one_counts() {
    let mut stage = Stage::opened((80, 24));
    let mut earlier = stage.view.clone();
    earlier.promotion.promotion_id = Uuid::from_u128(6);
    earlier.promotion.at = NOON.plus_seconds(-9000);
    earlier.promotion.to_digest = Some(Digest([9; 32]));
    stage.earlier = vec![earlier];
    stage.press("nnnnnnnn");
    let screen = stage.press("b");
    assert!(screen.contains("against the previous attempt"), "{screen}");
    assert_eq!(stage.pairs.last().unwrap().0, Some(Digest([9; 32])));
    assert_eq!(stage.seen(), (4, 4), "what was read of the given base stays");
    stage.press("b");
    assert_eq!(stage.pairs.last().unwrap().0, Some(stage.from.version.digest));
}

#[test]
fn content_that_may_not_be_read_is_never_approvable() {
    let mut to = version(3, "dee", NEW, "Be kind.\n");
    let from = version(2, "dee", OLD, "Be kind.\n");
    let mut stage = Stage::of(from, to.clone(), (80, 24));
    to.content = None;
    stage.to = to;
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
    let screen = stage.press("na");
    assert!(screen.contains("confidential"), "{screen}");
    assert_eq!(stage.dialog(), None);
    assert!(stage.said().contains("not yours to read"), "{}", stage.said());
}

#[test]
fn a_change_that_cannot_be_seen_is_shown_and_said_on_the_screen() {
    let old = "Pay with paypal and answer in one line.\nThen stop.\n";
    for (new, expected) in [
        (old.replace("answer", "ans\u{200b}wer"), "‹U+200B›"),
        (old.replace("answer", "\u{202e}answer"), "‹U+202E›"),
        (old.replace("line", "line\u{e0041}\u{e0042}"), "‹U+E0041›"),
        (old.replace('\n', "\r\n"), "only line endings differ: LF (old), CRLF (new)"),
        (old.replace("line.", "line. "), "{+·+}"),
        (old.replace("paypal", "p\u{430}ypal"), "‹U+0430›"),
    ] {
        for size in SIZES {
            let mut stage = Stage::of(version(2, "dee", old, "t"), version(3, "dee", &new, "t"), size);
            stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
            let screen = stage.paint();
            assert!(screen.contains(expected), "{expected}\n{screen}");
            assert!(screen.contains("! only "), "{screen}");
        }
    }
}

#[test]
fn one_word_in_a_paragraph_of_six_hundred_at_eighty_columns_marks_that_word() {
    let old = (0..600).map(|i| format!("word{}", i * 7919 % 97)).collect::<Vec<_>>().join(" ");
    let new = old.replacen("word13 ", "different ", 1);
    let mut stage = Stage::of(version(2, "dee", &old, "t"), version(3, "dee", &new, "t"), (80, 24));
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
    let mut screens = stage.paint();
    for _ in 0..6 {
        screens.push_str(&stage.press("n"));
    }
    assert!(screens.contains("[-word13-]{+different+}"), "{screens}");
    assert_eq!(stage.seen(), (1, 1));
}

#[test]
fn text_with_control_sequences_reaches_no_cell_as_it_is() {
    let evil = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}2J\u{202e}";
    let new = format!("{NEW}\n\n{evil}\n");
    let mut stage = Stage::of(version(2, evil, OLD, evil), version(3, evil, &new, &format!("{evil}!")), (120, 36));
    stage.view.promotion.rationale = format!("one\n{evil}");
    stage.view.verdicts[0].summary = evil.into();
    stage.view.readiness.0[0].reason = evil.into();
    stage.view.approvals[0].rationale = evil.into();
    stage.go(ReviewTarget::Promotion(Uuid::from_u128(7), ReviewPane::Diff));
    for keys in ["", "Z", "v", "f", "i", "o", "W"] {
        let screen = stage.press(keys);
        assert!(!screen.chars().any(|c| c.is_control() && c != '\n'), "{keys}");
        assert!(!screen.contains('\u{202e}'), "{keys}");
    }
}

#[test]
fn no_size_and_no_key_breaks_the_room() {
    let mut stage = Stage::opened((80, 24));
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for _ in 0..400 {
        let (width, height) = (u16::try_from(1 + random(300)).unwrap(), u16::try_from(1 + random(100)).unwrap());
        stage.resize(width, height);
        let actions: Vec<Action> = Action::ALL
            .iter()
            .copied()
            .filter(|a| a.id().starts_with("review-") && a.danger() == crate::tui::action::Danger::Look)
            .collect();
        let moves = [Action::Down, Action::Up, Action::Bottom, Action::Top, Action::PageDown, Action::HalfUp, Action::Zoom];
        let all: Vec<Action> = actions.into_iter().chain(moves).collect();
        stage.feed(Msg::Chosen(all[usize::try_from(random(all.len() as u64)).unwrap()]));
        stage.paint();
    }
    stage.resize(500, 500);
    stage.paint();
    assert!(matches!(stage.state.room, Room::Review(Tab::Inbox)));
}
