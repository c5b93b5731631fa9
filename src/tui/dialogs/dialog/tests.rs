//! An open dialog: kinds end to end, conflicts, lost answers, drafts.

use super::super::fixture::{Bench, digest, event, facts, failure, key, pointer, promotion, written};
use super::*;
use crate::model::{Code, KillReason, Refusal, Verdict};
use crate::tui::effect::{Answer, Call, Done, FailureKind, Receipt};
use crate::tui::state::Wire;
use crate::wire::Problem;

fn killed() -> Receipt {
    Receipt { seq: Some(18_444), done: Done::Voted }
}

fn conflict() -> Failure {
    let problem = Problem::of(Refusal::new(Code::PointerMoved, "the pointer moved"), 409);
    Failure { problem: Some(Box::new(problem)), ..failure(FailureKind::Refused) }
}

fn kill_of(bench: &Bench) -> crate::wire::pointers::Kill {
    match bench.sent().last() {
        Some((_, Call::Kill(_, _, kill))) => kill.clone(),
        other => panic!("no kill was sent: {other:?}"),
    }
}

#[test]
fn a_kill_is_two_keys_a_reason_a_tab_the_token_and_ctrl_s() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    let kill = kill_of(&bench);
    assert_eq!((kill.reason, kill.note, kill.seen_revision), (KillReason::Outage, None, Some(41)));
    bench.answer(Ok(killed()));
    assert!(bench.dialog.is_none());
    assert_eq!(bench.said(), ["killed support.refund.system in prod #18444"]);
}

#[test]
fn keys_that_were_typed_before_the_dialog_was_painted_do_nothing() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).typing("o⇥prod§");
    bench.tell(&Msg::Painted).typing("§").wait(100);
    assert_eq!(bench.sent(), []);
    let dialog = bench.dialog.as_ref().unwrap();
    assert_eq!((dialog.arming.typed(), dialog.arming.dropped(), dialog.form.focus), ("", 8, Focus::Choice));
    bench.typing("o⇥prod§");
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_paste_does_nothing_but_fill_a_text() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready();
    bench.tell(&Msg::Pasted("!ko\tprod\u{13}".into())).typing("o⇥");
    bench.tell(&Msg::Pasted("prod".into())).typing("§");
    assert_eq!(bench.sent(), []);
    assert!(bench.blocked()[0].contains("paste"), "{:?}", bench.blocked());
    bench.typing("prod⇥");
    bench.tell(&Msg::Pasted("INC-1\nand more\u{13}".into())).typing("§");
    assert_eq!(kill_of(&bench).note.as_deref(), Some("INC-1\nand more"));
}

#[test]
fn held_keys_do_nothing() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready();
    for key in [Key::char('o'), Key::plain(KeyCode::Tab)].into_iter().chain("prod".chars().map(Key::char)).chain([Key::ctrl('s')])
    {
        bench.key(key);
        for _ in 0..3 {
            bench.steady += Duration::from_millis(33);
            // With the enhancement the terminal says so; without, it presses.
            bench.key(Key { press: Press::Repeat, ..key }).key(Key { press: Press::Up, ..key });
            bench.key(key);
        }
    }
    assert_eq!(bench.sent(), []);
}

#[test]
fn two_hundred_updates_a_second_do_not_disturb_a_kill() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready();
    let mut moved = pointer();
    for key in [Key::char('o'), Key::plain(KeyCode::Tab)].into_iter().chain("prod".chars().map(Key::char)).chain([Key::ctrl('s')])
    {
        for _ in 0..20 {
            bench.steady += Duration::from_millis(5);
            moved.revision += 1;
            bench.tell(&Msg::Followed(Followed::Pointer(Box::new(moved.clone()))));
        }
        bench.key(key);
    }
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_kill_needs_neither_facts_nor_a_registry_to_be_armed() {
    let mut bench = Bench::new();
    bench.link.wire = Wire::Reconnecting(3);
    bench.open(DialogKind::Kill).tell(&Msg::Painted).wait(200).typing("s⇥prod§");
    assert_eq!((kill_of(&bench).reason, kill_of(&bench).seen_revision), (KillReason::Safety, None));
    bench.answer(Err(failure(FailureKind::Unreachable)));
    assert!(bench.dialog.is_some());
    assert!(matches!(bench.dialog.as_ref().unwrap().trying, Some((Stage::Again(_), ..))));
    let first = kill_of(&bench);
    bench.wait(1_000);
    assert_eq!(bench.sent().len(), 2, "it keeps trying");
    assert_eq!(bench.sent()[0], bench.sent()[1], "with the same key and the same words");
    assert_eq!(kill_of(&bench), first);
    bench.answer(Ok(killed()));
    assert!(bench.dialog.is_none());
    bench.wait(60_000);
    assert_eq!(bench.sent().len(), 2, "once it is in effect nothing more is sent");
}

#[test]
fn a_kill_that_a_hanging_registry_does_not_answer_is_not_in_effect_after_three_seconds_and_is_sent_once() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    for _ in 0..40 {
        bench.wait(250);
    }
    let woken = bench.effects.iter().filter(|effect| matches!(effect, Effect::WakeAt(_))).count();
    assert!(woken > 8, "it looks at the time by itself");
    assert_eq!(bench.dialog.as_ref().unwrap().trying, Some((Stage::Waiting, 10, 1)));
    bench.typing("⎋");
    let banner = bench.desk.banner(bench.steady).unwrap();
    assert!(banner.contains("NOT YET IN EFFECT as far as is known, trying for 10 s"), "{banner}");
    let before = bench.effects.len();
    bench.wait(1_000).wait(1_000);
    assert!(bench.effects[before..].iter().any(|effect| matches!(effect, Effect::WakeAt(_))), "with no dialog open too");
    assert_eq!(bench.sent().len(), 1, "the request goes on waiting");
    bench.answer(Ok(killed()));
    assert_eq!(bench.desk.banner(bench.steady), None);
}

#[test]
fn a_refused_token_is_not_called_a_silent_registry() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("ok");
    bench.link.wire = Wire::Reconnecting(4);
    bench.wait(250);
    assert_eq!(bench.blocked(), ["the registry does not answer"]);
    bench.link.wire = Wire::SignedOut;
    bench.wait(250);
    assert_eq!(bench.blocked(), ["not signed in: the token ended or was revoked"]);
}

#[test]
fn esc_lets_a_kill_go_on_behind_and_the_status_line_says_so() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    bench.answer(Err(failure(FailureKind::Unreachable))).typing("⎋");
    assert!(bench.dialog.is_none());
    let banner = bench.desk.banner(bench.steady).unwrap();
    assert!(banner.contains("NOT YET IN EFFECT") && banner.contains("kill support.refund.system in prod"), "{banner}");
    bench.wait(5_000);
    assert_eq!(bench.sent().len(), 2);
    bench.answer(Ok(killed()));
    assert_eq!(bench.said(), ["killed support.refund.system in prod #18444"]);
    assert_eq!(bench.desk.banner(bench.steady), None);
}

#[test]
fn a_kill_can_be_aimed_elsewhere_which_starts_the_token_over() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).tell(&Msg::Painted).wait(200).typing("o⇥prod]");
    let dialog = bench.dialog.as_ref().unwrap();
    assert_eq!((dialog.arming.expected(), dialog.arming.typed()), (Some("stage"), ""));
    bench.typing("prod§");
    assert_eq!(bench.sent(), [], "the other environment's name does not arm");
    bench.typing("⇥⇥⇥⇥⇥");
    bench.tell(&Msg::Pressed(Key::ctrl('u'))).typing("stage§");
    assert!(matches!(bench.sent().last(), Some((_, Call::Kill(_, environment, _))) if environment.as_str() == "stage"));
}

#[test]
fn an_approval_signs_what_the_dialog_shows() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("tone ok§");
    let Some((_, Call::Vote(id, vote))) = bench.sent().pop() else { panic!("no vote") };
    assert_eq!(id, promotion().promotion.promotion_id);
    assert_eq!((vote.verdict, vote.gate.as_deref(), vote.rationale.as_str()), (Verdict::Approve, Some("safety"), "tone ok"));
    assert_eq!(vote.statement, Some(promotion().promotion.statement));
}

#[test]
fn what_would_sign_something_else_than_the_registry_asks_for_is_not_sent() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready();
    let mut other = promotion();
    other.rule.expires = Some(60);
    bench.key(Key::ctrl('r')).read(Slot::Dialog, Answer::Promotion(Box::new(other))).typing("ok§");
    assert_eq!(bench.sent(), []);
    assert!(bench.blocked()[0].contains("not what the registry asks you to sign"), "{:?}", bench.blocked());
}

#[test]
fn approve_waits_for_the_reader_and_says_for_what() {
    let mut refused = promotion();
    refused.mine.can_approve.clear();
    refused.mine.approve_refused = Some("you are an author of it".into());
    let mut hidden = promotion();
    hidden.hidden = vec![crate::model::approval::HiddenSpan { path: "/body".into(), start: 3, code_points: "U+200B".into() }];
    let seen = |changes| crate::tui::msg::Seen { changes, total: 3, acknowledged: Vec::new() };
    let cases = [
        (promotion(), None, "read the change first"),
        (promotion(), Some(seen(2)), "1 change not yet seen"),
        (refused, Some(seen(3)), "you are an author of it"),
        (hidden, Some(seen(3)), "invisible characters are not acknowledged"),
    ];
    for (view, seen, why) in cases {
        let mut bench = Bench::new();
        let mut request = DialogRequest::new(DialogKind::Approve, key());
        (request.promotion, request.seen) = (Some(Box::new(view.clone())), seen);
        bench.open_request(request).tell(&Msg::Painted).wait(200);
        bench.read(Slot::Dialog, Answer::Promotion(Box::new(view))).typing("ok§");
        assert_eq!(bench.sent(), [], "{why}");
        assert!(bench.blocked()[0].contains(why), "{:?}", bench.blocked());
    }
}

#[test]
fn a_rationale_of_blanks_is_none() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("  §");
    assert_eq!((bench.sent(), bench.blocked()), (vec![], vec!["say why".to_owned()]));
}

#[test]
fn another_revision_disarms_a_rollback_until_ctrl_r() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Rollback).ready().typing("bad answers⇥prod");
    assert_eq!(bench.blocked(), Vec::<String>::new());
    let mut moved = facts();
    let view = moved.pointer.as_mut().unwrap();
    (view.pointer.revision, view.moved_by) = (42, Some("person:bob".into()));
    bench.tell(&Msg::Followed(Followed::Pointer(Box::new(view.pointer.clone()))));
    bench.read(Slot::DialogExtra, Answer::Facts(Box::new(moved.clone()))).typing("§");
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.blocked(), ["changed by bob (revision: 41 → 42): ctrl-r takes the new facts"]);
    bench.key(Key::ctrl('r')).read(Slot::DialogExtra, Answer::Facts(Box::new(moved))).typing("§");
    assert_eq!(bench.blocked(), ["type the token"], "the token starts over, the rationale stays");
    bench.typing("prod§");
    let Some((_, Call::Rollback(_, _, body))) = bench.sent().pop() else { panic!("no rollback") };
    assert_eq!((body.seen_revision, body.to_digest, body.rationale.as_str()), (Some(42), Some(digest(3)), "bad answers"));
}

#[test]
fn a_conflict_keeps_the_dialog_and_the_rationale_and_clears_the_token() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Rollback).ready().typing("bad answers⇥prod§");
    bench.answer(Err(conflict()));
    let mut moved = facts();
    moved.pointer.as_mut().unwrap().pointer.revision = 42;
    let loads = |b: &Bench| b.effects.iter().filter(|e| matches!(e, Effect::Load { .. })).count();
    assert!(loads(&bench) >= 2, "the facts are read again at once");
    bench.read(Slot::DialogExtra, Answer::Facts(Box::new(moved)));
    let dialog = bench.dialog.as_ref().unwrap();
    assert_eq!((dialog.form.reason().as_str(), dialog.arming.typed()), ("bad answers", ""));
    assert_eq!(dialog.arming.differences().len(), 1, "what differs is marked");
    assert!(dialog.failure.is_some());
    bench.typing("prod§");
    assert_eq!(bench.sent().len(), 2);
    assert_eq!(bench.sent()[0].0, bench.sent()[1].0, "one key for all attempts of a dialog");
}

#[test]
fn a_timeout_is_an_unknown_outcome_and_asks_again_with_the_same_key() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("ok§");
    bench.answer(Err(failure(FailureKind::Timeout)));
    assert!(bench.dialog.as_ref().unwrap().waiting);
    bench.typing("§§§");
    assert_eq!(bench.sent().len(), 1, "the person cannot send it a second time");
    bench.wait(2_000);
    assert_eq!((bench.sent().len(), bench.sent()[0] == bench.sent()[1]), (2, true));
    bench.answer(Ok(Receipt { seq: Some(7), done: Done::Voted }));
    assert_eq!(bench.said(), ["approved support.refund.system for prod on safety #7"]);
}

#[test]
fn what_never_left_can_be_sent_again_by_the_person() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("ok§");
    bench.answer(Err(failure(FailureKind::Unreachable)));
    assert_eq!(bench.blocked(), Vec::<String>::new());
    bench.wait(9_000);
    assert_eq!(bench.sent().len(), 1, "only a kill keeps trying");
    bench.typing("§");
    assert_eq!(bench.sent().len(), 2);
}

#[test]
fn a_failure_stays_until_the_next_attempt() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("ok§");
    bench.answer(Err(failure(FailureKind::Refused))).wait(60_000);
    assert_eq!(bench.dialog.as_ref().unwrap().failure.as_ref().unwrap().text, "no answer");
}

#[test]
fn esc_keeps_the_text_as_a_draft_and_success_forgets_it() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("half a sen⎋");
    assert!(bench.dialog.is_none());
    bench.open(DialogKind::Approve);
    let dialog = bench.dialog.as_ref().unwrap();
    assert!(dialog.restored);
    assert_eq!(dialog.form.reason(), "half a sen");
    bench.ready().typing("tence§").answer(Ok(Receipt { seq: None, done: Done::Voted }));
    bench.open(DialogKind::Approve);
    assert_eq!(bench.dialog.as_ref().unwrap().form.reason(), "");
    let last = bench.effects.iter().rev().find_map(|effect| match effect {
        Effect::Draft { name, text } if name.starts_with("approve.") => Some(text.clone()),
        _ => None,
    });
    assert_eq!(last, Some(None), "on disk too");
}

#[test]
fn an_act_left_unanswered_by_an_earlier_process_is_not_sent_unasked() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    let kept: std::collections::BTreeMap<String, String> = bench
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Draft { name, text: Some(text) } => Some((name.clone(), text.clone())),
            _ => None,
        })
        .collect();
    let first = bench.sent().pop().unwrap();
    let mut bench = Bench::new();
    bench.desk = super::super::desk::Desk::new(kept, bench.steady);
    bench.wait(60_000);
    assert_eq!(bench.sent(), []);
    let request = bench.with(|_, cx| {
        let mut desk = std::mem::take(cx.desk);
        let request = desk.asks(cx);
        *cx.desk = desk;
        request
    });
    bench.open_request(request.unwrap()).tell(&Msg::Painted).wait(200);
    assert!(bench.text().contains("kill support.refund.system in prod"), "{}", bench.text());
    assert!(bench.text().contains("BY HAND"));
    bench.typing("§");
    assert_eq!(bench.sent(), [], "a kill asks for its token here too");
    bench.typing("prod§");
    assert_eq!(bench.sent(), [first], "the same act with the same key");
    bench.answer(Ok(killed()));
    assert!(bench.dialog.is_none());
}

#[test]
fn an_act_for_another_registry_is_left_alone() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    let name = format!("act.{}", bench.sent()[0].0);
    let text = bench.desk.draft(&name).unwrap().replace("http://127.0.0.1:1", "http://elsewhere");
    bench.desk = super::super::desk::Desk::new([(name, text)].into(), bench.steady);
    let request = bench.with(|_, cx| {
        let mut desk = std::mem::take(cx.desk);
        desk.asks(cx)
    });
    assert_eq!(request, None);
}

#[test]
fn read_only_sends_nothing_not_even_a_kill_or_a_hold() {
    let mut bench = Bench::new();
    bench.session.read_only = true;
    bench.open(DialogKind::Kill).ready().typing("o⇥prod§");
    assert_eq!(bench.blocked(), ["this terminal is read-only"]);
    bench.open(DialogKind::Hold);
    assert_eq!(bench.sent(), []);
}

#[test]
fn hold_is_done_at_once() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Hold);
    assert!(bench.dialog.is_none());
    assert!(matches!(bench.sent()[..], [(_, Call::Hold(..))]));
}

#[test]
fn promote_finds_the_open_promotion_and_asks_for_the_last_segment() {
    let mut bench = Bench::new();
    let mut request = DialogRequest::new(DialogKind::Promote, key());
    request.environment = Some("prod".parse().unwrap());
    bench.open_request(request).ready().read(Slot::Dialog, Answer::Promotion(Box::new(promotion())));
    assert_eq!(bench.blocked(), ["type the token"]);
    assert!(bench.text().contains("the 5 % of users on v4 040404040404 lose it"), "{}", bench.text());
    bench.typing("⇥system§");
    assert!(matches!(bench.sent()[..], [(_, Call::Apply(..))]));
}

#[test]
fn a_step_goes_to_the_next_share_of_the_plan_with_the_revision_that_was_shown() {
    let mut bench = Bench::new();
    bench.open(DialogKind::StepUp).ready().typing("guards are fine⇥system§");
    let Some((_, Call::Step(_, _, body))) = bench.sent().pop() else { panic!("no step: {:?}", bench.blocked()) };
    assert_eq!((body.to.map(crate::model::BasisPoints::get), body.down, body.seen_revision), (Some(2_500), false, Some(41)));
}

#[test]
fn a_revive_offers_what_served_before_and_the_killed_one_last() {
    let mut bench = Bench::new();
    let mut request = DialogRequest::new(DialogKind::Revive, key());
    (request.environment, request.digest) = (Some("prod".parse().unwrap()), Some(digest(4)));
    let mut facts = facts();
    facts.pointer.as_mut().unwrap().pointer.killed = true;
    bench.open_request(request).tell(&Msg::Painted).wait(200).read(Slot::DialogExtra, Answer::Facts(Box::new(facts)));
    let choice = bench.dialog.as_ref().unwrap().form.choice.clone().unwrap();
    assert_eq!((choice.chosen(), choice.items.last().unwrap().1.as_str()), (Some("v3 030303030303"), "v4 040404040404"));
    assert!(bench.text().contains("open already: promote to"), "{}", bench.text());
    bench.typing("calm again⇥system§");
    let Some((_, Call::Open(body))) = bench.sent().pop() else { panic!("not opened: {:?}", bench.blocked()) };
    assert_eq!((body.revive, body.to_digest, body.percent), (true, digest(3), None));
}

#[test]
fn a_new_version_keeps_all_but_the_text_and_survives_esc() {
    let open = |bench: &mut Bench| {
        let mut request = DialogRequest::new(DialogKind::Draft, key());
        request.digest = Some(digest(4));
        bench.open_request(request).tell(&Msg::Painted).wait(200);
        bench.read(Slot::Dialog, Answer::Version(Box::new(written())));
    };
    let mut bench = Bench::new();
    open(&mut bench);
    assert_eq!(bench.dialog.as_ref().unwrap().form.body.as_ref().unwrap().text(), "Refunds take {{ days }} days.\n");
    assert_eq!(bench.blocked()[0], "nothing is changed yet");
    bench.key(Key { ctrl: true, ..Key::plain(KeyCode::Char('e')) }).typing("Ask.⎋");
    open(&mut bench);
    bench.typing("⇥shorter§");
    let Some((_, Call::Save(_, body))) = bench.sent().pop() else { panic!("not saved: {:?}", bench.blocked()) };
    let kept = written().content.unwrap();
    assert_eq!(body.content.body, "Refunds take {{ days }} days.Ask.\n");
    assert_eq!((&body.content.variables, &body.content.model_pin), (&kept.variables, &kept.model_pin));
    assert_eq!(body.rationale, "shorter");
}

#[test]
fn a_new_version_that_would_be_refused_says_why_while_it_is_written() {
    let mut bench = Bench::new();
    let mut request = DialogRequest::new(DialogKind::Draft, key());
    request.digest = Some(digest(4));
    bench.open_request(request).tell(&Msg::Painted).wait(200);
    bench.read(Slot::Dialog, Answer::Version(Box::new(written()))).typing("{{ nobody }}⇥why§");
    assert_eq!(bench.sent(), []);
    assert!(bench.blocked()[0].contains("nobody"), "{:?}", bench.blocked());
}

#[test]
fn an_answer_without_a_number_takes_it_from_the_stream_whichever_comes_first() {
    let voted = || Ok(Receipt { seq: None, done: Done::Voted });
    let told = |seq, actor| Msg::Followed(Followed::Audit(Box::new(event(seq, actor))));
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().tell(&told(7, "ana")).typing("ok§");
    bench.tell(&told(8, "bob")).tell(&told(9, "ana")).answer(voted());
    assert_eq!(bench.said(), ["approved support.refund.system for prod on safety #9"]);
    let mut bench = Bench::new();
    bench.open(DialogKind::Approve).ready().typing("ok§").answer(voted());
    bench.tell(&told(8, "bob")).tell(&told(9, "ana")).tell(&told(10, "ana"));
    let text = "approved support.refund.system for prod on safety";
    assert_eq!(bench.said(), [text.to_owned(), format!("{text} #9")]);
}

#[test]
fn the_environment_typed_right_after_the_reason_is_the_token_and_changes_no_reason() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("qprod");
    let dialog = bench.dialog.as_ref().unwrap();
    assert_eq!((dialog.arming.typed(), dialog.form.focus), ("prod", Focus::Token));
    bench.typing("§");
    assert_eq!(kill_of(&bench).reason, KillReason::Quality);
}

#[test]
fn a_reason_can_still_be_changed_and_the_same_letter_twice_is_one() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready().typing("oo");
    assert_eq!(bench.dialog.as_ref().unwrap().form.focus, Focus::Choice);
    bench.key(Key::plain(KeyCode::Tab)).key(Key::plain(KeyCode::BackTab)).typing("t⇥prod§");
    assert_eq!(kill_of(&bench).reason, KillReason::Test);
}

#[test]
fn who_may_not_kill_is_told_before_and_kept_from_nothing() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Kill).ready();
    assert!(!bench.text().contains("you may not kill"), "{}", bench.text());
    bench.session.me.as_mut().unwrap().roles[0].namespace = Some("billing.**".into());
    bench.open(DialogKind::Kill).ready();
    assert!(bench.text().contains("you may not kill here, as far as is known: call a releaser or oncall"), "{}", bench.text());
    bench.typing("o⇥prod§");
    assert_eq!(bench.sent().len(), 1, "what is known may be out of date: a kill is sent");
}

#[test]
fn pages_scroll_what_is_read_while_the_rationale_has_the_keys() {
    let mut bench = Bench::new();
    bench.open(DialogKind::Promote).ready();
    assert_eq!(bench.dialog.as_ref().unwrap().form.focus, Focus::Why);
    bench.key(Key::plain(KeyCode::PageDown));
    assert_eq!(bench.dialog.as_ref().unwrap().scroll, 5);
}

#[test]
fn what_a_promotion_replaced_is_said_without_a_share_that_it_never_had() {
    let mut bench = Bench::new();
    let mut view = promotion();
    view.promotion.state = crate::model::PromotionState::Applied;
    view.promotion.review_owed = true;
    bench.open(DialogKind::SettleReview).tell(&Msg::Painted).wait(200);
    bench.read(Slot::Dialog, Answer::Promotion(Box::new(view)));
    let text = bench.text();
    let from = text.lines().find(|line| line.starts_with("from")).unwrap();
    assert!(!from.contains('%'), "{text}");
}
