//! Marked rows and one dialog for all of them; what is confidential stays closed; rows keep their places.

use super::bench::{Bench, config, event, history, inbox, rollouts, row};
use crate::model::BasisPoints;
use crate::tui::effect::{Answer, Slot};
use crate::tui::msg::{DialogKind, DialogRequest, Followed, Msg};
use crate::tui::state::Modal;

fn request(bench: &Bench) -> &DialogRequest {
    match &bench.state.modal {
        Some(Modal::Dialog(dialog)) => &dialog.request,
        _ => panic!("no dialog is open:\n{}", bench.text()),
    }
}

#[test]
fn an_act_on_marked_rows_opens_one_dialog_for_all_of_them() {
    let mut bench = Bench::full();
    bench.keys("space j V");
    assert!(bench.text().contains("2 marked"), "{}", bench.text());
    bench.keys("x");
    let asked = request(&bench);
    assert_eq!((asked.kind, asked.set.len()), (DialogKind::RequestChanges, 2));
    bench.tell(Msg::Painted).wait(200).keys("esc esc");
    assert!(bench.state.modal.is_none() && !bench.text().contains("marked"), "esc unmarks: {}", bench.text());
    bench.keys("*");
    assert_eq!(bench.state.inbox.marks.len(), bench.state.inbox.entries.len());
}

#[test]
fn one_marked_row_is_the_one_that_is_acted_on_wherever_the_cursor_is() {
    let mut bench = Bench::full();
    let first = bench.state.inbox.entries[0].view.promotion.key_id.clone();
    bench.keys("space j j c");
    let asked = request(&bench);
    assert_eq!((&asked.key, asked.set.len()), (&first, 0));
}

#[test]
fn a_row_that_went_is_marked_no_longer() {
    let mut bench = Bench::full();
    bench.keys("j space g g");
    let marked = bench.state.inbox.entries[1].id();
    let mut lists = inbox();
    lists.waiting.retain(|view| view.promotion.promotion_id != marked);
    bench.wait(1000).tell(Msg::Followed(Followed::Audit(Box::new(event(41)))));
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    assert_eq!(bench.state.inbox.marks.len(), 0);
}

#[test]
fn marked_keys_are_killed_by_one_dialog_that_names_them() {
    let mut bench = Bench::full();
    bench.keys("2").answer(Slot::Keys, Answer::Keys(vec![row("a.one"), row("a.three"), row("a.two")]));
    bench.keys("j space j j space");
    bench.keys("! k");
    let keys: Vec<&str> = request(&bench).more.iter().map(crate::model::KeyId::as_str).collect();
    assert_eq!(keys, ["a.one", "a.two"]);
}

#[test]
fn confidential_content_is_fetched_only_once_it_is_asked_for() {
    let mut bench = Bench::full();
    let mut lists = inbox();
    lists.waiting[0].confidential = true;
    let view = lists.waiting[0].clone();
    bench.keys("ctrl-r").answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    bench.keys("g g enter").answer(Slot::Review, Answer::Promotion(Box::new(view.clone())));
    assert!(!bench.asks(Slot::Diff) && bench.text().contains("confidential: R"), "{}", bench.text());
    bench.keys("a");
    assert!(bench.state.modal.is_none(), "and nothing can be approved that was not read");
    bench.keys("R").answer(Slot::Review, Answer::Promotion(Box::new(view)));
    assert!(bench.asks(Slot::Diff), "now both versions are read");
}

#[test]
fn the_details_of_a_confidential_version_wait_too() {
    let mut bench = Bench::full();
    bench.keys("2").answer(Slot::Keys, Answer::Keys(vec![row("support.refund.system")]));
    let mut found = history();
    found.key = crate::model::ConfigKey { confidential: true, ..config(&found.key.key_id) };
    bench.forget().keys("enter ctrl-r").answer(Slot::History, Answer::History(Box::new(found.clone())));
    assert!(!bench.asks(Slot::Details) && bench.text().contains("confidential: R"), "{}", bench.text());
    bench.keys("R").answer(Slot::History, Answer::History(Box::new(found)));
    assert!(bench.asks(Slot::Details));
}

#[test]
fn a_row_that_is_mine_by_now_counts_at_once_and_moves_when_asked() {
    let mut bench = Bench::full();
    let mut lists = inbox();
    let mut ready = lists.others.remove(0);
    ready.mine.can_apply = true;
    lists.waiting.push(ready);
    bench.wait(1000).tell(Msg::Followed(Followed::Audit(Box::new(event(41)))));
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    let text = bench.text();
    assert!(text.contains("for you 4") && text.contains("1 newer") && text.contains("waiting for others"), "{text}");
    bench.keys(".");
    assert!(!bench.text().contains("waiting for others"), "{}", bench.text());
}

#[test]
fn rollouts_keep_their_places_until_the_order_is_asked_for() {
    let mut bench = Bench::full();
    bench.keys("3").answer(Slot::Rollouts, Answer::Pointers(rollouts()));
    let order = |bench: &Bench| -> Vec<String> {
        bench.state.rollouts.rows.iter().map(|row| row.view.pointer.key_id.to_string()).collect()
    };
    let before = order(&bench);
    let mut moved = rollouts();
    moved[0].pointer.killed = true;
    moved[1].pointer.killed = false;
    moved[1].pointer.rollout_pct = BasisPoints::new(5_000).unwrap();
    let mut third = moved[1].clone();
    third.pointer.key_id = "aaa.new".parse().unwrap();
    moved.push(third);
    bench.state.rollouts.take(moved);
    assert_eq!(order(&bench), before);
    assert!(bench.text().contains("1 newer"), "{}", bench.text());
    bench.keys(".");
    assert_eq!(order(&bench).len(), 3);
}
