//! What one caller may take of the server: how often it may ask, by token, and by address for tokens that are not valid; how many
//! streams it may follow, and how much may be on its way to it. Kills, and what resolves from memory, never wait for any of it.

use super::room::{Capacity, Room, network};
use super::shares::{Share, Shares};
use crate::model::{Refusal, Scope, Timestamp};
use crate::rules::access::{Caller, Login};
use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Requests a second that a token may make, unless the operator says otherwise; twice as many at once.
pub const PER_SECOND: u32 = 2000;
/// Tokens that are not valid, a minute from one address; half as many at once.
const FAILURES_PER_MINUTE: u32 = 120;
/// Callers that are told apart. More share one account, so that a flood of addresses takes no memory.
const MOST_CALLERS: usize = 20_000;

/// Streams under one token: of a person, and of a program that many processes share.
const STREAMS: (u64, u64) = (32, 256);
/// Bytes of long answers on their way under one token, and in all.
const SENDING: (u64, u64) = (64 << 20, 256 << 20);
/// What an answer counts that is made while it is sent: what of it is in memory at most, as a rule.
const MADE_MEANWHILE: u64 = 8 << 20;
/// Long reads that are being made under one token, and in all.
const READING: (u64, u64) = (8, 64);
/// The account of what needs no token.
pub const ALL_OPEN: &str = "-";

/// The limits of one server.
#[derive(Debug)]
pub struct Limits {
    requests: Option<Meter>,
    failures: Option<Meter>,
    /// Connections.
    pub room: Arc<Room>,
    /// Who follows /v1/stream.
    pub streams: Arc<Shares>,
    /// Who follows OFREP's channel.
    pub channels: Arc<Shares>,
    /// Long reads that are being made.
    pub reads: Arc<Shares>,
    /// Bytes of long answers on their way.
    pub answers: Arc<Shares>,
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(PER_SECOND)
    }
}

impl Limits {
    /// So many requests a second for each token.
    pub fn of(per_second: u32) -> Self {
        let per_second = per_second.max(1);
        Self {
            requests: Some(Meter::new(1_000_000 / i64::from(per_second), i64::from(per_second) * 2)),
            failures: Some(Meter::new(60_000_000 / i64::from(FAILURES_PER_MINUTE), i64::from(FAILURES_PER_MINUTE / 2))),
            ..Self::off()
        }
    }

    /// However often somebody asks.
    pub fn off() -> Self {
        let long = "wait until others are taken, or ask for less at a time (`limit`); a kill never waits";
        let (room, streams, channels) = places(Capacity::default());
        let (reads, answers) = (Shares::of("long reads", long, READING.1), Shares::of("bytes of long answers", long, SENDING.1));
        Self { requests: None, failures: None, room, streams, channels, reads, answers }
    }

    /// The same on a machine that bears so much.
    pub fn within(self, capacity: Capacity) -> Self {
        let (room, streams, channels) = places(capacity);
        Self { room, streams, channels, ..self }
    }

    /// A stream for a caller.
    ///
    /// # Errors
    /// Too many.
    pub fn stream(&self, caller: &Caller) -> Result<Share, Refusal> {
        let each = if caller.scope == Scope::Service { STREAMS.1 } else { STREAMS.0 };
        self.streams.take(&account(caller), each, 1)
    }

    /// A channel for whoever holds a ticket of a token. Many browsers share one, so that it has half of what there is.
    ///
    /// # Errors
    /// Too many.
    pub fn channel(&self, token_id: &str) -> Result<Share, Refusal> {
        self.channels.take(token_id, self.channels.all().div_ceil(2), 1)
    }

    /// A read of many rows, while it is made.
    ///
    /// # Errors
    /// Too many.
    pub fn long_read(&self, caller: &Caller) -> Result<Share, Refusal> {
        self.reads.take(&account(caller), READING.0, 1)
    }

    /// An answer of so many bytes on its way to somebody.
    ///
    /// # Errors
    /// Too much.
    pub fn sending(&self, who: &str, bytes: u64) -> Result<Share, Refusal> {
        self.answers.take(who, SENDING.0, bytes)
    }

    /// An answer to a caller that is made while it is sent.
    ///
    /// # Errors
    /// Too many.
    pub fn sending_meanwhile(&self, caller: &Caller) -> Result<Share, Refusal> {
        self.sending(&account(caller), MADE_MEANWHILE)
    }

    /// A request of a caller.
    ///
    /// # Errors
    /// Too many; the seconds to wait.
    pub fn request(&self, caller: &Caller, now: Timestamp) -> Result<(), u64> {
        let Some(meter) = &self.requests else { return Ok(()) };
        meter.pass(&account(caller), now)
    }

    /// A token that was not valid, from an address. IPv6 addresses of one network (/64) are one: a machine has that many.
    ///
    /// # Errors
    /// Too many; the seconds to wait.
    pub fn failure(&self, address: IpAddr, now: Timestamp) -> Result<(), u64> {
        let Some(meter) = &self.failures else { return Ok(()) };
        meter.pass(&network(address).to_string(), now)
    }
}

/// The connections; streams and channels have a quarter of them each, so that the rest is always for those who ask and go.
fn places(capacity: Capacity) -> (Arc<Room>, Arc<Shares>, Arc<Shares>) {
    let quarter = (capacity.connections as u64 / 4).max(1);
    let streams = Shares::of("streams", "close one that nobody needs; a kill needs none", quarter);
    let channels = Shares::of("change channels", "ask again from time to time instead; a kill needs none", quarter);
    (Arc::new(Room::of(capacity)), streams, channels)
}

/// Whose account a caller's requests are counted in: its token's, or its own where an issuer says who it is.
pub fn account(caller: &Caller) -> Cow<'_, str> {
    match caller.login {
        Login::Token => Cow::Borrowed(&caller.token_id),
        Login::Oidc(_) => Cow::Owned(caller.actor.to_string()),
    }
}

/// The generic cell rate algorithm (ITU-T I.371): each caller has a theoretical time at which its next request is due; one that
/// comes too long before is refused.
#[derive(Debug)]
struct Meter {
    /// Microseconds between requests.
    interval: i64,
    /// Microseconds by which a request may come before it is due.
    tolerance: i64,
    /// When the next request of each caller is due.
    due: Mutex<HashMap<Box<str>, i64>>,
}

impl Meter {
    fn new(interval: i64, burst: i64) -> Self {
        let interval = interval.max(1);
        Self { interval, tolerance: interval * (burst.max(1) - 1), due: Mutex::default() }
    }

    fn pass(&self, who: &str, now: Timestamp) -> Result<(), u64> {
        let now = now.0;
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.len() >= MOST_CALLERS && !due.contains_key(who) {
            due.retain(|_, at| *at > now);
        }
        let who = if due.len() >= MOST_CALLERS && !due.contains_key(who) { "" } else { who };
        // A clock that was set back must not shut anybody out.
        let latest = now.saturating_add(self.tolerance + self.interval);
        let at = due.get(who).copied().unwrap_or(now).clamp(now, latest);
        let early = at - now;
        if early > self.tolerance {
            due.insert(who.into(), at);
            let wait = u64::try_from(early - self.tolerance).unwrap_or(0);
            return Err(wait.div_ceil(1_000_000).max(1));
        }
        due.insert(who.into(), at.saturating_add(self.interval));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Actor;

    fn at(seconds: f64) -> Timestamp {
        #[expect(clippy::cast_possible_truncation, reason = "small numbers")]
        Timestamp((seconds * 1e6) as i64 + 1_000_000_000)
    }

    fn caller(token_id: &str) -> Caller {
        Caller { token_id: token_id.into(), ..Caller::whole(Actor::person("ana")) }
    }

    #[test]
    fn a_token_may_ask_in_bursts_and_then_as_often_as_its_rate() {
        let limits = Limits::of(10);
        for _ in 0..20 {
            limits.request(&caller("a"), at(0.0)).unwrap();
        }
        assert_eq!(limits.request(&caller("a"), at(0.0)), Err(1));
        assert!(limits.request(&caller("b"), at(0.0)).is_ok(), "each token has its own account");
        limits.request(&caller("a"), at(0.1)).unwrap();
        assert_eq!(limits.request(&caller("a"), at(0.1)), Err(1));
        assert!((0..20).all(|_| limits.request(&caller("a"), at(10.0)).is_ok()), "a pause fills it again");
    }

    #[test]
    fn the_people_of_an_issuer_have_an_account_each() {
        let limits = Limits::of(1);
        let person = |name: &str| {
            let login = Login::Oidc("corp".into());
            Caller { token_id: login.to_string(), login, ..Caller::whole(Actor::person(name)) }
        };
        while limits.request(&person("ana"), at(0.0)).is_ok() {}
        assert!(limits.request(&person("bob"), at(0.0)).is_ok());
    }

    #[test]
    fn a_clock_that_was_set_back_shuts_nobody_out_for_long() {
        let limits = Limits::of(10);
        while limits.request(&caller("a"), at(1e6)).is_ok() {}
        assert_eq!(limits.request(&caller("a"), at(0.0)), Err(1));
        assert!(limits.request(&caller("a"), at(0.2)).is_ok());
    }

    #[test]
    fn a_flood_of_addresses_takes_no_memory_and_gains_nothing() {
        let limits = Limits::default();
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let most = u32::try_from(MOST_CALLERS).unwrap();
        for n in 0..most {
            limits.failure(address(n), at(0.0)).unwrap();
        }
        let refused = (most..most + 100).filter(|n| limits.failure(address(*n), at(0.0)).is_err()).count();
        assert_eq!(refused, 40, "they share one account of sixty");
        assert!(limits.failures.as_ref().unwrap().due.lock().unwrap().len() <= MOST_CALLERS + 1);
        assert!(limits.failure(address(most), at(60.0)).is_ok(), "what is over is forgotten");
    }

    #[test]
    fn one_machine_has_one_account_whatever_address_it_takes() {
        let limits = Limits::default();
        let six = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, last]);
        let passed = (0..100).filter(|n| limits.failure(six(*n), at(0.0)).is_ok()).count();
        assert_eq!(passed, 60);
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        while limits.failure(mapped, at(0.0)).is_ok() {}
        assert!(limits.failure("10.0.0.1".parse().unwrap(), at(0.0)).is_err(), "one address in two forms");
    }
}
