//! Draws the trail and the dock.
//!
//! ```text
//! ┌─ Audit · live ──────────────────────────────────────────────── #17204 of 17204 ─┐
//! │>#17204 ✓ 14:02:07 bob   promotion.approve  support.refund.system  prod  …       │
//! └─────────────────────────────────────────────────────────────────────────────────┘
//! ```

use super::record;
use super::slim::Slim;
use super::state::{State, Verified};
use crate::tui::look::Look;
use crate::tui::state::Chain;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, environment, scroll};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the room into `area`: the trail, and the record beside or below it.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    if !state.reading {
        list(frame, area, state, look);
        return;
    }
    if look.screen.zoom {
        record::draw(frame, area, state, look);
        return;
    }
    if area.width >= 100 {
        let left = area.width * 55 / 100;
        list(frame, Rect { width: left, ..area }, state, look);
        record::draw(frame, Rect { x: area.x + left, width: area.width - left, ..area }, state, look);
    } else {
        let upper = area.height / 2;
        list(frame, Rect { height: upper, ..area }, state, look);
        record::draw(frame, Rect { y: area.y + upper, height: area.height - upper, ..area }, state, look);
    }
}

fn title(state: &State, look: &Look) -> String {
    let dot = look.sign("·", "-");
    let pace = match state.paused {
        Some(at) if state.head > at => format!("paused, {} newer: press .", state.head - at),
        Some(_) => "paused".to_owned(),
        None => "live".to_owned(),
    };
    let chain = match &state.verified {
        Verified::Not => String::new(),
        Verified::Running => format!(" {dot} verifying"),
        Verified::To(from, head) => format!(" {dot} {} verified #{from} to #{}", look.sign("✓", "ok"), head.seq),
        Verified::Broken(seq) => format!(" {dot} BROKEN at #{seq}"),
    };
    format!("Audit {dot} {pace}{chain}")
}

fn list(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let foot = match (&state.search, state.current()) {
        (Some(s), _) if s.down_to > 1 => format!("{} found, looked down to #{}", s.found.len(), s.down_to),
        (Some(s), _) => format!("{} found of {}", s.found.len(), state.top()),
        (None, Some(seq)) => format!("#{seq} of {}", state.top()),
        (None, None) => String::new(),
    };
    let inside = Pane::new(title(state, look)).foot(foot).focused(true).draw(frame, area, look);
    let mut body = inside;
    if (state.typing || !state.line.text().is_empty()) && inside.height > 0 {
        let line = Rect { height: 1, ..inside };
        frame.put(Line::styled("/ ", look.style(Role::Key)), line);
        state.line.draw(frame, Rect { x: line.x + 2, width: line.width.saturating_sub(2), ..line }, state.typing, look);
        body = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    }
    if state.typing && body.height > 1 {
        let help = " actor:bob env:prod kind:kill key:support, or words; enter searches, esc clears";
        frame.put(Line::styled(help, look.style(Role::Dim)), Rect { height: 1, ..body });
        body = Rect { y: body.y + 1, height: body.height - 1, ..body };
    }
    let (len, at) = (state.len(), state.position());
    if len == 0 {
        let text = match (&state.search, state.loaded) {
            (Some(s), _) if s.down_to > 1 => " looking",
            (Some(_), _) => " nothing matches; esc clears the filter",
            (None, true) => " nothing happened yet",
            (None, false) => look.awaited(" fetching the trail"),
        };
        frame.put(Line::styled(text, look.style(Role::Dim)), body);
        return;
    }
    let first = scroll::first(at, len, usize::from(body.height));
    for n in 0..usize::from(body.height).min(len - first) {
        let Some(seq) = state.number(first + n) else { break };
        let y = body.y + u16::try_from(n).unwrap_or(0);
        let here = first + n == at;
        let line = match state.rows.get(&seq) {
            Some(slim) => row(slim, here, body.width, look),
            None => Row::new(body.width, look)
                .own(if here { ">" } else { " " }, 1, Role::Key)
                .word(format!("#{seq} "), Role::Dim)
                .word(look.sign("…", "..."), Role::Dim)
                .line(),
        };
        frame.put(line, Rect { y, height: 1, ..body });
    }
}

/// A tick for events that this process or machine hashed itself.
fn tick<'l>(seq: u64, look: &'l Look) -> (&'l str, Role) {
    match &look.link.chain {
        Chain::Broken { seq: bad, .. } if seq >= *bad => ("!", Role::Alarm),
        Chain::Verified { from, head, .. } if (*from..=head.seq).contains(&seq) => (look.sign("✓", "+"), Role::Ok),
        _ => (" ", Role::Dim),
    }
}

fn action_role(action: &str) -> Role {
    match action {
        "pointer.kill" | "access.denied" | "version.quarantine" => Role::Danger,
        "pointer.rollback" | "pointer.revive" | "pointer.undo_kill" | "policy.apply" | "reject" | "override" => Role::Warning,
        "promotion.apply" | "pointer.step" => Role::Strong,
        _ => Role::Text,
    }
}

/// The action as a narrow row says it: without the noun where the verb alone is clear.
fn short(action: &'static str) -> &'static str {
    match action.split_once('.') {
        Some(("promotion" | "version" | "pointer", verb)) => verb,
        _ => action,
    }
}

fn row(slim: &Slim, here: bool, width: u16, look: &Look) -> Line<'static> {
    let wide = width >= 96;
    let mut row = Row::new(width, look);
    if here {
        row = row.on(Role::Selected);
    }
    let (sign, role) = tick(slim.seq, look);
    row = row.own(if here { ">" } else { " " }, 1, Role::Key).right(format!("#{}", slim.seq), 7, Role::Dim).pad(1);
    row = row.own(sign.to_owned(), 2, role).own(age::clock(slim.at, look.screen.offset), 9, Role::Dim);
    row = row.outside(&slim.actor, if wide { 12 } else { 8 }, Role::Strong).pad(1);
    let (action, room) = if wide { (slim.said, 18) } else { (short(slim.said), 10) };
    row = row.own(action, room, action_role(slim.said)).pad(1);
    row = row.outside_word(&slim.subject, Role::Text).word("  ", Role::Text);
    if !slim.environment.is_empty() {
        row = place(row, &slim.environment, look).word("  ", Role::Text);
    }
    row.outside_word(&slim.text, Role::Dim).line()
}

fn place<'l>(row: Row<'l>, name: &str, look: &Look) -> Row<'l> {
    let protected = name.parse().is_ok_and(|e| look.session.is_protected(&e));
    row.outside_word(&environment(name, protected), if protected { Role::Protected } else { Role::Text })
}

/// Draws the dock: the newest events, as they happen.
pub(crate) fn draw_dock(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let foot = match &look.link.chain {
        Chain::Verified { head, .. } => format!("chain {} to #{}", look.sign("✓", "ok"), head.seq),
        Chain::Broken { seq, .. } => format!("CHAIN BROKEN AT #{seq}"),
        Chain::Unknown => String::new(),
    };
    let inside = Pane::new(Line::raw("Audit @")).foot(foot).draw(frame, area, look);
    let rows: Vec<&Slim> = state.rows.values().rev().take(usize::from(inside.height)).collect();
    if rows.is_empty() {
        let text = if state.loaded { " nothing happened yet" } else { look.awaited(" fetching the trail") };
        frame.put(Line::styled(text, look.style(Role::Dim)), Rect { height: 1.min(inside.height), ..inside });
    }
    for (n, slim) in rows.into_iter().enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(dock_row(slim, inside.width, look), Rect { y, height: 1, ..inside });
    }
}

fn dock_row(slim: &Slim, width: u16, look: &Look) -> Line<'static> {
    let number = format!("#{}", slim.seq);
    let room = width.saturating_sub(u16::try_from(number.len() + 1).unwrap_or(0));
    let mut row = Row::new(room, look).own(age::clock(slim.at, look.screen.offset), 9, Role::Dim);
    let (action, wide) = if width >= 96 { (slim.said, 18) } else { (short(slim.said), 10) };
    row = row.outside(&slim.actor, 10, Role::Strong).pad(1).own(action, wide, action_role(slim.said)).pad(1);
    row = row.outside_word(&slim.subject, Role::Text).word("  ", Role::Text);
    if !slim.environment.is_empty() {
        row = place(row, &slim.environment, look).word("  ", Role::Text);
    }
    let mut line = row.outside_word(&slim.text, Role::Dim).line();
    line.push_span(ratatui::text::Span::styled(format!(" {number}"), look.style(Role::Strong)));
    line
}
