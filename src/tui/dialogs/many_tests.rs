//! One act on many rows: what leaves the set, the token, an outcome a row.

use super::fixture::{Bench, facts, failure, key, promotion};
use crate::model::{Code, Refusal};
use crate::tui::effect::{Answer, Call, Done, Effect, Failure, FailureKind, Query, Receipt, Slot};
use crate::tui::msg::{DialogKind, DialogRequest, Msg, Seen};
use crate::wire::Problem;
use crate::wire::pointers::KillOutcome;
use crate::wire::promotions::PromotionView;
use uuid::Uuid;

fn numbered(n: u128) -> PromotionView {
    let mut view = promotion();
    view.promotion.promotion_id = Uuid::from_u128(n);
    view.promotion.key_id = format!("support.refund.k{n}").parse().unwrap();
    view.promotion.statement = crate::rules::statement::Statement::of(&view.promotion).digest();
    view
}

fn seen(changes: usize) -> Seen {
    Seen { changes, total: 3, acknowledged: Vec::new() }
}

/// Three promotions: two were read to their end, of the third one change was not seen.
fn approvals() -> (DialogRequest, Vec<PromotionView>) {
    let views: Vec<PromotionView> = (1..=3).map(numbered).collect();
    let mut request = DialogRequest::new(DialogKind::Approve, key());
    for (view, changes) in views.iter().zip([3, 3, 2]) {
        let mut row = DialogRequest::new(DialogKind::Approve, view.promotion.key_id.clone());
        (row.promotion, row.seen) = (Some(Box::new(view.clone())), Some(seen(changes)));
        request.set.push(row);
    }
    (request, views)
}

fn answers(views: &[PromotionView]) -> Answer {
    Answer::Several(views.iter().map(|view| Ok(Answer::Promotion(Box::new(view.clone())))).collect())
}

/// The dialog about three approvals, read and ready for keys.
fn bench() -> (Bench, Vec<PromotionView>) {
    let (request, views) = approvals();
    let mut bench = Bench::new();
    bench.open_request(request).tell(&Msg::Painted).wait(1_000).read(Slot::Dialog, answers(&views));
    (bench, views)
}

fn answer(bench: &mut Bench, nth: usize, receipt: Result<Receipt, Failure>) {
    let ticket = bench.sent()[nth].0;
    bench.tell(&Msg::Sent { ticket, receipt });
}

fn voted() -> Receipt {
    Receipt { seq: Some(90), done: Done::Voted }
}

#[test]
fn each_row_is_read_and_one_that_was_not_seen_leaves_with_its_reason() {
    let (bench, _) = bench();
    let asked =
        bench.effects.iter().any(|effect| matches!(effect, Effect::Load { query: Query::Several(q), .. } if q.len() == 3));
    assert!(asked, "one request, three things");
    let text = bench.text();
    assert!(text.contains("+ support.refund.k1 prod"), "{text}");
    assert!(text.contains("- support.refund.k3 prod  left out: "), "{text}");
    assert!(text.contains("82400 resolves a minute"), "of the two that stay: {text}");
}

#[test]
fn nothing_goes_out_without_the_count_as_token_and_a_rationale() {
    let (mut bench, views) = bench();
    bench.typing("Read them.§");
    assert_eq!(bench.sent(), [], "no token");
    bench.typing("⇥3 keys§");
    assert_eq!(bench.sent(), [], "two are left, not three");
    bench.key(crate::tui::keymap::Key::ctrl('u')).typing("2 keys§");
    let sent = bench.sent();
    let votes: Vec<(Uuid, bool)> = sent
        .iter()
        .map(|(_, call)| match call {
            Call::Vote(id, vote) => (*id, vote.rationale == "Read them." && vote.statement.is_some()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(votes, views[..2].iter().map(|view| (view.promotion.promotion_id, true)).collect::<Vec<_>>());
    assert_ne!(sent[0].0, sent[1].0, "each has a key of its own");
}

#[test]
fn a_paste_never_counts_in_the_token_of_many() {
    let (mut bench, _) = bench();
    bench.typing("Read them.⇥").tell(&Msg::Pasted("2 keys".into())).typing("§");
    assert_eq!(bench.sent(), []);
}

#[test]
fn each_row_ends_with_an_outcome_and_nothing_closes_before_it_was_looked_at() {
    let (mut bench, _) = bench();
    bench.typing("Read them.⇥2 keys§");
    answer(&mut bench, 0, Ok(voted()));
    let problem = Problem::of(Refusal::new(Code::PolicyUnmet, "the policy changed"), 409);
    let refused =
        Failure { problem: Some(Box::new(problem)), text: "the policy changed".into(), ..failure(FailureKind::Refused) };
    answer(&mut bench, 1, Err(refused));
    let text = bench.text();
    assert!(text.contains("+ support.refund.k1 prod  done #90"), "{text}");
    assert!(text.contains("x support.refund.k2 prod  the policy changed"), "{text}");
    assert!(text.contains("- support.refund.k3 prod  left out"), "{text}");
    assert!(bench.said().contains(&"approved 1 of 2 rows".to_owned()), "{:?}", bench.said());
    bench.typing("§⎋");
    assert!(bench.dialog.is_none() && bench.sent().len() == 2, "esc leaves, nothing was sent again");
    assert!(bench.effects.contains(&Effect::Tell(Box::new(Msg::Settled))), "and the marks go");
}

#[test]
fn a_row_whose_answer_was_lost_is_asked_again_with_its_own_key() {
    let (mut bench, _) = bench();
    bench.typing("Read them.⇥2 keys§");
    answer(&mut bench, 0, Ok(voted()));
    let lost = bench.sent()[1].0;
    answer(&mut bench, 1, Err(failure(FailureKind::Timeout)));
    assert!(bench.dialog.as_ref().unwrap().results.is_none(), "not over");
    bench.wait(5_000);
    assert_eq!(bench.sent().last().unwrap().0, lost);
    bench.answer(Ok(voted()));
    assert!(bench.said().contains(&"approved 2 of 2 rows".to_owned()), "{:?}", bench.said());
}

#[test]
fn a_change_of_one_row_disarms_the_set() {
    let (mut bench, mut views) = bench();
    bench.typing("Read them.⇥2 keys");
    assert_eq!(bench.blocked(), Vec::<String>::new());
    views[0].pointer.as_mut().unwrap().revision += 1;
    bench.wait(11_000).read(Slot::Dialog, answers(&views)).typing("§");
    assert_eq!(bench.sent(), []);
    assert!(bench.blocked().iter().any(|why| why.starts_with("changed by")), "{:?}", bench.blocked());
}

#[test]
fn acts_that_take_one_row_say_so() {
    for kind in [DialogKind::StepUp, DialogKind::Override, DialogKind::Revive] {
        let (mut request, views) = approvals();
        request.kind = kind;
        request.set.iter_mut().for_each(|row| row.kind = kind);
        let mut bench = Bench::new();
        bench.open_request(request).tell(&Msg::Painted).wait(1_000).read(Slot::Dialog, answers(&views)).typing("x⇥3 keys§");
        assert_eq!(bench.sent(), []);
        assert!(bench.blocked()[0].contains("one row at a time"), "{:?}", bench.blocked());
    }
}

#[test]
fn rollouts_are_held_together_only_behind_a_token() {
    let mut request = DialogRequest::new(DialogKind::Hold, key());
    for environment in ["stage", "prod"] {
        let mut row = DialogRequest::new(DialogKind::Hold, key());
        row.environment = Some(environment.parse().unwrap());
        request.set.push(row);
    }
    let mut bench = Bench::new();
    bench.open_request(request).tell(&Msg::Painted).wait(1_000);
    bench.read(Slot::Dialog, Answer::Several(vec![Ok(Answer::Facts(Box::new(facts()))), Err(failure(FailureKind::Timeout))]));
    bench.typing("Wait.§");
    assert_eq!(bench.sent(), []);
    bench.typing("⇥1 key§");
    assert!(matches!(&bench.sent()[..], [(_, Call::Hold(..))]), "what could not be read is left out: {:?}", bench.sent());
}

#[test]
fn many_kills_show_what_became_of_each_key() {
    let mut request = DialogRequest::new(DialogKind::Kill, key());
    request.environment = Some("prod".parse().unwrap());
    request.more = vec![key(), "support.refund.other".parse().unwrap()];
    let mut bench = Bench::new();
    bench.open_request(request).ready().typing("o⇥2 keys§");
    let refused = Problem::of(Refusal::not_found(), 404);
    let outcomes = vec![
        KillOutcome { key_id: key().to_string(), moved: None, problem: None },
        KillOutcome { key_id: "support.refund.other".into(), moved: None, problem: Some(refused) },
    ];
    bench.answer(Ok(Receipt { seq: None, done: Done::Kills(outcomes) }));
    let text = bench.text();
    assert!(text.contains("+ support.refund.system  killed already") && text.contains("x support.refund.other  "), "{text}");
    bench.typing("⏎");
    assert!(bench.dialog.is_none());
}
