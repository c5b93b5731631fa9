//! What Keys knows: every key in few bytes, the tree over them, the history of the one under the cursor.

use crate::model::{Digest, Environment, EnvironmentPointer, KeyId, Timestamp, UnitType};
use crate::tui::field::{Field, Lines};
use crate::tui::fuzzy;
use crate::tui::rooms::marks::Marks;
use crate::tui::rooms::throttle::Throttle;
use crate::wire::keys::{KeyHistory, KeyRow};
use crate::wire::versions::VersionView;
use std::collections::BTreeSet;

/// The most results of a filter that are listed.
const FOUND: usize = 500;
/// With no more keys than this every folder is open at first.
const ALL_OPEN: usize = 60;

/// A key in few bytes: ten thousand of them are held.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Slim {
    /// The name.
    pub(crate) key: KeyId,
    /// What is bucketed.
    pub(crate) unit: UnitType,
    /// Hidden from others.
    pub(crate) confidential: bool,
    /// How many versions.
    pub(crate) versions: u32,
    /// When a version was last saved or a pointer moved.
    pub(crate) changed_at: Timestamp,
    /// Whether some pointer is killed.
    pub(crate) killed: bool,
    /// The last environment in which it has a pointer, and the first bytes of the digest there.
    pub(crate) serves: Option<(Environment, [u8; 2])>,
}

impl Slim {
    /// A row of the registry's list in few bytes.
    pub(crate) fn of(row: KeyRow) -> Self {
        Self {
            killed: row.pointers.iter().any(|p| p.killed),
            serves: row.pointers.last().map(|p| (p.environment.clone(), first_bytes(&p.digest))),
            unit: row.key.unit_type,
            confidential: row.key.confidential,
            versions: u32::try_from(row.versions).unwrap_or(0),
            changed_at: row.changed_at,
            key: row.key.key_id,
        }
    }
}

fn first_bytes(digest: &Digest) -> [u8; 2] {
    [digest.0[0], digest.0[1]]
}

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// A namespace: its path, how deep it is, how many keys are below, whether it is open.
    Folder {
        /// `support.refund`
        path: String,
        /// Where its own part of the path begins, in bytes.
        from: usize,
        /// From 0.
        depth: usize,
        /// Keys below.
        count: usize,
        /// Whether its rows follow.
        open: bool,
    },
    /// A key: which of the rows, how deep, and which part of its name the folders above say already.
    Key {
        /// Index into the rows.
        row: usize,
        /// From 0.
        depth: usize,
        /// Where its own part of the name begins, in bytes.
        from: usize,
    },
}

/// What the cursor rests on, by name: it survives any change of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum At {
    /// A folder.
    Folder(String),
    /// A key.
    Key(KeyId),
}

/// Which pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Focus {
    /// The tree.
    #[default]
    Tree,
    /// The history.
    History,
}

/// Everything of this room.
#[derive(Debug)]
pub(crate) struct State {
    /// Every key, by name.
    pub(crate) rows: Vec<Slim>,
    /// Whether they were loaded.
    pub(crate) loaded: bool,
    /// Folders that are open.
    pub(crate) open: BTreeSet<String>,
    /// The tree, or what the filter found.
    pub(crate) nodes: Vec<Node>,
    /// What the cursor rests on.
    pub(crate) at: Option<At>,
    /// The filter.
    pub(crate) filter: Field,
    /// Whether the filter has the keys.
    pub(crate) typing: bool,
    /// Newest change first, instead of by name.
    pub(crate) by_change: bool,
    /// Which pane has the keys.
    pub(crate) focus: Focus,
    /// The history of the key under the cursor.
    pub(crate) history: Option<KeyHistory>,
    /// The version under the cursor.
    pub(crate) version: Option<Digest>,
    /// What differences are taken from.
    pub(crate) base: Option<Digest>,
    /// The content of the version under the cursor.
    pub(crate) details: Option<VersionView>,
    /// When to fetch the history.
    pub(crate) throttle: Throttle,
    /// When to fetch the list.
    pub(crate) list: Throttle,
    /// Keys that are marked.
    pub(crate) marks: Marks<KeyId>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            loaded: false,
            open: BTreeSet::new(),
            nodes: Vec::new(),
            at: None,
            filter: Field::new(Lines::One),
            typing: false,
            by_change: false,
            focus: Focus::Tree,
            history: None,
            version: None,
            base: None,
            details: None,
            throttle: Throttle::default(),
            list: Throttle::default(),
            marks: Marks::default(),
        }
    }
}

impl State {
    /// Takes the list of keys.
    pub(crate) fn take(&mut self, rows: Vec<Slim>) {
        self.rows = rows;
        self.rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        if !self.loaded && self.rows.len() <= ALL_OPEN {
            self.open = self.rows.iter().flat_map(|row| folders(row.key.namespace())).map(str::to_owned).collect();
        }
        self.loaded = true;
        let (rows, marks) = (&self.rows, &mut self.marks);
        marks.keep(|key| rows.binary_search_by(|row| row.key.cmp(key)).is_ok());
        if let Some(At::Key(key)) = self.at.clone() {
            self.reveal(&key);
        }
        self.rebuild();
    }

    /// Opens the folders above a key.
    pub(crate) fn reveal(&mut self, key: &KeyId) {
        self.open.extend(folders(key.namespace()).map(str::to_owned));
    }

    /// Makes the nodes anew, after the rows, the filter, the order or the folders changed.
    pub(crate) fn rebuild(&mut self) {
        let filter = self.filter.text();
        self.nodes = if !filter.trim().is_empty() {
            let found = fuzzy::best(&filter, self.rows.iter().map(|r| r.key.as_str()), FOUND);
            found.into_iter().map(|row| Node::Key { row, depth: 0, from: 0 }).collect()
        } else if self.by_change {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            order.sort_by_key(|n| std::cmp::Reverse(self.rows[*n].changed_at));
            order.into_iter().map(|row| Node::Key { row, depth: 0, from: 0 }).collect()
        } else {
            tree(&self.rows, &self.open)
        };
        if self.position().is_none() {
            self.at = self.nodes.first().map(|node| self.place(node));
        }
    }

    /// What a node is, by name.
    pub(crate) fn place(&self, node: &Node) -> At {
        match node {
            Node::Folder { path, .. } => At::Folder(path.clone()),
            Node::Key { row, .. } => At::Key(self.rows[*row].key.clone()),
        }
    }

    /// Which node the cursor rests on.
    pub(crate) fn position(&self) -> Option<usize> {
        let at = self.at.as_ref()?;
        self.nodes.iter().position(|node| match (node, at) {
            (Node::Folder { path, .. }, At::Folder(folder)) => path == folder,
            (Node::Key { row, .. }, At::Key(key)) => &self.rows[*row].key == key,
            _ => false,
        })
    }

    /// The key under the cursor.
    pub(crate) fn key(&self) -> Option<&KeyId> {
        match &self.at {
            Some(At::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// The history, if it is that of the key under the cursor.
    pub(crate) fn current(&self) -> Option<&KeyHistory> {
        self.history.as_ref().filter(|h| Some(&h.key.key_id) == self.key())
    }

    /// Which version of the history the cursor rests on.
    pub(crate) fn version_at(&self) -> Option<usize> {
        let history = self.current()?;
        let at = history.versions.iter().position(|v| Some(v.version.digest) == self.version);
        at.or(if history.versions.is_empty() { None } else { Some(0) })
    }

    /// The digest of the version under the cursor.
    pub(crate) fn digest(&self) -> Option<Digest> {
        self.version_at().and_then(|at| self.current().map(|h| h.versions[at].version.digest))
    }

    /// A pointer moved.
    pub(crate) fn moved(&mut self, pointer: &EnvironmentPointer) {
        if let Ok(at) = self.rows.binary_search_by(|row| row.key.cmp(&pointer.key_id)) {
            self.rows[at].changed_at = pointer.updated_at;
            // Another pointer of the key may be killed still: the history says so; the sign in the tree follows the news.
            self.rows[at].killed = pointer.killed;
            if self.rows[at].serves.as_ref().is_none_or(|(place, _)| *place == pointer.environment) {
                self.rows[at].serves = Some((pointer.environment.clone(), first_bytes(&pointer.digest)));
            }
        }
        if let Some(history) = self.history.as_mut().filter(|h| h.key.key_id == pointer.key_id)
            && let Some(old) = history.pointers.iter_mut().find(|p| p.environment == pointer.environment)
            && old.revision <= pointer.revision
        {
            old.clone_from(pointer);
        }
    }
}

/// `support`, `support.refund` for `support.refund`.
fn folders(namespace: &str) -> impl Iterator<Item = &str> {
    namespace.match_indices('.').map(|(at, _)| &namespace[..at]).chain(std::iter::once(namespace)).filter(|f| !f.is_empty())
}

/// The tree over rows that are sorted by name. A folder whose parents are open is listed, keys of open folders follow.
fn tree(rows: &[Slim], open: &BTreeSet<String>) -> Vec<Node> {
    let mut counts: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for row in rows {
        for folder in folders(row.key.namespace()) {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let mut nodes = Vec::new();
    let mut listed: BTreeSet<&str> = BTreeSet::new();
    for (n, row) in rows.iter().enumerate() {
        let (mut depth, mut hidden, mut above) = (0, false, ("", 0));
        for folder in folders(row.key.namespace()) {
            let count = counts[folder];
            // A folder of one key, or of all that its parent holds, would only be in the way.
            if count < 2 || count == above.1 {
                continue;
            }
            if listed.insert(folder) {
                let node =
                    Node::Folder { path: folder.to_owned(), from: above.0.len(), depth, count, open: open.contains(folder) };
                nodes.push(node);
            }
            above = (folder, count);
            depth += 1;
            if !open.contains(folder) {
                hidden = true;
                break;
            }
        }
        if !hidden {
            nodes.push(Node::Key { row: n, depth, from: above.0.len() });
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(keys: &[&str]) -> State {
        let mut state = State::default();
        let slim = |key: &&str| Slim {
            key: key.parse().unwrap(),
            unit: UnitType::User,
            confidential: false,
            versions: 1,
            changed_at: Timestamp(0),
            killed: false,
            serves: None,
        };
        state.rows = keys.iter().map(slim).collect();
        state.rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        state.loaded = true;
        state
    }

    fn drawn(state: &State) -> Vec<String> {
        let line = |node: &Node| match node {
            Node::Folder { path, from, depth, count, open } => {
                let name = path[*from..].trim_start_matches('.');
                format!("{}{} {name} ({count})", " ".repeat(*depth), if *open { "v" } else { ">" })
            }
            Node::Key { row, depth, from } => {
                format!("{}{}", " ".repeat(*depth), state.rows[*row].key.as_str()[*from..].trim_start_matches('.'))
            }
        };
        state.nodes.iter().map(line).collect()
    }

    #[test]
    fn closed_folders_hide_their_keys_and_say_how_many() {
        let mut state = state(&["support.refund.system", "support.refund.tone", "support.triage", "billing.dunning"]);
        state.rebuild();
        assert_eq!(drawn(&state), ["billing.dunning", "> support (3)"]);
        state.reveal(&"support.triage".parse().unwrap());
        state.rebuild();
        assert_eq!(drawn(&state), ["billing.dunning", "v support (3)", " > refund (2)", " triage"]);
    }

    #[test]
    fn a_chain_of_single_folders_is_one_row() {
        let mut state = state(&["acme.support.refund.system", "acme.support.refund.tone"]);
        state.rebuild();
        assert_eq!(drawn(&state), ["> acme (2)"]);
        state.open.insert("acme".into());
        state.rebuild();
        assert_eq!(drawn(&state), ["v acme (2)", " support.refund.system", " support.refund.tone"]);
    }

    #[test]
    fn the_cursor_stays_on_its_key_when_the_list_changes() {
        let mut state = state(&["a.one", "a.two"]);
        state.open.insert("a".into());
        state.at = Some(At::Key("a.two".parse().unwrap()));
        state.rebuild();
        assert_eq!(state.position(), Some(2));
        state.filter = Field::new(Lines::One).with("two");
        state.rebuild();
        assert_eq!(state.position(), Some(0));
        state.filter = Field::new(Lines::One).with("one");
        state.rebuild();
        assert_eq!(state.key().unwrap().as_str(), "a.one");
    }

    #[test]
    fn ten_thousand_keys_filter_within_a_keystroke() {
        let names: Vec<String> = (0..10_000).map(|n| format!("team{}.area{}.prompt-{n}", n % 40, n % 7)).collect();
        let mut state = state(&names.iter().map(String::as_str).collect::<Vec<_>>());
        state.filter = Field::new(Lines::One).with("t12prm99");
        let started = std::time::Instant::now();
        state.rebuild();
        // An unoptimised build is about thirty times slower than the 20 ms that a release build may take.
        assert!(started.elapsed().as_millis() < 1000, "{:?}", started.elapsed());
        assert!(!state.nodes.is_empty() && state.nodes.len() <= FOUND);
    }
}
