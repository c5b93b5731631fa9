//! Draws the tree of keys, or what the filter found.

use super::state::{Focus, Node, State};
use crate::tui::look::Look;
use crate::tui::rooms::marks;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::scroll;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let at = state.position().unwrap_or(0);
    let filtering = state.typing || !state.filter.text().is_empty();
    let order = if state.by_change && !filtering { ", newest change first" } else { "" };
    let foot = match (filtering, state.nodes.len()) {
        (true, found) => format!("{found} of {} keys", state.rows.len()),
        (false, _) => format!("{} keys", state.rows.len()),
    };
    let marked = if state.marks.len() > 0 { format!(", {} marked", state.marks.len()) } else { String::new() };
    let title = format!("Keys{order}{marked}");
    let inside = Pane::new(title).foot(foot).focused(state.focus == Focus::Tree).draw(frame, area, look);
    let mut body = inside;
    if filtering && inside.height > 0 {
        let line = Rect { height: 1, ..inside };
        frame.put(Line::styled("/ ", look.style(Role::Key)), line);
        state.filter.draw(frame, Rect { x: line.x + 2, width: line.width.saturating_sub(2), ..line }, state.typing, look);
        body = Rect { y: inside.y + 1, height: inside.height - 1, ..inside };
    }
    if state.nodes.is_empty() {
        let text = match (state.loaded, state.rows.is_empty()) {
            (false, _) => " fetching keys",
            (true, true) => " no keys yet: `countersign import dir` brings them",
            (true, false) => " no key matches; esc clears the filter",
        };
        frame.put(Line::styled(text, look.style(Role::Dim)), body);
        return;
    }
    let first = scroll::first(at, state.nodes.len(), usize::from(body.height));
    for (n, node) in state.nodes.iter().enumerate().skip(first).take(usize::from(body.height)) {
        let y = body.y + u16::try_from(n - first).unwrap_or(0);
        frame.put(row(state, node, n == at, body.width, look), Rect { y, height: 1, ..body });
    }
}

fn row(state: &State, node: &Node, here: bool, width: u16, look: &Look) -> Line<'static> {
    let mut row = Row::new(width, look);
    if here {
        row = row.on(Role::Selected);
    }
    let marked = matches!(node, Node::Key { row, .. } if state.marks.has(&state.rows[*row].key));
    row = row.own(marks::sign(here, marked, look), 1, Role::Key);
    match node {
        Node::Folder { path, from, depth, count, open } => {
            let name = path[*from..].trim_start_matches('.');
            let sign = if *open { look.sign("▾", "v") } else { look.sign("▸", "+") };
            row = row.pad(depth * 2).word(format!("{sign} "), Role::Dim).outside_word(name, Role::Strong);
            row.word(format!(" ({count})"), Role::Dim).line()
        }
        Node::Key { row: at, depth, from } => {
            let slim = &state.rows[*at];
            let name = slim.key.as_str()[*from..].trim_start_matches('.');
            let signs = 14;
            let room = usize::from(width).saturating_sub(1 + depth * 2 + 2 + signs);
            row = row.pad(depth * 2 + 2).outside(name, room, Role::Text).pad(1);
            let unit = &slim.unit.to_string()[..1];
            row = row.own(if slim.killed { "KILLED" } else { "" }, 7, Role::Danger);
            row = row.own(if slim.confidential { "c" } else { "" }, 2, Role::Warning).own(unit.to_owned(), 2, Role::Dim);
            row.right(format!("{}", slim.versions), 2, Role::Dim).line()
        }
    }
}
