//! The arming protocol: when a dangerous act may be sent. Pure; time is an argument.
//!
//! Opening drops every key until the dialog's first frame reached the terminal, and [`AFTER_PAINT`] longer. The token
//! counts only single presses: a repeat empties it, a release and a paste are ignored. Facts are pinned when read; the
//! same facts read again renew them, other facts disarm until the person accepts them. A kill arms on token and reason
//! alone: neither age nor change of the facts nor the link can disarm it.

use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// A moment of the terminal's own steady clock: time since it started.
pub type Moment = Duration;

/// How long after its first frame a dialog still drops keys.
pub const AFTER_PAINT: Duration = Duration::from_millis(100);
/// How often the facts are read again.
pub const REFETCH: Duration = Duration::from_secs(10);
/// How old the facts may be for anything but a kill.
pub const FRESH: Duration = Duration::from_secs(30);
/// The same letter again within this time is a held key, unless the token asks for it twice.
pub const HELD_KEY: Duration = Duration::from_millis(60);

/// Which protocol holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Pinned facts, freshness, a live link.
    Pinned,
    /// Token and reason alone.
    Kill,
}

/// How a key came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Pressed.
    Press,
    /// Held down: the terminal repeats it.
    Repeat,
    /// Let go.
    Release,
    /// Part of a bracketed paste.
    Paste,
}

/// The facts that a decision rests on: the pointer's revision, and version, gates and approvals in words by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    /// The pointer's revision; 0 where there is none.
    pub revision: i64,
    /// Name and value, as the dialog shows them.
    pub parts: BTreeMap<String, String>,
}

/// A fact that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub name: String,
    /// What was pinned; `None` where there was none.
    pub was: Option<String>,
    /// What it is now; `None` where it is gone.
    pub is: Option<String>,
}

impl Pin {
    /// What differs in `now`, by name; the revision goes by the name `revision`.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let names: std::collections::BTreeSet<&String> = self.parts.keys().chain(now.parts.keys()).collect();
        let revision = (self.revision != now.revision).then(|| Difference {
            name: "revision".into(),
            was: Some(self.revision.to_string()),
            is: Some(now.revision.to_string()),
        });
        let parts = names.into_iter().filter(|name| self.parts.get(*name) != now.parts.get(*name)).map(|name| Difference {
            name: name.clone(),
            was: self.parts.get(name).cloned(),
            is: now.parts.get(name).cloned(),
        });
        revision.into_iter().chain(parts).collect()
    }
}

/// What came of reading the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// The first facts: pinned.
    First,
    /// The same facts: good for another while.
    Renewed,
    /// Other facts: disarmed until accepted (a kill takes them as they come).
    Changed,
    /// Older than what the stream already told: not used.
    Late,
}

/// Why a dialog is not armed, in the order in which a person would clear it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// The terminal was started read-only.
    ReadOnly,
    /// The dialog was not painted yet, or only just now.
    Opening,
    /// No facts were read yet.
    Reading,
    /// The facts changed under the dialog; by whom or what.
    Changed(String),
    /// The facts are older than [`FRESH`].
    Stale,
    /// The registry does not answer.
    Offline,
    /// The rationale is blank, or the kill's reason was not chosen.
    Reason,
    /// The token is not typed, or not exactly.
    Token,
    /// It was sent already.
    Sent,
}

/// The state of one dialog's arming.
#[derive(Debug, Clone)]
pub struct Arming {
    rules: Rules,
    read_only: bool,
    live: bool,
    opened: Moment,
    painted: Option<Moment>,
    dropped: u32,
    expected: Option<String>,
    typed: String,
    last: Option<(char, Moment)>,
    held: bool,
    pasted: bool,
    pin: Option<Pin>,
    read_at: Option<Moment>,
    asked_at: Option<Moment>,
    changed: Option<String>,
    suspect: Option<String>,
    newest: i64,
    repin: bool,
    differences: Vec<Difference>,
    idempotency: Uuid,
    sent: bool,
}

impl Arming {
    /// Opens a dialog at `now`. `token` is what must be typed, where something must; `idempotency` is made once here and
    /// goes with every attempt of this dialog.
    pub fn open(rules: Rules, token: Option<String>, idempotency: Uuid, now: Moment) -> Self {
        Self {
            rules,
            read_only: false,
            live: true,
            opened: now,
            painted: None,
            dropped: 0,
            expected: token,
            typed: String::new(),
            last: None,
            held: false,
            pasted: false,
            pin: None,
            read_at: None,
            asked_at: None,
            changed: None,
            suspect: None,
            newest: 0,
            repin: false,
            differences: Vec::new(),
            idempotency,
            sent: false,
        }
    }

    /// The terminal was started with `--read-only`.
    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Whether the registry answers now.
    pub fn set_live(&mut self, live: bool) {
        self.live = live;
    }

    /// A frame with this dialog on it was flushed to the terminal; only the first one counts.
    pub fn painted(&mut self, now: Moment) {
        self.painted.get_or_insert(now);
    }

    /// Whether an input that came in at `now` may reach the dialog. Releases never do.
    pub fn admits(&mut self, now: Moment, source: Source) -> bool {
        if self.opening(now) {
            self.dropped += u32::from(source != Source::Release);
            return false;
        }
        source != Source::Release
    }

    fn opening(&self, now: Moment) -> bool {
        self.painted.is_none_or(|at| now < at + AFTER_PAINT)
    }

    /// How many inputs were dropped while opening: "keys before this dialog were dropped".
    pub fn dropped(&self) -> u32 {
        self.dropped
    }

    /// When the dialog was opened.
    pub fn opened(&self) -> Moment {
        self.opened
    }

    /// A character for the token.
    pub fn type_token(&mut self, now: Moment, c: char, source: Source) {
        match source {
            Source::Release => return,
            Source::Paste => {
                self.pasted = true;
                return;
            }
            Source::Press | Source::Repeat => {}
        }
        let doubled = self.expects_next() == Some(c);
        let rapid = self.last.is_some_and(|(was, at)| was == c && now.saturating_sub(at) < HELD_KEY);
        self.last = Some((c, now));
        self.pasted = false;
        if source == Source::Repeat || (rapid && !doubled) {
            self.held = true;
            self.typed.clear();
            return;
        }
        self.held = false;
        if self.typed.chars().count() < 200 {
            self.typed.push(c);
        }
    }

    fn expects_next(&self) -> Option<char> {
        self.expected.as_deref()?.strip_prefix(self.typed.as_str())?.chars().next()
    }

    /// Takes the last character of the token back.
    pub fn erase_token(&mut self) {
        self.typed.pop();
        self.last = None;
    }

    /// Empties the token: another environment was chosen, or the facts changed.
    pub fn clear_token(&mut self) {
        self.typed.clear();
        self.last = None;
        self.held = false;
    }

    /// Asks for another token (and forgets what was typed).
    pub fn expect(&mut self, token: Option<String>) {
        self.expected = token;
        self.clear_token();
    }

    /// What must be typed.
    pub fn expected(&self) -> Option<&str> {
        self.expected.as_deref()
    }

    /// What was typed.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// Why the last input to the token did not count, in words.
    pub fn token_notice(&self) -> Option<&'static str> {
        if self.held {
            Some("held keys do not count: type it again")
        } else if self.pasted {
            Some("a paste does not count: type it")
        } else {
            None
        }
    }

    /// Whether the token is there, exactly, or none is asked for.
    pub fn token_ok(&self) -> bool {
        self.expected.as_deref().is_none_or(|expected| expected == self.typed)
    }

    /// Whether the facts should be read (again) now; once it says so, it waits [`REFETCH`] before it says so again.
    pub fn wants_facts(&mut self, now: Moment) -> bool {
        let due = !self.sent && self.asked_at.is_none_or(|at| now.saturating_sub(at) >= REFETCH);
        if due {
            self.asked_at = Some(now);
        }
        due
    }

    /// The facts were read at `now`; `by` says who or what changed them, should they differ.
    pub fn facts(&mut self, now: Moment, pin: Pin, by: &str) -> Read {
        if pin.revision < self.newest {
            self.asked_at = None;
            return Read::Late;
        }
        self.newest = pin.revision;
        let Some(pinned) = &self.pin else {
            self.take(now, pin);
            return Read::First;
        };
        let differences = pinned.differences(&pin);
        if differences.is_empty() {
            // What changed has changed back, or was only told of: the pinned facts hold again.
            if !self.repin {
                self.differences.clear();
            }
            self.take(now, pin);
            return Read::Renewed;
        }
        self.differences = differences;
        if self.repin || self.rules == Rules::Kill {
            self.take(now, pin);
        } else {
            self.changed = Some(self.suspect.take().unwrap_or_else(|| by.to_owned()));
        }
        Read::Changed
    }

    fn take(&mut self, now: Moment, pin: Pin) {
        self.pin = Some(pin);
        self.read_at = Some(now);
        self.changed = None;
        self.repin = false;
    }

    /// The stream says that the pointer is at `revision` now.
    pub fn stream(&mut self, revision: i64, by: &str) {
        self.newest = self.newest.max(revision);
        if self.rules == Rules::Kill {
            return;
        }
        if self.pin.as_ref().is_some_and(|pin| revision > pin.revision) {
            self.changed = Some(by.to_owned());
            // Read the whole of it at once.
            self.asked_at = None;
        }
    }

    /// Something was done by `by` to what the dialog is about: the facts are read at once, and if they differ, that is who.
    pub fn hurry(&mut self, by: &str) {
        self.asked_at = None;
        self.suspect = Some(by.to_owned());
        if let Some(changed) = &mut self.changed {
            by.clone_into(changed);
        }
    }

    /// The act goes elsewhere: what was pinned is of another pointer.
    pub fn elsewhere(&mut self) {
        self.pin = None;
        self.read_at = None;
        self.asked_at = None;
        self.changed = None;
        self.differences.clear();
        self.newest = 0;
    }

    /// The person accepts what changed (ctrl-r): the facts are read again and pinned as they come, differences marked,
    /// token cleared.
    pub fn accept(&mut self) {
        self.repin = true;
        self.changed = None;
        self.asked_at = None;
        self.read_at = None;
        self.clear_token();
    }

    /// The registry refused because the facts are others (409): as [`Self::accept`], and it may be sent again.
    pub fn refused(&mut self) {
        self.sent = false;
        self.accept();
    }

    /// The facts that are pinned.
    pub fn pin(&self) -> Option<&Pin> {
        self.pin.as_ref()
    }

    /// What differs from what was pinned before: marked on screen.
    pub fn differences(&self) -> &[Difference] {
        &self.differences
    }

    /// How old the pinned facts are.
    pub fn age(&self, now: Moment) -> Option<Duration> {
        self.read_at.map(|at| now.saturating_sub(at))
    }

    /// The `Idempotency-Key` of this dialog.
    pub fn idempotency(&self) -> Uuid {
        self.idempotency
    }

    /// Everything that keeps it from being sent at `now`; `reasoned`: the rationale is valid, or the kill's reason chosen.
    pub fn blockers(&self, now: Moment, reasoned: bool) -> Vec<Blocker> {
        let mut found = Vec::new();
        let mut check = |blocks: bool, blocker: Blocker| {
            if blocks {
                found.push(blocker);
            }
        };
        check(self.read_only, Blocker::ReadOnly);
        check(self.sent, Blocker::Sent);
        check(self.opening(now), Blocker::Opening);
        if self.rules == Rules::Pinned {
            check(self.read_at.is_none(), Blocker::Reading);
            check(self.changed.is_some(), Blocker::Changed(self.changed.clone().unwrap_or_default()));
            check(self.age(now).is_some_and(|age| age >= FRESH), Blocker::Stale);
            check(!self.live, Blocker::Offline);
        }
        check(!reasoned, Blocker::Reason);
        check(!self.token_ok(), Blocker::Token);
        found
    }

    /// Whether it may be sent at `now`.
    pub fn is_armed(&self, now: Moment, reasoned: bool) -> bool {
        self.blockers(now, reasoned).is_empty()
    }

    /// Sends, if armed: gives the key to send it with, and lets nothing be sent twice from one dialog.
    pub fn send(&mut self, now: Moment, reasoned: bool) -> Option<Uuid> {
        let armed = self.is_armed(now, reasoned);
        self.sent |= armed;
        armed.then_some(self.idempotency)
    }

    /// The act was not done (refused for good, or never left): it can be tried again, with the same key.
    pub fn unsend(&mut self) {
        self.sent = false;
    }
}

#[cfg(test)]
mod tests {
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
}
