//! All keys' states: found by name, changed at little cost, and sorted for who asks.

use super::KeyState;
use crate::model::KeyId;
use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// The states of all keys. Cloning it is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    states: imbl::HashMap<Held, ()>,
    /// The same by name, from when somebody asked until something changes.
    sorted: OnceLock<Arc<[Arc<KeyState>]>>,
}

/// A key's state in the map of all of them, found by the key's name. One pointer wide (the map has no other value), since
/// changing a key copies a path of the map's tree, and with it every pointer that the path's nodes hold.
#[derive(Debug, Clone)]
struct Held(Arc<KeyState>);

impl Keys {
    pub(super) fn get(&self, key: &KeyId) -> Option<&Arc<KeyState>> {
        self.states.get_key_value(key).map(|(Held(state), ())| state)
    }

    /// Puts a state in the place of the one that its key had. O(log n).
    pub(super) fn insert(&mut self, state: KeyState) {
        self.states.insert(Held(Arc::new(state)), ());
        self.sorted = OnceLock::new();
    }

    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// In no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<KeyState>> {
        self.states.keys().map(|Held(state)| state)
    }

    /// By name. O(n log n) for the first who asks.
    pub(super) fn sorted(&self) -> &[Arc<KeyState>] {
        self.sorted.get_or_init(|| {
            let mut states: Vec<Arc<KeyState>> = self.iter().cloned().collect();
            states.sort_unstable_by(|one, other| one.key.key_id.cmp(&other.key.key_id));
            states.into()
        })
    }
}

impl FromIterator<KeyState> for Keys {
    fn from_iter<I: IntoIterator<Item = KeyState>>(states: I) -> Self {
        let states = states.into_iter().map(|state| (Held(Arc::new(state)), ())).collect();
        Self { states, sorted: OnceLock::new() }
    }
}

impl Borrow<KeyId> for Held {
    fn borrow(&self) -> &KeyId {
        &self.0.key.key_id
    }
}
impl Hash for Held {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.key.key_id.hash(state);
    }
}
impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0.key.key_id == other.0.key.key_id
    }
}
impl Eq for Held {}

#[cfg(test)]
mod tests {
    use super::super::tests::{key_changes, share, snapshot};
    use crate::model::BasisPoints;

    #[test]
    fn the_order_of_keys_follows_every_change_and_older_states_keep_theirs() {
        let (base, key, _) = snapshot();
        let names = |snapshot: &super::super::Snapshot| -> Vec<String> {
            snapshot.sorted().iter().map(|state| state.key.key_id.to_string()).collect()
        };
        assert_eq!(names(&base), ["support.greeting"]);
        let mut all = base.clone();
        for name in ["support.z", "a.first"] {
            all = all.after(share::next(&all), key_changes(&name.parse().unwrap(), BasisPoints::ALL));
        }
        assert_eq!(names(&all), ["a.first", "support.greeting", "support.z"]);
        let half = BasisPoints::new(5000).unwrap();
        let moved = all.after(share::next(&all), key_changes(&key, half));
        assert_eq!(moved.sorted()[1].pointers[0].rollout_pct, half, "the states themselves are the newest");
        assert_eq!(all.sorted()[1].pointers[0].rollout_pct, BasisPoints::ALL);
        assert_eq!(names(&base), ["support.greeting"]);
    }
}
