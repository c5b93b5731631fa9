//! What Keys does with what happens.

use super::State;
use super::state::{At, Focus, Node, Slim};
use crate::model::{Action as Audited, Digest, EnvironmentPointer, KeyId};
use crate::rules::promotion::kill_serves;
use crate::tui::action::{Action, Scope};
use crate::tui::effect::{Answer, Effect, Query, Slot};
use crate::tui::field::{Field, Lines};
use crate::tui::keymap::{Key, KeyCode};
use crate::tui::msg::{DialogKind, Followed, Msg, Notice, Place, ReviewPane, ReviewTarget};
use crate::tui::state::{Cx, Subject};
use crate::tui::update::{say, tell};
use crate::tui::widgets::scroll::{Cursor, Move};
use crate::wire::keys::ListKeys;

/// Fetches the list of keys where it is not known yet.
pub(crate) fn fetch(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    if state.loaded || cx.slots.is_waiting(Slot::Keys) { Vec::new() } else { list(state, cx) }
}

fn list(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    state.list.now(Slot::Keys, Query::Keys(ListKeys::default()), cx)
}

/// The room comes to the front, perhaps at a key.
pub(crate) fn open(state: &mut State, key: Option<KeyId>, cx: &mut Cx) -> Vec<Effect> {
    let mut effects = if state.loaded { Vec::new() } else { list(state, cx) };
    if let Some(key) = key {
        state.filter = Field::new(Lines::One);
        state.by_change = false;
        state.focus = Focus::History;
        state.reveal(&key);
        state.at = Some(At::Key(key));
        // A key that is not known yet keeps the cursor until the list is there.
        if state.loaded {
            state.rebuild();
        }
    }
    effects.extend(history(state, cx));
    effects
}

/// The scope of the pane that has the keys.
pub(crate) fn scope(state: &State) -> Scope {
    match state.focus {
        Focus::Tree => Scope::Keys,
        Focus::History => Scope::History,
    }
}

/// Whether the filter has the keys.
pub(crate) fn typing(state: &State) -> bool {
    state.typing
}

/// The history of the key under the cursor, where another one is shown.
fn history(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    let Some(key) = state.key().cloned() else { return Vec::new() };
    if state.current().is_some() {
        return details(state, cx);
    }
    state.version = None;
    state.base = None;
    state.details = None;
    state.throttle.now(Slot::History, Query::History(key), cx)
}

/// The content of the version under the cursor, where another one is shown.
fn details(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    match state.digest().filter(|_| state.key().is_some_and(|key| !cx.session.is_closed(key))) {
        Some(digest) if state.details.as_ref().is_none_or(|d| d.version.digest != digest) => {
            vec![cx.slots.load(Slot::Details, Query::Version(digest))]
        }
        _ => Vec::new(),
    }
}

/// A message for this room.
pub(crate) fn update(state: &mut State, msg: &Msg, cx: &mut Cx) -> Vec<Effect> {
    match msg {
        Msg::Chosen(action) => chosen(state, *action, cx),
        Msg::Pressed(key) if state.typing => typed(state, *key, cx),
        Msg::Pasted(text) if state.typing => {
            state.filter.paste(text);
            state.rebuild();
            history(state, cx)
        }
        Msg::Loaded { slot, answer, .. } => loaded(state, *slot, answer.as_ref().ok(), cx),
        Msg::Followed(Followed::Pointer(pointer)) => {
            state.moved(pointer);
            Vec::new()
        }
        Msg::Followed(Followed::Audit(event)) => {
            let Some(body) = &event.body else { return Vec::new() };
            let list = matches!(body.action, Audited::KeyCreate | Audited::KeyUpdate) && state.loaded;
            let mut effects = Vec::new();
            if list {
                effects.extend(state.list.stale(Slot::Keys, || Query::Keys(ListKeys::default()), cx));
            }
            effects.extend(again(state, cx));
            effects
        }
        Msg::Followed(Followed::Connected { .. }) => again(state, cx),
        Msg::Settled => {
            state.marks.clear();
            Vec::new()
        }
        Msg::Ticked => {
            let mut effects = state.list.due(Slot::Keys, || Query::Keys(ListKeys::default()), cx);
            if let Some(key) = state.key().cloned() {
                effects.extend(state.throttle.due(Slot::History, || Query::History(key), cx));
            }
            effects
        }
        _ => Vec::new(),
    }
}

/// The history that is shown may be out of date.
fn again(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    match state.key().cloned().filter(|_| state.history.is_some()) {
        Some(key) => state.throttle.stale(Slot::History, || Query::History(key), cx),
        None => Vec::new(),
    }
}

/// The list came.
pub(crate) fn take(state: &mut State, rows: Vec<Slim>, cx: &mut Cx) -> Vec<Effect> {
    let first = !state.loaded;
    state.take(rows);
    if first { history(state, cx) } else { Vec::new() }
}

fn loaded(state: &mut State, slot: Slot, answer: Option<&Answer>, cx: &mut Cx) -> Vec<Effect> {
    match answer {
        Some(Answer::History(found)) => {
            state.history = Some((**found).clone());
            return details(state, cx);
        }
        Some(Answer::Version(found)) => state.details = Some((**found).clone()),
        _ if slot == Slot::Keys => state.list.failed(),
        _ => {}
    }
    Vec::new()
}

fn typed(state: &mut State, key: Key, cx: &mut Cx) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => {
            state.typing = false;
            state.filter = Field::new(Lines::One);
            if let Some(key) = state.key().cloned() {
                state.reveal(&key);
            }
        }
        KeyCode::Enter | KeyCode::Tab => state.typing = false,
        KeyCode::Down => return moved(state, Move::By(1), cx),
        KeyCode::Up => return moved(state, Move::By(-1), cx),
        _ => {
            if !state.filter.key(&key) {
                return Vec::new();
            }
            // The best match gets the cursor while it is being typed.
            state.at = None;
        }
    }
    state.rebuild();
    history(state, cx)
}

fn moved(state: &mut State, how: Move, cx: &mut Cx) -> Vec<Effect> {
    match state.focus {
        Focus::Tree => {
            let mut cursor = Cursor { at: state.position().unwrap_or(0) };
            cursor.go(how, state.nodes.len());
            state.at = state.nodes.get(cursor.at).map(|node| state.place(node));
            history(state, cx)
        }
        Focus::History => {
            let Some(history) = state.current() else { return Vec::new() };
            let mut cursor = Cursor { at: state.version_at().unwrap_or(0) };
            cursor.go(how, history.versions.len());
            state.version = history.versions.get(cursor.at).map(|v| v.version.digest);
            details(state, cx)
        }
    }
}

fn chosen(state: &mut State, action: Action, cx: &mut Cx) -> Vec<Effect> {
    let page = cx.screen.height.saturating_sub(8);
    if let Some(how) = Move::of(action, page) {
        return moved(state, how, cx);
    }
    match action {
        Action::Find => {
            state.typing = true;
            state.focus = Focus::Tree;
            Vec::new()
        }
        Action::Back if state.focus == Focus::History => left(state),
        Action::Back if state.marks.clear() => Vec::new(),
        Action::Back => {
            state.filter = Field::new(Lines::One);
            state.rebuild();
            history(state, cx)
        }
        Action::Refetch => {
            let mut effects = list(state, cx);
            if let Some(key) = state.key().cloned() {
                effects.extend(state.throttle.now(Slot::History, Query::History(key), cx));
            }
            effects
        }
        Action::PaneNext | Action::PanePrevious => {
            let history = state.focus == Focus::Tree && state.key().is_some();
            state.focus = if history { Focus::History } else { Focus::Tree };
            Vec::new()
        }
        Action::PaneLeft => left(state),
        Action::PaneRight | Action::KeysOpen => into(state, action),
        Action::SelectMark if matches!(state.at, Some(At::Folder(_))) => fold(state),
        Action::SelectMark | Action::SelectRange | Action::SelectAll => {
            let key = |node: &Node| match node {
                Node::Key { row, .. } => Some(state.rows[*row].key.clone()),
                Node::Folder { .. } => None,
            };
            let listed: Vec<KeyId> = state.nodes.iter().filter_map(key).collect();
            let here = state.key().and_then(|key| listed.iter().position(|known| known == key));
            state.marks.act(action, &listed, here);
            Vec::new()
        }
        Action::KeysSort => {
            state.by_change = !state.by_change;
            state.rebuild();
            Vec::new()
        }
        Action::KeysDraft | Action::HistoryDraft => dialog(state, DialogKind::Draft, None),
        Action::HistoryEdit if state.key().is_some_and(|key| cx.session.is_closed(key)) => {
            vec![say(Notice::note("its content is confidential: R shows it first"))]
        }
        Action::HistoryEdit => dialog(state, DialogKind::Draft, state.digest()),
        Action::HistorySubmit => dialog(state, DialogKind::Submit, state.digest()),
        _ => on_version(state, action),
    }
}

fn fold(state: &mut State) -> Vec<Effect> {
    if let Some(At::Folder(path)) = &state.at {
        if !state.open.remove(path) {
            state.open.insert(path.clone());
        }
        state.rebuild();
    }
    Vec::new()
}

/// Into the row: a folder opens, a key shows its history.
fn into(state: &mut State, action: Action) -> Vec<Effect> {
    match &state.at {
        Some(At::Folder(path)) if action == Action::KeysOpen || !state.open.contains(path) => fold(state),
        Some(At::Key(_)) => {
            state.focus = Focus::History;
            Vec::new()
        }
        _ => Vec::new(),
    }
}

/// Back: from the history to the tree, from a row to its folder, which then closes.
fn left(state: &mut State) -> Vec<Effect> {
    if state.focus == Focus::History {
        state.focus = Focus::Tree;
        return Vec::new();
    }
    let mut up = match &state.at {
        Some(At::Folder(path)) if state.open.contains(path) => return fold(state),
        Some(At::Folder(path)) => path.rsplit_once('.').map(|(up, _)| up.to_owned()),
        Some(At::Key(key)) => Some(key.namespace().to_owned()),
        None => None,
    };
    // Not every namespace is a row: go up to the nearest one that is.
    while let Some(path) = up {
        if state.nodes.iter().any(|n| matches!(n, Node::Folder { path: known, .. } if *known == path)) {
            state.at = Some(At::Folder(path));
            break;
        }
        up = path.rsplit_once('.').map(|(up, _)| up.to_owned());
    }
    Vec::new()
}

fn dialog(state: &State, kind: DialogKind, digest: Option<Digest>) -> Vec<Effect> {
    let mut subject = subject(state);
    subject.digest = digest;
    match subject.dialog(kind) {
        Some(request) => vec![tell(Msg::DialogAsked(Box::new(request)))],
        None => vec![say(Notice::note("move to a key first"))],
    }
}

/// The last pointer in the policy's order: what counts as served, killed or not.
fn last_pointer(state: &State) -> Option<&EnvironmentPointer> {
    state.current()?.pointers.last()
}

/// What the last pointer in the policy's order gives everybody (or the share of a rollout): while it is killed, the safe
/// default, unless that is the killed one itself or quarantined.
fn served(state: &State) -> Option<Digest> {
    let (history, pointer) = (state.current()?, last_pointer(state)?);
    if !pointer.killed {
        return Some(pointer.digest);
    }
    let marked = |d: &Digest| history.versions.iter().any(|v| v.version.digest == *d && v.version.quarantine.is_some());
    kill_serves(pointer, history.key.safe_default_digest, marked)
}

/// The difference from what serves to a version; while it is killed the status line says what that is.
fn from_served(state: &State, key: KeyId, to: Digest) -> Vec<Effect> {
    let killed = last_pointer(state).filter(|pointer| pointer.killed).map(|pointer| &pointer.environment);
    let note = |text: String| say(Notice::note(text));
    match (served(state), killed) {
        (Some(from), None) if from == to => vec![note("this is what serves: there is no difference".into())],
        (Some(from), Some(place)) if from == to => {
            vec![note(format!("{place} is killed and this is the safe default: there is no difference"))]
        }
        (Some(from), killed) => {
            let open = tell(Msg::Went(Place::Review(ReviewTarget::Pair { key, from: Some(from), to })));
            let said = killed.map(|place| note(format!("{place} is killed: compared with the safe default")));
            std::iter::once(open).chain(said).collect()
        }
        (None, Some(place)) => vec![note(format!("{place} is killed and gives no value: there is nothing to compare with"))],
        (None, None) => vec![note("nothing serves yet: there is nothing to compare with".into())],
    }
}

fn on_version(state: &mut State, action: Action) -> Vec<Effect> {
    let (Some(key), Some(digest)) = (state.key().cloned(), state.digest()) else {
        return vec![say(Notice::note("move to a version first"))];
    };
    let version = |pane| ReviewTarget::Version { key: key.clone(), digest, pane };
    let target = match action {
        Action::HistoryOpen => version(ReviewPane::Diff),
        Action::HistoryGates => version(ReviewPane::Gates),
        Action::HistoryFragments => version(ReviewPane::Fragments),
        Action::HistoryBase => {
            state.base = if state.base == Some(digest) { None } else { Some(digest) };
            return Vec::new();
        }
        Action::HistoryDiff => return from_served(state, key, digest),
        Action::HistoryDiffMark => match state.base {
            Some(from) if from != digest => ReviewTarget::Pair { key, from: Some(from), to: digest },
            Some(_) => return vec![say(Notice::note("this is the marked version: move to another one"))],
            None => return vec![say(Notice::note("mark a version with m first"))],
        },
        _ => return Vec::new(),
    };
    vec![tell(Msg::Went(Place::Review(target)))]
}

/// What the cursor is on.
pub(crate) fn subject(state: &State) -> Subject {
    let Some(key) = state.key() else { return Subject::default() };
    let row =
        state.version_at().filter(|_| state.focus == Focus::History).and_then(|at| state.current().map(|h| &h.versions[at]));
    Subject {
        key: Some(key.clone()),
        digest: row.map(|r| r.version.digest),
        rationale: row.map(|r| r.version.rationale.clone()),
        marked: if state.focus == Focus::Tree { marked(state) } else { Vec::new() },
        ..Subject::default()
    }
}

/// What the marked keys are about.
fn marked(state: &State) -> Vec<Subject> {
    let keys = state.rows.iter().map(|row| &row.key).filter(|key| state.marks.has(key));
    keys.map(|key| Subject { key: Some(key.clone()), ..Subject::default() }).collect()
}
