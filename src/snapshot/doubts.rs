//! What of the database does not serve because something else contradicts it: a pointer that is not what the audit trail left, a
//! content or a fragment that is not what its digest says.

use super::Servable;
use crate::model::{Digest, Environment, EnvironmentPointer, KeyId};
use crate::rules::canonical::{fragment_digest, sha256};
use crate::storage::ServableRow;
use std::collections::BTreeMap;

/// What was found, for the log; keys are named in it.
#[derive(Debug, Default)]
pub(super) struct Doubts(pub Vec<String>);

impl Doubts {
    /// The pointers to serve by: what the newest event of each left (R14), whatever its row says. What is killed by the trail stays
    /// killed. A row that no event made, or whose event cannot be read, serves like a killed one.
    pub fn pointers(
        &mut self,
        rows: Vec<EnvironmentPointer>,
        left: Vec<((KeyId, Environment), Option<EnvironmentPointer>)>,
    ) -> Vec<EnvironmentPointer> {
        let mut left: BTreeMap<(KeyId, Environment), Option<EnvironmentPointer>> = left.into_iter().collect();
        let mut served = Vec::with_capacity(rows.len());
        for row in rows {
            let after = left.remove(&(row.key_id.clone(), row.environment.clone())).flatten();
            if after.as_ref() == Some(&row) {
                served.push(row);
                continue;
            }
            let place = format!("the pointer of {} in {}", row.key_id, row.environment);
            if let Some(after) = after {
                self.0.push(format!("{place} is not what the audit trail left; it serves as the trail says"));
                served.push(after);
            } else {
                self.0.push(format!("no event of the audit trail says how {place} came to be; it serves as if killed"));
                served.push(EnvironmentPointer { killed: true, ..row });
            }
        }
        for ((key, environment), after) in left {
            self.0.push(format!("the pointer of {key} in {environment} is missing; it serves as the audit trail says"));
            served.extend(after);
        }
        served
    }

    /// Whether the canonical bytes are what their digest says (R4).
    pub fn holds(&mut self, row: &ServableRow) -> bool {
        let holds = sha256(&row.content) == row.digest;
        if !holds {
            self.0.push(format!("the content of {} is not what its digest says; it does not serve", row.digest));
        }
        holds
    }

    /// Whether the bodies of the fragments are those that the content pins.
    pub fn whole(&mut self, content: &Servable) -> bool {
        let pinned = |name: &String, digest: &Digest| {
            content.fragments.get(name).is_some_and(|body| fragment_digest(name, body) == *digest)
        };
        let holds = content.content.fragments.iter().all(|(name, digest)| pinned(name, digest));
        if !holds {
            self.0.push(format!("a fragment of {} is not what its digest says; the version does not serve", content.digest));
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{prod, snapshot};
    use super::*;

    #[test]
    fn pointers_serve_as_the_trail_left_them() {
        let (snapshot, key, [_, safe]) = snapshot();
        let good = (**snapshot.pointer(&key, &prod()).unwrap()).clone();
        let killed = EnvironmentPointer { killed: true, ..good.clone() };
        let place = || (key.clone(), prod());
        for (name, row, after, serves, doubts) in [
            ("as the trail says", Some(good.clone()), Some(Some(good.clone())), Some(good.clone()), 0),
            ("no more killed", Some(good.clone()), Some(Some(killed.clone())), Some(killed.clone()), 1),
            (
                "another digest",
                Some(EnvironmentPointer { digest: safe, ..good.clone() }),
                Some(Some(good.clone())),
                Some(good.clone()),
                1,
            ),
            ("made by nobody", Some(good.clone()), None, Some(killed.clone()), 1),
            ("an event that does not read", Some(good.clone()), Some(None), Some(killed.clone()), 1),
            ("taken away", None, Some(Some(killed.clone())), Some(killed.clone()), 1),
        ] {
            let mut found = Doubts::default();
            let left = after.map(|after| (place(), after)).into_iter().collect();
            let served = found.pointers(row.into_iter().collect(), left);
            assert_eq!((served, found.0.len()), (serves.into_iter().collect::<Vec<_>>(), doubts), "{name}");
        }
    }
}
