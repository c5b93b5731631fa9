//! A text field: the only owner of a text area. States hold a `Field`; keys reach it before any scope.

use super::keymap::{Key, KeyCode, Press};

/// How many lines a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// One: enter is not for the field.
    One,
    /// Many: enter breaks the line.
    Many,
}

/// Text being typed.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    text: String,
    lines: Lines,
}

impl Field {
    /// An empty field.
    pub(crate) fn new(lines: Lines) -> Self {
        Self { text: String::new(), lines }
    }
    /// The same with text, the cursor at its end.
    pub(crate) fn with(mut self, text: &str) -> Self {
        self.text = text.to_owned();
        self
    }
    /// What was typed.
    pub(crate) fn text(&self) -> String {
        self.text.clone()
    }
    /// Takes a key: whether it meant something to the field (all characters and editing keys do; enter in a field of one
    /// line, tab, esc, ctrl-s, ctrl-g and function keys do not).
    pub(crate) fn key(&mut self, key: &Key) -> bool {
        if key.press == Press::Up || key.ctrl || key.alt {
            return false;
        }
        match key.code {
            KeyCode::Char(c) => self.text.push(c),
            KeyCode::Backspace => {
                self.text.pop();
            }
            KeyCode::Enter if self.lines == Lines::Many => self.text.push('\n'),
            _ => return false,
        }
        true
    }
    /// Takes a paste as one edit.
    pub(crate) fn paste(&mut self, text: &str) {
        self.text.push_str(text);
    }
    /// Draws the text into `area`; the cursor is shown where `focused`.
    pub(crate) fn draw(&self, frame: &mut ratatui::Frame, area: ratatui::layout::Rect, focused: bool, look: &super::look::Look) {
        let role = if focused { super::theme::Role::FieldFocus } else { super::theme::Role::Field };
        frame.render_widget(ratatui::text::Line::styled(self.text.as_str(), look.style(role)), area);
    }
}
