//! The root update: keys to actions, messages to rooms and dialogs, requests out. Synchronous and pure.

use super::action::{Action, Scope};
use super::dialogs::Dialog;
use super::effect::{Answer, Effect, Failure, FailureKind, Query, Slot};
use super::keymap::{Found, Key, Press};
use super::link;
use super::msg::{DialogRequest, Followed, Msg, Notice, Place, ReviewPane, ReviewTarget};
use super::overlays;
use super::rooms;
use super::state::{Cx, Modal, Now, Room, State, Subject, Tab, Wire};
use crate::model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Ctrl-c twice within this many microseconds quits.
const TWICE: i64 = 1_000_000;
/// A digit in a room that takes numbers is a tab again after this time.
const LONE_DIGIT: Duration = Duration::from_millis(500);
/// The same in microseconds.
const LONE_DIGIT_MICROS: i64 = 500_000;
/// Messages that a message may cause in turn; more is a fault, and is cut off rather than looping for ever.
const CASCADE: usize = 64;

/// Lends what every update may use, leaving the rooms free to be changed.
macro_rules! cx {
    ($state:ident, $now:ident) => {
        Cx {
            session: &$state.session,
            link: &$state.link,
            screen: &$state.screen,
            slots: &mut $state.slots,
            desk: &mut $state.desk,
            count: $state.pending.count,
            now: $now.wall,
            steady: $now.steady,
        }
    };
}

/// What the terminal asks for when it starts.
pub(crate) fn start(state: &mut State, now: Now) -> Vec<Effect> {
    let mut effects = vec![state.slots.load(Slot::Session, Query::Session)];
    effects.extend(rooms::inbox::open(&mut state.inbox, &mut cx!(state, now)));
    effects.extend(rooms::rollouts::open(&mut state.rollouts, &mut cx!(state, now)));
    effects.extend(rooms::audit::open(&mut state.audit, None, &mut cx!(state, now)));
    settle(state, effects, now)
}

/// A message, and all that it causes at once. Gives back what the runtime has to do.
pub(crate) fn update(state: &mut State, msg: Msg, now: Now) -> Vec<Effect> {
    let effects = one(state, msg, now);
    settle(state, effects, now)
}

/// Feeds told messages back until only requests for the runtime are left.
fn settle(state: &mut State, effects: Vec<Effect>, now: Now) -> Vec<Effect> {
    let mut queue: VecDeque<Effect> = effects.into();
    let (mut out, mut fed) = (Vec::new(), 0);
    while let Some(effect) = queue.pop_front() {
        match effect {
            Effect::Tell(msg) if fed < CASCADE => {
                fed += 1;
                queue.extend(one(state, *msg, now));
            }
            Effect::Tell(_) => {}
            other => out.push(other),
        }
    }
    out
}

fn one(state: &mut State, msg: Msg, now: Now) -> Vec<Effect> {
    state.screen.steady = now.steady;
    // The desk sees everything first; it is taken out so that it can be lent the rest.
    let mut desk = std::mem::take(&mut state.desk);
    let mut effects = desk.update(&msg, &cx!(state, now));
    state.desk = desk;
    effects.extend(match msg {
        Msg::Pressed(key) => pressed(state, key, now),
        Msg::Resized { width, height } => {
            (state.screen.width, state.screen.height) = (width, height);
            to_room(state, &msg, now)
        }
        Msg::Chosen(action) => act(state, action, now),
        Msg::Pasted(_) | Msg::Edited(_) => to_focus(state, &msg, now),
        Msg::Painted if state.modal.is_none() && matches!(state.room, Room::Review(_)) => to_room(state, &msg, now),
        Msg::Sent { receipt: Err(ref failure), .. } if failure.is_of_read_only() && !state.session.is_held_back() => {
            // Who may not read the trail learns of it by a refusal.
            let ask = state.slots.load(Slot::Session, Query::Session);
            to_dialog(state, &msg, now).into_iter().chain([ask]).collect()
        }
        Msg::Painted | Msg::Sent { .. } => to_dialog(state, &msg, now),
        Msg::Ticked => ticked(state, now),
        Msg::Loaded { slot, generation, answer } => loaded(state, slot, generation, answer, now),
        Msg::Worked { .. } => rooms::review::update(&mut state.review, &msg, &mut cx!(state, now)),
        Msg::Followed(followed) => follow(state, followed, now),
        Msg::DialogAsked(request) => ask(state, *request, now),
        Msg::Went(place) => go(state, place, now),
        Msg::Said(notice) => {
            state.notices.say(notice, now.wall);
            Vec::new()
        }
        Msg::Settled => to_room(state, &msg, now),
    });
    if state.modal.is_none() {
        let mut desk = std::mem::take(&mut state.desk);
        let request = desk.asks(&cx!(state, now));
        state.desk = desk;
        effects.extend(request.map(|r| tell(Msg::DialogAsked(Box::new(r)))));
    }
    effects
}

/// Feeds a message back.
pub(crate) fn tell(msg: Msg) -> Effect {
    Effect::Tell(Box::new(msg))
}

/// Says something in the status line.
pub(crate) fn say(notice: Notice) -> Effect {
    tell(Msg::Said(notice))
}

// --- keys ---

fn pressed(state: &mut State, key: Key, now: Now) -> Vec<Effect> {
    state.notices.let_go(now.wall, 3);
    let dialog = matches!(state.modal, Some(Modal::Dialog(_)));
    if key.press == Press::Up && !dialog {
        return Vec::new();
    }
    let global = state.keymap.find(&[Scope::Global], &[key.as_pressed()]);
    if global == Found::Action(Action::Cancel) {
        return cancel(state, now);
    }
    match state.modal {
        Some(Modal::Dialog(_)) => to_dialog(state, &Msg::Pressed(key), now),
        Some(Modal::Danger) => menu(state, Scope::Danger, key, now),
        Some(Modal::Copy) => menu(state, Scope::Copy, key, now),
        Some(_) => overlays::pressed(state, key),
        None if typing(state) => to_room(state, &Msg::Pressed(key), now),
        None => chord(state, key, now),
    }
}

/// Ctrl-c: close what is open; twice within a second, leave.
fn cancel(state: &mut State, now: Now) -> Vec<Effect> {
    let twice = state.pending.cancelled_at.is_some_and(|at| now.wall.0.saturating_sub(at.0).abs() <= TWICE);
    state.pending = super::state::Pending { cancelled_at: Some(now.wall), ..Default::default() };
    if twice {
        return vec![Effect::Quit];
    }
    let esc = Msg::Pressed(Key::plain(super::keymap::KeyCode::Esc));
    let mut effects = vec![say(Notice::note("ctrl-c again quits"))];
    match state.modal {
        Some(Modal::Dialog(_)) => effects.extend(to_dialog(state, &esc, now)),
        Some(_) => state.modal = None,
        None if typing(state) => effects.extend(to_room(state, &esc, now)),
        None => {}
    }
    effects
}

/// A key in a which-key menu: an act of it, or the end of it.
fn menu(state: &mut State, scope: Scope, key: Key, now: Now) -> Vec<Effect> {
    state.modal = None;
    match state.keymap.find(&[scope], &[key.as_pressed()]) {
        Found::Action(action) => act(state, action, now),
        _ => Vec::new(),
    }
}

/// The scopes in which keys are looked up, the nearest first.
pub(crate) fn scopes(state: &State) -> [Scope; 3] {
    let room = match state.room {
        Room::Inbox => Scope::Inbox,
        Room::Review(_) => Scope::Review,
        Room::Keys => rooms::keys::scope(&state.keys),
        Room::Rollouts => Scope::Rollouts,
        Room::Audit => Scope::Audit,
    };
    let rows = matches!(room, Scope::Inbox | Scope::Keys | Scope::Rollouts);
    [room, if rows { Scope::Select } else { Scope::Global }, Scope::Global]
}

/// Whether a text field of the room has the keys.
pub(crate) fn typing(state: &State) -> bool {
    match state.room {
        Room::Inbox => rooms::inbox::typing(&state.inbox),
        Room::Review(_) => rooms::review::typing(&state.review),
        Room::Keys => rooms::keys::typing(&state.keys),
        Room::Rollouts => rooms::rollouts::typing(&state.rollouts),
        Room::Audit => rooms::audit::typing(&state.audit),
    }
}

fn chord(state: &mut State, key: Key, now: Now) -> Vec<Effect> {
    if let (Room::Audit, true, Some(digit)) = (state.room, state.pending.keys.is_empty(), key.digit()) {
        let count = state.pending.count.unwrap_or(0).saturating_mul(10).saturating_add(digit);
        state.pending.count = Some(count);
        state.pending.since = now.steady;
        return vec![Effect::WakeAt(Timestamp(now.wall.0.saturating_add(LONE_DIGIT_MICROS)))];
    }
    let mut keys = std::mem::take(&mut state.pending.keys);
    keys.push(key.as_pressed());
    match state.keymap.find(&scopes(state), &keys) {
        Found::Action(action) => {
            let effects = act(state, action, now);
            state.pending.count = None;
            effects
        }
        Found::Prefix => {
            state.pending.keys = keys;
            Vec::new()
        }
        Found::Nothing => {
            state.pending.count = None;
            Vec::new()
        }
    }
}

/// A lone digit in Audit was meant as a tab after all.
fn lone_digit(state: &mut State, now: Now) -> Vec<Effect> {
    let lone = state.pending.count.filter(|n| *n < 10 && state.room == Room::Audit);
    let Some(digit) = lone.filter(|_| now.steady.saturating_sub(state.pending.since) >= LONE_DIGIT) else {
        return Vec::new();
    };
    let key = Key::char(u32::try_from(digit).ok().and_then(|d| char::from_digit(d, 10)).unwrap_or('0'));
    match state.keymap.find(&scopes(state), &[key]) {
        Found::Action(action) if action != Action::TabAudit => {
            state.pending.count = None;
            act(state, action, now)
        }
        _ => Vec::new(),
    }
}

// --- actions ---

fn act(state: &mut State, action: Action, now: Now) -> Vec<Effect> {
    match action {
        Action::TabInbox => go(state, Place::Inbox, now),
        Action::TabKeys => go(state, Place::Keys(None), now),
        Action::TabRollouts => go(state, Place::Rollouts, now),
        Action::TabAudit => go(state, Place::Audit(None), now),
        Action::Help => open_modal(state, |s| Modal::Help(Box::new(overlays::help::Help::about(scopes(s)[0])))),
        Action::Palette => open_modal(state, |s| Modal::Palette(Box::new(overlays::palette::Palette::commands(s)))),
        Action::GoTo => {
            let effects = rooms::keys::fetch(&mut state.keys, &mut cx!(state, now));
            state.modal = Some(Modal::Palette(Box::new(overlays::palette::Palette::places(state))));
            effects
        }
        Action::Errors => open_modal(state, |_| Modal::Errors(overlays::errors::List::default())),
        Action::Danger => danger_menu(state),
        Action::Copy => open_modal(state, |_| Modal::Copy),
        Action::Theme => {
            let next = super::theme::next(&state.screen.theme, state.screen.own_theme.as_deref()).to_owned();
            state.screen.theme = next;
            vec![say(Notice::note(format!("theme {}", state.screen.theme)))]
        }
        Action::Dock => toggle(&mut state.screen.dock),
        Action::Preview => toggle(&mut state.screen.preview),
        Action::Zoom => toggle(&mut state.screen.zoom),
        Action::Quit => quit(state, now),
        Action::Back => back(state, now),
        Action::Cancel => cancel(state, now),
        Action::Suspend => vec![Effect::Suspend],
        Action::Redraw => vec![Effect::Redraw],
        Action::Refetch => refetch(state, now),
        Action::Reveal => reveal(state, now),
        Action::AuditVerify if state.room != Room::Audit => {
            let effects = go(state, Place::Audit(None), now);
            effects.into_iter().chain(to_room(state, &Msg::Chosen(action), now)).collect()
        }
        _ if action.scope() == Scope::Danger => overlays::danger::chosen(state, action),
        _ if action.scope() == Scope::Copy => overlays::copy::chosen(state, action),
        _ => to_room(state, &Msg::Chosen(action), now),
    }
}

fn open_modal(state: &mut State, modal: impl FnOnce(&State) -> Modal) -> Vec<Effect> {
    state.modal = Some(modal(state));
    Vec::new()
}

fn toggle(flag: &mut bool) -> Vec<Effect> {
    *flag = !*flag;
    Vec::new()
}

fn danger_menu(state: &mut State) -> Vec<Effect> {
    if subject(state).key.is_none() {
        return vec![say(Notice::note("move to a row first: `!` acts on the key under the cursor"))];
    }
    open_modal(state, |_| Modal::Danger)
}

fn quit(state: &mut State, now: Now) -> Vec<Effect> {
    match state.room {
        Room::Review(_) => leave_review(state, now),
        _ => vec![Effect::Quit],
    }
}

fn leave_review(state: &mut State, now: Now) -> Vec<Effect> {
    state.room = Room::of(state.room.tab());
    to_room(state, &Msg::Chosen(Action::Refetch), now)
}

/// Esc: first the oldest error, then whatever the room has to go back from.
fn back(state: &mut State, now: Now) -> Vec<Effect> {
    if !state.pending.keys.is_empty() || state.pending.count.is_some() {
        state.pending = super::state::Pending::default();
        return Vec::new();
    }
    if !state.notices.errors.is_empty() {
        state.notices.errors.remove(0);
        return Vec::new();
    }
    match state.room {
        Room::Review(_) if !rooms::review::goes_back(&state.review) => leave_review(state, now),
        _ => to_room(state, &Msg::Chosen(Action::Back), now),
    }
}

/// Shows what is confidential: only now its content is fetched, and the registry records that.
fn reveal(state: &mut State, now: Now) -> Vec<Effect> {
    let Some(key) = subject(state).key else {
        return vec![say(Notice::note("move to a key first"))];
    };
    if !state.session.reveal(&key) {
        return vec![say(Notice::note("nothing is hidden here"))];
    }
    let mut effects = vec![say(Notice::note(format!("{key} is shown until you leave; each reading is in the audit trail")))];
    effects.extend(to_room(state, &Msg::Chosen(Action::Refetch), now));
    effects
}

pub(super) fn refetch(state: &mut State, now: Now) -> Vec<Effect> {
    let mut effects = vec![state.slots.load(Slot::Session, Query::Session)];
    effects.extend(to_room(state, &Msg::Chosen(Action::Refetch), now));
    effects
}

fn ask(state: &mut State, mut request: DialogRequest, now: Now) -> Vec<Effect> {
    if matches!(state.modal, Some(Modal::Dialog(_))) {
        return Vec::new();
    }
    if state.session.read_only {
        return vec![say(Notice::error("this terminal is read-only: nothing can be changed from here"))];
    }
    for row in &mut request.set {
        row.seen = row.promotion.as_ref().and_then(|view| state.review.seen_of(view)).or(row.seen.take());
    }
    let (dialog, effects) = Dialog::open(request, &mut cx!(state, now));
    state.screen.dialogs += u64::from(dialog.is_some());
    state.modal = dialog.map(Modal::Dialog);
    effects
}

fn go(state: &mut State, place: Place, now: Now) -> Vec<Effect> {
    state.pending = super::state::Pending::default();
    match place {
        Place::Inbox => {
            state.room = Room::Inbox;
            rooms::inbox::open(&mut state.inbox, &mut cx!(state, now))
        }
        Place::Review(target) => {
            state.room = Room::Review(state.room.tab());
            rooms::review::open(&mut state.review, target, &mut cx!(state, now))
        }
        Place::Keys(key) => {
            state.room = Room::Keys;
            rooms::keys::open(&mut state.keys, key, &mut cx!(state, now))
        }
        Place::Rollouts => {
            state.room = Room::Rollouts;
            rooms::rollouts::open(&mut state.rollouts, &mut cx!(state, now))
        }
        Place::Explain(asked) => overlays::explain::open(state, asked),
        Place::Audit(seq) => {
            state.room = Room::Audit;
            rooms::audit::open(&mut state.audit, seq, &mut cx!(state, now))
        }
    }
}

/// A place for a promotion, opened at its difference.
pub(crate) fn review(id: uuid::Uuid, pane: ReviewPane) -> Effect {
    tell(Msg::Went(Place::Review(ReviewTarget::Promotion(id, pane))))
}

/// What the focused row is about.
pub(crate) fn subject(state: &State) -> Subject {
    match state.room {
        Room::Inbox => rooms::inbox::subject(&state.inbox),
        Room::Review(_) => rooms::review::subject(&state.review),
        Room::Keys => rooms::keys::subject(&state.keys),
        Room::Rollouts => rooms::rollouts::subject(&state.rollouts),
        Room::Audit => rooms::audit::subject(&state.audit),
    }
}

// --- where messages go ---

fn to_room(state: &mut State, msg: &Msg, now: Now) -> Vec<Effect> {
    match state.room {
        Room::Inbox => rooms::inbox::update(&mut state.inbox, msg, &mut cx!(state, now)),
        Room::Review(_) => rooms::review::update(&mut state.review, msg, &mut cx!(state, now)),
        Room::Keys => rooms::keys::update(&mut state.keys, msg, &mut cx!(state, now)),
        Room::Rollouts => rooms::rollouts::update(&mut state.rollouts, msg, &mut cx!(state, now)),
        Room::Audit => rooms::audit::update(&mut state.audit, msg, &mut cx!(state, now)),
    }
}

fn to_dialog(state: &mut State, msg: &Msg, now: Now) -> Vec<Effect> {
    let Some(Modal::Dialog(dialog)) = &mut state.modal else { return Vec::new() };
    let outcome = dialog.update(msg, &mut cx!(state, now));
    if outcome.close {
        state.modal = None;
    }
    outcome.effects
}

/// Pastes go to the text field that has the keys, never to keys.
fn to_focus(state: &mut State, msg: &Msg, now: Now) -> Vec<Effect> {
    match &mut state.modal {
        Some(Modal::Dialog(_)) => return to_dialog(state, msg, now),
        Some(modal) => {
            if let Msg::Pasted(text) = msg {
                overlays::pasted(modal, text);
            }
            return Vec::new();
        }
        None => {}
    }
    // An edited text is for the room that asked for the editor; a paste only for a field that has the keys.
    let wanted = typing(state) || matches!(msg, Msg::Edited(_));
    if wanted { to_room(state, msg, now) } else { Vec::new() }
}

fn ticked(state: &mut State, now: Now) -> Vec<Effect> {
    state.notices.let_go(now.wall, 30);
    if state.link.wire == Wire::Live && state.link.heard_at.is_some_and(|at| now.wall.0 - at.0 >= link::SILENCE) {
        state.link.wire = Wire::Stale;
    }
    let mut effects = lone_digit(state, now);
    effects.extend(to_dialog(state, &Msg::Ticked, now));
    effects.extend(to_room(state, &Msg::Ticked, now));
    if state.room != Room::Inbox {
        effects.extend(rooms::inbox::update(&mut state.inbox, &Msg::Ticked, &mut cx!(state, now)));
    }
    if state.room != Room::Rollouts {
        effects.extend(rooms::rollouts::update(&mut state.rollouts, &Msg::Ticked, &mut cx!(state, now)));
    }
    effects
}

fn loaded(state: &mut State, slot: Slot, generation: u64, answer: Result<Answer, Failure>, now: Now) -> Vec<Effect> {
    if !state.slots.accept(slot, generation) {
        return Vec::new();
    }
    let mut effects = Vec::new();
    if let Err(failure) = &answer {
        // The link line says that the registry is away; a list of the same would help nobody.
        let away = matches!(failure.kind, FailureKind::Unreachable | FailureKind::Timeout);
        let own = matches!(slot, Slot::Dialog | Slot::DialogExtra | Slot::Explain);
        let signed_out = state.link.refused(failure);
        if !away && !own && !signed_out {
            effects.push(say(Notice::error(failure.text.clone())));
        }
    }
    if let Ok(answer) = &answer {
        state.session.learn(answer);
        state.link.verified(answer);
    }
    let answer = match answer {
        // Long lists are handed over whole.
        Ok(Answer::Inbox(lists)) => {
            effects.extend(rooms::inbox::take(&mut state.inbox, *lists, &mut cx!(state, now)));
            return effects;
        }
        Ok(Answer::Keys(rows)) => {
            effects.extend(rooms::keys::take(&mut state.keys, rows, &mut cx!(state, now)));
            return effects;
        }
        answer if slot == Slot::Explain => {
            overlays::explain::take(state, answer);
            return effects;
        }
        other => other,
    };
    let msg = Msg::Loaded { slot, generation, answer };
    effects.extend(match slot {
        Slot::Session => session(state, msg, now),
        Slot::Inbox => rooms::inbox::update(&mut state.inbox, &msg, &mut cx!(state, now)),
        Slot::Review | Slot::Diff | Slot::Content | Slot::Work => {
            rooms::review::update(&mut state.review, &msg, &mut cx!(state, now))
        }
        Slot::Keys | Slot::History | Slot::Details => rooms::keys::update(&mut state.keys, &msg, &mut cx!(state, now)),
        Slot::Rollouts => rooms::rollouts::update(&mut state.rollouts, &msg, &mut cx!(state, now)),
        Slot::Audit | Slot::Record | Slot::Verify => rooms::audit::update(&mut state.audit, &msg, &mut cx!(state, now)),
        Slot::Dialog | Slot::DialogExtra | Slot::Explain => to_dialog(state, &msg, now),
    });
    effects
}

fn session(state: &mut State, msg: Msg, now: Now) -> Vec<Effect> {
    if let Msg::Loaded { answer: Ok(Answer::Session(me, world)), .. } = msg {
        // Rounded to whole seconds: half a second of network is no skew.
        state.link.skew = world.now.seconds_since(now.wall);
        state.session.me = Some(*me);
        state.session.world = Some(*world);
    }
    Vec::new()
}

fn follow(state: &mut State, followed: Followed, now: Now) -> Vec<Effect> {
    let mut effects = link::heard(state, &followed, now);
    if let Followed::Audit(event) = &followed
        && let (Some(body), Some(me)) = (&event.body, &state.session.me)
        && body.actor == me.actor
        && !matches!(body.action, crate::model::Action::AccessDenied | crate::model::Action::ContentRead)
    {
        state.notices.own_event(event.seq, now.wall);
    }
    if followed.changes_the_world() {
        effects.push(state.slots.load(Slot::Session, Query::Session));
    }
    let msg = Msg::Followed(followed);
    effects.extend(rooms::audit::update(&mut state.audit, &msg, &mut cx!(state, now)));
    if matches!(msg, Msg::Followed(Followed::Heartbeat(_))) {
        return effects;
    }
    effects.extend(rooms::inbox::update(&mut state.inbox, &msg, &mut cx!(state, now)));
    effects.extend(rooms::keys::update(&mut state.keys, &msg, &mut cx!(state, now)));
    effects.extend(rooms::rollouts::update(&mut state.rollouts, &msg, &mut cx!(state, now)));
    effects.extend(rooms::review::update(&mut state.review, &msg, &mut cx!(state, now)));
    effects.extend(to_dialog(state, &msg, now));
    effects
}

/// Tabs in order with the number that opens each.
pub(crate) const TABS: [(Tab, &str, &str); 4] =
    [(Tab::Inbox, "1", "Inbox"), (Tab::Keys, "2", "Keys"), (Tab::Rollouts, "3", "Rollouts"), (Tab::Audit, "5", "Audit")];
