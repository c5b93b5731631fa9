//! What Rollouts does with what happens.

use super::State;
use super::state::Rolling;
use crate::tui::action::Action;
use crate::tui::effect::{Answer, Effect, Query, Slot};
use crate::tui::field::{Field, Lines};
use crate::tui::keymap::KeyCode;
use crate::tui::msg::{DialogKind, Followed, Msg, Notice, Place};
use crate::tui::state::{Cx, Subject};
use crate::tui::update::{say, tell};
use crate::tui::widgets::scroll::{Cursor, Move};
use crate::wire::pointers::ListPointers;

fn query() -> Query {
    Query::Pointers(ListPointers { show: Some("partial".into()), ..ListPointers::default() })
}

/// Whether the filter has the keys.
pub(crate) fn typing(state: &State) -> bool {
    state.typing
}

/// The room comes to the front: fetch.
pub(crate) fn open(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    state.reorder = true;
    state.throttle.now(Slot::Rollouts, query(), cx)
}

/// A message for this room.
pub(crate) fn update(state: &mut State, msg: &Msg, cx: &mut Cx) -> Vec<Effect> {
    match msg {
        Msg::Chosen(action) => chosen(state, *action, cx),
        Msg::Pressed(key) if state.typing => {
            match key.code {
                KeyCode::Esc => {
                    state.typing = false;
                    state.filter = Field::new(Lines::One);
                }
                KeyCode::Enter | KeyCode::Down | KeyCode::Tab => state.typing = false,
                _ => drop(state.filter.key(key)),
            }
            Vec::new()
        }
        Msg::Pasted(text) if state.typing => {
            state.filter.paste(text);
            Vec::new()
        }
        Msg::Loaded { answer, .. } => {
            match answer {
                Ok(Answer::Pointers(views)) => state.take(views.clone()),
                Ok(_) => {}
                Err(_) => state.throttle.failed(),
            }
            state.throttle.due(Slot::Rollouts, query, cx)
        }
        Msg::Followed(Followed::Pointer(pointer)) => {
            state.moved(pointer);
            state.throttle.stale(Slot::Rollouts, query, cx)
        }
        Msg::Followed(Followed::Connected { .. }) => state.throttle.stale(Slot::Rollouts, query, cx),
        Msg::Settled => {
            state.marks.clear();
            Vec::new()
        }
        Msg::Ticked => state.throttle.due(Slot::Rollouts, query, cx),
        _ => Vec::new(),
    }
}

fn chosen(state: &mut State, action: Action, cx: &mut Cx) -> Vec<Effect> {
    if let Some(how) = Move::of(action, cx.screen.height / 2) {
        let mut cursor = Cursor { at: state.current().map_or(0, |(at, _)| at) };
        cursor.go(how, state.visible().len());
        state.select(cursor.at);
        return Vec::new();
    }
    let own = |row: &Rolling| (row.view.pointer.key_id.clone(), row.view.pointer.environment.clone());
    let listed: Vec<_> = state.visible().into_iter().filter(|row| !row.ghost).map(own).collect();
    let here = state.current().and_then(|(_, row)| listed.iter().position(|id| *id == own(row)));
    if state.marks.act(action, &listed, here) {
        return Vec::new();
    }
    match action {
        Action::Refetch => return open(state, cx),
        Action::InsertNewer => state.insert_newer(),
        Action::Find => state.typing = true,
        Action::Back if state.marks.clear() => {}
        Action::Back => state.filter = Field::new(Lines::One),
        _ => {}
    }
    let many = state.marks.len() > 1;
    let Some((_, row)) = state.current() else { return Vec::new() };
    match action {
        Action::RolloutsOpen | Action::PaneRight => vec![tell(Msg::Went(Place::Keys(Some(row.view.pointer.key_id.clone()))))],
        Action::RolloutsHold if row.ghost && !many => vec![say(Notice::error("cannot hold: this rollout is over"))],
        Action::RolloutsHold if row.view.pointer.held && !many => vec![say(Notice::note("it is held already; !u resumes it"))],
        Action::RolloutsHold => {
            subject(state).dialog(DialogKind::Hold).map(|r| tell(Msg::DialogAsked(Box::new(r)))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// What the cursor is on.
pub(crate) fn subject(state: &State) -> Subject {
    let Some((_, row)) = state.current() else { return Subject::default() };
    let marked = |row: &&Rolling| {
        let pointer = &row.view.pointer;
        state.marks.has(&(pointer.key_id.clone(), pointer.environment.clone()))
    };
    Subject { marked: state.rows.iter().filter(marked).map(about).collect(), ..about(row) }
}

fn about(row: &Rolling) -> Subject {
    let pointer = &row.view.pointer;
    Subject {
        key: Some(pointer.key_id.clone()),
        environment: Some(pointer.environment.clone()),
        digest: Some(pointer.digest),
        rationale: row.view.version.as_ref().map(|v| v.rationale.clone()),
        ..Subject::default()
    }
}
