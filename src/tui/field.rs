//! A text field: the only owner of a text area. States hold a `Field`; keys reach it before any scope.

use super::keymap::{Key, KeyCode, Press};
use super::look::Look;
use super::theme::Role;
use crate::rules::hidden::is_blank;
use crate::rules::hidden::{Ink, Piece, spans, visible};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui_textarea::{CursorMove, Input, Key as AreaKey, TextArea, WrapMode};

/// The longest text of a field, in bytes: a paste beyond it is cut.
const LONGEST: usize = 1 << 20;

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
    area: TextArea<'static>,
    lines: Lines,
}

impl Field {
    /// An empty field.
    pub(crate) fn new(lines: Lines) -> Self {
        let mut area = TextArea::default();
        area.set_wrap_mode(if lines == Lines::Many { WrapMode::WordOrGlyph } else { WrapMode::None });
        Self { area, lines }
    }

    /// The same with text, the cursor at its end.
    pub(crate) fn with(self, text: &str) -> Self {
        let mut fresh = Self::new(self.lines);
        fresh.paste(text);
        fresh
    }

    /// The same with the cursor at the beginning.
    pub(crate) fn at_start(mut self) -> Self {
        self.area.move_cursor(CursorMove::Top);
        self.area.move_cursor(CursorMove::Head);
        self
    }

    /// What was typed.
    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing but blanks was typed.
    pub(crate) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| is_blank(line))
    }

    /// Takes a key: whether it meant something to the field (all characters and editing keys do; enter in a field of one
    /// line, tab, esc, ctrl-s, ctrl-g and function keys do not).
    pub(crate) fn key(&mut self, key: &Key) -> bool {
        if key.press == Press::Up {
            return false;
        }
        if key.ctrl || key.alt {
            return self.chord(key);
        }
        let area_key = match key.code {
            KeyCode::Char(c) if c.is_control() => return false,
            KeyCode::Char(c) => AreaKey::Char(c),
            KeyCode::Enter if self.lines == Lines::Many => AreaKey::Enter,
            KeyCode::Backspace => AreaKey::Backspace,
            KeyCode::Delete => AreaKey::Delete,
            KeyCode::Left => AreaKey::Left,
            KeyCode::Right => AreaKey::Right,
            KeyCode::Home => AreaKey::Home,
            KeyCode::End => AreaKey::End,
            KeyCode::Up if self.lines == Lines::Many => AreaKey::Up,
            KeyCode::Down if self.lines == Lines::Many => AreaKey::Down,
            KeyCode::PageUp if self.lines == Lines::Many => AreaKey::PageUp,
            KeyCode::PageDown if self.lines == Lines::Many => AreaKey::PageDown,
            _ => return false,
        };
        self.area.input(Input { key: area_key, ctrl: false, alt: false, shift: false });
        true
    }

    /// Editing keys with control or alt, as shells have them. All others are left to the keymap.
    fn chord(&mut self, key: &Key) -> bool {
        let KeyCode::Char(c) = key.code else {
            let by_word = key.alt || key.ctrl;
            match key.code {
                KeyCode::Left if by_word => self.area.move_cursor(CursorMove::WordBack),
                KeyCode::Right if by_word => self.area.move_cursor(CursorMove::WordForward),
                KeyCode::Backspace => drop(self.area.delete_word()),
                _ => return false,
            }
            return true;
        };
        match (key.ctrl, key.alt, c) {
            (true, false, 'a') => self.area.move_cursor(CursorMove::Head),
            (true, false, 'e') => self.area.move_cursor(CursorMove::End),
            (true, false, 'b') => self.area.move_cursor(CursorMove::Back),
            (true, false, 'f') => self.area.move_cursor(CursorMove::Forward),
            (true, false, 'h') => drop(self.area.delete_char()),
            (true, false, 'd') => drop(self.area.delete_next_char()),
            (true, false, 'k') => drop(self.area.delete_line_by_end()),
            (true, false, 'u') => drop(self.area.delete_line_by_head()),
            (true, false, 'w') => drop(self.area.delete_word()),
            (true, false, 'y') => drop(self.area.paste()),
            (true, false, 'j') if self.lines == Lines::Many => self.area.insert_newline(),
            (false, true, 'b') => self.area.move_cursor(CursorMove::WordBack),
            (false, true, 'f') => self.area.move_cursor(CursorMove::WordForward),
            (false, true, 'd') => drop(self.area.delete_next_word()),
            (false, true, 'u') => drop(self.area.undo()),
            _ => return false,
        }
        true
    }

    /// Takes a paste as one edit (one undo takes it back). Line ends become `\n`, in a field of one line a blank; other
    /// control characters are left out, since nobody types them.
    pub(crate) fn paste(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text().len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let unified = text[..end].replace("\r\n", "\n").replace('\r', "\n");
        let kept: String = unified
            .chars()
            .map(|c| if matches!(c, '\t' | '\n') && self.lines == Lines::One { ' ' } else { c })
            .filter(|c| matches!(c, '\t' | '\n') || !c.is_control())
            .collect();
        self.area.insert_str(kept);
    }

    /// Code points of the characters in it that nobody sees (`U+200B`), each once a place.
    pub(crate) fn invisible(&self) -> Vec<String> {
        if self.area.lines().iter().all(|line| line.is_ascii()) {
            return Vec::new();
        }
        spans(None, &self.text()).into_iter().map(|span| span.code_points).collect()
    }

    /// The text area with tokens for what would not be seen, the cursor where it is; none where all is seen as it stands.
    fn tokens(&self) -> Option<TextArea<'static>> {
        // A tab is seen as the gap that it is.
        let plain = |piece: &Piece| piece.ink() == Ink::Plain || piece.text().trim_end() == "→";
        let lines = self.area.lines();
        if lines.iter().all(|line| line.is_ascii() || visible(line).pieces().iter().all(plain)) {
            return None;
        }
        let shown = |text: &str| -> String { visible(text).pieces().iter().map(Piece::text).collect() };
        let mut area = TextArea::new(lines.iter().map(|line| shown(line)).collect());
        area.set_wrap_mode(self.area.wrap_mode());
        let cursor = self.area.cursor();
        let before: String = lines.get(cursor.0).map(|line| line.chars().take(cursor.1).collect()).unwrap_or_default();
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        area.move_cursor(CursorMove::Jump(small(cursor.0), small(shown(&before).chars().count())));
        Some(area)
    }

    /// Draws the text into `area`, what would not be seen as tokens; the cursor is shown where `focused`.
    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, focused: bool, look: &Look) {
        let style = look.style(if focused { Role::FieldFocus } else { Role::Field });
        let mut shown = self.tokens().unwrap_or_else(|| self.area.clone());
        shown.set_style(style);
        shown.set_cursor_line_style(style);
        shown.set_cursor_style(if focused { style.add_modifier(ratatui::style::Modifier::REVERSED) } else { style });
        frame.render_widget(&shown, area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(lines: Lines, keys: &[Key]) -> Field {
        let mut field = Field::new(lines);
        for key in keys {
            field.key(key);
        }
        field
    }

    #[test]
    fn characters_and_line_breaks_are_literal() {
        let keys = ['q', '!', 'k', ':', '?', '1'].map(Key::char);
        let mut field = typed(Lines::Many, &keys);
        assert!(field.key(&Key::plain(KeyCode::Enter)));
        assert!(field.key(&Key::char('x')));
        assert_eq!(field.text(), "q!k:?1\nx");
    }

    #[test]
    fn what_belongs_to_the_dialog_is_left_to_it() {
        let mut field = Field::new(Lines::One);
        let others = [
            Key::plain(KeyCode::Enter),
            Key::plain(KeyCode::Tab),
            Key::plain(KeyCode::BackTab),
            Key::plain(KeyCode::Esc),
            Key::plain(KeyCode::F(10)),
            Key::ctrl('s'),
            Key::ctrl('g'),
            Key::ctrl('c'),
            Key::ctrl('z'),
            Key::ctrl('r'),
            Key { press: Press::Up, ..Key::char('x') },
        ];
        for key in others {
            assert!(!field.key(&key), "{key:?}");
        }
        assert_eq!(field.text(), "");
    }

    #[test]
    fn a_paste_is_one_edit_without_control_characters() {
        let mut field = typed(Lines::Many, &[Key::char('a')]);
        field.paste("\u{1b}[31mred\u{7}\r\nnext\rlast\u{9}end\u{13}");
        assert_eq!(field.text(), "a[31mred\nnext\nlast\tend");
        assert!(field.key(&Key { alt: true, ..Key::char('u') }));
        assert_eq!(field.text(), "a", "one undo takes the whole paste back");
        let mut line = Field::new(Lines::One);
        line.paste("INC-1\nrm");
        assert_eq!(line.text(), "INC-1 rm");
    }

    #[test]
    fn a_paste_beyond_the_limit_is_cut_at_a_character() {
        let mut field = Field::new(Lines::Many);
        field.paste(&"ä".repeat(LONGEST));
        assert_eq!(field.text().len(), LONGEST);
        field.paste("more");
        assert_eq!(field.text().len(), LONGEST);
    }

    #[test]
    fn what_nobody_would_see_is_drawn_as_tokens_and_counted() {
        let shown = |text: &str| Field::new(Lines::Many).with(text).tokens().map(|area| area.lines().join("\n"));
        assert_eq!(shown("plain, größer, 日本, 🧑‍🚒, a\tb"), None);
        assert_eq!(shown("ok\u{202e}txt\n\u{200b}").as_deref(), Some("ok‹U+202E›txt\n‹U+200B›"));
        assert_eq!(shown("p\u{430}y").as_deref(), Some("p\u{430}‹U+0430›y"));
        let mut field = Field::new(Lines::Many).with("a\u{e0041}b\n\u{200b}c");
        assert_eq!(field.invisible(), ["U+E0041", "U+200B"]);
        field.key(&Key::plain(KeyCode::Left));
        assert_eq!(field.tokens().map(|area| (area.cursor().0, area.cursor().1)), Some((1, 8)), "before the c");
        assert_eq!(field.text(), "a\u{e0041}b\n\u{200b}c", "what is sent is what was typed");
    }

    #[test]
    fn blanks_are_no_text() {
        let field = Field::new(Lines::Many).with(" \n\u{a0}\t ");
        assert!(field.is_blank());
        assert!(!Field::new(Lines::Many).with(" x ").is_blank());
    }
}
