//! What Inbox does with what happens.

use super::State;
use super::state::{Entry, Section};
use crate::model::{Action as Audited, PromotionState};
use crate::tui::action::Action;
use crate::tui::effect::{Effect, Extent, InboxLists, Query, Slot};
use crate::tui::keymap::KeyCode;
use crate::tui::msg::{DialogKind, Followed, Msg, Notice, ReviewPane};
use crate::tui::state::{Cx, Subject, Wire};
use crate::tui::update::{review, say, tell};
use crate::tui::widgets::scroll::{Cursor, Move};

/// The first frame waits for no more rows than this: a screen's worth.
const FIRST: u32 = 40;

fn query() -> Query {
    Query::Inbox(Extent::Whole)
}

/// The room comes to the front: fetch, and let rows take new places.
pub(crate) fn open(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    state.reorder = true;
    let query = if state.loaded { query() } else { Query::Inbox(Extent::Newest(FIRST)) };
    state.throttle.now(Slot::Inbox, query, cx)
}

/// The lists came.
pub(crate) fn take(state: &mut State, lists: InboxLists, cx: &mut Cx) -> Vec<Effect> {
    state.take(lists);
    match rest(state, cx) {
        rest if rest.is_empty() => state.throttle.due(Slot::Inbox, query, cx),
        rest => rest,
    }
}

/// What the first frame left out is fetched once the stream is open, so that nothing is missed in between; or when it is clear
/// that it does not open.
fn rest(state: &mut State, cx: &mut Cx) -> Vec<Effect> {
    let wanted = state.loaded && !state.whole && !cx.slots.is_waiting(Slot::Inbox);
    if wanted && cx.link.wire != Wire::Connecting { state.throttle.now(Slot::Inbox, query(), cx) } else { Vec::new() }
}

/// Whether the filter has the keys.
pub(crate) fn typing(state: &State) -> bool {
    state.typing
}

/// A message for this room.
pub(crate) fn update(state: &mut State, msg: &Msg, cx: &mut Cx) -> Vec<Effect> {
    match msg {
        Msg::Chosen(action) => chosen(state, *action, cx),
        Msg::Pressed(key) if state.typing => {
            match key.code {
                KeyCode::Esc => {
                    state.typing = false;
                    state.filter = crate::tui::field::Field::new(crate::tui::field::Lines::One);
                }
                KeyCode::Enter | KeyCode::Down | KeyCode::Tab => state.typing = false,
                _ => {
                    state.filter.key(key);
                }
            }
            Vec::new()
        }
        Msg::Pasted(text) => {
            state.filter.paste(text);
            Vec::new()
        }
        Msg::Loaded { answer, .. } => {
            if answer.is_err() {
                state.throttle.failed();
            }
            state.throttle.due(Slot::Inbox, query, cx)
        }
        Msg::Followed(Followed::Audit(event)) => {
            let relevant = event.body.as_ref().is_none_or(|b| {
                !matches!(b.action, Audited::TokenCreate | Audited::TokenRevoke | Audited::ContentRead | Audited::AccessDenied)
            });
            if relevant { state.throttle.stale(Slot::Inbox, query, cx) } else { Vec::new() }
        }
        Msg::Settled => {
            state.marks.clear();
            Vec::new()
        }
        Msg::Followed(Followed::Lost { .. }) => rest(state, cx),
        Msg::Followed(Followed::Connected { .. }) => match rest(state, cx) {
            rest if rest.is_empty() => state.throttle.stale(Slot::Inbox, query, cx),
            rest => rest,
        },
        Msg::Ticked => state.throttle.due(Slot::Inbox, query, cx),
        _ => Vec::new(),
    }
}

fn chosen(state: &mut State, action: Action, cx: &mut Cx) -> Vec<Effect> {
    let rows = state.visible().len();
    let page = cx.screen.height / 2;
    if let Some(how) = Move::of(action, page) {
        if state.in_preview {
            let mut cursor = Cursor { at: state.scrolled };
            cursor.go(how, 200);
            state.scrolled = cursor.at;
        } else {
            let mut cursor = Cursor { at: state.current().map_or(0, |(at, _)| at) };
            cursor.go(how, rows);
            state.select(cursor.at);
        }
        return Vec::new();
    }
    let listed: Vec<uuid::Uuid> = state.visible().iter().filter(|e| !e.ghost).map(|e| e.id()).collect();
    let here = state.current().and_then(|(_, entry)| listed.iter().position(|id| *id == entry.id()));
    if state.marks.act(action, &listed, here) {
        return Vec::new();
    }
    match action {
        Action::Find => state.typing = true,
        Action::Back if state.marks.clear() => {}
        Action::Back => {
            state.in_preview = false;
            state.filter = crate::tui::field::Field::new(crate::tui::field::Lines::One);
        }
        Action::PaneNext | Action::PanePrevious | Action::PaneLeft | Action::PaneRight => {
            state.in_preview = match action {
                Action::PaneLeft => false,
                Action::PaneRight => true,
                _ => !state.in_preview,
            };
        }
        Action::InsertNewer => state.insert_newer(),
        Action::Refetch => return open(state, cx),
        _ => return on_row(state, action),
    }
    Vec::new()
}

fn on_row(state: &State, action: Action) -> Vec<Effect> {
    let Some((_, entry)) = state.current() else {
        return vec![say(Notice::note("nothing is selected"))];
    };
    let many = state.marks.len() > 1;
    let acted = only_marked(state).unwrap_or(entry);
    if let Some(why) = off(state, action).filter(|_| !many) {
        return vec![say(Notice::error(format!("cannot {}: {why}", action.title())))];
    }
    let dialog = |kind| subject(state).dialog(kind).map(|r| tell(Msg::DialogAsked(Box::new(r)))).into_iter().collect();
    match action {
        Action::InboxOpen | Action::InboxDiff => vec![review(entry.id(), ReviewPane::Diff)],
        Action::InboxGates => vec![review(entry.id(), ReviewPane::Gates)],
        Action::InboxApprove if many => dialog(DialogKind::Approve),
        Action::InboxApprove => {
            let hint = Notice::note("read the change to its end, then approve it here");
            vec![review(acted.id(), ReviewPane::Diff), say(hint)]
        }
        Action::InboxReject => dialog(DialogKind::RequestChanges),
        Action::InboxComment => dialog(DialogKind::Comment),
        Action::InboxWithdraw => dialog(DialogKind::Withdraw),
        Action::InboxSettle if acted.view.mine.owes_note && !many => dialog(DialogKind::SettleNote),
        Action::InboxSettle => dialog(DialogKind::SettleReview),
        _ => Vec::new(),
    }
}

/// The one row that is marked, where it is one: an act is for it, wherever the cursor is.
fn only_marked(state: &State) -> Option<&Entry> {
    state.entries.iter().find(|e| state.marks.len() == 1 && state.marks.has(&e.id()))
}

/// Why an action cannot be done on the selected row, if so.
pub(crate) fn off(state: &State, action: Action) -> Option<String> {
    if state.marks.len() > 1 {
        return None;
    }
    let entry = only_marked(state).or_else(|| state.current().map(|(_, entry)| entry))?;
    let acts = matches!(
        action,
        Action::InboxApprove | Action::InboxReject | Action::InboxComment | Action::InboxWithdraw | Action::InboxSettle
    );
    if acts && entry.ghost {
        return Some("it is gone from the list; ctrl-r fetches again".into());
    }
    refusal(entry, action)
}

/// Whether the row under the cursor waits for a review or a note after the fact.
pub(crate) fn owed(state: &State) -> bool {
    state.current().is_some_and(|(_, entry)| entry.due == Section::Owed && !entry.ghost)
}

fn refusal(entry: &Entry, action: Action) -> Option<String> {
    let (mine, open) = (&entry.view.mine, entry.view.promotion.state == PromotionState::Open);
    match action {
        Action::InboxApprove | Action::InboxReject if !open => Some(format!("it is {}", entry.view.promotion.state)),
        Action::InboxApprove if mine.can_approve.is_empty() => {
            Some(mine.approve_refused.clone().unwrap_or_else(|| "no approval of yours is needed".into()))
        }
        Action::InboxWithdraw if !(open || entry.view.promotion.missed) || !mine.opened => {
            Some("only the person who opened it can".into())
        }
        Action::InboxSettle if entry.view.promotion.missed && !mine.can_review && !mine.owes_note => {
            Some("withdraw it to let it go, or renew it by command: countersign promote --renew".into())
        }
        Action::InboxSettle if entry.due != Section::Owed => Some("nothing is owed here".into()),
        _ => None,
    }
}

/// What the cursor is on.
pub(crate) fn subject(state: &State) -> Subject {
    let Some((_, entry)) = state.current() else { return Subject::default() };
    let marked = state.entries.iter().filter(|e| state.marks.has(&e.id())).map(about).collect();
    Subject { marked, ..about(entry) }
}

fn about(entry: &Entry) -> Subject {
    let promotion = &entry.view.promotion;
    Subject {
        key: Some(promotion.key_id.clone()),
        environment: Some(promotion.environment.clone()).filter(|e| !e.is_safe_default()),
        digest: promotion.to_digest,
        rationale: Some(promotion.rationale.clone()),
        promotion: Some(Box::new(entry.view.clone())),
        ..Subject::default()
    }
}
