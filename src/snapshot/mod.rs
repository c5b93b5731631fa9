//! What answers without a database: keys, pointers, contents, tokens and policy in one immutable value (R18).
//!
//! A [`Snapshot`] never changes; a [`SnapshotCell`] holds the newest one. What a commit changed is published as a list of
//! [`Change`]s, in the order of the audit chain, and costs O(log n): the maps are persistent, so old and new share almost all.

mod cell;
mod change;
mod doubts;
mod kept;
mod keys;
mod load;
pub mod meter;
mod mirror;
mod resolve;

pub use cell::{Freshness, SnapshotCell};
pub use change::Change;
pub use kept::Piece;
pub use load::{load, servable};
pub use meter::Meter;
pub use resolve::Choice;

use self::kept::Kept;
use self::keys::Keys;
use crate::model::oidc::OidcSight;
use crate::model::{
    Actor, ChainHead, ConfigKey, Content, Digest, Environment, EnvironmentPointer, KeyId, Policy, Timestamp, Token,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The 32 secret bytes under which units become pseudonyms (R15); `Debug` shows nothing of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pepper(pub [u8; 32]);

impl Pepper {
    /// What may be kept beside the data: SHA-256 of a name and the pepper.
    pub fn fingerprint(&self) -> Digest {
        let mut named = b"countersign pepper\0".to_vec();
        named.extend_from_slice(&self.0);
        crate::rules::canonical::sha256(&named)
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper(…)")
    }
}

/// A content that serves or may serve at once: a pointer's digest, its baseline, the safe default.
#[derive(Debug, Clone, PartialEq)]
pub struct Servable {
    /// Its name.
    pub digest: Digest,
    /// The version's ordinal in its key.
    pub number: i64,
    /// The content.
    pub content: Content,
    /// Bodies of the pinned fragments by name.
    pub fragments: BTreeMap<String, String>,
    /// Whether it carries the quarantine mark.
    pub quarantined: bool,
}

/// A token as it is checked: the row, and the SHA-256 of the token's whole text.
#[derive(Clone, PartialEq, Eq)]
pub struct HeldToken {
    /// The row.
    pub token: Token,
    /// SHA-256 of the whole text, `cs_` and checksum included.
    pub hash: Digest,
}

impl fmt::Debug for HeldToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeldToken({})", self.token.token_id)
    }
}

/// Everything about one key that resolving needs.
#[derive(Debug, Clone)]
pub(crate) struct KeyState {
    pub(crate) key: Arc<ConfigKey>,
    pub(crate) pointers: Vec<Arc<EnvironmentPointer>>,
    pub(crate) contents: Vec<Arc<Servable>>,
    /// Where the safe default was itself killed and has not been approved since: a kill there does not serve it.
    pub(crate) distrusted: Vec<Environment>,
    /// What was written of this very state.
    pub(crate) kept: Kept,
}

/// One consistent state of the registry. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) policy: Arc<Policy>,
    pub(crate) policy_digest: Digest,
    pub(crate) keys: Keys,
    pub(crate) tokens: imbl::HashMap<String, Arc<HeldToken>>,
    pub(crate) sights: imbl::HashMap<Actor, Arc<OidcSight>>,
    pub(crate) pepper: Pepper,
    pub(crate) head: ChainHead,
    pub(crate) moved: change::Moved,
    pub(crate) genesis: Option<Digest>,
    pub(crate) name: Arc<str>,
    pub(crate) read_only: Option<Arc<str>>,
    pub(crate) doubts: usize,
}

impl Snapshot {
    /// A registry in which nothing has happened yet.
    pub fn empty(pepper: Pepper) -> Self {
        let head = ChainHead { seq: 0, event_id: Digest::ZERO, at: crate::model::Timestamp(0) };
        Self {
            policy: Arc::default(),
            policy_digest: Digest::ZERO,
            keys: Keys::default(),
            tokens: imbl::HashMap::new(),
            sights: imbl::HashMap::new(),
            pepper,
            head,
            moved: change::Moved::default(),
            genesis: None,
            name: "countersign".into(),
            read_only: None,
            doubts: 0,
        }
    }
    /// How many pointers and contents of the database were not what the audit trail and their digests say when it was loaded; they
    /// do not serve. The log names them.
    pub fn doubts(&self) -> usize {
        self.doubts
    }
    /// What an issuer said of a person's groups last.
    pub fn sight(&self, actor: &Actor) -> Option<&Arc<OidcSight>> {
        self.sights.get(actor)
    }
    /// A policy with the members whom issuers say, as of a moment.
    pub fn with_members(&self, policy: &Arc<Policy>, now: Timestamp) -> Arc<Policy> {
        let sights: Vec<&OidcSight> = self.sights.values().map(Arc::as_ref).collect();
        crate::rules::policy::with_sights(policy, sights.into_iter(), now)
    }
    /// The same state as of a moment: what issuers said too long ago counts no more.
    pub fn at(mut self, now: Timestamp) -> Self {
        self.policy = self.with_members(&self.policy, now);
        self
    }
    /// The policy in force.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }
    /// SHA-256 of the policy's TOML bytes.
    pub fn policy_digest(&self) -> Digest {
        self.policy_digest
    }
    /// A key, confidential or not: ask `rules::access::sees` before showing it.
    pub fn key(&self, key: &KeyId) -> Option<&Arc<ConfigKey>> {
        self.state(key).map(|state| &state.key)
    }
    /// All keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<ConfigKey>> {
        self.keys.iter().map(|state| &state.key)
    }
    /// How many keys there are.
    pub fn key_count(&self) -> usize {
        self.keys.len()
    }
    /// A pointer.
    pub fn pointer(&self, key: &KeyId, environment: &Environment) -> Option<&Arc<EnvironmentPointer>> {
        self.state(key)?.pointer(environment)
    }
    /// All pointers, in no order.
    pub fn pointers(&self) -> impl Iterator<Item = &Arc<EnvironmentPointer>> {
        self.keys.iter().flat_map(|state| &state.pointers)
    }
    /// The pointers of a key, in no order.
    pub fn pointers_of(&self, key: &KeyId) -> impl Iterator<Item = &Arc<EnvironmentPointer>> {
        self.state(key).into_iter().flat_map(|state| &state.pointers)
    }
    /// A content of a key that serves or may serve at once.
    pub fn servable(&self, key: &KeyId, digest: &Digest) -> Option<&Servable> {
        self.state(key)?.content(digest)
    }
    pub(crate) fn state(&self, key: &KeyId) -> Option<&Arc<KeyState>> {
        self.keys.get(key)
    }
    /// Everything about every key, sorted by name.
    pub(crate) fn sorted(&self) -> &[Arc<KeyState>] {
        self.keys.sorted()
    }
    /// A token by its id (`cs_` and 10 letters).
    pub fn token(&self, token_id: &str) -> Option<&Arc<HeldToken>> {
        self.tokens.get(token_id)
    }
    /// All tokens, in no order.
    pub fn tokens(&self) -> impl Iterator<Item = &Arc<HeldToken>> {
        self.tokens.values()
    }
    /// The registry's name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Why nothing may be changed that does not hold back: the registry was put back and is not released yet.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }
    /// The secret under which units become pseudonyms.
    pub fn pepper(&self) -> &Pepper {
        &self.pepper
    }
    /// The newest audit event that this state includes.
    pub fn head(&self) -> ChainHead {
        self.head
    }
    /// Number of the newest commit that may have changed what bulk readers get in an environment: those of confidential keys,
    /// which they never get, do not count.
    pub fn moved_at(&self, environment: &Environment) -> u64 {
        self.moved.at(environment)
    }
    /// `event_id` of the first audit event: which registry this is.
    pub fn genesis(&self) -> Option<Digest> {
        self.genesis
    }
}

impl KeyState {
    pub(crate) fn pointer(&self, environment: &Environment) -> Option<&Arc<EnvironmentPointer>> {
        self.pointers.iter().find(|p| p.environment == *environment)
    }
    pub(crate) fn content(&self, digest: &Digest) -> Option<&Servable> {
        self.contents.iter().find(|c| c.digest == *digest).map(Arc::as_ref)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{BasisPoints, Format, PlanStep, UnitType};

    /// Heads that follow one another.
    pub mod share {
        use super::*;
        pub fn next(snapshot: &Snapshot) -> ChainHead {
            head(snapshot.head().seq + 1)
        }
        pub fn head(seq: u64) -> ChainHead {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&seq.to_be_bytes());
            ChainHead { seq, event_id: Digest(id), at: Timestamp(i64::try_from(seq).unwrap()) }
        }
    }

    pub fn prod() -> Environment {
        "prod".parse().unwrap()
    }

    fn servable(key: &KeyId, body: &str) -> Servable {
        let content = Content {
            key: key.clone(),
            format: Format::Text,
            body: body.into(),
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: BTreeMap::new(),
            variables: Vec::new(),
            schema: 1,
        };
        let digest = crate::rules::canonical::content_digest(&content);
        Servable { digest, number: 1, content, fragments: BTreeMap::new(), quarantined: false }
    }

    /// A key with a safe default and a pointer at `share` whose baseline is the safe default.
    pub fn key_changes(key: &KeyId, share: BasisPoints) -> Vec<Change> {
        let (live, safe) = (servable(key, "live"), servable(key, "safe"));
        let row = ConfigKey {
            key_id: key.clone(),
            namespace: key.namespace().into(),
            owning_group: "owners".into(),
            unit_type: UnitType::User,
            confidential: false,
            safe_default_digest: Some(safe.digest),
            description: String::new(),
            archived: false,
            created_at: Timestamp(0),
        };
        let pointer = EnvironmentPointer {
            key_id: key.clone(),
            environment: prod(),
            digest: live.digest,
            rollout_pct: share,
            killed: false,
            updated_at: Timestamp(0),
            revision: 1,
            baseline_digest: Some(safe.digest),
            held: false,
            plan: vec![PlanStep(share, None)],
            next_step_at: None,
        };
        vec![
            Change::Key(Box::new(row)),
            Change::Content(Box::new(live)),
            Change::Content(Box::new(safe)),
            Change::Pointer(Box::new(pointer)),
        ]
    }

    /// A snapshot with one key at 100 %, its key, and its live and safe digests.
    pub fn snapshot() -> (Snapshot, KeyId, [Digest; 2]) {
        let key: KeyId = "support.greeting".parse().unwrap();
        let snapshot = Snapshot::empty(Pepper([7; 32])).after(share::head(1), key_changes(&key, BasisPoints::ALL));
        let digests = [servable(&key, "live").digest, servable(&key, "safe").digest];
        (snapshot, key, digests)
    }

    #[test]
    fn a_content_that_nothing_names_any_more_is_dropped() {
        let (base, key, [live, safe]) = snapshot();
        let other = servable(&key, "other");
        let mut pointer = (**base.pointer(&key, &prod()).unwrap()).clone();
        (pointer.digest, pointer.baseline_digest) = (other.digest, None);
        let changes = vec![Change::Content(Box::new(other.clone())), Change::Pointer(Box::new(pointer))];
        let moved = base.after(share::next(&base), changes);
        assert!(moved.servable(&key, &live).is_none(), "nobody gets it any more");
        assert!(moved.servable(&key, &safe).is_some(), "it is the safe default");
        assert!(moved.servable(&key, &other.digest).is_some());
    }

    #[test]
    fn commits_that_arrive_out_of_order_are_published_in_order() {
        let (base, key, _) = snapshot();
        let cell = SnapshotCell::new(base, Timestamp(0));
        let at = |points| key_changes(&key, BasisPoints::new(points).unwrap());
        let shown = || cell.get().pointer(&key, &prod()).unwrap().rollout_pct.get();
        assert!(!cell.publish(share::head(4), at(400)));
        assert!(!cell.publish(share::head(3), at(300)));
        assert_eq!((shown(), cell.has_gap()), (10_000, true));
        assert!(cell.publish(share::head(2), at(200)));
        assert_eq!((shown(), cell.get().head().seq, cell.has_gap()), (400, 4, false));
        assert!(cell.publish(share::head(3), at(300)), "one that was published before changes nothing");
        assert_eq!(shown(), 400);
    }

    #[test]
    fn a_reload_closes_a_gap_and_never_goes_back() {
        let (base, key, _) = snapshot();
        let cell = SnapshotCell::new(base.clone(), Timestamp(0));
        let half = key_changes(&key, BasisPoints::new(5000).unwrap());
        cell.publish(share::head(3), half.clone());
        cell.replace(base.after(share::head(5), half));
        assert_eq!((cell.get().head().seq, cell.has_gap()), (5, false));
        cell.replace(base);
        assert_eq!(cell.get().head().seq, 5);
    }

    #[test]
    fn answers_are_stale_once_the_database_was_away_for_the_budget() {
        let (base, _, _) = snapshot();
        let cell = SnapshotCell::new(base, Timestamp(0));
        let after = |seconds: i64| Timestamp(0).plus_seconds(seconds);
        assert_eq!(cell.freshness(after(SnapshotCell::BUDGET_SECONDS)), Freshness::Fresh);
        assert_eq!(cell.freshness(after(SnapshotCell::BUDGET_SECONDS + 1)), Freshness::Stale);
        cell.heard(after(100));
        assert_eq!(cell.freshness(after(110)), Freshness::Fresh);
    }

    #[test]
    fn what_bulk_readers_may_see_is_noted_by_environment_and_confidential_keys_leave_no_trace() {
        let (base, key, _) = snapshot();
        let stage: Environment = "stage".parse().unwrap();
        let at = |snapshot: &Snapshot| (snapshot.moved_at(&prod()), snapshot.moved_at(&stage));
        assert_eq!(at(&base), (1, 1));
        let pointer = Change::Pointer(Box::new((**base.pointer(&key, &prod()).unwrap()).clone()));
        let moved = base.after(share::next(&base), vec![pointer]);
        assert_eq!(at(&moved), (2, 1), "a pointer counts where it is");
        let quiet = moved.after(share::next(&moved), Vec::new());
        assert_eq!(at(&quiet), (2, 1), "what serves nothing does not count");
        let mut row = (**base.key(&key).unwrap()).clone();
        row.confidential = true;
        let hidden = quiet.after(share::next(&quiet), vec![Change::Key(Box::new(row))]);
        assert_eq!(at(&hidden), (4, 4), "it went out of sight");
        let changes = key_changes(&key, BasisPoints::ALL).split_off(1);
        let unseen =
            hidden.after(share::next(&hidden), [changes, vec![Change::Quarantine(key.clone(), Digest::ZERO, true)]].concat());
        assert_eq!(at(&unseen), (4, 4), "its changes are nobody's to notice");
    }

    #[test]
    fn what_an_issuer_said_puts_people_into_groups_for_a_day_whatever_policy_comes_after() {
        let source = "environment = [{ name = \"prod\" }]\n[issuer.corp]\nurl = \"https://id.example\"\n\
            audience = [\"a\"]\nclaim = \"sub\"\n[group.release]\noidc = \"corp:release\"\n";
        let read = || Arc::new(crate::rules::policy::read(source).unwrap());
        let policy = || vec![Change::Policy(read(), Digest::ZERO)];
        let (base, _, _) = snapshot();
        let cell = SnapshotCell::new(base.after(share::next(&base), policy()), Timestamp(0));
        let members = || cell.get().policy().groups["release"].len();
        let ana = Actor::person("ana");
        let sight = OidcSight { actor: ana.clone(), issuer: "corp".into(), groups: vec!["release".into()], at: Timestamp(0) };
        cell.observe(sight, Timestamp(1));
        assert_eq!((members(), cell.get().sight(&ana).is_some()), (1, true));
        cell.publish(share::next(&cell.get()), policy());
        assert_eq!(members(), 1, "another policy, the same people");
        let day = Timestamp(0).plus_seconds(crate::rules::policy::FRESH_SECONDS);
        cell.age(day);
        assert_eq!(members(), 1);
        cell.age(Timestamp(day.0 + 1));
        assert_eq!(members(), 0);
        assert_eq!(cell.get().policy().lapsed["release"], [ana]);
    }

    #[test]
    fn secrets_do_not_show_in_debug() {
        let (base, _, _) = snapshot();
        assert!(!format!("{base:?}").contains("[7, 7"));
    }
}
