//! Draws the tree of keys, or what the filter found.

use super::state::{Focus, Node, State};
use crate::tui::look::Look;
use crate::tui::rooms::marks;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{plural, scroll};
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
        (false, _) => plural(state.rows.len(), "key"),
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
            (false, _) => look.awaited(" fetching keys"),
            (true, true) => " no keys yet: `countersign import dir` brings them",
            (true, false) => " no key matches; esc clears the filter",
        };
        frame.put(Line::styled(text, look.style(Role::Dim)), body);
        return;
    }
    if body.height > 1 {
        frame.put(header(body.width, look), Rect { height: 1, ..body });
        body = Rect { y: body.y + 1, height: body.height - 1, ..body };
    }
    let first = scroll::first(at, state.nodes.len(), usize::from(body.height));
    for (n, node) in state.nodes.iter().enumerate().skip(first).take(usize::from(body.height)) {
        let y = body.y + u16::try_from(n - first).unwrap_or(0);
        frame.put(row(state, node, n == at, body.width, look), Rect { y, height: 1, ..body });
    }
}

/// Columns of what stands behind a name; units in words where there is room.
struct Widths {
    serves: usize,
    confidential: usize,
    unit: usize,
    versions: usize,
}

impl Widths {
    fn of(width: u16) -> Self {
        let (unit, versions) = if width >= 60 { (8, 8) } else { (2, 3) };
        Self { serves: 7, confidential: 2, unit, versions }
    }
    fn sum(&self) -> usize {
        self.serves + self.confidential + self.unit + self.versions
    }
}

fn header(width: u16, look: &Look) -> Line<'static> {
    let w = Widths::of(width);
    let wide = w.unit > 2;
    Row::new(width, look)
        .own("  KEY", usize::from(width).saturating_sub(w.sum()), Role::Dim)
        .own("SERVES", w.serves, Role::Dim)
        .own("C", w.confidential, Role::Dim)
        .own(if wide { "UNIT" } else { "U" }, w.unit, Role::Dim)
        .right(if wide { "VERSIONS" } else { "V" }, w.versions, Role::Dim)
        .line()
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
            let w = Widths::of(width);
            let room = usize::from(width).saturating_sub(1 + depth * 2 + 2 + 1 + w.sum());
            row = row.pad(depth * 2 + 2).outside(name, room, Role::Text).pad(1);
            let unit = slim.unit.to_string();
            let unit = if w.unit > 2 { unit } else { unit[..1].to_owned() };
            row = match &slim.serves {
                _ if slim.killed => row.own("KILLED", w.serves, Role::Danger),
                Some((_, [a, b])) => row.own(format!("{a:02x}{b:02x}"), w.serves, Role::Text),
                None => row.own("-", w.serves, Role::Dim),
            };
            row = row.own(if slim.confidential { "c" } else { "" }, w.confidential, Role::Warning).own(unit, w.unit, Role::Dim);
            row.right(slim.versions.to_string(), w.versions, Role::Dim).line()
        }
    }
}
