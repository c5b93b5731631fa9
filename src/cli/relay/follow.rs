//! Following the registry: what it says is verified, the newest signed state is taken, a kill is taken at once and from wherever it
//! comes, and nothing ever goes back.

use super::Post;
use super::shelf::Withheld;
use crate::client::{Answer, ClientError, Contact, Followed, follow, stream::Following};
use crate::model::mirror::{Mirror, SignedMirror};
use crate::model::{AuditEvent, ChainHead, Digest, Environment, EnvironmentPointer, KeyId, Timestamp};
use crate::rules::mirror;
use crate::server::relay::Stand;
use crate::snapshot::Snapshot;
use futures_util::StreamExt as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Verified heads that are remembered: a state is compared with the one of its number.
const HEADS: usize = 10_000;
/// The state is fetched anew at least so often, whatever was heard.
const SLOW: Duration = Duration::from_mins(5);
/// After a broken chain the registry is met anew so often: a person may have put the right one back.
const MEET_AGAIN: Duration = Duration::from_secs(10);
/// The longest wait before a state is fetched again that could not be taken.
const LONGEST: Duration = Duration::from_secs(2);
/// So many states in a row that lag behind their own chain are no accident.
const LAGS: u32 = 12;
/// How often it is noted on the disk that the state is the newest.
const NOTE_SECONDS: i64 = 5;

/// What is fetched, on its way.
type Fetch = JoinHandle<Answer<SignedMirror>>;

/// Follows one registry.
pub struct Follower {
    post: Post,
    withheld: Vec<Withheld>,
    /// Which registry answers, and its verified heads, since it was met.
    genesis: Option<Digest>,
    heads: BTreeMap<u64, Digest>,
    /// Whether its chain contradicts what was seen: only its kills count.
    broken: bool,
    /// Whether a state is to be fetched, and the event that it must include.
    due: bool,
    wanted: u64,
    fetch: Option<Fetch>,
    /// When the last fetch began: what comes was the newest then.
    asked: Timestamp,
    /// A state that is ahead of the verified chain.
    ahead: Option<SignedMirror>,
    /// States in a row that could not be taken.
    failures: u32,
    /// When to fetch, and when to meet the registry anew.
    fetch_at: Instant,
    meet_at: Option<Instant>,
    /// The newest event that a registry that is not trusted spoke of when its kills were looked at.
    looked: Option<u64>,
    noted: Timestamp,
}

/// What to do with a state that came.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Take,
    /// The chain that was verified does not reach so far yet.
    Wait,
    /// It lags behind its own chain.
    Again,
    Refuse(String),
}

impl Follower {
    /// Begins with what was withheld before; it is applied to what is served.
    pub fn new(post: Post, withheld: Vec<Withheld>) -> Self {
        for one in &withheld {
            let seq = one.seq.unwrap_or(0);
            post.reading.snapshot.amend(|state| state.withheld(&one.key_id, &one.environment, seq));
        }
        Self {
            post,
            withheld,
            genesis: None,
            heads: BTreeMap::new(),
            broken: false,
            due: false,
            wanted: 0,
            fetch: None,
            asked: Timestamp(0),
            ahead: None,
            failures: 0,
            fetch_at: Instant::now(),
            meet_at: None,
            looked: None,
            noted: Timestamp(0),
        }
    }

    /// Follows until the relay ends.
    pub async fn run(mut self) {
        let stop = self.post.reading.shutdown.clone();
        let mut following = self.follow();
        let mut slow = tokio::time::interval_at(Instant::now() + SLOW, SLOW);
        loop {
            if self.due && self.fetch.is_none() && self.ahead.is_none() && Instant::now() >= self.fetch_at {
                self.start_fetch();
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                said = following.next() => match said {
                    Some(said) => self.hear(said),
                    None => following = self.follow(),
                },
                fetched = fetched(&mut self.fetch) => self.came(fetched),
                () = sleep_until(self.fetch_at), if self.due && self.fetch.is_none() && self.ahead.is_none() => {}
                () = sleep_until(self.meet_at.unwrap_or_else(Instant::now)), if self.meet_at.is_some() => {
                    self.meet_at = None;
                    following = self.follow();
                }
                _ = slow.tick() => self.due = !self.broken,
            }
        }
    }

    fn follow(&self) -> Following {
        follow(self.post.client.clone(), Some(self.post.pins.clone()))
    }

    fn hear(&mut self, said: Followed) {
        match said {
            Followed::Connected(Some(contact)) => self.met(&contact),
            Followed::Connected(None) if !self.broken => {
                self.stands(Stand::Refused, "the relay's token may not read the audit trail: its service needs the role auditor");
            }
            Followed::Audit(event) if !self.broken => self.event(&event),
            Followed::Heartbeat(head) if self.broken => self.look_for_kills(head),
            Followed::Heartbeat(_) => self.beat(),
            Followed::Lost { error, .. } if !self.broken => self.stands(Stand::Away, &error.to_string()),
            Followed::Broken(at) => self.distrust(at.seq, &at.why),
            // A pointer's event follows it, and proves it.
            Followed::Pointer(_)
            | Followed::Connected(None)
            | Followed::Audit(_)
            | Followed::Lost { .. }
            | Followed::Accepted => {}
        }
    }

    /// The registry is there, and its chain is the one that was seen before.
    fn met(&mut self, contact: &Contact) {
        self.broken = false;
        self.genesis = Some(contact.genesis);
        self.heads.insert(contact.head.seq, contact.head.event_id);
        self.want(contact.head.seq);
    }

    /// The next link of the verified chain.
    fn event(&mut self, event: &AuditEvent) {
        self.heads.insert(event.seq, event.event_id);
        while self.heads.len() > HEADS {
            self.heads.pop_first();
        }
        if event.body.as_ref().is_none_or(|body| mirror::changes(body.action)) {
            self.want(event.seq);
        }
        let after = event.body.as_ref().and_then(|body| body.detail.get("pointer")).cloned();
        let pointer = after.and_then(|after| serde_json::from_value::<EnvironmentPointer>(after).ok());
        if let Some(pointer) = pointer.filter(|pointer| pointer.killed) {
            self.withhold(&pointer.key_id, &pointer.environment, Some(event.seq));
        }
        self.settle();
    }

    fn want(&mut self, seq: u64) {
        (self.due, self.wanted, self.fetch_at) = (true, self.wanted.max(seq), Instant::now());
    }

    /// The registry lives. Where nothing is on its way, what is served is the newest.
    fn beat(&mut self) {
        self.settle();
        if !self.due && self.fetch.is_none() && self.ahead.is_none() {
            self.newest(self.post.reading.clock.now());
        }
    }

    /// What is held was the newest at that moment.
    fn newest(&mut self, at: Timestamp) {
        self.post.reading.snapshot.heard(at);
        if at.seconds_since(self.noted) >= NOTE_SECONDS {
            self.noted = at;
            self.post.shelf.heard(at);
        }
        self.stands(Stand::Following, "");
    }

    fn start_fetch(&mut self) {
        (self.due, self.asked) = (false, self.post.reading.clock.now());
        let (client, key) = (self.post.client.clone(), self.post.key.clone());
        self.fetch = Some(tokio::spawn(async move { client.mirror(key.as_ref()).await }));
    }

    /// A state came, or did not.
    fn came(&mut self, fetched: Answer<SignedMirror>) {
        match fetched {
            Ok(signed) if self.broken => self.take_kills(&signed.mirror),
            Ok(signed) => {
                self.ahead = Some(signed);
                self.settle();
            }
            // It is looked at again when its newest event is another.
            Err(_) if self.broken => {}
            Err(error) => {
                let stand = if matches!(error, ClientError::Integrity(_)) { Stand::Refused } else { Stand::Away };
                self.stands(stand, &error.to_string());
                self.later();
            }
        }
    }

    /// Fetches again, a little later each time.
    fn later(&mut self) {
        self.failures += 1;
        let wait = Duration::from_millis(20).saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        (self.due, self.fetch_at) = (true, Instant::now() + wait);
    }

    /// Takes the state that came, where the verified chain reaches it.
    fn settle(&mut self) {
        let Some(signed) = self.ahead.take() else { return };
        match self.judge(&signed.mirror) {
            Verdict::Take => self.take(signed),
            Verdict::Wait => self.ahead = Some(signed),
            Verdict::Again => {
                self.later();
                if self.failures > LAGS {
                    let (seq, wanted) = (signed.mirror.head.seq, self.wanted);
                    let why = format!("the registry's state stays at #{seq}, and its chain is at #{wanted} or later");
                    self.stands(Stand::Refused, &why);
                }
            }
            Verdict::Refuse(why) => {
                self.stands(Stand::Refused, &why);
                self.later();
            }
        }
    }

    fn judge(&self, mirror: &Mirror) -> Verdict {
        let state = self.post.reading.snapshot.get();
        if state.genesis().or(self.genesis).is_some_and(|genesis| genesis != mirror.registry)
            || self.genesis.is_some_and(|genesis| genesis != mirror.registry)
        {
            return Verdict::Refuse("it is another registry than the one whose state is held".to_owned());
        }
        if mirror.pepper != self.post.pepper.fingerprint() {
            return Verdict::Refuse("its units are drawn under another unit pepper".to_owned());
        }
        let ChainHead { seq, event_id, .. } = mirror.head;
        let held = state.head().seq;
        match self.heads.get(&seq) {
            Some(verified) if *verified != event_id => {
                Verdict::Refuse(format!("its state was signed over another event #{seq} than its chain has"))
            }
            // Never back; and what is held already tells nothing of the event that it must include.
            _ if seq < held || (seq == held && seq < self.wanted) => Verdict::Again,
            Some(_) => Verdict::Take,
            None if self.heads.keys().next_back().is_none_or(|newest| seq > *newest) => Verdict::Wait,
            None => Verdict::Again,
        }
    }

    fn take(&mut self, signed: SignedMirror) {
        let (reading, seq) = (self.post.reading.clone(), signed.mirror.head.seq);
        let mut next = Snapshot::of_mirror(&signed.mirror, self.post.pepper, Some(&reading.snapshot.get()));
        let before = self.withheld.len();
        self.withheld.retain(|one| one.seq.is_some_and(|at| at > seq));
        for one in &self.withheld {
            next = next.withheld(&one.key_id, &one.environment, seq).unwrap_or(next);
        }
        reading.snapshot.replace(next);
        reading.wake.send_replace(seq);
        self.failures = 0;
        if self.post.key.is_none() {
            self.post.key = signed.key.parse().ok();
            tracing::warn!(key = %signed.key, "kept to from now on; give --key to check that it is the registry's");
        }
        self.post.shelf.mirror(Arc::new(signed));
        if self.withheld.len() != before {
            self.post.shelf.withheld(&self.withheld);
        }
        tracing::info!(seq, "took the registry's state");
        self.newest(self.asked);
        // Where changes come faster than states, each state is one step on.
        if seq < self.wanted {
            self.want(self.wanted);
        }
    }

    /// A kill takes effect at once, from the event itself; the state that includes it comes later.
    fn withhold(&mut self, key: &KeyId, environment: &Environment, seq: Option<u64>) {
        let (reading, state) = (&self.post.reading, self.post.reading.snapshot.get());
        let held = state.head().seq;
        let news = match (state.pointer(key, environment), seq) {
            (Some(pointer), seq) => !pointer.killed && seq.is_none_or(|seq| seq > held),
            // The pointer may come with a state that does not include its kill.
            (None, seq) => seq.is_some_and(|seq| seq > held),
        };
        if !news {
            return;
        }
        if reading.snapshot.amend(|state| state.withheld(key, environment, seq.unwrap_or(held + 1))) {
            reading.wake.send_replace(seq.unwrap_or(held));
        }
        self.withheld.push(Withheld { key_id: key.clone(), environment: environment.clone(), seq });
        self.post.shelf.withheld(&self.withheld);
        tracing::warn!(%key, %environment, "killed");
    }

    /// The chain is not the one that was seen, or the registry is older than that.
    fn distrust(&mut self, seq: u64, why: &str) {
        (self.broken, self.due, self.ahead, self.looked) = (true, false, None, None);
        self.heads.clear();
        self.meet_at = Some(Instant::now() + MEET_AGAIN);
        self.stands(Stand::Refused, &format!("its audit chain breaks at #{seq}: {why}"));
    }

    /// A registry that is not trusted may still say what must not be served: whoever kills there means it.
    fn look_for_kills(&mut self, head: ChainHead) {
        if self.looked != Some(head.seq) && self.fetch.is_none() && self.post.key.is_some() {
            self.looked = Some(head.seq);
            self.start_fetch();
        }
    }

    fn take_kills(&mut self, mirror: &Mirror) {
        let state = self.post.reading.snapshot.get();
        if state.genesis() != Some(mirror.registry) {
            return;
        }
        for pointer in mirror.keys.iter().flat_map(|key| &key.pointers).filter(|pointer| pointer.killed) {
            self.withhold(&pointer.key_id, &pointer.environment, None);
        }
    }

    /// Says how the registry is looked at, and in the log when that is news.
    fn stands(&self, stand: Stand, why: &str) {
        if !self.post.standing.set(stand, why) {
            return;
        }
        let (server, seq) = (self.post.client.base_url(), self.post.reading.snapshot.get().head().seq);
        match stand {
            Stand::Following => tracing::info!(server, seq, "follows the registry"),
            Stand::Away => tracing::warn!(server, seq, why, "the registry is away; what is held is served on"),
            Stand::Refused => tracing::error!(
                server,
                seq,
                why,
                "ALARM: the registry is refused; what is held is served on, and its kills are obeyed. After a rightful restore: --accept-head"
            ),
        }
    }
}

/// What was fetched; never ends where nothing is.
async fn fetched(fetch: &mut Option<Fetch>) -> Answer<SignedMirror> {
    let Some(running) = fetch else { return std::future::pending().await };
    let done = running.await;
    *fetch = None;
    done.unwrap_or_else(|why| Err(ClientError::Protocol(why.to_string())))
}

#[cfg(test)]
mod tests {
    use super::super::shelf;
    use super::*;
    use crate::client::{Client, Pins};
    use crate::clock::Clock;
    use crate::model::{Actor, BasisPoints};
    use crate::rules::access::Caller;
    use crate::rules::policy;
    use crate::server::Reading;
    use crate::server::limits::Limits;
    use crate::snapshot::tests::{key_changes, prod, share, snapshot};
    use crate::snapshot::{Change, Pepper, SnapshotCell};
    use tempfile::TempDir;
    use tokio_util::sync::CancellationToken;

    /// A follower without a state that has met the registry of [`registry`] at #2.
    fn follower() -> (Follower, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let pepper = Pepper([7; 32]);
        let cell = Arc::new(SnapshotCell::new(Snapshot::empty(pepper), Timestamp(0)));
        let post = Post {
            client: Client::new("http://127.0.0.1:1", Some("cs_x")).unwrap(),
            pins: Pins::under(dir.path()),
            key: None,
            pepper,
            shelf: shelf::open(dir.path()).0,
            reading: Arc::new(Reading::over(
                cell,
                Clock::fixed(Timestamp(1)),
                Limits::off(),
                Vec::new(),
                CancellationToken::new(),
            )),
            standing: Arc::default(),
        };
        let mut follower = Follower::new(post, Vec::new());
        let (genesis, head) = (share::head(1).event_id, share::head(2));
        follower.met(&Contact { genesis, from: 1, head, first: true });
        (follower, dir)
    }

    /// A registry at #2 with a key in prod, and the key.
    fn registry() -> (Snapshot, KeyId) {
        let (base, key, _) = snapshot();
        let source = "environment = [{ name = \"prod\" }]\nrole = [{ who = \"service:relay\", role = \"service\" }]\n";
        let policy = Change::Policy(Arc::new(policy::read(source).unwrap()), Digest::ZERO);
        (base.after(share::next(&base), vec![policy]), key)
    }

    fn state(of: &Snapshot) -> SignedMirror {
        let mirror = of.mirror(&Caller::whole(Actor::service("relay")), Timestamp(1)).unwrap();
        SignedMirror { mirror, digest: Digest::ZERO, checkpoint: String::new(), key: String::new() }
    }

    fn next(of: &Snapshot) -> Snapshot {
        of.after(share::next(of), Vec::new())
    }

    /// An event that was verified, and is said to kill or not.
    fn event(seq: u64, killed: Option<&EnvironmentPointer>) -> AuditEvent {
        let pointer = killed.map(|pointer| EnvironmentPointer { killed: true, ..pointer.clone() });
        let body = serde_json::json!({
            "seq": seq, "event_id": share::head(seq).event_id, "at": "2026-11-30T12:00:00.000000Z",
            "prev_hash": Digest::ZERO, "body_hash": Digest::ZERO, "actor": "person:olga", "action": "pointer.kill",
            "subject": "key:support.greeting", "detail": { "pointer": pointer }, "nonce": "00",
        });
        serde_json::from_value(body).unwrap()
    }

    fn held(follower: &Follower) -> u64 {
        follower.post.reading.snapshot.get().head().seq
    }

    #[tokio::test]
    async fn only_a_newer_state_of_the_verified_chain_is_taken() {
        let (second, _) = registry();
        let (third, mut follower) = (next(&second), follower());
        let follower = &mut follower.0;
        follower.came(Ok(state(&second)));
        assert_eq!(held(follower), 2);
        follower.event(&event(3, None));
        let judged = |follower: &Follower, change: &dyn Fn(&mut Mirror)| {
            let mut mirror = state(&third).mirror;
            change(&mut mirror);
            follower.judge(&mirror)
        };
        assert_eq!(judged(follower, &|_| {}), Verdict::Take);
        assert_eq!(judged(follower, &|mirror| mirror.head = share::head(4)), Verdict::Wait, "its event was not verified yet");
        assert_eq!(judged(follower, &|mirror| mirror.head = share::head(2)), Verdict::Again, "#3 must be in it");
        assert_eq!(judged(follower, &|mirror| mirror.head = share::head(1)), Verdict::Again, "never back");
        for (change, why) in [
            (&(|mirror: &mut Mirror| mirror.head.event_id = Digest([9; 32])) as &dyn Fn(&mut Mirror), "another event #3"),
            (&|mirror: &mut Mirror| mirror.registry = Digest([9; 32]), "another registry"),
            (&|mirror: &mut Mirror| mirror.pepper = Digest([9; 32]), "unit pepper"),
        ] {
            assert!(matches!(judged(follower, change), Verdict::Refuse(said) if said.contains(why)), "{why}");
        }
        follower.came(Ok(state(&third)));
        follower.came(Ok(state(&second)));
        assert_eq!(held(follower), 3);
        for _ in 0..=LAGS {
            follower.came(Ok(state(&second)));
        }
        let (stand, why) = follower.post.standing.get();
        assert!(stand == Stand::Refused && why.contains("stays at #2"), "a registry that stays behind its own chain: {why}");
        assert_eq!(held(follower), 3);
    }

    #[tokio::test]
    async fn a_state_that_is_ahead_waits_for_the_chain_and_one_that_is_a_step_on_is_taken_however_fast_changes_come() {
        let (second, _) = registry();
        let (third, mut follower) = (next(&second), follower());
        let follower = &mut follower.0;
        follower.came(Ok(state(&third)));
        assert_eq!((held(follower), follower.ahead.is_some()), (0, true));
        follower.event(&event(3, None));
        assert_eq!((held(follower), follower.ahead.is_some()), (3, false));
        let fourth = next(&third);
        follower.event(&event(4, None));
        follower.event(&event(5, None));
        follower.came(Ok(state(&fourth)));
        assert_eq!((held(follower), follower.due), (4, true), "and the next one is fetched");
    }

    #[tokio::test]
    async fn a_kill_takes_effect_before_its_state_and_outlasts_states_that_do_not_include_it() {
        let (second, key) = registry();
        let mut follower = follower();
        let follower = &mut follower.0;
        let pointer = (**second.pointer(&key, &prod()).unwrap()).clone();
        let killed = |follower: &Follower| {
            let state = follower.post.reading.snapshot.get();
            state.pointer(&key, &prod()).map(|pointer| pointer.killed)
        };
        // The kill comes before the first state with its key.
        follower.event(&event(3, Some(&pointer)));
        follower.came(Ok(state(&second)));
        assert_eq!((held(follower), killed(follower)), (2, Some(true)));
        // A state that includes the event knows better: here, that it was revived.
        follower.event(&event(4, None));
        let fourth = next(&next(&second)).after(share::head(4), key_changes(&key, BasisPoints::ALL));
        follower.came(Ok(state(&fourth)));
        assert_eq!((killed(follower), follower.withheld.len()), (Some(false), 0));
        follower.event(&event(5, Some(&pointer)));
        assert_eq!(killed(follower), Some(true));
        follower.event(&event(4, Some(&pointer)));
        assert_eq!(follower.withheld.len(), 1, "what is included tells nothing new");
    }

    #[tokio::test]
    async fn a_registry_that_is_not_trusted_can_kill_and_nothing_else() {
        let (second, key) = registry();
        let mut follower = follower();
        let follower = &mut follower.0;
        follower.came(Ok(state(&second)));
        follower.hear(Followed::Broken(crate::rules::chain::Break { seq: 2, why: "it is gone".into() }));
        let moved = second.after(share::head(3), key_changes(&key, BasisPoints::new(5000).unwrap()));
        follower.hear(Followed::Audit(Box::new(event(3, Some(second.pointer(&key, &prod()).unwrap())))));
        follower.came(Ok(state(&moved)));
        let pointer = |follower: &Follower| {
            let state = follower.post.reading.snapshot.get();
            (**state.pointer(&key, &prod()).unwrap()).clone()
        };
        assert_eq!((pointer(follower).rollout_pct, pointer(follower).killed), (BasisPoints::ALL, false));
        let mut dead = state(&moved);
        dead.mirror.keys[0].pointers[0].killed = true;
        let mut foreign = dead.clone();
        foreign.mirror.registry = Digest([9; 32]);
        follower.came(Ok(foreign));
        assert!(!pointer(follower).killed, "another registry's kills are its own");
        follower.came(Ok(dead));
        assert_eq!((pointer(follower).rollout_pct, pointer(follower).killed), (BasisPoints::ALL, true));
        assert_eq!((held(follower), follower.post.standing.get().0), (2, Stand::Refused));
    }
}
