//! What Audit does with what happens.

use super::State;
use super::filter::Filter;
use super::state::{PAGE, Search, Verified};
use crate::model::AuditEvent;
use crate::tui::action::Action;
use crate::tui::effect::{Answer, Effect, Query, Slot};
use crate::tui::field::{Field, Lines};
use crate::tui::keymap::{Key, KeyCode};
use crate::tui::msg::{Followed, Msg, Notice};
use crate::tui::state::{Cx, Subject};
use crate::tui::update::say;
use crate::tui::widgets::scroll::{Cursor, Move};
use crate::wire::Page;
use crate::wire::world::ListAudit;

/// Events per request of a search.
const SEARCHED: u32 = 1000;
/// Events that the dock begins with.
const NEWEST: u32 = 60;
/// A search goes on by itself until so many are found beyond the cursor.
const AHEAD: usize = 60;

/// The room comes to the front, perhaps at a number; also fetches the dock's first rows.
pub(crate) fn open(state: &mut State, seq: Option<u64>, cx: &mut Cx) -> Vec<Effect> {
    if let Some(seq) = seq {
        state.search = None;
        state.line = Field::new(Lines::One);
        state.reading = true;
        state.head = state.head.max(seq);
        state.at = Some(seq.max(1));
        return around(state, cx);
    }
    if state.loaded { around(state, cx) } else { vec![page(None, cx)] }
}

fn page(before: Option<u64>, cx: &mut Cx) -> Effect {
    // Without a place: the newest, as many as a screen may show at once. `before` asks for what ends there.
    let most = if before.is_some() { PAGE } else { NEWEST };
    let ask = ListAudit { before: before.or(Some(u64::from(u32::MAX))), limit: Some(most), ..ListAudit::default() };
    cx.slots.load(Slot::Audit, Query::Events(ask))
}

/// Whether the filter has the keys.
pub(crate) fn typing(state: &State) -> bool {
    state.typing
}

/// Fetches the rows around the cursor and its record, where they are not here yet.
fn around(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    let mut effects = Vec::new();
    let height = usize::from(cx.screen.height);
    let at = state.position();
    let wanted = (at.saturating_sub(height)..at + height).filter_map(|n| state.number(n));
    if let Some(missing) = state.missing(wanted) {
        effects.push(page(Some(missing + 1 + u64::from(PAGE) / 3), cx));
    }
    let current = state.current();
    let here = state.record.as_ref().map(|r| r.seq);
    if let Some(seq) = current.filter(|seq| state.reading && Some(*seq) != here) {
        let ask = ListAudit { after: Some(seq - 1), limit: Some(1), ..ListAudit::default() };
        effects.push(cx.slots.load(Slot::Record, Query::Events(ask)));
    }
    effects
}

/// A message for this room.
pub(crate) fn update(state: &mut State, msg: &Msg, cx: &mut Cx) -> Vec<Effect> {
    match msg {
        Msg::Chosen(action) => chosen(state, *action, cx),
        Msg::Pressed(key) if state.typing => typed(state, *key, cx),
        Msg::Pasted(text) if state.typing => {
            state.line.paste(text);
            Vec::new()
        }
        Msg::Loaded { slot, answer: Ok(answer), .. } => loaded(state, *slot, answer, cx),
        Msg::Loaded { slot: Slot::Verify, .. } => {
            state.verified = Verified::Not;
            Vec::new()
        }
        Msg::Followed(Followed::Audit(event)) => {
            state.live(event);
            if state.reading && state.at.is_none() {
                state.record = Some((**event).clone());
            }
            Vec::new()
        }
        Msg::Followed(Followed::Heartbeat(head)) => {
            // The head alone names rows that this caller may not have been sent.
            state.head = state.head.max(head.seq);
            Vec::new()
        }
        Msg::Followed(Followed::Connected { contact }) => {
            let behind = state.loaded && contact.is_some_and(|c| c.head.seq > state.head);
            let nothing = !state.loaded && !cx.slots.is_waiting(Slot::Audit);
            if behind || nothing { vec![page(None, cx)] } else { Vec::new() }
        }
        Msg::Resized { .. } => around(state, cx),
        _ => Vec::new(),
    }
}

fn loaded(state: &mut State, slot: Slot, answer: &Answer, cx: &mut Cx) -> Vec<Effect> {
    match answer {
        Answer::Events(Page { items, .. }) if slot == Slot::Record => {
            let current = state.current();
            state.record = items.iter().find(|e| Some(e.seq) == current).cloned();
            Vec::new()
        }
        Answer::Events(Page { items, .. }) => {
            state.loaded = true;
            state.take(items);
            if state.search.is_some() { searched(state, items, cx) } else { around(state, cx) }
        }
        Answer::Verified(from, head) => {
            state.verified = Verified::To(*from, *head);
            let count = head.seq.saturating_sub(*from) + 1;
            vec![say(Notice::done(format!("verified {count} events from #{from} to #{}", head.seq), None))]
        }
        Answer::Broken { seq, why } => {
            state.verified = Verified::Broken(*seq);
            vec![say(Notice::error(format!("the audit chain is broken at #{seq}: {why}")))]
        }
        _ => Vec::new(),
    }
}

// --- search ---

fn search(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    state.at = None;
    state.record = None;
    state.search = Filter::read(&state.line.text()).map(|filter| Search { filter, found: Vec::new(), down_to: state.top() + 1 });
    match &state.search {
        Some(search) => vec![next_page(search, cx)],
        None => around(state, cx),
    }
}

fn next_page(search: &Search, cx: &mut Cx) -> Effect {
    let ask = ListAudit { before: Some(search.down_to), limit: Some(SEARCHED), ..ListAudit::default() };
    cx.slots.load(Slot::Audit, Query::Events(search.filter.narrow(ask)))
}

fn searched(state: &mut State, items: &[AuditEvent], cx: &mut Cx) -> Vec<Effect> {
    let at = state.position();
    let Some(search) = &mut state.search else { return Vec::new() };
    for event in items.iter().rev().filter(|e| e.seq < search.down_to) {
        let row = super::slim::Slim::of(event);
        if search.filter.admits(&row) {
            search.found.push(event.seq);
        }
    }
    search.down_to = match items.first() {
        Some(lowest) if items.len() >= SEARCHED as usize => lowest.seq,
        _ => 1,
    };
    search_on(state, at, cx)
}

/// Goes on while too little was found beyond the cursor.
fn search_on(state: &State, at: usize, cx: &mut Cx) -> Vec<Effect> {
    match &state.search {
        Some(search) if search.down_to > 1 && search.found.len() < at + AHEAD && !cx.slots.is_waiting(Slot::Audit) => {
            vec![next_page(search, cx)]
        }
        _ => Vec::new(),
    }
}

fn typed(state: &mut State, key: Key, cx: &mut Cx) -> Vec<Effect> {
    match key.code {
        KeyCode::Esc => {
            state.typing = false;
            state.line = Field::new(Lines::One);
            search(state, cx)
        }
        KeyCode::Enter | KeyCode::Tab => {
            state.typing = false;
            search(state, cx)
        }
        _ => {
            state.line.key(&key);
            Vec::new()
        }
    }
}

// --- actions ---

fn chosen(state: &mut State, action: Action, cx: &mut Cx) -> Vec<Effect> {
    if let (Action::Top | Action::Bottom, Some(number)) = (action, cx.count) {
        state.at = Some(number.clamp(1, state.top().max(1)));
        state.scrolled = 0;
        return around(state, cx);
    }
    let page = cx.screen.height.saturating_sub(6);
    if let Some(how) = Move::of(action, page) {
        let mut cursor = Cursor { at: state.position() };
        cursor.go(how, state.len());
        state.select(cursor.at);
        let mut effects = around(state, cx);
        effects.extend(search_on(state, cursor.at, cx));
        return effects;
    }
    match action {
        Action::Find => state.typing = true,
        Action::AuditOpen | Action::PaneRight => state.reading = action == Action::PaneRight || !state.reading,
        Action::PaneLeft => state.reading = false,
        Action::Back if state.reading => state.reading = false,
        Action::Back => {
            state.line = Field::new(Lines::One);
            return search(state, cx);
        }
        Action::AuditPause => {
            state.paused = if state.paused.is_some() { None } else { Some(state.head) };
            if state.paused.is_none() {
                state.at = None;
            }
        }
        Action::InsertNewer => {
            state.paused = None;
            state.at = None;
        }
        Action::AuditVerify => {
            state.verified = Verified::Running;
            // While it follows the newest there is no "here": then the whole chain.
            let from = state.at.and_then(|_| state.current()).unwrap_or(1);
            let what = if from == 1 { "the whole chain".to_owned() } else { format!("from #{from} to the newest") };
            return vec![cx.slots.load(Slot::Verify, Query::Verify(from)), say(Notice::note(format!("verifying {what}")))];
        }
        Action::Refetch => return vec![self::page(None, cx)],
        Action::PaneNext | Action::PanePrevious => state.reading = !state.reading,
        _ => return Vec::new(),
    }
    around(state, cx)
}

/// What the cursor is on: the key of the event, so that it can be killed from its trail.
pub(crate) fn subject(state: &State) -> Subject {
    let Some(row) = state.current().and_then(|seq| state.rows.get(&seq)) else { return Subject::default() };
    Subject {
        key: row.subject.parse().ok(),
        environment: row.environment.parse().ok(),
        rationale: Some(row.text.clone()).filter(|t| !t.is_empty()),
        ..Subject::default()
    }
}
