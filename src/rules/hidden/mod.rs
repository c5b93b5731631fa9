//! Hostile text made visible: `visible()`, `Shown`, hidden characters in what was added, look-alikes.

use crate::model::Content;
use crate::model::approval::HiddenSpan;
use std::collections::BTreeMap;

/// Bodies of pinned fragments by name.
pub type Bodies = BTreeMap<String, String>;

/// How a piece of shown text is to be drawn, by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ink {
    /// The text as it stands.
    Plain,
    /// Stands for characters that would not be seen: `‹U+202E›`, `→`, `␍`, `␊`.
    Token,
    /// A letter that looks like another script's, followed by its code point: `а‹U+0430›`.
    Lookalike,
}

/// A piece of shown text with one ink.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    text: String,
    ink: Ink,
}

impl Piece {
    /// What is drawn.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// How it is drawn.
    pub fn ink(&self) -> Ink {
        self.ink
    }
}

/// Text from outside that is safe to draw: made by [`visible`] alone, so that the type is the guard.
/// Always one line: a line feed is the token `␊` (see [`visible_lines`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shown {
    pieces: Vec<Piece>,
}

impl Shown {
    /// The pieces in order; no two neighbours are both plain.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
    /// Text without styles for plain output: injective, since the token marks themselves are escaped where they are literal.
    pub fn plain(&self) -> String {
        unimplemented!()
    }
    /// Columns that it takes.
    pub fn width(&self) -> usize {
        unimplemented!()
    }
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// Cut to `width` columns, with `…` at the end where something is missing.
    pub fn cut(&self, _width: usize) -> Self {
        unimplemented!()
    }
    /// Wrapped at words into lines of at most `width` columns (at least one; a wide character may overhang a width of 1).
    pub fn wrap(&self, _width: usize) -> Vec<Self> {
        unimplemented!()
    }
}

/// Turns every character that would act, hide or mislead into a visible token. [`decode`] gives the text back.
pub fn visible(_text: &str) -> Shown {
    unimplemented!()
}

/// One [`Shown`] a line; `\n` and `\r\n` end lines and are not shown, a lone `\r` is the token `␍`.
pub fn visible_lines(_text: &str) -> Vec<Shown> {
    unimplemented!()
}

/// The text that [`visible`] was given, read from text and ink.
pub fn decode(_shown: &Shown) -> String {
    unimplemented!()
}

/// Hidden characters of `new` that `old` did not have; `path` is empty. The same on every machine, linear in the length.
pub fn spans(_old: Option<&str>, _new: &str) -> Vec<HiddenSpan> {
    unimplemented!()
}

/// Hidden characters in what `new` adds to `old`: body, names, model_pin, parameters, defaults, template literals after
/// their escapes, and the bodies of pinned fragments (`/fragments/NAME/body`).
pub fn content_spans(_old: Option<&Content>, _new: &Content, _old_bodies: &Bodies, _new_bodies: &Bodies) -> Vec<HiddenSpan> {
    unimplemented!()
}
