//! The arming protocol: what arms, what disarms, what is dropped.

use super::*;
use proptest::prelude::*;

const READY: Moment = Duration::from_secs(1);

fn ms(millis: u64) -> Moment {
    Duration::from_millis(millis)
}

fn pin(revision: i64) -> Pin {
    Pin { revision, parts: BTreeMap::from([("gate toxicity".into(), "pass".into())]) }
}

fn open(rules: Rules) -> Arming {
    Arming::open(rules, Some("prod".into()), Uuid::nil(), ms(0))
}

fn type_slowly(arming: &mut Arming, text: &str, from: Moment) -> Moment {
    let mut at = from;
    for c in text.chars() {
        at += ms(80);
        if arming.admits(at, Source::Press) {
            arming.type_token(at, c, Source::Press);
        }
    }
    at
}

/// A dialog to which nothing is missing, at the returned moment.
fn armed(rules: Rules) -> (Arming, Moment) {
    let mut arming = open(rules);
    arming.painted(ms(10));
    arming.facts(READY, pin(7), "nobody");
    let at = type_slowly(&mut arming, "prod", READY);
    assert_eq!(arming.blockers(at, true), vec![]);
    (arming, at)
}

#[test]
fn keys_before_the_first_frame_and_a_tenth_of_a_second_after_are_dropped_and_counted() {
    let mut arming = open(Rules::Kill);
    assert!(!arming.admits(ms(5_000), Source::Press), "not painted yet, however long ago it was opened");
    arming.painted(ms(6_000));
    assert!(!arming.admits(ms(6_099), Source::Press));
    assert!(!arming.admits(ms(6_099), Source::Release));
    assert!(arming.admits(ms(6_100), Source::Press));
    assert_eq!(arming.dropped(), 2, "releases are not keys that a person would miss");
    arming.painted(ms(7_000));
    assert!(arming.admits(ms(7_001), Source::Press), "later frames close nothing");
}

#[test]
fn nothing_can_be_sent_while_it_opens() {
    let mut arming = Arming::open(Rules::Kill, None, Uuid::nil(), ms(0));
    assert_eq!(arming.blockers(ms(500), true), vec![Blocker::Opening]);
    arming.painted(ms(500));
    assert_eq!(arming.blockers(ms(599), true), vec![Blocker::Opening]);
    assert!(arming.is_armed(ms(600), true));
}

#[test]
fn only_the_exact_token_arms() {
    for wrong in ["", "pro", "prodd", "Prod", "prod ", " prod", "production"] {
        let mut arming = open(Rules::Kill);
        arming.painted(ms(0));
        let at = type_slowly(&mut arming, wrong, READY);
        assert_eq!(arming.blockers(at, true), vec![Blocker::Token], "{wrong:?}");
    }
}

#[test]
fn a_paste_never_counts_in_a_token() {
    let mut arming = open(Rules::Kill);
    arming.painted(ms(0));
    for (n, c) in (0u64..).zip("prod".chars()) {
        arming.type_token(READY + ms(100 * n), c, Source::Paste);
    }
    assert_eq!((arming.typed(), arming.token_ok()), ("", false));
    assert!(arming.token_notice().is_some_and(|n| n.contains("paste")));
}

#[test]
fn a_repeat_empties_the_token_and_a_release_is_nothing() {
    let mut arming = open(Rules::Kill);
    arming.painted(ms(0));
    for (n, c) in (0u64..).zip("prod".chars()) {
        let at = READY + ms(600 * n);
        arming.type_token(at, c, Source::Press);
        arming.type_token(at + ms(300), c, Source::Repeat);
        arming.type_token(at + ms(400), c, Source::Release);
        assert!(arming.token_notice().is_some_and(|notice| notice.contains("held")));
    }
    assert_eq!((arming.typed(), arming.token_ok()), ("", false));
    assert!(!arming.admits(READY + ms(9_000), Source::Release));
}

#[test]
fn the_same_letter_in_a_rush_is_a_held_key_where_the_terminal_cannot_tell() {
    let mut arming = open(Rules::Kill);
    arming.painted(ms(0));
    let mut at = READY;
    for c in "prod".chars() {
        for _ in 0..2 {
            arming.type_token(at, c, Source::Press);
            at += ms(33);
        }
    }
    assert!(!arming.token_ok());
    assert_eq!(arming.typed(), "");
}

#[test]
fn a_token_with_a_double_letter_can_be_typed_as_fast_as_one_likes() {
    let mut arming = Arming::open(Rules::Kill, Some("greeting".into()), Uuid::nil(), ms(0));
    arming.painted(ms(0));
    for c in "greeting".chars() {
        arming.type_token(READY, c, Source::Press);
    }
    assert!(arming.token_ok());
}

#[test]
fn each_thing_that_is_missing_disarms_alone() {
    type Spoil = fn(&mut Arming);
    let cases: [(Spoil, Blocker); 6] = [
        (|a| a.set_live(false), Blocker::Offline),
        (|a| a.set_read_only(true), Blocker::ReadOnly),
        (Arming::erase_token, Blocker::Token),
        (|a| a.stream(8, "carol"), Blocker::Changed("carol".into())),
        (|a| assert_eq!(a.facts(READY, pin(8), "carol"), Read::Changed), Blocker::Changed("carol".into())),
        (|a| assert!(a.send(READY + ms(400), true).is_some()), Blocker::Sent),
    ];
    for (spoil, blocker) in cases {
        let (mut arming, at) = armed(Rules::Pinned);
        spoil(&mut arming);
        assert_eq!(arming.blockers(at, true), vec![blocker]);
        assert_eq!(arming.send(at, true), None);
    }
    let (arming, at) = armed(Rules::Pinned);
    assert_eq!(arming.blockers(at, false), vec![Blocker::Reason]);
    assert_eq!(arming.blockers(READY + FRESH, true), vec![Blocker::Stale]);
    assert!(arming.is_armed(READY + FRESH.saturating_sub(ms(1)), true));
    let mut unread = Arming::open(Rules::Pinned, None, Uuid::nil(), ms(0));
    unread.painted(ms(0));
    assert_eq!(unread.blockers(at, true), vec![Blocker::Reading]);
}

#[test]
fn a_gate_or_a_vote_that_changes_disarms_as_a_revision_does() {
    let (mut arming, at) = armed(Rules::Pinned);
    let mut now = pin(7);
    now.parts.insert("gate toxicity".into(), "fail".into());
    assert_eq!(arming.facts(at, now.clone(), "service:ci"), Read::Changed);
    assert_eq!(arming.blockers(at, true), vec![Blocker::Changed("service:ci".into())]);
    assert_eq!(
        arming.differences(),
        [Difference { name: "gate toxicity".into(), was: Some("pass".into()), is: Some("fail".into()) }]
    );
    arming.accept();
    assert_eq!(arming.facts(at, now, ""), Read::Changed);
    assert_eq!(arming.differences().len(), 1, "what changed stays marked");
    assert_eq!(arming.blockers(at, true), vec![Blocker::Token], "and the token is typed again");
}

#[test]
fn the_same_facts_renew_and_are_asked_for_every_ten_seconds() {
    let (mut arming, _) = armed(Rules::Pinned);
    assert!(arming.wants_facts(ms(2_000)));
    assert!(!arming.wants_facts(ms(11_999)));
    assert!(arming.wants_facts(ms(12_000)));
    assert_eq!(arming.facts(ms(12_000), pin(7), ""), Read::Renewed);
    assert!(arming.is_armed(ms(41_999), true));
    assert!(!arming.is_armed(ms(42_000), true));
}

#[test]
fn an_answer_older_than_what_the_stream_told_is_not_used() {
    let (mut arming, at) = armed(Rules::Pinned);
    arming.stream(8, "carol");
    assert_eq!(arming.facts(at, pin(7), ""), Read::Late);
    assert!(!arming.is_armed(at, true));
    assert!(arming.wants_facts(at), "and the facts are asked for again");
}

#[test]
fn nothing_that_happens_outside_disarms_a_kill() {
    let (mut arming, at) = armed(Rules::Kill);
    for revision in 8..208 {
        arming.stream(revision, "carol");
    }
    arming.set_live(false);
    assert_eq!(arming.facts(at, pin(300), "bob"), Read::Changed);
    assert!(arming.is_armed(at + Duration::from_hours(1), true));
    assert_eq!(arming.pin().map(|p| p.revision), Some(300), "it shows the newest facts all the same");
    assert_eq!(arming.differences().len(), 1);
    let mut unread = open(Rules::Kill);
    unread.painted(ms(0));
    let at = type_slowly(&mut unread, "prod", READY);
    assert!(unread.is_armed(at, true), "not even that nothing was ever read");
}

#[test]
fn one_key_for_all_attempts_and_no_second_send_meanwhile() {
    let id = Uuid::from_u128(7);
    let mut arming = Arming::open(Rules::Pinned, None, id, ms(0));
    arming.painted(ms(0));
    arming.facts(READY, pin(7), "");
    assert_eq!(arming.send(READY, true), Some(id));
    assert_eq!(arming.send(READY, true), None);
    assert!(!arming.wants_facts(ms(60_000)), "what was sent is not disturbed");
    arming.refused();
    assert_eq!(arming.send(READY, true), None, "the facts are read first");
    arming.facts(READY, pin(8), "carol");
    assert_eq!(arming.differences().len(), 1);
    assert_eq!(arming.send(READY, true), Some(id));
    arming.unsend();
    assert_eq!(arming.send(READY, true), Some(id));
}

#[derive(Debug, Clone)]
enum Happening {
    Painted,
    Key(char, u8),
    Erase,
    Facts(i64),
    Stream(i64),
    Live(bool),
    Accept,
    Wait(u64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        Just(Happening::Painted),
        (prop::sample::select(vec!['a', 'b', 'x']), 0u8..4).prop_map(|(c, s)| Happening::Key(c, s)),
        Just(Happening::Erase),
        (1i64..4).prop_map(Happening::Facts),
        (1i64..4).prop_map(Happening::Stream),
        any::<bool>().prop_map(Happening::Live),
        Just(Happening::Accept),
        (0u64..15_000).prop_map(Happening::Wait),
    ]
}

proptest! {
    /// Whatever happens in whatever order, what is armed satisfies the rules as a second, plain account states them.
    #[test]
    fn armed_means_armed(happenings in prop::collection::vec(happening(), 0..60), kill in any::<bool>()) {
        let rules = if kill { Rules::Kill } else { Rules::Pinned };
        let mut arming = Arming::open(rules, Some("ab".into()), Uuid::nil(), ms(0));
        let (mut now, mut painted, mut read, mut live, mut newest) = (ms(0), None::<Moment>, None::<(Moment, i64)>, true, 0);
        for happening in happenings {
            now += ms(61);
            match happening {
                Happening::Painted => { arming.painted(now); painted.get_or_insert(now); }
                Happening::Key(c, source) => {
                    let source = [Source::Press, Source::Repeat, Source::Release, Source::Paste][usize::from(source)];
                    if arming.admits(now, source) { arming.type_token(now, c, source); }
                }
                Happening::Erase => arming.erase_token(),
                Happening::Facts(revision) => {
                    let taken = arming.facts(now, pin(revision), "x");
                    newest = newest.max(revision);
                    if taken != Read::Late { read = Some((now, revision)); }
                }
                Happening::Stream(revision) => { arming.stream(revision, "x"); newest = newest.max(revision); }
                Happening::Live(is) => { arming.set_live(is); live = is; }
                Happening::Accept => arming.accept(),
                Happening::Wait(millis) => now += ms(millis),
            }
            if arming.is_armed(now, true) {
                prop_assert_eq!(arming.typed(), "ab");
                prop_assert!(painted.is_some_and(|at| now >= at + AFTER_PAINT));
                if !kill {
                    prop_assert!(live);
                    let (at, revision) = read.expect("facts");
                    prop_assert!(now.saturating_sub(at) < FRESH);
                    prop_assert_eq!(revision, newest);
                    prop_assert_eq!(arming.pin().map(|p| p.revision), Some(revision));
                }
            }
            prop_assert!(!arming.is_armed(now, false), "never without a reason");
        }
    }
}
