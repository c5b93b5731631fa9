//! Wishes, pointers after each act, rollbacks and kills, as tables.

use super::*;
use crate::model::{Actor, KillReason, PromotionState, Standing, UnitType};

fn d(letter: char) -> Digest {
    Digest([u8::try_from(letter).unwrap(); 32])
}

fn share(percent: f64) -> BasisPoints {
    BasisPoints::from_percent(percent).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp(0).plus_seconds(second)
}

fn steps() -> Plan {
    vec![PlanStep(share(5.0), Some(60)), PlanStep(share(25.0), Some(120)), PlanStep(BasisPoints::ALL, None)]
}

fn key() -> ConfigKey {
    ConfigKey {
        key_id: "support.greeting".parse().unwrap(),
        namespace: "support".into(),
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: at(0),
    }
}

fn rule() -> EnvironmentRule {
    serde_json::from_value(serde_json::json!({"name": "production", "gate": {}})).unwrap()
}

fn pointer(digest: char, percent: f64) -> EnvironmentPointer {
    EnvironmentPointer {
        key_id: "support.greeting".parse().unwrap(),
        environment: "production".parse().unwrap(),
        digest: d(digest),
        rollout_pct: share(percent),
        killed: false,
        updated_at: at(0),
        revision: 7,
        baseline_digest: None,
        held: false,
        plan: steps(),
        next_step_at: None,
    }
}

/// An applied row from a word: `A` promoted at 100 %, `b25` at 25 %, `step B` to 100 %, `back B A`, `kill A`, `revive A`, `undo A`.
fn row(revision: usize, word: &str) -> Promotion {
    let second = i64::try_from(revision).unwrap() * 10;
    let letter = |text: &str| d(text.chars().next().unwrap().to_ascii_uppercase());
    let parts: Vec<&str> = word.split(' ').collect();
    let (act, from, to, percent) = match parts.as_slice() {
        ["step", to] => (Act::Step, Some(letter(to)), Some(letter(to)), 100.0),
        ["back", from, to] => (Act::Rollback, Some(letter(from)), Some(letter(to)), 100.0),
        ["kill", from] => (Act::Kill, Some(letter(from)), None, 100.0),
        ["revive" | "undo", to] => (Act::Revive, None, Some(letter(to)), 100.0),
        [to] if to.len() > 1 => (Act::Promote, None, Some(letter(to)), to[1..].parse().unwrap()),
        [to] => (Act::Promote, None, Some(letter(to)), 100.0),
        other => panic!("{other:?}"),
    };
    Promotion {
        promotion_id: Uuid::from_u128(u128::try_from(second).unwrap()),
        key_id: "support.greeting".parse().unwrap(),
        from_digest: from,
        to_digest: to,
        environment: "production".parse().unwrap(),
        actor: Actor::person("carol"),
        kind: act.kind(),
        at: at(second),
        act,
        state: PromotionState::Applied,
        rationale: "because".into(),
        reason: (parts[0] == "undo").then_some(KillReason::Outage),
        rollout_pct: share(percent),
        plan: vec![PlanStep(share(percent), None)],
        baseline_digest: None,
        safe_default_digest: None,
        pointer_revision: i64::try_from(revision).unwrap(),
        policy_digest: Digest::ZERO,
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: None,
        applied_at: Some(at(second)),
        applied_by: Some(Actor::person("carol")),
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    }
}

#[test]
fn a_named_target_of_a_rollback_must_have_served_everybody_and_not_been_killed() {
    let good = Standing { reached_all: true, ..Standing::default() };
    for (named, standing, want) in [
        ('A', good, Ok('A')),
        ('A', Standing { rolled_away: true, ..good }, Ok('A')),
        ('A', Standing { killed_away: true, ..good }, Err(Code::WrongState)),
        ('A', Standing::default(), Err(Code::NoHistory)),
        ('B', good, Err(Code::NoChange)),
    ] {
        assert_eq!(
            rollback_named(&d('B'), d(named), standing).map_err(|refusal| refusal.code),
            want.map(d),
            "{named} {standing:?}"
        );
    }
    assert_eq!(rollback_walked(Some(d('A'))).unwrap(), d('A'));
    assert_eq!(rollback_walked(None).unwrap_err().code, Code::NoHistory);
}

#[test]
fn a_baseline_is_proven_by_having_served_everybody_and_stayed_good() {
    let good = Standing { reached_all: true, ..Standing::default() };
    assert!(proven(good));
    for bad in [Standing::default(), Standing { rolled_away: true, ..good }, Standing { killed_away: true, ..good }] {
        assert!(!proven(bad), "{bad:?}");
    }
}

#[derive(Default)]
struct Case {
    pointer: Option<EnvironmentPointer>,
    revive: bool,
    percent: Option<f64>,
    baseline: Option<char>,
    safe_default: Option<char>,
    unfit: &'static [char],
    supersedes: Option<u128>,
}

/// Act, baseline, share of the first step.
type Wished = (Act, Option<Digest>, BasisPoints);
/// Code and path.
type Refused = (Code, Option<String>);

fn wish(case: &Case, to: char) -> Result<Wished, Refused> {
    let key = ConfigKey { safe_default_digest: case.safe_default.map(d), ..key() };
    let rule = EnvironmentRule { plan: Some(steps()), ..rule() };
    let opening = Opening {
        key: &key,
        environment: &"production".parse().unwrap(),
        rule: &rule,
        pointer: case.pointer.as_ref(),
        running: Some(Uuid::from_u128(1)),
        unfit: &|digest| case.unfit.iter().any(|letter| d(*letter) == *digest),
        proven: case.baseline == Some('P'),
        to: d(to),
        revive: case.revive,
        percent: case.percent.map(share),
        plan: None,
        baseline: case.baseline.map(d),
        supersedes: case.supersedes.map(Uuid::from_u128),
    };
    open(&opening).map(|wish| (wish.act, wish.baseline, wish.plan[0].0)).map_err(|refusal| (refusal.code, refusal.path))
}

fn some(pointer: EnvironmentPointer) -> Case {
    Case { pointer: Some(pointer), ..Case::default() }
}

#[test]
fn the_baseline_is_the_old_digest_or_the_kept_one_and_none_at_a_hundred() {
    let partial = EnvironmentPointer { baseline_digest: Some(d('Z')), ..pointer('A', 25.0) };
    let five = share(5.0);
    let ok = |case: &Case, to: char| wish(case, to).unwrap();
    assert_eq!(ok(&Case::default(), 'B'), (Act::Promote, None, five), "the first one");
    assert_eq!(ok(&some(pointer('A', 100.0)), 'B'), (Act::Promote, Some(d('A')), five));
    assert_eq!(ok(&Case { percent: Some(100.0), ..some(pointer('A', 100.0)) }, 'B'), (Act::Promote, None, BasisPoints::ALL));
    assert_eq!(ok(&Case { supersedes: Some(1), ..some(partial) }, 'B'), (Act::Promote, Some(d('Z')), five));
    assert_eq!(ok(&Case { unfit: &['A'], ..some(pointer('A', 100.0)) }, 'B'), (Act::Promote, None, five), "quarantined");
}

#[test]
fn a_revive_serves_the_safe_default_outside_its_share_but_never_the_killed_digest() {
    let dead = || EnvironmentPointer { killed: true, baseline_digest: Some(d('Z')), ..pointer('A', 25.0) };
    let revive = |safe_default, baseline, unfit| {
        wish(&Case { revive: true, safe_default, baseline, unfit, percent: Some(25.0), ..some(dead()) }, 'B')
            .map(|found| found.1)
            .map_err(|refused| refused.1.unwrap())
    };
    assert_eq!(revive(None, None, &[]), Ok(None));
    assert_eq!(revive(Some('S'), None, &[]), Ok(Some(d('S'))));
    assert_eq!(revive(Some('A'), None, &[]), Ok(None), "the safe default is what was killed");
    assert_eq!(revive(Some('S'), None, &['S']), Ok(None));
    assert_eq!(revive(Some('S'), Some('P'), &[]), Ok(Some(d('P'))), "it served everybody before");
    for bad in [('A', &[] as &[char]), ('Q', &[]), ('P', &['P'])] {
        assert_eq!(revive(Some('S'), Some(bad.0), bad.1), Err("/baseline".into()), "{bad:?}");
    }
}

#[test]
fn wishes_that_change_nothing_or_cross_a_running_rollout_are_refused() {
    let code = |case: &Case, to: char| wish(case, to).unwrap_err();
    assert_eq!(code(&some(pointer('A', 100.0)), 'A').0, Code::NoChange);
    assert_eq!(code(&Case { percent: Some(50.0), ..some(pointer('A', 100.0)) }, 'A').0, Code::NoChange);
    assert_eq!(code(&Case { percent: Some(25.0), ..some(pointer('A', 25.0)) }, 'A').0, Code::NoChange);
    assert_eq!(code(&some(pointer('A', 25.0)), 'B').0, Code::RolloutInProgress);
    assert_eq!(code(&Case { supersedes: Some(9), ..some(pointer('A', 25.0)) }, 'B').1.unwrap(), "/supersedes");
    assert_eq!(code(&Case { supersedes: Some(9), ..Case::default() }, 'B').1.unwrap(), "/supersedes");
    assert!(wish(&Case { supersedes: Some(1), ..some(pointer('A', 25.0)) }, 'B').is_ok());
    assert!(wish(&Case { supersedes: Some(1), percent: Some(50.0), ..some(pointer('A', 25.0)) }, 'A').is_ok());
    assert_eq!(code(&Case { revive: true, ..some(pointer('A', 25.0)) }, 'B').0, Code::WrongState);
    assert_eq!(code(&Case { revive: true, ..Case::default() }, 'B').0, Code::WrongState);
    assert_eq!(code(&Case { baseline: Some('P'), ..some(pointer('A', 100.0)) }, 'B').1.unwrap(), "/baseline");
    let done = EnvironmentPointer { plan: vec![PlanStep(share(25.0), None)], ..pointer('A', 25.0) };
    assert!(wish(&some(done), 'B').is_ok(), "no step is left: nothing runs");
}

#[test]
fn only_a_revive_clears_a_kill() {
    let dead = killed(&pointer('A', 25.0), at(9));
    let promote = Promotion { plan: steps(), baseline_digest: Some(d('S')), ..row(7, "B") };
    let revive = Promotion { plan: steps(), baseline_digest: Some(d('S')), ..row(7, "revive B") };
    assert!(applied(&promote, Some(&dead), d('B'), at(10)).killed);
    let alive = applied(&revive, Some(&dead), d('B'), at(10));
    assert_eq!((alive.killed, alive.digest, alive.rollout_pct), (false, d('B'), share(5.0)));
    assert_eq!((alive.baseline_digest, alive.revision, alive.next_step_at), (Some(d('S')), 9, Some(at(70))));
    let whole = Promotion { baseline_digest: Some(d('S')), ..row(7, "revive B") };
    assert_eq!(applied(&whole, Some(&dead), d('B'), at(10)).baseline_digest, None, "nobody is left outside");
    for after in [stepped(&dead, share(5.0), at(10)), held(&dead, true, at(10)), rolled_back(&dead, d('Z'), at(10))] {
        assert!(after.killed);
    }
}

#[test]
fn a_kill_changes_nothing_but_what_it_must_and_undoing_it_gives_exactly_the_earlier_state() {
    let before = EnvironmentPointer { revision: 2, next_step_at: Some(at(10 + 120)), ..pointer('B', 25.0) };
    let dead = killed(&before, at(20));
    let same =
        EnvironmentPointer { killed: false, next_step_at: before.next_step_at, updated_at: at(0), revision: 2, ..dead.clone() };
    assert_eq!((same, dead.killed, dead.next_step_at), (before.clone(), true, None));
    let back = undone(&dead, Some(at(10)), at(30));
    assert_eq!(EnvironmentPointer { updated_at: at(0), revision: 2, ..back.clone() }, before);
    assert_eq!((back.revision, back.updated_at), (4, at(30)));
    let held = EnvironmentPointer { held: true, ..dead };
    assert_eq!(undone(&held, Some(at(10)), at(30)).next_step_at, None);
}

#[test]
fn a_kill_can_be_taken_back_within_ten_minutes_while_nothing_else_changed() {
    let kill = row(1, "kill A");
    let dead = EnvironmentPointer { killed: true, revision: 2, ..pointer('A', 100.0) };
    let when = |pointer: &EnvironmentPointer, last: &Promotion, second: i64| {
        undoable(pointer, Some(last.clone()), at(second)).map(|kill| kill.act).map_err(|refusal| refusal.code)
    };
    assert_eq!(when(&dead, &kill, 10 + 599), Ok(Act::Kill));
    assert_eq!(when(&dead, &kill, 10 + 600), Err(Code::WrongState));
    assert_eq!(when(&EnvironmentPointer { revision: 3, ..dead.clone() }, &kill, 20), Err(Code::WrongState));
    assert_eq!(when(&EnvironmentPointer { killed: false, ..dead.clone() }, &kill, 20), Err(Code::WrongState));
    assert_eq!(when(&dead, &row(1, "B"), 20), Err(Code::WrongState));
}

#[test]
fn a_kill_that_was_sent_late_is_refused_when_a_revive_is_newer() {
    let revive = row(2, "revive B");
    let refused = |issued: Option<i64>, seen: Option<i64>| outdated_kill(Some(revive.clone()), issued.map(at), seen).is_some();
    for (issued, seen, want) in [
        (None, None, false),
        (Some(19), None, true),
        (Some(20), None, false),
        (None, Some(2), true),
        (None, Some(3), false),
        (Some(5), Some(3), false),
        (Some(99), Some(1), true),
    ] {
        assert_eq!(refused(issued, seen), want, "{issued:?} {seen:?}");
    }
}

#[test]
fn a_kill_serves_the_safe_default_unless_that_is_what_was_killed_or_is_quarantined() {
    let serves = |safe: Option<char>, unfit: char| kill_serves(&pointer('A', 100.0), safe.map(d), |digest| *digest == d(unfit));
    assert_eq!(serves(Some('S'), '-'), Some(d('S')));
    assert_eq!(serves(Some('A'), '-'), None);
    assert_eq!(serves(Some('S'), 'S'), None);
    assert_eq!(serves(None, '-'), None);
}

#[test]
fn the_running_rollout_is_what_was_decided_last_unless_that_was_a_rollback() {
    let found = |word: &str, digest: char| running(&pointer(digest, 25.0), Some(row(1, word))).map(|row| row.pointer_revision);
    assert_eq!(found("b25", 'B'), Some(1));
    assert_eq!(found("revive B", 'B'), Some(1));
    assert_eq!(found("back B A", 'A'), None);
    assert_eq!(found("b25", 'A'), None);
    assert_eq!(running(&pointer('A', 25.0), None), None);
}

#[test]
fn a_step_keeps_the_baseline_until_everybody_has_the_digest() {
    let before = EnvironmentPointer { baseline_digest: Some(d('Z')), ..pointer('A', 5.0) };
    let half = stepped(&before, share(25.0), at(5));
    assert_eq!((half.baseline_digest, half.next_step_at, half.revision), (Some(d('Z')), Some(at(125)), 8));
    let whole = stepped(&half, BasisPoints::ALL, at(9));
    assert_eq!((whole.baseline_digest, whole.next_step_at), (None, None));
    assert_eq!(held(&half, true, at(9)).next_step_at, None);
    assert_eq!(held(&half, false, at(9)).next_step_at, Some(at(129)));
    let back = rolled_back(&half, d('Y'), at(9));
    assert_eq!((back.digest, back.rollout_pct, back.baseline_digest, back.held), (d('Y'), BasisPoints::ALL, None, true));
}

#[test]
fn safe_defaults_move_for_everybody_at_once() {
    let (key, rule) =
        (ConfigKey { safe_default_digest: Some(d('S')), ..key() }, EnvironmentRule { plan: Some(steps()), ..rule() });
    let environment = Environment::safe_default();
    let base = |to: char| Opening {
        key: &key,
        environment: &environment,
        rule: &rule,
        pointer: None,
        running: None,
        unfit: &|_| false,
        proven: false,
        to: d(to),
        revive: false,
        percent: None,
        plan: None,
        baseline: None,
        supersedes: None,
    };
    let moved = open(&base('T')).unwrap();
    assert_eq!((moved.act, moved.from, moved.plan.len(), moved.revision), (Act::Promote, Some(d('S')), 1, 0));
    assert_eq!(open(&base('S')).unwrap_err().code, Code::NoChange);
    assert_eq!(open(&Opening { percent: Some(share(25.0)), ..base('T') }).unwrap_err().path.unwrap(), "/plan");
    assert_eq!(open(&Opening { revive: true, ..base('T') }).unwrap_err().path.unwrap(), "/revive");
}
