//! Keys as data: what a key press is, how it is written in a keymap, and which action it names in a scope.

use super::action::{Action, Danger, Scope};
use std::collections::BTreeMap;
use std::fmt;

/// What was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character as typed (with shift already applied).
    Char(char),
    /// Return.
    Enter,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Escape.
    Esc,
    /// Backwards delete.
    Backspace,
    /// Forwards delete.
    Delete,
    /// Arrow.
    Left,
    /// Arrow.
    Right,
    /// Arrow.
    Up,
    /// Arrow.
    Down,
    /// Start of line.
    Home,
    /// End of line.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key.
    F(u8),
    /// Anything else: never bound.
    Other,
}

/// Whether a key went down, is held, or came up. Terminals without the enhancement only ever press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Press {
    /// Went down.
    #[default]
    Down,
    /// Is held: never counts in a token.
    Repeat,
    /// Came up: never counts at all.
    Up,
}

/// One key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// What was pressed.
    pub code: KeyCode,
    /// With control.
    pub ctrl: bool,
    /// With alt.
    pub alt: bool,
    /// Down, held or up.
    pub press: Press,
}

impl Key {
    /// A plain press of `code`.
    pub const fn plain(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, press: Press::Down }
    }
    /// A plain press of a character.
    pub const fn char(c: char) -> Self {
        Self::plain(KeyCode::Char(c))
    }
    /// A character with control.
    pub const fn ctrl(c: char) -> Self {
        Self { code: KeyCode::Char(c), ctrl: true, alt: false, press: Press::Down }
    }
}

/// The keys in force: scope, keys, action.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keymap {
    bound: BTreeMap<Scope, BTreeMap<Vec<Key>, Action>>,
}
