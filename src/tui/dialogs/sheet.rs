//! What a dialog says, as rows of words with their meaning: pure, before anything is drawn.

use crate::rules::hidden::{Shown, visible};
use crate::tui::theme::Role;

/// Words in a row, each with its meaning. Text from outside becomes [`Shown`] here, so that nothing else can be drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Words(pub(crate) Vec<(Role, Shown)>);

impl Words {
    /// Ordinary words.
    pub(crate) fn text(text: &str) -> Self {
        Self::of(Role::Text, text)
    }
    /// Words with a meaning.
    pub(crate) fn of(role: Role, text: &str) -> Self {
        Self::default().and(role, text)
    }
    /// The same and more words.
    pub(crate) fn and(mut self, role: Role, text: &str) -> Self {
        if !text.is_empty() {
            self.0.push((role, visible(text)));
        }
        self
    }
    /// The same and more ordinary words.
    pub(crate) fn then(self, text: &str) -> Self {
        self.and(Role::Text, text)
    }
    /// Plain text, for tests and plain output.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        self.0.iter().map(|(_, shown)| shown.plain()).collect()
    }
}

/// One row of the part of a dialog that is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Row {
    /// Nothing; left out where there is no room.
    Blank,
    /// A heading: `BLAST RADIUS`.
    Heading(&'static str),
    /// Words, wrapped.
    Line(Words),
    /// Words under a heading: indented, wrapped further in.
    Item(Words),
    /// Many short ones in a row, none broken.
    Items(Vec<Words>),
    /// Words behind a name of at most five letters, wrapped behind it.
    Named(&'static str, Words),
}

impl Row {
    /// Words behind a name.
    pub(crate) fn named(name: &'static str, text: &str) -> Self {
        Self::Named(name, Words::text(text))
    }
    /// Words under a heading.
    pub(crate) fn item(text: &str) -> Self {
        Self::Item(Words::text(text))
    }
    /// Words.
    pub(crate) fn line(text: &str) -> Self {
        Self::Line(Words::text(text))
    }
    /// Plain text, for tests.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Blank => String::new(),
            Self::Heading(text) => (*text).to_owned(),
            Self::Line(words) | Self::Item(words) => words.plain(),
            Self::Items(items) => items.iter().map(Words::plain).collect::<Vec<_>>().join("   "),
            Self::Named(name, words) => format!("{name} {}", words.plain()),
        }
    }
}
