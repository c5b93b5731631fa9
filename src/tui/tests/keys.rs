//! Where keys go: text fields first, chords, menus, leaving; pastes are never keys.

use super::bench::{Bench, event};
use crate::model::{Resolution, ResolutionReason, Step};
use crate::tui::dialogs::fixture::digest;
use crate::tui::effect::{Answer, Effect, Query, Slot};
use crate::tui::keymap::{Key, Press};
use crate::tui::msg::{Asked, Followed, Msg};
use crate::tui::state::{Modal, Room};

fn quits(bench: &Bench) -> bool {
    bench.asked.contains(&Effect::Quit)
}

#[test]
fn a_text_field_takes_every_letter_literally() {
    let mut bench = Bench::full();
    bench.keys("/").typed("q!k1?:");
    assert_eq!(bench.state.inbox.filter.text(), "q!k1?:");
    assert!(bench.state.modal.is_none() && bench.state.room == Room::Inbox && !quits(&bench));
    bench.keys("esc");
    assert_eq!(bench.state.inbox.filter.text(), "");
}

#[test]
fn a_paste_is_one_edit_of_a_field_and_never_keys() {
    for keys in ["", "!", "2", "5", "E", "?"] {
        let mut bench = Bench::full();
        bench.keys(keys).forget();
        let (room, modal) = (bench.state.room, bench.state.modal.is_some());
        bench.tell(Msg::Pasted("!ko\tprod\u{13}q".into()));
        assert_eq!((bench.state.room, bench.state.modal.is_some()), (room, modal), "{keys:?}");
        assert!(bench.asked.iter().all(|e| !matches!(e, Effect::Send { .. } | Effect::Quit)), "{keys:?}");
    }
    let mut bench = Bench::full();
    bench.keys("/").tell(Msg::Pasted("refund".into()));
    assert_eq!(bench.state.inbox.filter.text(), "refund");
}

#[test]
fn esc_never_quits_and_q_quits_only_at_the_top() {
    let mut bench = Bench::full();
    bench.keys("esc esc esc");
    assert!(!quits(&bench));
    bench.keys("enter");
    assert!(matches!(bench.state.room, Room::Review(_)));
    bench.keys("q");
    assert_eq!(bench.state.room, Room::Inbox);
    assert!(!quits(&bench));
    bench.keys("q");
    assert!(quits(&bench));
}

#[test]
fn ctrl_c_twice_within_a_second_quits_also_from_a_text_field() {
    let mut bench = Bench::full();
    bench.keys("/ ctrl-c");
    assert!(!quits(&bench));
    bench.wait(1500).keys("ctrl-c");
    assert!(!quits(&bench));
    bench.wait(500).keys("ctrl-c");
    assert!(quits(&bench));
}

#[test]
fn a_key_that_comes_up_is_nothing() {
    let mut bench = Bench::full();
    let before = bench.text();
    for c in ['j', 'q', '!', '2'] {
        bench.tell(Msg::Pressed(Key { press: Press::Up, ..Key::char(c) }));
    }
    assert_eq!(bench.text(), before);
}

#[test]
fn the_danger_menu_needs_a_row_and_ends_with_any_other_key() {
    let mut bench = Bench::empty();
    bench.keys("!");
    assert!(bench.state.modal.is_none());
    let mut bench = Bench::full();
    bench.keys("!");
    assert!(matches!(bench.state.modal, Some(Modal::Danger)));
    bench.keys("j");
    assert!(bench.state.modal.is_none());
    bench.keys("! k");
    assert!(matches!(bench.state.modal, Some(Modal::Dialog(_))));
}

#[test]
fn a_read_only_terminal_opens_no_dialog() {
    let mut bench = Bench::full();
    bench.state.session.read_only = true;
    bench.keys("! k");
    assert!(bench.state.modal.is_none());
    assert!(bench.text().contains("read-only") && bench.text().contains("READ-ONLY"), "{}", bench.text());
}

#[test]
fn in_audit_a_number_before_g_is_an_event_and_a_lone_digit_is_a_tab() {
    let mut bench = Bench::full();
    bench.keys("5 1 7 G");
    assert_eq!(bench.state.audit.current(), Some(17));
    bench.keys("g g");
    assert_eq!(bench.state.audit.current(), Some(40));
    bench.keys("G");
    assert_eq!(bench.state.audit.current(), Some(1));
    bench.keys("1");
    assert_eq!(bench.state.room, Room::Audit);
    bench.wait(600);
    assert_eq!(bench.state.room, Room::Inbox);
}

#[test]
fn the_palette_opens_the_dialog_and_never_acts() {
    let mut bench = Bench::full();
    bench.keys(":").typed("kill --reason outage").keys("enter");
    let Some(Modal::Dialog(_)) = &bench.state.modal else { panic!("no dialog") };
    assert!(bench.asked.iter().all(|e| !matches!(e, Effect::Send { .. })));
}

#[test]
fn a_unit_is_explained_as_the_registry_answers_and_the_room_below_stays() {
    let mut bench = Bench::full();
    bench.keys(":").typed("explain search.rank --env production --unit user-42").keys("enter");
    let asked = Asked {
        key: "search.rank".parse().unwrap(),
        environment: "production".parse().unwrap(),
        unit: Some("user-42".to_owned()),
    };
    let wanted = Query::Explain(asked.clone());
    assert!(bench.asked.iter().any(|e| matches!(e, Effect::Load { slot: Slot::Explain, query, .. } if *query == wanted)));
    assert!(bench.text().contains("asking the registry"), "{}", bench.text());
    let answer = Resolution {
        key_id: asked.key,
        environment: asked.environment,
        digest: Some(digest(7)),
        reason: ResolutionReason::Rollout,
        variant: None,
        content: None,
        fragments: std::collections::BTreeMap::new(),
        revision: 3,
        killed: false,
        stale: false,
        bucket: Some(1234),
        unit_hash: None,
        steps: vec![Step { step: "rollout".into(), found: "bucket 1234 is below\u{1b}[2J 2500".into() }],
    };
    bench.answer(Slot::Explain, Answer::Explained(Box::new(answer)));
    bench.size(120, 36);
    for words in ["user-42", &digest(7).to_string(), "bucket 1234 is below‹U+001B›[2J 2500"] {
        assert!(bench.text().contains(words), "{words}: {}", bench.text());
    }
    bench.keys("esc");
    assert!(bench.state.modal.is_none() && bench.state.room == Room::Inbox);
    bench.state.session.closed.insert("search.rank".parse().unwrap());
    bench.forget().keys(":").typed("explain search.rank --env production").keys("enter");
    assert!(bench.asked.is_empty() && bench.text().contains("R on its row first"), "{}", bench.text());
}

#[test]
fn two_hundred_events_a_second_do_not_steal_the_focus_or_the_row() {
    let mut bench = Bench::full();
    bench.keys("j");
    let selected = bench.state.inbox.selected;
    bench.keys("/").typed("se");
    bench.forget();
    for n in 0..200 {
        bench.now.steady += std::time::Duration::from_millis(5);
        bench.tell(Msg::Followed(Followed::Audit(Box::new(event(41 + n)))));
    }
    bench.typed("arch");
    assert_eq!(bench.state.inbox.filter.text(), "search");
    assert_eq!(bench.state.inbox.selected, selected);
    let fetches = bench.asked.iter().filter(|e| matches!(e, Effect::Load { slot: Slot::Inbox, .. })).count();
    assert!(fetches <= 3, "{fetches} fetches for one second of events");
}
