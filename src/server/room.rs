//! How many connections are open at a time, and which ones make room when more come.
//!
//! A server that stops accepting at its limit lets whoever opens connections and says nothing keep everybody's kills out. This one
//! goes on accepting: at the limit it closes connections on which it has nothing to do, those first of whoever has most.

use super::seat::Seat;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// One part in so many of all connections is closed at a time to make room, and as many may be over while they end.
const PART: usize = 64;
/// The same is not logged again within this time.
const SAID_AGAIN: Duration = Duration::from_mins(1);
/// A place becomes free within this time, or is looked for again.
const AGAIN: Duration = Duration::from_millis(20);

/// What a server takes of its machine.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// Connections at a time.
    pub connections: usize,
    /// A fresh connection must have sent a whole head within this time.
    pub first_head: Duration,
    /// A connection that waits for its peer for longer is closed: for a request, for the rest of a body, for an answer to be taken.
    pub quiet: Duration,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { connections: 4096, first_head: Duration::from_secs(10), quiet: Duration::from_secs(65) }
    }
}

/// Why a connection was closed by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// To make room for another.
    Room,
    /// Nothing came for too long.
    Silent,
    /// The peer did not take what was sent to it.
    Stalled,
}

impl Why {
    /// Every one, as metrics name it.
    pub const ALL: [(Self, &'static str); 3] = [(Self::Room, "room"), (Self::Silent, "silent"), (Self::Stalled, "stalled")];
}

/// The connections of one server.
#[derive(Debug)]
pub struct Room {
    capacity: Capacity,
    began: Instant,
    seats: Mutex<Seats>,
    /// Somebody left.
    left: Notify,
    closed: [AtomicU64; Why::ALL.len()],
    /// When it was last logged that there is no room (microseconds since the beginning; 0 = never).
    said: AtomicU64,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    taken: HashMap<u64, Arc<Seat>>,
    /// How many of them were asked to leave, and did not yet.
    going: usize,
}

impl Room {
    /// An empty one.
    pub fn of(capacity: Capacity) -> Self {
        Self {
            capacity,
            began: Instant::now(),
            seats: Mutex::default(),
            left: Notify::new(),
            closed: Default::default(),
            said: AtomicU64::new(0),
        }
    }

    /// How many connections there may be.
    pub fn most(&self) -> usize {
        self.capacity.connections
    }

    /// How many there are.
    pub fn taken(&self) -> usize {
        self.seats().taken.len()
    }

    /// How many were closed, and why.
    pub fn closed(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Why::ALL.iter().zip(&self.closed).map(|((_, name), count)| (*name, count.load(Ordering::Relaxed)))
    }

    /// A place for a connection from an address, as soon as there is one.
    pub async fn enter(self: &Arc<Self>, peer: IpAddr) -> Taken {
        while !self.make() {
            let _ = tokio::time::timeout(AGAIN, self.left.notified()).await;
        }
        let mut seats = self.seats();
        let seat = Arc::new(Seat::new(network(peer), self.began));
        seats.next += 1;
        let number = seats.next;
        seats.taken.insert(number, seat.clone());
        Taken { room: self.clone(), number, seat }
    }

    /// Asks some to leave where there is no place; whether one more may come.
    pub fn make(&self) -> bool {
        let (most, part) = (self.capacity.connections, self.capacity.connections / PART + 1);
        let mut seats = self.seats();
        let staying = seats.taken.len() - seats.going;
        if staying < most {
            return seats.taken.len() < most + part;
        }
        let victims = victims(&seats.taken, staying - most + part);
        self.ask(&mut seats, &victims, Why::Room);
        let (taken, found) = (seats.taken.len(), victims.len());
        drop(seats);
        self.say(taken, found);
        found > 0 && taken < most + part
    }

    /// Asks those to leave that were waited for too long.
    pub fn sweep(&self) {
        let mut seats = self.seats();
        for why in [Why::Silent, Why::Stalled] {
            let late = seats.taken.iter().filter(|(_, seat)| !seat.asked_to_leave() && self.is_late(seat) == Some(why));
            let late: Vec<u64> = late.map(|(number, _)| *number).collect();
            self.ask(&mut seats, &late, why);
        }
    }

    /// Sweeps again and again.
    pub async fn sweeping(&self) {
        let mut tick = tokio::time::interval((self.capacity.first_head / 10).clamp(AGAIN, Duration::from_secs(1)));
        loop {
            tick.tick().await;
            self.sweep();
        }
    }

    fn is_late(&self, seat: &Seat) -> Option<Why> {
        if seat.stuck_since().is_some_and(|since| seat.past(since) >= self.capacity.quiet) {
            return Some(Why::Stalled);
        }
        let patience = if seat.is_fresh() { self.capacity.first_head } else { self.capacity.quiet };
        seat.waits_since().is_some_and(|since| seat.past(since) >= patience).then_some(Why::Silent)
    }

    fn ask(&self, seats: &mut Seats, numbers: &[u64], why: Why) {
        for number in numbers {
            if seats.taken.get(number).is_some_and(|seat| seat.ask_to_leave()) {
                seats.going += 1;
                self.closed[why as usize].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn say(&self, taken: usize, found: usize) {
        let now = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        let before = self.said.load(Ordering::Relaxed);
        let again = u64::try_from(SAID_AGAIN.as_micros()).unwrap_or(u64::MAX);
        if before > 0 && now.saturating_sub(before) < again {
            return;
        }
        if self.said.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::warn!(
                connections = taken,
                most = self.capacity.connections,
                closing = found,
                "as many connections are open as may be; idle ones are closed for those that come"
            );
        }
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses of one machine are one: IPv6 addresses by their network (/64), and IPv4 ones in either form.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => IpAddr::from((u128::from(six) >> 64 << 64).to_be_bytes()),
        four @ IpAddr::V4(_) => four,
    }
}

/// Who leaves: those that wait for their peer, in the order that brings the addresses with most connections down to the others'
/// level, and of one address whoever waits longest. An address that floods the server thus pushes out nobody but itself, and where
/// all come from one address (a proxy), the longest idle ones go.
fn victims(taken: &HashMap<u64, Arc<Seat>>, wanted: usize) -> Vec<u64> {
    let mut of_peer: HashMap<IpAddr, (usize, Vec<(u64, u64)>)> = HashMap::new();
    for (number, seat) in taken.iter().filter(|(_, seat)| !seat.asked_to_leave()) {
        let (held, waiting) = of_peer.entry(seat.peer).or_default();
        *held += 1;
        waiting.extend(seat.waits_since().map(|since| (since, *number)));
    }
    let mut order = Vec::new();
    for (held, mut waiting) in of_peer.into_values() {
        waiting.sort_unstable();
        order.extend(waiting.into_iter().enumerate().map(|(before, (since, number))| (Reverse(held - before), since, number)));
    }
    order.sort_unstable();
    order.into_iter().take(wanted).map(|(.., number)| number).collect()
}

/// A connection's place, kept until this is dropped.
#[derive(Debug)]
pub struct Taken {
    room: Arc<Room>,
    number: u64,
    /// What the connection does.
    pub seat: Arc<Seat>,
}

impl Taken {
    /// Waits until the connection is asked to leave, and may: not while the registry works for it.
    pub async fn until_it_must_go(&self) {
        loop {
            self.seat.told().await;
            if !self.seat.works() || self.room.is_late(&self.seat) == Some(Why::Stalled) {
                return;
            }
            let mut seats = self.room.seats();
            if self.seat.stay() {
                seats.going -= 1;
            }
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut seats = self.room.seats();
        seats.taken.remove(&self.number);
        if self.seat.stay() {
            seats.going -= 1;
        }
        drop(seats);
        self.room.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(connections: usize) -> Arc<Room> {
        Arc::new(Room::of(Capacity { connections, ..Capacity::default() }))
    }

    fn from(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    /// Whether it was asked to leave.
    fn must_go(taken: &Taken) -> bool {
        taken.seat.asked_to_leave()
    }

    #[tokio::test]
    async fn at_the_limit_the_longest_idle_connection_goes_and_a_working_one_stays() {
        let room = room(3);
        let working = room.enter(from(1)).await;
        let _visit = working.seat.visit();
        let (old, young) = (room.enter(from(1)).await, room.enter(from(1)).await);
        let newest = room.enter(from(1)).await;
        assert_eq!([&working, &old, &young, &newest].map(must_go), [false, true, false, false]);
        drop(old);
        assert_eq!(room.taken(), 3);
        assert_eq!(room.closed().collect::<Vec<_>>(), [("room", 1), ("silent", 0), ("stalled", 0)]);
    }

    #[tokio::test]
    async fn an_address_that_floods_pushes_out_nobody_but_itself() {
        let room = room(100);
        let other = room.enter(from(1)).await;
        let mut flood = Vec::new();
        for _ in 0..1000 {
            flood.push(room.enter(from(2)).await);
            flood.retain(|taken| !must_go(taken));
        }
        assert!(!must_go(&other), "it waits longer than all of them, and is one of one");
        assert!(room.taken() <= 100);
        let six: IpAddr = "2001:db8::1".parse().unwrap();
        assert_eq!(network(six), network("2001:db8::ffff".parse().unwrap()), "one network is one machine");
        assert_eq!(network("::ffff:10.0.0.1".parse().unwrap()), from(1));
    }

    #[tokio::test]
    async fn where_all_work_whoever_comes_waits_for_the_first_that_ends() {
        let room = room(1);
        let first = room.enter(from(1)).await;
        let visit = first.seat.visit();
        assert!(!room.make());
        drop(visit);
        assert_eq!(room.enter(from(2)).await.seat.peer, from(2));
        assert!(must_go(&first));
    }

    #[tokio::test]
    async fn no_more_are_asked_than_needed_while_those_that_were_asked_have_not_left() {
        let room = room(10);
        let mut taken = Vec::new();
        for _ in 0..11 {
            taken.push(room.enter(from(1)).await);
        }
        assert_eq!(taken.iter().filter(|taken| must_go(taken)).count(), 1);
        assert!(!room.make(), "nobody comes until the one that was asked has left");
        assert_eq!(taken.iter().filter(|taken| must_go(taken)).count(), 2);
        taken.retain(|taken| !must_go(taken));
        assert!(room.make());
    }

    #[tokio::test]
    async fn one_that_is_asked_to_leave_while_a_request_begins_stays() {
        let room = room(1);
        let first = room.enter(from(1)).await;
        let second = room.enter(from(1)).await;
        assert!(must_go(&first));
        let visit = first.seat.visit();
        tokio::select! {
            biased;
            () = first.until_it_must_go() => panic!("its request is lost"),
            () = std::future::ready(()) => {}
        }
        assert!(!must_go(&first), "the request is answered");
        drop((visit, second));
        room.make();
        first.until_it_must_go().await;
    }

    #[tokio::test]
    async fn silence_ends_a_fresh_connection_soon_and_a_used_one_later_and_work_only_where_nobody_takes_it() {
        let capacity = |first_head, quiet| Capacity { connections: 10, first_head, quiet };
        let soon = Arc::new(Room::of(capacity(Duration::ZERO, Duration::MAX)));
        let (fresh, used) = (soon.enter(from(1)).await, soon.enter(from(1)).await);
        drop(used.seat.visit());
        soon.sweep();
        assert_eq!([&fresh, &used].map(must_go), [true, false]);
        let later = Arc::new(Room::of(capacity(Duration::MAX, Duration::ZERO)));
        let (fresh, used, working) = (later.enter(from(1)).await, later.enter(from(1)).await, later.enter(from(1)).await);
        let _visit = (used.seat.visit(), working.seat.visit()).1;
        later.sweep();
        assert_eq!([&fresh, &used, &working].map(must_go), [false, true, false]);
        working.seat.wrote(false);
        working.seat.wrote(true);
        later.sweep();
        assert!(!must_go(&working));
        working.seat.wrote(false);
        later.sweep();
        assert!(must_go(&working), "its peer takes nothing");
        working.until_it_must_go().await;
        assert_eq!(later.closed().collect::<Vec<_>>(), [("room", 0), ("silent", 1), ("stalled", 1)]);
    }
}
