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
mod tests;
