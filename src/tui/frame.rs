//! The frame around every room: who and where, the link, the chain, tabs, status line, hints; and what lies over it.
//!
//! ```text
//!  ▚ cs  acme   ana (approver)                         ● live  ✓ from #17204
//! [ 1 Inbox 4 ]  2 Keys    3 Rollouts 2    5 Audit
//! ┌ body ────────────────────────────────────────────────────────────────────┐
//! └──────────────────────────────────────────────────────────────────────────┘
//! ┌ Audit @ ─────────────────────────────────────────────────────────────────┐
//!  ✓ approve recorded · #18443
//!   enter review  a approve  x request changes  ! danger  ? help
//! ```

use super::action::{Action, Scope};
use super::look::Look;
use super::msg::NoticeKind;
use super::state::{Chain, Link, Modal, Room, Session, State, Tab, Wire};
use super::theme::{Role, Theme};
use super::update;
use super::widgets::age;
use super::widgets::row::Row;
use super::{dialogs, overlays, rooms};
use crate::model::Timestamp;
use crate::tui::widgets::put::Put as _;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

/// The smallest window in which rooms are drawn.
pub(crate) const SMALLEST: (u16, u16) = (60, 16);

/// Whether a window of this size shows no room, only what a kill needs.
pub(crate) fn is_too_small(width: u16, height: u16) -> bool {
    width < SMALLEST.0 || height < SMALLEST.1
}

/// A clock that is off by more than this many seconds is named.
const SKEW: i64 = 2;

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame, state: &State, theme: &Theme, now: Timestamp) {
    let look = Look { theme, screen: &state.screen, session: &state.session, link: &state.link, keymap: &state.keymap, now };
    let area = frame.area();
    frame.buffer_mut().set_style(area, look.style(Role::Text));
    if is_too_small(area.width, area.height) {
        too_small(frame, area, state, &look);
    } else {
        whole(frame, area, state, &look);
    }
    match &state.modal {
        Some(Modal::Dialog(dialog)) => dialogs::draw(frame, area, dialog, &look),
        Some(modal) => overlays::draw(frame, area, modal, state, &look),
        None => {}
    }
    if state.screen.ascii {
        in_ascii(frame);
    }
}

/// Our own signs in ASCII; letters of texts stay as they are.
fn in_ascii(frame: &mut Frame) {
    const SIGNS: &[(&str, &str)] = &[
        ("·", "-"),
        ("…", "~"),
        ("→", ">"),
        ("←", "<"),
        ("↪", "\\"),
        ("⇅", "^"),
        ("⋯", "~"),
        ("—", "-"),
        ("–", "-"),
        ("≈", "~"),
        ("‹", "<"),
        ("›", ">"),
        ("▏", "_"),
        ("▌", "|"),
        ("¶", "P"),
        ("␍", "%"),
        ("␊", "%"),
    ];
    for cell in &mut frame.buffer_mut().content {
        if let Some((_, plain)) = SIGNS.iter().find(|(sign, _)| *sign == cell.symbol()) {
            cell.set_symbol(plain);
        }
    }
}

/// Kill, help and leaving work in any window.
fn too_small(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let (width, height) = SMALLEST;
    let mut lines = vec![
        Line::styled(format!("{}x{}: too small", area.width, area.height), look.style(Role::Warning)),
        Line::raw(format!("{width}x{height} shows all")),
        Line::raw("!k kill  ? help  q quit"),
    ];
    if let Some(key) = update::subject(state).key {
        lines.push(Row::new(area.width, look).outside_word(key.as_str(), Role::Strong).line());
    }
    let alarm = alarm(state, look);
    for (n, line) in alarm.into_iter().chain(lines).take(usize::from(area.height)).enumerate() {
        let y = area.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..area });
    }
}

fn whole(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let mut top = vec![identity(area.width, look), tabs(area.width, state, look)];
    top.extend(alarm(state, look));
    top.extend(stale(area.width, look));
    top.extend(held_back(area.width, look));
    for (line, y) in top.into_iter().zip(area.y..) {
        frame.put(line, Rect { y, height: 1, ..area });
    }
    let y = area.y + head_rows(&state.link, &state.session);
    let bottom = area.bottom();
    let dock = dock_height(area.height, state);
    let body = Rect { y, height: bottom.saturating_sub(y + FOOT_ROWS + dock), ..area };
    match state.room {
        Room::Inbox => rooms::inbox::draw(frame, body, &state.inbox, look),
        Room::Review(_) => rooms::review::draw(frame, body, &state.review, look),
        Room::Keys => rooms::keys::draw(frame, body, &state.keys, look),
        Room::Rollouts => rooms::rollouts::draw(frame, body, &state.rollouts, look),
        Room::Audit => rooms::audit::draw(frame, body, &state.audit, look),
    }
    if dock > 0 {
        let area = Rect { y: body.bottom(), height: dock, ..area };
        rooms::audit::draw_dock(frame, area, &state.audit, look);
    }
    frame.put(status(area.width, state, look), Rect { y: bottom - 2, height: 1, ..area });
    frame.put(hints(area.width, state, look), Rect { y: bottom - 1, height: 1, ..area });
}

/// Rows above the body: who and where, tabs, a broken chain, a silent registry, one that only holds back.
pub(crate) fn head_rows(link: &Link, session: &Session) -> u16 {
    let broken = matches!(link.chain, Chain::Broken { .. });
    let silent = !matches!(link.wire, Wire::Live | Wire::Connecting);
    2 + u16::from(broken) + u16::from(silent) + u16::from(session.is_held_back())
}

/// Rows below the body: status line and hints.
pub(crate) const FOOT_ROWS: u16 = 2;

/// The dock gives way to a small window and to a text under review, and is not needed under the trail itself.
fn dock_height(height: u16, state: &State) -> u16 {
    match height {
        _ if !state.screen.dock || matches!(state.room, Room::Audit | Room::Review(_)) => 0,
        0..20 => 0,
        20..30 => 3,
        30..45 => 5,
        _ => 7,
    }
}

fn identity(width: u16, look: &Look) -> Line<'static> {
    let wide = width >= 100;
    let right = right_of_identity(look);
    let taken = right.iter().map(|(text, _)| text.width() + 2).sum::<usize>();
    let room = usize::from(width).saturating_sub(taken);
    let mut row = Row::new(u16::try_from(room).unwrap_or(0), look).word(look.sign(" ▚ cs ", " # cs ").to_owned(), Role::Strong);
    if let Some(world) = &look.session.world {
        row = row.outside_word(&world.name, Role::Text);
        if wide {
            let host = look.session.server.trim_start_matches("http://").trim_start_matches("https://");
            row = row.word(" @ ", Role::Dim).outside_word(host, Role::Dim);
        }
    }
    if let Some(me) = &look.session.me {
        row = row.word("  ", Role::Text).outside_word(&me.actor.name, Role::Strong);
        let mut roles: Vec<&str> = me.roles.iter().map(|g| g.role.as_str()).collect();
        roles.dedup();
        roles.sort_unstable();
        roles.dedup();
        if wide && !roles.is_empty() {
            row = row.word(format!(" ({})", roles.join(", ")), Role::Dim);
        }
    }
    let mut line = row.line();
    for (text, role) in right {
        line.push_span(Span::styled("  ", look.style(Role::Text)));
        line.push_span(Span::styled(text, look.style(role)));
    }
    line
}

fn right_of_identity(look: &Look) -> Vec<(String, Role)> {
    let mut right = Vec::new();
    if look.session.world.as_ref().is_some_and(|world| world.policy_file.is_some()) {
        right.push(("POLICY FILE DIFFERS".to_owned(), Role::Danger));
    }
    match look.session.world.as_ref().map_or(0, |world| world.doubts) {
        0 => {}
        n => right.push((format!("DATABASE CHANGED BY HAND: {n} NOT SERVED"), Role::Danger)),
    }
    if look.session.read_only {
        right.push(("READ-ONLY".to_owned(), Role::Warning));
    }
    if look.link.skew.abs() > SKEW {
        let side = if look.link.skew > 0 { "behind" } else { "ahead" };
        right.push((format!("clock {} s {side}", look.link.skew.abs()), Role::Warning));
    }
    let as_of = look.link.heard_at.map(|at| age::clock(at, look.screen.offset));
    right.push(match (look.link.wire, as_of) {
        (Wire::Live, _) => (format!("{} live", look.sign("●", "*")), Role::Ok),
        (Wire::Connecting, _) => (format!("{} connecting", look.sign("◌", "o")), Role::Pending),
        (Wire::Stale, _) => (format!("{} stale", look.sign("◐", "!")), Role::Warning),
        (Wire::Reconnecting(n), _) => (format!("{} reconnecting {n}", look.sign("◌", "o")), Role::Warning),
        (Wire::SignedOut, _) => (format!("{} not signed in", look.sign("◌", "o")), Role::Danger),
    });
    right.push(match &look.link.chain {
        Chain::Unknown => ("chain not read".to_owned(), Role::Dim),
        Chain::Verified { from, first, .. } => {
            let word = if *first { "pinned from" } else { "from" };
            (format!("{} {word} #{from}", look.sign("✓", "ok")), Role::Ok)
        }
        Chain::Broken { seq, .. } => (format!("CHAIN BROKEN #{seq}"), Role::Alarm),
    });
    right
}

/// A broken chain takes a line of its own, on every screen, until the terminal is left.
fn alarm(state: &State, look: &Look) -> Option<Line<'static>> {
    let Chain::Broken { seq, why } = &state.link.chain else { return None };
    let row = Row::new(state.screen.width, look)
        .on(Role::Alarm)
        .word(format!(" !! AUDIT CHAIN BROKEN AT #{seq}: do not trust this trail; a kill works. "), Role::Alarm)
        .outside_word(why, Role::Alarm);
    Some(row.line())
}

/// What the screen is worth when nothing was heard for a while.
fn stale(width: u16, look: &Look) -> Option<Line<'static>> {
    if matches!(look.link.wire, Wire::Live | Wire::Connecting) {
        return None;
    }
    if look.link.wire == Wire::SignedOut {
        let row = Row::new(width, look).on(Role::Warning).word(" ! NOT SIGNED IN: q, then countersign login", Role::Warning);
        return Some(row.word(" --server ", Role::Warning).outside_word(&look.session.server, Role::Warning).line());
    }
    let since = look.link.heard_at.map_or_else(|| "the start".to_owned(), |at| age::clock(at, look.screen.offset));
    let text = format!(" {} STALE since {since}: what you see may have changed. A kill is kept and sent.", look.sign("◐", "!"));
    Some(Row::new(width, look).on(Role::Warning).word(text, Role::Warning).line())
}

/// A registry that was put back from an older state takes little until it is released.
fn held_back(width: u16, look: &Look) -> Option<Line<'static>> {
    let why = look.session.world.as_ref()?.read_only.as_ref()?;
    let text = format!(" {} REGISTRY READ-ONLY, a kill still works: ", look.sign("◐", "!"));
    Some(Row::new(width, look).on(Role::Warning).word(text, Role::Warning).outside_word(why, Role::Warning).line())
}

fn tabs(width: u16, state: &State, look: &Look) -> Line<'static> {
    let wide = width >= 100;
    let mut row = Row::new(width, look);
    for (tab, number, name) in update::TABS {
        let count = match tab {
            Tab::Inbox => rooms::inbox::waiting(&state.inbox),
            Tab::Rollouts => rooms::rollouts::count(&state.rollouts),
            Tab::Keys | Tab::Audit => None,
        };
        let count = count.map_or_else(String::new, |n| format!(" {n}"));
        let lit = state.room.tab() == tab;
        let text = match (lit, wide) {
            (true, true) => format!("[ {number} {name}{count} ]"),
            (true, false) => format!("[{number} {name}{count}]"),
            (false, true) => format!("  {number} {name}{count}  "),
            (false, false) => format!(" {number} {name}{count} "),
        };
        row = row.word(text, if lit { Role::Tab } else { Role::Text });
    }
    if matches!(state.room, Room::Review(_)) {
        row = row.word("  ", Role::Text).word(look.sign("› Review", "> Review").to_owned(), Role::Strong);
    }
    row.line()
}

/// The oldest error that was not dismissed, else what is not yet in effect, else the last result.
fn status(width: u16, state: &State, look: &Look) -> Line<'static> {
    let row = Row::new(width, look);
    if let Some(banner) = state.desk.banner(steady(state)) {
        return row
            .on(Role::Warning)
            .word(format!(" {} ", look.sign("◐", "!")), Role::Warning)
            .outside_word(&banner, Role::Warning)
            .line();
    }
    if let Some((error, _)) = state.notices.errors.first() {
        let more = match state.notices.errors.len() {
            1 => String::new(),
            n => format!("(+{} more, E) ", n - 1),
        };
        let hint = format!(" {more}esc dismisses");
        let room = usize::from(width).saturating_sub(hint.width() + 4);
        return row
            .word(format!(" {} ", look.sign("✗", "x")), Role::Danger)
            .outside(&error.text, room, Role::Danger)
            .word(hint, Role::Dim)
            .line();
    }
    let Some((last, at)) = &state.notices.last else { return row.line() };
    let (sign, role) = match last.kind {
        NoticeKind::Done => (look.sign("✓", "ok"), Role::Ok),
        _ => (look.sign("·", "-"), Role::Dim),
    };
    let row = row.word(format!(" {sign} {} ", age::clock(*at, look.screen.offset)), role).outside_word(&last.text, Role::Text);
    match last.seq {
        Some(seq) => row.word(format!(" {} #{seq}", look.sign("·", "-")), Role::Strong).line(),
        None => row.line(),
    }
}

/// The desk counts on the steady clock; the frame is only given the wall's. The difference is what the state last saw.
fn steady(state: &State) -> std::time::Duration {
    state.screen.steady
}

/// Acts that the hint line offers in a scope, the most useful first.
fn offered(state: &State) -> &'static [Action] {
    use Action as A;
    match update::scopes(state)[0] {
        // After the fact nothing can be approved any more, and a difference without a promotion has nothing to vote on.
        Scope::Inbox if rooms::inbox::owed(&state.inbox) => &[A::InboxSettle, A::InboxOpen, A::InboxComment, A::InboxDiff],
        Scope::Review if rooms::review::owed(&state.review) => {
            &[A::ReviewSettle, A::ReviewNext, A::ReviewComment, A::ReviewHidden, A::ReviewFold, A::ReviewUnit, A::ReviewGates]
        }
        Scope::Review if state.review.promotion.is_none() => &[
            A::ReviewNext,
            A::ReviewPrevious,
            A::ReviewHidden,
            A::ReviewFold,
            A::ReviewFoldAll,
            A::ReviewUnit,
            A::ReviewFragments,
        ],
        Scope::Inbox => &[A::InboxOpen, A::InboxApprove, A::InboxReject, A::InboxDiff, A::InboxGates, A::InboxSettle],
        Scope::Review => &[
            A::ReviewNext,
            A::ReviewApprove,
            A::ReviewReject,
            A::ReviewComment,
            A::ReviewHidden,
            A::ReviewFold,
            A::ReviewUnit,
            A::ReviewGates,
        ],
        Scope::Keys => &[A::KeysOpen, A::Find, A::KeysDraft, A::KeysSort],
        Scope::History => &[A::HistoryOpen, A::HistoryDiff, A::HistoryDiffMark, A::HistoryBase, A::HistoryGates, A::HistoryEdit],
        Scope::Rollouts => &[A::RolloutsOpen, A::RolloutsHold, A::Find],
        Scope::Audit => &[A::AuditOpen, A::AuditPause, A::AuditVerify, A::Find, A::Bottom],
        _ => &[],
    }
}

fn hints(width: u16, state: &State, look: &Look) -> Line<'static> {
    let mut row = Row::new(width, look).word("  ", Role::Text);
    if !state.pending.keys.is_empty() || state.pending.count.is_some() {
        let count = state.pending.count.map_or_else(String::new, |n| n.to_string());
        let keys = super::keymap::chord_text(&state.pending.keys);
        return row.word(format!("{count}{keys}{}", look.sign("…", "...")), Role::Key).line();
    }
    if state.modal.is_some() {
        return row.line();
    }
    let whole = [Action::Copy, Action::Danger, Action::Palette, Action::Help];
    let tail = if width >= 100 { &whole[..] } else { &whole[1..] };
    let taken: usize = tail.iter().map(|a| hint_text(*a, look).width() + 2).sum();
    for action in offered(state) {
        let text = hint_text(*action, look);
        let Some(key) = look.keymap.text(*action) else { continue };
        if row.left() < text.width() + 2 + taken {
            continue;
        }
        let off = off(state, *action);
        let room = row.left() - taken - text.width() - 2;
        row = row.word(key, if off.is_some() { Role::Dim } else { Role::Key });
        row = row.word(format!(" {}", action.title()), if off.is_some() { Role::Dim } else { Role::Text });
        if let Some(why) = off.filter(|why| why.width() + 3 <= room) {
            row = row.word(" (", Role::Dim).outside_word(&why, Role::Dim).word(")", Role::Dim);
        }
        row = row.word("  ", Role::Text);
    }
    for action in tail.iter().copied() {
        let Some(key) = look.keymap.text(action) else { continue };
        row = row.word(key, Role::Key).word(format!(" {}  ", action.title()), Role::Text);
    }
    row.line()
}

fn hint_text(action: Action, look: &Look) -> String {
    look.keymap.text(action).map_or_else(String::new, |key| format!("{key} {}", action.title()))
}

/// Why an action cannot be done here, if so.
fn off(state: &State, action: Action) -> Option<String> {
    match state.room {
        Room::Inbox => rooms::inbox::off(&state.inbox, action),
        Room::Review(_) => rooms::review::off(&state.review, action),
        _ => None,
    }
}
