//! A snapshot out of the registry's sight: what a relay is given of one, and the one that it makes of that.

use super::change::Moved;
use super::{Change, HeldToken, Kept, KeyState, Pepper, Servable, Snapshot};
use crate::model::bundle::BundledFragment;
use crate::model::mirror::{MIRROR_FORMAT, Mirror, MirroredGrant, MirroredKey, MirroredToken};
use crate::model::policy::{EnvironmentFields, EnvironmentPolicy, RoleGrant};
use crate::model::{Actor, ChainHead, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Policy, Scope, Timestamp};
use crate::rules::access::{Caller, Need, allowed, grants, reach};
use crate::rules::canonical;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Snapshot {
    /// What the caller may resolve, but confidential keys, and who may ask for it: those whose tokens only resolve. A token that
    /// can do more has no business where a relay stands. None where nothing has happened yet.
    pub fn mirror(&self, caller: &Caller, made_at: Timestamp) -> Option<Mirror> {
        let places: Vec<Environment> =
            self.policy.environments.iter().filter_map(|environment| environment.name.parse().ok()).collect();
        let reaches: Vec<_> = places.iter().map(|place| (place, reach(&self.policy, caller, Need::Resolve, place))).collect();
        let mut keys = Vec::new();
        for state in self.keys.iter().filter(|state| !state.key.confidential) {
            let open = reaches.iter().filter(|(_, within)| within(&state.key)).map(|(place, _)| *place);
            keys.extend(mirrored_key(state, &open.collect()));
        }
        keys.sort_unstable_by(|one, other| one.key.key_id.cmp(&other.key.key_id));
        let (mut contents, mut fragments) = (BTreeMap::new(), BTreeMap::new());
        for key in &keys {
            for digest in key.named() {
                let Some(servable) = self.servable(&key.key.key_id, &digest) else { continue };
                contents.insert(digest, servable.content.clone());
                fragments.extend(servable.fragments.iter().map(|(name, body)| {
                    let fragment = BundledFragment { name: name.clone(), body: body.clone() };
                    (canonical::fragment_digest(name, body), fragment)
                }));
            }
        }
        let tokens = self.resolving_tokens(made_at);
        let owners: BTreeSet<&Actor> = tokens.iter().map(|held| &held.token.actor).collect();
        let (grants, groups) = owned(&self.policy, &owners);
        Some(Mirror {
            format: MIRROR_FORMAT.to_owned(),
            registry: self.genesis?,
            name: self.name.to_string(),
            head: self.head,
            made_at,
            pepper: self.pepper.fingerprint(),
            environments: places.iter().map(ToString::to_string).collect(),
            grants,
            groups,
            tokens,
            keys,
            contents,
            fragments,
        })
    }

    /// The tokens that only resolve, and do so somewhere; sorted, without the notes of people.
    fn resolving_tokens(&self, now: Timestamp) -> Vec<MirroredToken> {
        let good = |held: &&Arc<HeldToken>| {
            let token = &held.token;
            let caller = Caller { environment: token.environment.clone(), ..Caller::whole(token.actor.clone()) };
            matches!(token.scope, Scope::Service | Scope::Public)
                && token.revoked_at.is_none()
                && token.expires_at > now
                && allowed(&self.policy, &caller, Need::Resolve, None, token.environment.as_ref()).is_ok()
        };
        let mirrored = |held: &Arc<HeldToken>| {
            let mut token = held.token.clone();
            token.note.clear();
            MirroredToken { token, hash: held.hash }
        };
        let mut tokens: Vec<MirroredToken> = self.tokens.values().filter(good).map(mirrored).collect();
        tokens.sort_unstable_by(|one, other| one.token.token_id.cmp(&other.token.token_id));
        tokens
    }

    /// The state of a mirror that was checked. `before` is the one that it follows: where nothing changed, who waits for changes
    /// is left alone.
    pub fn of_mirror(mirror: &Mirror, pepper: Pepper, before: Option<&Self>) -> Self {
        let mut next = Self::empty(pepper);
        next.policy = Arc::new(policy_of(mirror));
        next.tokens = mirror
            .tokens
            .iter()
            .map(|MirroredToken { token, hash }| {
                (token.token_id.clone(), Arc::new(HeldToken { token: token.clone(), hash: *hash }))
            })
            .collect();
        next.keys = mirror.keys.iter().map(|key| state_of(mirror, key)).collect();
        next.head = mirror.head;
        next.genesis = Some(mirror.registry);
        next.name = mirror.name.as_str().into();
        next.moved = before.map_or_else(|| Moved::all(mirror.head.seq), |before| next.moved_since(before));
        next
    }

    /// The same state with a pointer killed, by the audit event of number `seq`; none where it is not held here. Nothing else that
    /// the event's registry did is in it, so it stays as old as it is.
    pub fn withheld(&self, key: &KeyId, environment: &Environment, seq: u64) -> Option<Self> {
        let held = self.pointer(key, environment)?;
        let pointer = EnvironmentPointer { killed: true, next_step_at: None, ..(**held).clone() };
        // Where it is killed already, by whatever way it came to be, the answer is the same.
        if held.killed {
            return Some(self.clone());
        }
        let head = ChainHead { seq, ..self.head };
        let mut next = self.after(head, vec![Change::Pointer(Box::new(pointer))]);
        next.head = self.head;
        Some(next)
    }

    /// Where this state answers otherwise than the one before it.
    fn moved_since(&self, before: &Self) -> Moved {
        let seq = self.head.seq;
        if self.policy != before.policy || self.keys.len() != before.keys.len() {
            return Moved::all(seq);
        }
        let mut moved = before.moved.clone();
        for state in self.keys.iter() {
            let Some(was) = before.state(&state.key.key_id).filter(|was| same_but_pointers(was, state)) else {
                return Moved::all(seq);
            };
            let news = state.pointers.iter().filter(|pointer| was.pointer(&pointer.environment) != Some(*pointer));
            news.for_each(|pointer| moved.note(&pointer.environment, seq));
        }
        moved
    }
}

/// Whether two states of a key differ in nothing but where its pointers point. A pointer that moved brings its content along, and
/// is seen where it moved.
fn same_but_pointers(was: &KeyState, is: &KeyState) -> bool {
    let marked = |content: &Arc<Servable>| was.content(&content.digest).is_some_and(|w| w.quarantined != content.quarantined);
    was.key == is.key
        && was.distrusted == is.distrusted
        && was.pointers.iter().all(|pointer| is.pointer(&pointer.environment).is_some())
        && !is.contents.iter().any(marked)
}

/// What a key is in a mirror; none where it has no pointer in those environments.
fn mirrored_key(state: &KeyState, open: &BTreeSet<&Environment>) -> Option<MirroredKey> {
    let pointers = state.pointers.iter().filter(|pointer| open.contains(&pointer.environment));
    let mut pointers: Vec<EnvironmentPointer> = pointers.map(|pointer| (**pointer).clone()).collect();
    pointers.sort_unstable_by(|one, other| one.environment.cmp(&other.environment));
    if pointers.is_empty() {
        return None;
    }
    let mut distrusted: Vec<Environment> = state.distrusted.iter().filter(|place| open.contains(place)).cloned().collect();
    distrusted.sort_unstable();
    distrusted.dedup();
    let mut key = MirroredKey { key: ConfigKey::clone(&state.key), pointers, quarantined: Vec::new(), distrusted };
    let marked = |digest: &Digest| state.content(digest).is_some_and(|content| content.quarantined);
    key.quarantined = key.named().filter(marked).collect::<BTreeSet<_>>().into_iter().collect();
    Some(key)
}

/// The grants that count for some actors, and the groups that those name, with nobody else in them.
fn owned(policy: &Policy, owners: &BTreeSet<&Actor>) -> (Vec<MirroredGrant>, BTreeMap<String, Vec<Actor>>) {
    let counted: Vec<&RoleGrant> = owners.iter().flat_map(|owner| grants(policy, owner)).collect();
    let counts = |grant: &&RoleGrant| counted.contains(grant);
    let mirrored = |grant: &RoleGrant| MirroredGrant {
        who: grant.who.clone(),
        role: grant.role,
        namespace: grant.namespace.clone(),
        environment: grant.environment.clone(),
    };
    let given: Vec<MirroredGrant> = policy.roles.iter().filter(counts).map(mirrored).collect();
    let named = given.iter().filter_map(|grant| grant.who.strip_prefix("group:"));
    let members = |name: &str| {
        let all = policy.groups.get(name).into_iter().flatten();
        all.filter(|member| owners.contains(member)).cloned().collect()
    };
    let groups = named.map(|name| (name.to_owned(), members(name))).collect();
    (given, groups)
}

/// As much of the policy as resolving asks for.
fn policy_of(mirror: &Mirror) -> Policy {
    let environment = |name: &String| EnvironmentPolicy {
        name: name.clone(),
        fields: EnvironmentFields::default(),
        lines: BTreeMap::new(),
        overrides: Vec::new(),
    };
    let grant = |grant: &MirroredGrant| RoleGrant {
        who: grant.who.clone(),
        role: grant.role,
        namespace: grant.namespace.clone(),
        environment: grant.environment.clone(),
    };
    Policy {
        environments: mirror.environments.iter().map(environment).collect(),
        roles: mirror.grants.iter().map(grant).collect(),
        groups: mirror.groups.clone(),
        ..Policy::default()
    }
}

fn state_of(mirror: &Mirror, key: &MirroredKey) -> KeyState {
    let body = |digest: &Digest| mirror.fragments.get(digest).map(|fragment| fragment.body.clone()).unwrap_or_default();
    let servable = |digest: Digest| {
        let content = mirror.contents.get(&digest)?.clone();
        let fragments = content.fragments.iter().map(|(name, digest)| (name.clone(), body(digest))).collect();
        let quarantined = key.quarantined.contains(&digest);
        // Readers by number ask the registry.
        Some(Arc::new(Servable { digest, number: 0, content, fragments, quarantined }))
    };
    KeyState {
        key: Arc::new(key.key.clone()),
        pointers: key.pointers.iter().cloned().map(Arc::new).collect(),
        contents: key.named().collect::<BTreeSet<_>>().into_iter().filter_map(servable).collect(),
        distrusted: key.distrusted.clone(),
        kept: Kept::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{key_changes, prod, share, snapshot};
    use super::*;
    use crate::model::{BasisPoints, Role, Token};
    use crate::rules::note::Signer;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn grant(who: &str, role: Role, namespace: Option<&str>) -> RoleGrant {
        RoleGrant { who: who.into(), role, namespace: namespace.map(str::to_owned), environment: None }
    }

    fn token(name: &str, actor: &str, scope: Scope) -> Change {
        let token = Token {
            token_id: name.into(),
            actor: actor.parse().unwrap(),
            owner: Actor::person("root"),
            scope,
            environment: None,
            note: "where it is".into(),
            created_at: Timestamp(0),
            expires_at: if name == "old" { NOW } else { Timestamp(NOW.0 + 1) },
            revoked_at: (name == "revoked").then_some(Timestamp(0)),
        };
        Change::Token(Box::new(HeldToken { token, hash: Digest([5; 32]) }))
    }

    /// The snapshot of [`snapshot`] under a policy, with tokens of every kind.
    fn registry() -> (Snapshot, KeyId) {
        let (base, key, _) = snapshot();
        let environments = vec!["prod".to_owned(), "stage".to_owned()];
        let (lone, members) = (Actor::service("lone"), vec![Actor::service("web"), Actor::person("ana")]);
        let policy = Policy {
            roles: vec![
                grant("group:apps", Role::Service, None),
                grant("person:ana", Role::Approver, None),
                grant("service:relay", Role::Service, Some("support.**")),
                grant("service:relay", Role::Auditor, None),
            ],
            groups: BTreeMap::from([("apps".to_owned(), members), ("others".to_owned(), vec![lone])]),
            ..policy_of(&Mirror { environments, ..empty() })
        };
        let mut changes = vec![Change::Policy(Arc::new(policy), Digest::ZERO)];
        for (name, actor, scope) in [
            ("app", "service:web", Scope::Service),
            ("browser", "service:web", Scope::Public),
            ("old", "service:web", Scope::Service),
            ("revoked", "service:web", Scope::Service),
            ("person", "person:ana", Scope::Full),
            ("killer", "service:web", Scope::Kill),
            ("nowhere", "service:lone", Scope::Service),
        ] {
            changes.push(token(name, actor, scope));
        }
        (base.after(share::next(&base), changes), key)
    }

    fn empty() -> Mirror {
        Snapshot { genesis: Some(Digest([4; 32])), ..Snapshot::empty(Pepper([7; 32])) }.mirror(&relay(), NOW).unwrap()
    }

    fn relay() -> Caller {
        Caller::whole(Actor::service("relay"))
    }

    fn mirrored(of: &Snapshot, before: Option<&Snapshot>) -> Snapshot {
        Snapshot::of_mirror(&of.mirror(&relay(), NOW).unwrap(), *of.pepper(), before)
    }

    #[test]
    fn a_mirror_holds_tokens_that_only_resolve_and_names_nobody_else() {
        let (registry, _) = registry();
        let mirror = registry.mirror(&relay(), NOW).unwrap();
        let ids: Vec<&str> = mirror.tokens.iter().map(|held| held.token.token_id.as_str()).collect();
        assert_eq!(ids, ["app", "browser"]);
        assert!(mirror.tokens.iter().all(|held| held.token.note.is_empty()));
        assert_eq!(mirror.groups, BTreeMap::from([("apps".to_owned(), vec![Actor::service("web")])]));
        assert_eq!(mirror.grants.iter().map(|grant| grant.who.as_str()).collect::<Vec<_>>(), ["group:apps"]);
        assert_eq!(mirror.environments, ["prod", "stage"]);
    }

    #[test]
    fn a_mirror_answers_each_unit_as_its_registry_does() {
        let (registry, key) = registry();
        let half = registry.after(share::next(&registry), key_changes(&key, BasisPoints::new(5000).unwrap()));
        let mirror = mirrored(&half, None);
        assert_eq!((mirror.head(), mirror.genesis()), (half.head(), half.genesis()));
        for unit in (0..200).map(|unit| format!("u{unit}")) {
            let answer = |of: &Snapshot| of.resolve(&key, &prod(), Some(&unit), true).unwrap().unwrap().json(false).unwrap();
            assert_eq!(answer(&mirror), answer(&half));
        }
    }

    #[test]
    fn a_mirror_holds_only_what_the_relay_may_resolve_and_nothing_confidential() {
        let (registry, key) = registry();
        let keys = |of: &Snapshot| of.mirror(&relay(), NOW).unwrap().keys.len();
        assert_eq!(keys(&registry), 1);
        let other: KeyId = "search.rank".parse().unwrap();
        let more = registry.after(share::next(&registry), key_changes(&other, BasisPoints::ALL));
        assert_eq!(keys(&more), 1, "it is outside the relay's namespaces");
        let mut row = (**more.key(&key).unwrap()).clone();
        row.confidential = true;
        let hidden = more.after(share::next(&more), vec![Change::Key(Box::new(row))]);
        let mirror = hidden.mirror(&relay(), NOW).unwrap();
        assert!(mirror.keys.is_empty() && mirror.contents.is_empty());
        let mut narrow = relay();
        narrow.environment = Some("stage".parse().unwrap());
        assert!(registry.mirror(&narrow, NOW).unwrap().keys.is_empty(), "the key has no pointer there");
    }

    #[test]
    fn a_kill_that_is_taken_alone_leaves_the_state_as_old_as_it_is() {
        let (registry, key) = registry();
        let mirror = mirrored(&registry, None);
        let killed = mirror.withheld(&key, &prod(), 90).unwrap();
        assert_eq!((killed.pointer(&key, &prod()).unwrap().killed, killed.head()), (true, mirror.head()));
        assert_eq!(killed.moved_at(&prod()), 90, "who waits for changes is told");
        assert!(mirror.withheld(&key, &"stage".parse().unwrap(), 90).is_none(), "there is no such pointer here");
    }

    #[test]
    fn who_waits_for_changes_is_told_only_of_those() {
        let (registry, key) = registry();
        let first = mirrored(&registry, None);
        let at = |of: &Snapshot| (of.moved_at(&prod()), of.moved_at(&"stage".parse().unwrap()));
        assert_eq!(at(&first), (2, 2));
        let quiet = registry.after(share::next(&registry), Vec::new());
        let same = mirrored(&quiet, Some(&first));
        assert_eq!((at(&same), same.head().seq), ((2, 2), 3));
        let half = quiet.after(share::next(&quiet), key_changes(&key, BasisPoints::new(5000).unwrap()).split_off(3));
        let moved = mirrored(&half, Some(&same));
        assert_eq!(at(&moved), (4, 2), "the pointer's environment alone");
        let digest = half.pointer(&key, &prod()).unwrap().digest;
        let marked = half.after(share::next(&half), vec![Change::Quarantine(key.clone(), digest, true)]);
        assert_eq!(at(&mirrored(&marked, Some(&moved))), (5, 5));
    }

    #[test]
    fn a_mirror_that_is_made_is_one_that_checks() {
        use crate::model::mirror::SignedMirror;
        use crate::rules::checkpoint::{Checkpoint, origin};
        let (registry, _) = registry();
        let mirror = registry.mirror(&relay(), NOW).unwrap();
        let (signer, digest) = (Signer::new(&[7; 32]), canonical::digest_of(&mirror));
        let checkpoint = Checkpoint { registry: mirror.registry, head: mirror.head, bundle: None, mirror: Some(digest) };
        let key = signer.public(&origin(&mirror.registry));
        let signed = SignedMirror { mirror, digest, checkpoint: checkpoint.sign(&signer), key: key.to_string() };
        assert_eq!(crate::rules::mirror::check(&signed, Some(&key)), Ok(()));
    }
}
