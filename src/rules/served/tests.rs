//! Histories in, periods out.

use super::*;
use crate::model::{Actor, PlanStep, PromotionState, Timestamp};

fn d(letter: char) -> Digest {
    Digest([u8::try_from(letter).unwrap(); 32])
}

fn share(percent: f64) -> BasisPoints {
    BasisPoints::from_percent(percent).unwrap()
}

fn moment(seq: u64) -> Moment {
    Moment { seq, at: Timestamp(0).plus_seconds(i64::try_from(seq).unwrap()) }
}

/// One change: number, act, digest, percent, baseline, killed.
type Row = (u64, Act, char, f64, Option<char>, bool);

fn change((seq, act, digest, percent, baseline, killed): Row) -> Change {
    let pointer = EnvironmentPointer {
        key_id: "support.greeting".parse().unwrap(),
        environment: "production".parse().unwrap(),
        digest: d(digest),
        rollout_pct: share(percent),
        killed,
        updated_at: moment(seq).at,
        revision: i64::try_from(seq).unwrap(),
        baseline_digest: baseline.map(d),
        held: false,
        plan: vec![PlanStep(share(percent), None)],
        next_step_at: None,
    };
    let promotion = Promotion {
        promotion_id: Uuid::from_u128(u128::from(seq)),
        key_id: pointer.key_id.clone(),
        from_digest: None,
        to_digest: Some(pointer.digest),
        environment: pointer.environment.clone(),
        actor: Actor::person("dee"),
        kind: act.kind(),
        at: moment(seq).at,
        act,
        state: PromotionState::Applied,
        rationale: format!("change {seq}"),
        reason: None,
        rollout_pct: pointer.rollout_pct,
        plan: pointer.plan.clone(),
        baseline_digest: pointer.baseline_digest,
        safe_default_digest: Some(d('S')),
        pointer_revision: pointer.revision - 1,
        policy_digest: Digest::ZERO,
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: None,
        applied_at: Some(moment(seq).at),
        applied_by: Some(Actor::person("carol")),
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        closed_reason: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
    };
    Change { moment: moment(seq), promotion, pointer }
}

/// As `digest 5% #3-#5 by 3 under 3`.
fn told(digest: char, rows: &[Row], marks: &[(u64, bool)]) -> Vec<String> {
    let history: Vec<Change> = rows.iter().copied().map(change).collect();
    let marks: Vec<_> = marks.iter().map(|(seq, on)| (moment(*seq), *on)).collect();
    let number = |id: Uuid| id.as_u128().to_string();
    let told = |p: &Period| {
        let until = p.until.map_or(String::new(), |until| format!("#{}", until.seq));
        let by = p.began_by.as_ref().map_or("a lift".into(), |began| number(began.promotion_id));
        let under = p.approved.map_or("none".into(), number);
        format!("{} {}% #{}-{until} by {by} under {under}", p.served_as, p.share, p.from.seq)
    };
    periods(&d(digest), &history, &marks, &[]).iter().map(told).collect()
}

#[test]
fn a_rollout_serves_in_growing_shares_and_its_baseline_in_shrinking_ones() {
    let rows = [
        (1, Act::Promote, 'A', 100.0, None, false),
        (3, Act::Promote, 'B', 5.0, Some('A'), false),
        (4, Act::Step, 'B', 25.0, Some('A'), false),
        // A hold changes no answer, so it begins no period.
        (5, Act::Step, 'B', 25.0, Some('A'), false),
        (6, Act::Step, 'B', 100.0, None, false),
    ];
    let b = ["digest 5% #3-#4 by 3 under 3", "digest 25% #4-#6 by 4 under 3", "digest 100% #6- by 6 under 3"];
    assert_eq!(told('B', &rows, &[]), b);
    let a = ["digest 100% #1-#3 by 1 under 1", "baseline 95% #3-#4 by 3 under 3", "baseline 75% #4-#6 by 4 under 3"];
    assert_eq!(told('A', &rows, &[]), a);
    assert!(told('C', &rows, &[]).is_empty());
}

#[test]
fn a_kill_ends_every_period_but_the_safe_defaults() {
    let rows = [
        (1, Act::Promote, 'A', 50.0, Some('B'), false),
        (2, Act::Kill, 'A', 50.0, Some('B'), true),
        (3, Act::Revive, 'C', 100.0, None, false),
    ];
    assert_eq!(told('A', &rows, &[]), ["digest 50% #1-#2 by 1 under 1"]);
    assert_eq!(told('B', &rows, &[]), ["baseline 50% #1-#2 by 1 under 1"]);
    assert_eq!(told('S', &rows, &[]), ["safe_default 100% #2-#3 by 2 under 1"]);
    assert_eq!(told('C', &rows, &[]), ["digest 100% #3- by 3 under 3"]);
    // The safe default itself killed is no answer to its own kill.
    let own = [(1, Act::Promote, 'S', 100.0, None, false), (2, Act::Kill, 'S', 100.0, None, true)];
    assert_eq!(told('S', &own, &[]), ["digest 100% #1-#2 by 1 under 1"]);
}

#[test]
fn a_safe_default_that_was_killed_serves_no_kill_until_it_is_approved_again() {
    let rows = [
        (1, Act::Promote, 'S', 100.0, None, false),
        (2, Act::Kill, 'S', 100.0, None, true),
        (3, Act::Revive, 'B', 100.0, None, false),
        (5, Act::Kill, 'B', 100.0, None, true),
    ];
    assert_eq!(told('S', &rows, &[]), ["digest 100% #1-#2 by 1 under 1"]);
    let history: Vec<Change> = rows.iter().copied().map(change).collect();
    let again = periods(&d('S'), &history, &[], &[4]);
    assert_eq!(again.last().map(|period| (period.served_as, period.from.seq)), Some((ServedAs::SafeDefault, 5)));
    for (upto, defaults, distrusts) in [(1, &[][..], false), (2, &[], true), (4, &[], true), (4, &[4], false), (4, &[1], true)] {
        assert_eq!(distrusted(&d('S'), &history[..upto], defaults), distrusts, "{upto} {defaults:?}");
    }
}

#[test]
fn a_rollback_is_under_nobodys_approval() {
    let rows = [
        (1, Act::Promote, 'A', 100.0, None, false),
        (2, Act::Promote, 'B', 100.0, None, false),
        (3, Act::Rollback, 'A', 100.0, None, false),
    ];
    assert_eq!(told('A', &rows, &[]), ["digest 100% #1-#2 by 1 under 1", "digest 100% #3- by 3 under none"]);
}

#[test]
fn a_quarantine_takes_baseline_and_safe_default_away_while_it_lasts_and_lets_a_digest_serve_on() {
    let rows = [(1, Act::Promote, 'A', 50.0, Some('B'), false), (9, Act::Kill, 'A', 50.0, Some('B'), true)];
    let marks = [(3, true), (5, false)];
    assert_eq!(told('B', &rows, &marks), ["baseline 50% #1-#3 by 1 under 1", "baseline 50% #5-#9 by a lift under 1"]);
    assert_eq!(told('A', &rows, &marks), ["digest 50% #1-#9 by 1 under 1"]);
    assert_eq!(told('S', &rows, &[(10, true)]), ["safe_default 100% #9-#10 by 9 under 1"]);
    assert!(told('S', &rows, &[(3, true)]).is_empty());
}
