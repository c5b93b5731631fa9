//! Hostile text on every screen: nothing that acts, hides or misleads reaches a cell.

use super::bench::{Bench, config, event, history, inbox, rollouts, row};
use crate::model::approval::HiddenSpan;
use crate::model::{Actor, Approval, ReadinessItem, ReadinessKind, ReadinessStatus, Verdict};
use crate::tui::dialogs::fixture::{NOON, key, version};
use crate::tui::effect::{Answer, Slot};
use crate::tui::msg::{Followed, Msg, Notice};
use crate::wire::Page;
use uuid::Uuid;

/// ESC with a title sequence, bidi override, zero width, tag, BEL, CR, tab, C1, and a mark in excess.
const EVIL: &str =
    "a\u{1b}]0;owned\u{7}b\u{202e}c\u{200b}d\u{e0041}e\rf\tg\u{9b}31mh\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\nnext";

/// A terminal in which every text from outside is hostile.
fn evil() -> Bench {
    let mut bench = Bench::full();
    let mut lists = inbox();
    for view in lists.waiting.iter_mut().chain(&mut lists.others) {
        view.promotion.rationale = EVIL.into();
        view.hidden = vec![HiddenSpan { path: "/body".into(), start: 0, code_points: "U+200B".into() }];
        view.readiness.0 = [ReadinessKind::Gate, ReadinessKind::Approval]
            .map(|kind| ReadinessItem {
                kind,
                name: EVIL.into(),
                status: ReadinessStatus::Unmet,
                reason: EVIL.into(),
                until: None,
                who: vec![EVIL.into()],
            })
            .to_vec();
        view.reach.services = vec![EVIL.into()];
        view.mine.approve_refused = Some(EVIL.into());
        view.approvals = vec![Approval {
            approval_id: Uuid::from_u128(1),
            promotion_id: view.promotion.promotion_id,
            approver: Actor { kind: crate::model::ActorKind::Git, name: EVIL.into() },
            gate: EVIL.into(),
            verdict: Verdict::Comment,
            at: NOON,
            rationale: EVIL.into(),
            statement: None,
            head: None,
            acknowledged_hidden: Vec::new(),
            groups: Vec::new(),
            login_method: "token".into(),
            owner: None,
            anchor: None,
            reply_to: None,
        }];
        if let Some(to) = &mut view.to {
            to.author = Actor { kind: crate::model::ActorKind::Git, name: EVIL.into() };
            to.model_pin = Some(EVIL.into());
        }
    }
    bench.keys("ctrl-r").answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    let mut views = rollouts();
    for view in &mut views {
        view.moved_by = Some(EVIL.into());
        view.reach.services = vec![EVIL.into()];
        let mut v = version(4);
        v.rationale = EVIL.into();
        view.version = Some(v);
    }
    bench.tell(Msg::Went(crate::tui::msg::Place::Rollouts)).answer(Slot::Rollouts, Answer::Pointers(views));
    for seq in 41..=60 {
        let mut event = event(seq);
        let body = event.body.as_mut().unwrap();
        body.actor = Actor { kind: crate::model::ActorKind::Git, name: EVIL.into() };
        body.subject = crate::model::Subject(format!("key:{EVIL}"));
        body.detail.insert("rationale".into(), EVIL.into());
        body.detail.insert("key_id".into(), EVIL.into());
        body.detail.insert("environment".into(), EVIL.into());
        body.detail.insert(EVIL.into(), EVIL.into());
        bench.tell(Msg::Followed(Followed::Audit(Box::new(event))));
    }
    if let Some(world) = &mut bench.state.session.world {
        world.name = EVIL.into();
    }
    bench.state.session.server = format!("http://{EVIL}");
    bench.tell(Msg::Said(Notice::error(EVIL)));
    bench.tell(Msg::Followed(Followed::Broken { seq: 3, why: EVIL.into() }));
    bench
}

fn check(name: &str, bench: &mut Bench) {
    for (width, height) in [(80, 24), (120, 36), (40, 10)] {
        let cells = bench.size(width, height).cells();
        let mut tokens = 0;
        for cell in cells.content() {
            for c in cell.symbol().chars() {
                let hidden = c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
                assert!(!hidden, "{name} {width}x{height}: {c:?} reached a cell");
            }
            assert!(cell.symbol().chars().count() <= 6, "{name}: {:?}", cell.symbol());
            tokens += usize::from(cell.symbol() == "‹");
        }
        // A tiny window may have cut them all.
        assert!(tokens > 0 || width < 60, "{name} {width}x{height} shows no token");
    }
}

#[test]
fn nothing_hidden_reaches_a_cell_on_any_screen() {
    for keys in ["1", "1 l", "3", "5", "5 enter", "?", ":", "1 !", "1 y", "E"] {
        let mut bench = evil();
        bench.keys(keys);
        if keys == "5 enter" {
            let record = event(60);
            let mut record = record;
            record.body.as_mut().unwrap().detail.insert(EVIL.into(), EVIL.into());
            bench.answer(Slot::Record, Answer::Events(Page { items: vec![record], next_cursor: None }));
        }
        check(keys, &mut bench);
    }
}

#[test]
fn nothing_hidden_reaches_a_cell_in_the_history_of_a_key() {
    let mut bench = evil();
    bench.keys("2").answer(Slot::Keys, Answer::Keys(vec![row("support.refund.system")]));
    let mut found = history();
    found.key = config(&key());
    found.key.description = EVIL.into();
    found.key.owning_group = EVIL.into();
    for v in &mut found.versions {
        v.version.rationale = EVIL.into();
        v.version.author = Actor { kind: crate::model::ActorKind::Git, name: EVIL.into() };
        v.version.model_pin = Some(EVIL.into());
        v.serving = vec![EVIL.into()];
    }
    found.promotions[0].rationale = EVIL.into();
    bench.answer(Slot::History, Answer::History(Box::new(found))).keys("l");
    check("history", &mut bench);
}
