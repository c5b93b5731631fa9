//! The list of errors that were not dismissed.

use super::{Frame, Look, Outcome, Rect, State, centred};
use crate::tui::action::{Action, Scope};
use crate::tui::keymap::{Found, Key};
use crate::tui::theme::Role;
use crate::tui::widgets::age;
use crate::tui::widgets::ink;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::scroll::{Cursor, Move, first};
use ratatui::text::Line;

/// Where the list stands.
#[derive(Debug, Default)]
pub(crate) struct List {
    cursor: Cursor,
}

impl List {
    /// A key: move, dismiss all (enter), leave (esc, q, E).
    pub(crate) fn pressed(&mut self, key: Key, state: &mut State) -> Outcome {
        let Found::Action(action) = state.keymap.find(&[Scope::Global], &[key.as_pressed()]) else {
            if key.code == crate::tui::keymap::KeyCode::Enter {
                state.notices.errors.clear();
                return Outcome::close(Vec::new());
            }
            return Outcome::default();
        };
        if let Some(how) = Move::of(action, 10) {
            self.cursor.go(how, state.notices.errors.len());
            return Outcome::default();
        }
        let close = matches!(action, Action::Back | Action::Quit | Action::Errors);
        Outcome { close, ..Outcome::default() }
    }

    /// Draws the list.
    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, state: &State, look: &Look) {
        let area = centred(area, area.width.saturating_sub(4).min(116), area.height.saturating_sub(4));
        let errors = &state.notices.errors;
        let inside = Pane::new(format!("errors {}", errors.len()))
            .foot("enter dismisses all  esc leaves")
            .focused(true)
            .draw_over(frame, area, look);
        let mut lines = Vec::new();
        for (error, at) in errors.iter().skip(first(self.cursor.at, errors.len(), usize::from(inside.height))) {
            let head = Line::styled(age::clock(*at, look.screen.offset), look.style(Role::Dim));
            lines.push(head);
            let shown = crate::rules::hidden::visible(&error.text);
            lines.extend(shown.wrap(usize::from(inside.width.max(1))).iter().map(|l| ink::line(l, look.style(Role::Text), look)));
        }
        if errors.is_empty() {
            lines.push(Line::styled("nothing went wrong", look.style(Role::Dim)));
        }
        for (n, line) in lines.into_iter().take(usize::from(inside.height)).enumerate() {
            let y = inside.y + u16::try_from(n).unwrap_or(0);
            frame.put(line, Rect { y, height: 1, ..inside });
        }
    }
}
