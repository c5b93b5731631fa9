//! What rooms do when the world moves: rows wait, ghosts stay, late answers are dropped, staleness is told.

use super::bench::{Bench, event, head, history, inbox, other, rollouts, row};
use crate::tui::dialogs::fixture::digest;
use crate::tui::effect::{Answer, Effect, Extent, Failure, FailureKind, Query, Slot};
use crate::tui::msg::{Contact, Followed, Msg, Place};
use crate::tui::state::{Chain, Modal, Wire};
use crate::wire::Page;

#[test]
fn new_rows_wait_until_they_are_asked_for() {
    let mut bench = Bench::full();
    bench.keys("j");
    let (before, selected) = (bench.state.inbox.entries.len(), bench.state.inbox.selected);
    let mut lists = inbox();
    let mut newer = other(90, "aaa.first.of.all");
    newer.mine.can_approve = vec!["owners".into()];
    lists.waiting.insert(0, newer);
    bench.wait(1000).tell(Msg::Followed(Followed::Audit(Box::new(event(41)))));
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    assert_eq!((bench.state.inbox.entries.len(), bench.state.inbox.selected), (before, selected));
    assert!(bench.text().contains("1 newer"), "{}", bench.text());
    bench.keys(".");
    assert_eq!((bench.state.inbox.entries.len(), bench.state.inbox.selected), (before + 1, selected));
    assert!(bench.text().contains("aaa.first.of.all"));
}

#[test]
fn a_selected_row_that_vanishes_is_a_ghost_with_its_actions_off() {
    let mut bench = Bench::full();
    let mut lists = inbox();
    let gone = lists.waiting.remove(0);
    bench.wait(1000).tell(Msg::Followed(Followed::Audit(Box::new(event(41)))));
    let before = bench.state.inbox.entries[0].id();
    bench.keys("g g");
    let selected = bench.state.inbox.current().unwrap().1.id();
    let vanishing = if selected == gone.promotion.promotion_id { gone } else { lists.waiting.remove(0) };
    lists.waiting.retain(|v| v.promotion.promotion_id != vanishing.promotion.promotion_id);
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    let (_, entry) = bench.state.inbox.current().unwrap();
    assert!(entry.ghost && entry.id() == selected && entry.id() == before);
    bench.keys("x");
    assert!(bench.state.modal.is_none());
    assert!(bench.text().contains("gone"), "{}", bench.text());
    bench.keys("esc j");
    assert!(bench.state.inbox.entries.iter().all(|e| !e.ghost), "a ghost that is left goes");
}

#[test]
fn after_a_vote_the_cursor_waits_for_the_next_change_and_does_not_follow_the_settled_one() {
    let mut bench = Bench::full();
    let settled = bench.state.inbox.current().unwrap().1.id();
    let mut lists = inbox();
    let mut mine = lists.waiting.remove(0);
    assert_eq!(mine.promotion.promotion_id, settled);
    mine.mine = crate::wire::promotions::Mine::default();
    lists.others.push(mine);
    bench.keys("ctrl-r").answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    let (at, entry) = bench.state.inbox.current().unwrap();
    assert!(at == 0 && entry.id() != settled && entry.section.is_mine());
}

#[test]
fn an_answer_that_is_late_is_dropped() {
    let mut bench = Bench::full();
    bench.keys("2").answer(Slot::Keys, Answer::Keys(vec![row("a.one"), row("a.two")]));
    bench.forget().keys("j");
    let old = bench.asked.iter().find_map(|e| match e {
        Effect::Load { slot: Slot::History, generation, .. } => Some(*generation),
        _ => None,
    });
    bench.keys("j");
    let mut late = history();
    late.key = super::bench::config(&"a.one".parse().unwrap());
    bench.tell(Msg::Loaded { slot: Slot::History, generation: old.unwrap(), answer: Ok(Answer::History(Box::new(late))) });
    assert!(bench.state.keys.current().is_none(), "the history of another key is shown");
}

#[test]
fn a_silent_stream_is_stale_within_three_seconds_and_says_since_when() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Heartbeat(head(40))));
    assert!(bench.text().contains("live"));
    bench.wait(2600);
    assert_eq!(bench.state.link.wire, Wire::Stale);
    assert!(bench.text().contains("STALE since"), "{}", bench.text());
    bench.keys("j");
    bench.tell(Msg::Followed(Followed::Heartbeat(head(40))));
    assert_eq!(bench.state.link.wire, Wire::Live);
}

#[test]
fn what_was_lost_is_fetched_again_when_the_registry_is_back() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Lost { attempt: 1, retry_in: 500, why: None, signed_out: false })).wait(4000);
    bench.forget().wait(60_000);
    assert!(bench.asked.is_empty(), "nothing is tried while it is away: {:?}", bench.asked);
    bench.tell(Msg::Followed(Followed::Connected { contact: Some(Contact { from: 1, head: head(44), first: false }) }));
    for slot in [Slot::Session, Slot::Inbox, Slot::Rollouts] {
        assert!(bench.asks(slot) || bench.state.slots.is_waiting(slot), "{slot:?}");
    }
}

/// A terminal whose Inbox began with its newest row of four.
fn begun() -> Bench {
    let mut bench = Bench::empty();
    assert!(bench.asked.iter().any(|e| matches!(e, Effect::Load { query: Query::Inbox(Extent::Newest(_)), .. })));
    let mut lists = inbox();
    lists.waiting.clear();
    lists.whole = false;
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
    bench.forget();
    bench
}

fn asks_for_all(bench: &Bench) -> bool {
    bench.asked.iter().any(|e| matches!(e, Effect::Load { query: Query::Inbox(Extent::Whole), .. }))
}

#[test]
fn the_inbox_begins_with_its_newest_rows_and_the_rest_follows_once_the_stream_is_open() {
    let mut bench = begun();
    let text = bench.text();
    assert!(text.contains("legal.disclaimer") && text.contains("for you 0+") && !text.contains("nothing waits"), "{text}");
    bench.wait(100);
    assert!(!asks_for_all(&bench), "what happens before the stream is open would be missed");
    bench.tell(Msg::Followed(Followed::Connected { contact: Some(Contact { from: 1, head: head(40), first: false }) }));
    assert!(asks_for_all(&bench));
    bench.answer(Slot::Inbox, Answer::Inbox(Box::new(inbox())));
    assert_eq!((bench.state.inbox.entries.len(), bench.state.inbox.newer.len()), (inbox().waiting.len() + 1, 0));
    assert_eq!(bench.state.inbox.current().unwrap().0, 0, "the cursor is at the top still");
    assert!(bench.text().contains("for you 3 "), "{}", bench.text());
}

#[test]
fn the_rest_of_the_inbox_comes_too_where_the_stream_never_opens() {
    let mut bench = begun();
    bench.tell(Msg::Followed(Followed::Lost { attempt: 1, retry_in: 500, why: None, signed_out: false }));
    assert!(asks_for_all(&bench));
}

#[test]
fn the_first_connection_asks_for_nothing_that_is_on_its_way() {
    let mut bench = Bench::empty();
    bench.forget();
    bench.tell(Msg::Followed(Followed::Connected { contact: Some(Contact { from: 1, head: head(40), first: false }) }));
    assert!(bench.asked.iter().all(|e| !matches!(e, Effect::Load { .. })), "{:?}", bench.asked);
    // It was asked before the stream was open, so it is asked again, after its answer.
    bench.answer_late(Slot::Inbox, 1, Answer::Inbox(Box::new(inbox()))).wait(1000);
    assert!(asks_for_all(&bench));
}

#[test]
fn a_broken_chain_is_an_alarm_that_stays_and_a_kill_still_opens() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Broken { seq: 17, why: "the event was changed".into() }));
    bench.tell(Msg::Followed(Followed::Connected { contact: Some(Contact { from: 18, head: head(40), first: true }) }));
    bench.tell(Msg::Followed(Followed::Audit(Box::new(event(41)))));
    assert!(matches!(bench.state.link.chain, Chain::Broken { seq: 17, .. }));
    for keys in ["1", "2", "3", "5"] {
        bench.keys(keys);
        assert!(bench.text().contains("AUDIT CHAIN BROKEN AT #17"), "{keys}: {}", bench.text());
    }
    bench.wait(600).keys("3 ! k");
    assert!(matches!(bench.state.modal, Some(Modal::Dialog(_))));
}

#[test]
fn a_heartbeat_that_changes_nothing_is_no_reason_to_draw() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Heartbeat(head(40))));
    let (face, picture) = (bench.state.link.face(), bench.picture());
    bench.wait(900).tell(Msg::Followed(Followed::Heartbeat(head(40))));
    assert_eq!((bench.state.link.face(), bench.picture()), (face, picture));
}

#[test]
fn the_dock_shows_each_event_with_its_number_as_it_happens() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Audit(Box::new(event(42)))));
    let text = bench.text();
    assert!(text.contains("#42") && text.contains(" kill ") && text.contains("chain ✓ to #42"), "{text}");
    bench.keys("@");
    assert!(!bench.text().contains("#42"));
}

#[test]
fn an_unreachable_registry_is_said_once_by_the_link_and_a_refusal_by_the_status_line() {
    let mut bench = Bench::full();
    let failed = |kind, text: &str| Failure { kind, text: text.into(), hint: None, problem: None };
    bench.keys("ctrl-r");
    let generation = bench.asked.iter().rev().find_map(|e| match e {
        Effect::Load { slot: Slot::Inbox, generation, .. } => Some(*generation),
        _ => None,
    });
    let generation = generation.unwrap();
    bench.tell(Msg::Loaded { slot: Slot::Inbox, generation, answer: Err(failed(FailureKind::Unreachable, "cannot be reached")) });
    assert!(bench.state.notices.errors.is_empty());
    bench.wait(500).keys("ctrl-r");
    let refused =
        Msg::Loaded { slot: Slot::Inbox, generation: generation + 2, answer: Err(failed(FailureKind::Refused, "forbidden")) };
    let before = generation;
    bench.tell(refused);
    let newest = bench.asked.iter().rev().find_map(|e| match e {
        Effect::Load { slot: Slot::Inbox, generation, .. } => Some(*generation),
        _ => None,
    });
    assert!(newest > Some(before));
    bench.tell(Msg::Loaded {
        slot: Slot::Inbox,
        generation: newest.unwrap(),
        answer: Err(failed(FailureKind::Refused, "forbidden")),
    });
    assert_eq!(bench.state.notices.errors.len(), 1);
    bench.keys("esc");
    assert!(bench.state.notices.errors.is_empty());
}

#[test]
fn a_rollout_that_is_done_stays_selected_as_over() {
    let mut bench = Bench::full();
    bench.keys("3 j");
    let selected = bench.state.rollouts.selected.clone();
    let kept: Vec<_> = rollouts().into_iter().filter(|v| v.pointer.killed).collect();
    bench.keys("ctrl-r").answer(Slot::Rollouts, Answer::Pointers(kept));
    let (_, row) = bench.state.rollouts.current().unwrap();
    assert!(row.ghost && bench.state.rollouts.selected == selected);
    assert!(bench.text().contains("over"));
}

#[test]
fn a_search_in_the_trail_goes_down_until_enough_was_found() {
    let mut bench = Bench::full();
    bench.keys("5 /").typed("actor:carol").forget().keys("enter");
    assert!(bench.asks(Slot::Audit));
    bench.answer(Slot::Audit, Answer::Events(Page { items: (1..=40).map(event).collect(), next_cursor: None }));
    let found = &bench.state.audit.search.as_ref().unwrap().found;
    assert_eq!(*found, [35, 28, 21, 14, 7]);
    assert!(bench.text().contains("5 found of 40"), "{}", bench.text());
}

#[test]
fn the_trail_of_seventy_thousand_events_jumps_to_its_first_and_fetches_only_around_it() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Heartbeat(head(70_000)))).keys("5").forget().keys("G");
    assert_eq!(bench.state.audit.current(), Some(1));
    let mut before = Bench::full();
    before.tell(Msg::Followed(Followed::Heartbeat(head(70_000)))).keys("5").forget().keys("3 0 0 0 0 G");
    let asked = before.asked.iter().rev().find_map(|e| match e {
        Effect::Load { query: Query::Events(ask), .. } => Some(ask.clone()),
        _ => None,
    });
    let asked = asked.unwrap();
    assert!(asked.before.is_some_and(|b| (30_000..30_400).contains(&b)) && asked.limit.is_some_and(|l| l <= 1000), "{asked:?}");
}

#[test]
fn the_chain_is_verified_on_request_and_said() {
    let mut bench = Bench::full();
    bench.keys("5 c").answer(Slot::Verify, Answer::Verified(1, head(40)));
    assert!(bench.text().contains("verified #1 to #40"), "{}", bench.text());
    bench.forget().keys("j j c");
    let asked = bench.asked.iter().find_map(|effect| match effect {
        Effect::Load { query: Query::Verify(from), .. } => Some(*from),
        _ => None,
    });
    assert_eq!(asked, Some(38), "from the event under the cursor on");
    bench.keys("c").answer(Slot::Verify, Answer::Broken { seq: 3, why: "the event was changed".into() });
    assert!(bench.text().contains("AUDIT CHAIN BROKEN AT #3"));
}

#[test]
fn going_to_a_key_opens_its_folders_and_fetches_its_history() {
    let mut bench = Bench::full();
    bench.tell(Msg::Went(Place::Keys(Some("support.refund.system".parse().unwrap()))));
    assert!(bench.asks(Slot::Keys) && bench.asks(Slot::History));
    let names = ["billing.dunning.user", "support.refund.system", "support.refund.tone"];
    bench.answer(Slot::Keys, Answer::Keys(names.map(row).to_vec()));
    bench.answer(Slot::History, Answer::History(Box::new(history())));
    let text = bench.size(120, 36).text();
    assert!(text.contains("support.refund.system · history") && text.contains("v5 0505"), "{text}");
}

#[test]
fn a_result_gets_the_number_of_its_event_whichever_comes_first() {
    let mine = |seq| {
        let mut event = event(seq);
        event.body.as_mut().unwrap().actor = crate::model::Actor::person("ana");
        Msg::Followed(Followed::Audit(Box::new(event)))
    };
    let said = || Msg::Said(crate::tui::msg::Notice::done("approve recorded", None));
    for first_event in [true, false] {
        let mut bench = Bench::full();
        let (one, two) = if first_event { (mine(41), said()) } else { (said(), mine(41)) };
        bench.tell(one).tell(two);
        assert!(bench.text().contains("approve recorded · #41"), "{}", bench.text());
        bench.tell(mine(42));
        assert!(bench.text().contains("approve recorded · #41"));
    }
}

#[test]
fn what_is_left_to_the_registry_and_broken_glass_are_told_in_the_inbox() {
    use crate::model::{PromotionState, Timestamp};
    let told = |change: fn(&mut crate::model::Promotion), owed: bool| {
        let mut bench = Bench::full();
        let mut lists = inbox();
        lists.waiting.clear();
        lists.others.clear();
        let mut view = other(40, "legal.notice");
        view.mine.opened = true;
        change(&mut view.promotion);
        if owed {
            lists.owed.push(view);
        } else {
            lists.waiting.push(view);
        }
        bench.keys("ctrl-r");
        bench.answer(Slot::Inbox, Answer::Inbox(Box::new(lists)));
        bench.text()
    };
    let far = |p: &mut crate::model::Promotion| p.at_time = Some(Timestamp(i64::from(u32::MAX) * 1_000_000));
    assert!(told(far, false).contains("the registry applies it in"), "{}", told(far, false));
    let row = |text: &str| text.lines().find(|line| line.contains("legal.notice")).unwrap_or_default().to_owned();
    assert!(row(&told(far, false)).contains(" in 79y"), "{}", told(far, false));
    let due = |p: &mut crate::model::Promotion| p.at_time = Some(p.at);
    assert!(row(&told(due, false)).contains(" due"), "{}", told(due, false));
    let ready = |p: &mut crate::model::Promotion| p.when_ready = true;
    assert!(told(ready, false).contains("applies it as soon as"), "{}", told(ready, false));
    assert!(row(&told(ready, false)).contains(" auto"), "{}", told(ready, false));
    let glass = |p: &mut crate::model::Promotion| p.break_glass = true;
    assert!(told(glass, false).contains("GLASS BROKEN"), "{}", told(glass, false));
    let missed = |p: &mut crate::model::Promotion| {
        (p.missed, p.when_ready, p.state) = (true, true, PromotionState::Stale);
        p.closed_reason = Some("rollback by person:carol #9".into());
    };
    let text = told(missed, true);
    assert!(text.contains("MISSED") && text.contains("missed") && text.contains("owed after the fact"), "{text}");
}

#[test]
fn a_rollout_that_goes_on_by_itself_says_when_and_a_paused_one_says_why() {
    use crate::model::{BasisPoints, ReadinessItem, ReadinessKind, ReadinessStatus};
    let shown = |waits: Vec<ReadinessItem>| {
        let mut views = rollouts();
        views.truncate(1);
        let to = BasisPoints::from_percent(25.0).unwrap();
        views[0].next = Some(crate::wire::pointers::NextStep { to, at: views[0].pointer.next_step_at, auto: true, waits });
        let mut bench = Bench::full();
        bench.keys("3 ctrl-r").answer(Slot::Rollouts, Answer::Pointers(views)).keys("k");
        bench.text()
    };
    let text = shown(Vec::new());
    assert!(text.contains("auto") && !text.contains("stepping"), "{text}");
    let text = shown(vec![ReadinessItem {
        kind: ReadinessKind::Freeze,
        name: "freeze".into(),
        status: ReadinessStatus::Unmet,
        reason: "frozen until Mon 08:00".into(),
        until: None,
        who: Vec::new(),
    }]);
    assert!(text.contains("PAUSED") && text.contains("freeze: frozen until Mon 08:00"), "{text}");
}

#[test]
fn a_policy_file_that_is_not_in_force_is_told_on_every_screen() {
    let mut bench = Bench::full();
    assert!(!bench.text().contains("POLICY FILE DIFFERS"));
    bench.state.session.world.as_mut().unwrap().policy_file = Some(crate::model::Digest([7; 32]));
    for room in ["1", "3", "5"] {
        bench.keys(room);
        assert!(bench.text().contains("POLICY FILE DIFFERS"), "{}", bench.text());
    }
}

#[test]
fn a_database_that_was_changed_by_hand_is_told_on_every_screen() {
    let mut bench = Bench::full();
    assert!(!bench.text().contains("CHANGED BY HAND"));
    bench.state.session.world.as_mut().unwrap().doubts = 2;
    for room in ["1", "3", "5"] {
        bench.keys(room);
        assert!(bench.text().contains("DATABASE CHANGED BY HAND: 2"), "{}", bench.text());
    }
}

/// The terminal learns that the registry was put back from an older state, and that it was released.
fn held_back(bench: &mut Bench, why: Option<&str>) {
    let (Some(me), Some(mut world)) = (bench.state.session.me.clone(), bench.state.session.world.clone()) else { return };
    world.read_only = why.map(str::to_owned);
    bench.answer(Slot::Session, Answer::Session(Box::new(me), Box::new(world)));
}

#[test]
fn a_registry_that_was_put_back_is_told_on_every_screen_until_it_is_released() {
    let mut bench = Bench::full();
    let told = |action| {
        let mut event = event(41);
        event.body.as_mut().unwrap().action = action;
        Msg::Followed(Followed::Audit(Box::new(event)))
    };
    bench.forget().tell(told(crate::model::Action::RegistryRestore));
    held_back(&mut bench, Some("put back from an older state"));
    for (width, height) in [(80, 24), (120, 36)] {
        bench.size(width, height);
        for room in ["1", "3", "5", "1 enter"] {
            bench.keys(room);
            let text = bench.text();
            assert!(text.contains("REGISTRY READ-ONLY, a kill still works: put back from"), "{room}: {text}");
            assert_eq!(text.lines().count(), usize::from(height));
        }
        bench.keys("q");
    }
    bench.forget().tell(told(crate::model::Action::RegistryRelease));
    held_back(&mut bench, None);
    assert!(!bench.text().contains("READ-ONLY"), "{}", bench.text());
}

#[test]
fn a_refusal_tells_who_may_not_read_the_trail_that_the_registry_only_holds_back() {
    use crate::model::{Code, Refusal};
    let mut bench = Bench::full();
    let problem = crate::wire::Problem::of(Refusal::new(Code::ReadOnly, "put back"), 503);
    let failure = Failure { kind: FailureKind::Refused, text: "put back".into(), hint: None, problem: Some(Box::new(problem)) };
    bench.forget().tell(Msg::Sent { ticket: uuid::Uuid::from_u128(1), receipt: Err(failure) });
    assert!(bench.asks(Slot::Session));
}

#[test]
fn while_the_registry_only_holds_back_a_kill_is_offered_and_a_promotion_says_why_not() {
    let mut bench = Bench::full();
    bench.keys("ctrl-r");
    held_back(&mut bench, Some("put back"));
    bench.size(120, 36).keys("! p");
    assert!(bench.text().contains("the registry is read-only"), "{}", bench.text());
    bench.tell(Msg::Painted).wait(200).keys("esc ! k");
    assert!(bench.text().contains("KILL in") && !bench.text().contains("the registry is read-only"), "{}", bench.text());
}

#[test]
fn a_registry_that_takes_no_token_is_not_said_to_be_away() {
    let mut bench = Bench::empty();
    let refused =
        crate::wire::Problem::of(crate::model::Refusal::new(crate::model::Code::Unauthenticated, "this needs a token"), 401);
    let failure =
        Failure { kind: FailureKind::Refused, text: "this needs a token".into(), hint: None, problem: Some(Box::new(refused)) };
    bench.tell(Msg::Loaded { slot: Slot::Session, generation: 1, answer: Err(failure) });
    bench.tell(Msg::Followed(Followed::Lost { attempt: 1, retry_in: 500, why: None, signed_out: true }));
    for (width, height) in [(80, 24), (120, 36)] {
        let text = bench.size(width, height).text();
        assert!(text.contains("countersign login --server http://127.0.0.1:7070"), "{text}");
        assert!(text.contains("not signed in") && !text.contains("reconnecting") && !text.contains("fetching"), "{text}");
    }
    bench.tell(Msg::Followed(Followed::Connected { contact: None }));
    assert!(!bench.text().contains("NOT SIGNED IN"));
}

#[test]
fn only_a_chain_that_a_person_accepted_ends_the_alarm() {
    let mut bench = Bench::full();
    bench.tell(Msg::Followed(Followed::Broken { seq: 17, why: "event #17 was seen before and is gone".into() }));
    let text = bench.size(80, 24).text();
    assert!(text.contains("do not trust this trail; a kill works"), "what to do comes before why: {text}");
    let connected = Msg::Followed(Followed::Connected { contact: Some(Contact { from: 1, head: head(16), first: false }) });
    bench.tell(connected.clone());
    assert!(bench.text().contains("CHAIN BROKEN"));
    bench.tell(Msg::Followed(Followed::Accepted)).tell(connected);
    assert!(!bench.text().contains("CHAIN BROKEN"), "{}", bench.text());
    assert!(matches!(bench.state.link.chain, Chain::Verified { from: 1, .. }));
}

#[test]
fn a_remark_goes_with_a_later_key_and_a_result_stays() {
    let mut bench = Bench::full();
    bench.tell(Msg::Said(crate::tui::msg::Notice::note("only a remark")));
    bench.keys("j");
    assert!(bench.text().contains("only a remark"), "the key that caused it and one in haste leave it");
    bench.wait(4_000).keys("2");
    assert!(!bench.text().contains("only a remark"), "{}", bench.text());
    bench.tell(Msg::Said(crate::tui::msg::Notice::done("held it", Some(41)))).wait(60_000).keys("1 j");
    assert!(bench.text().contains("held it"));
}

/// Keys, at the history of `support.refund.system`, as `change` leaves it; the cursor on its newest version.
fn at_history(change: impl FnOnce(&mut crate::wire::keys::KeyHistory)) -> Bench {
    let mut bench = Bench::full();
    bench.keys("2").answer(Slot::Keys, Answer::Keys(vec![row("support.refund.system")]));
    let mut history = history();
    change(&mut history);
    bench.answer(Slot::History, Answer::History(Box::new(history))).keys("enter g g");
    bench
}

#[test]
fn a_killed_version_serves_nobody_and_is_compared_with_what_everybody_gets() {
    let mut bench = at_history(|history| history.pointers.iter_mut().for_each(|pointer| pointer.killed = true));
    let text = bench.size(120, 36).text();
    assert!(text.contains("killed in prod, kil"), "{text}");
    assert!(!text.contains("baseline of") && text.contains("safe default"), "{text}");
    bench.keys("j d");
    assert!(!bench.text().contains("this is what serves"), "{}", bench.text());
    let pair = bench.asked.iter().rev().find_map(|e| match e {
        Effect::Load { query: Query::Pair(from, to), .. } => Some((*from, *to)),
        _ => None,
    });
    assert_eq!(pair, Some((Some(digest(1)), digest(4))), "the safe default, not the killed one");
    assert!(bench.text().contains("compared with the safe default"), "{}", bench.text());
    assert!(!bench.text().contains("a approve"), "without a promotion there is nothing to approve: {}", bench.text());
}

#[test]
fn a_rollback_that_ended_a_rollout_is_not_said_to_leave_a_rest_or_to_go_back_to_itself() {
    let mut bench = Bench::full();
    bench.keys("3 j");
    let mut pointer = crate::tui::dialogs::fixture::pointer();
    let back = pointer.baseline_digest.take().unwrap();
    (pointer.digest, pointer.rollout_pct, pointer.revision) = (back, crate::model::BasisPoints::ALL, 42);
    bench.tell(Msg::Followed(Followed::Pointer(Box::new(pointer))));
    let text = bench.size(120, 36).text();
    assert!(text.contains("100% get v3 "), "{text}");
    assert!(!text.contains("the rest gets") && !text.contains("!r rolls back to"), "{text}");
}

#[test]
fn rollouts_can_be_filtered() {
    let mut bench = Bench::full();
    bench.keys("3 /").typed("refund");
    let text = bench.text();
    assert!(text.contains("/ refund") && text.contains("1 of 1") && !text.contains("search.rerank"), "{text}");
    bench.keys("enter j");
    assert_eq!(bench.state.rollouts.current().unwrap().1.id().0.as_str(), "support.refund.system");
    bench.keys("esc");
    assert!(bench.text().contains("search.rerank"));
}

#[test]
fn what_is_owed_after_the_fact_offers_the_act_that_settles_it() {
    let mut bench = Bench::full();
    let mut lists = inbox();
    let mut owed = other(44, "aaa.killed.key");
    owed.promotion.state = crate::model::PromotionState::Applied;
    owed.mine.can_review = true;
    lists.waiting.clear();
    lists.owed.push(owed);
    bench.keys("ctrl-r").answer(Slot::Inbox, Answer::Inbox(Box::new(lists))).keys("g g");
    for (width, height) in [(80, 24), (120, 36)] {
        let text = bench.size(width, height).text();
        assert!(text.contains("s settle") && text.contains("a review: it took effect"), "{text}");
        assert!(!text.contains("a approve") && !text.contains("Stands"), "{text}");
    }
}

#[test]
fn a_comment_is_not_told_as_an_approval() {
    let mut bench = Bench::full();
    let mut said = event(41);
    said.body.as_mut().unwrap().detail.insert("verdict".into(), "comment".into());
    bench.tell(Msg::Followed(Followed::Audit(Box::new(said)))).keys("5");
    for (width, height) in [(80, 24), (120, 36)] {
        let text = bench.size(width, height).text();
        let line = text.lines().find(|line| line.contains("#41 ")).unwrap();
        assert!(line.contains(" comment ") && !line.contains("approve"), "{line}");
    }
    bench.keys("/").typed("kind:approve").keys("enter");
    assert!(!bench.text().contains(" comment "), "{}", bench.text());
}
