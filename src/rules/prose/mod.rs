//! Differences of prose: paragraphs are aligned, then words inside aligned pairs.

use crate::model::diff::TextDiff;
use std::time::Duration;

/// What is marked inside aligned paragraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    /// Words by UAX #29; a template tag is one.
    #[default]
    Word,
    /// Sentences by UAX #29.
    Sentence,
    /// Lines.
    Line,
    /// Characters as people count them (grapheme clusters).
    Character,
}

/// The budget for marks that the terminal and the server give.
pub const BUDGET: Duration = Duration::from_millis(150);

/// The difference of two texts. Concatenating the Equal and Delete runs gives `old`, Equal and Insert runs `new`, byte for
/// byte. When `budget` runs out the marks get coarser and `approximate` is set.
pub fn diff(_old: &str, _new: &str, _unit: Unit, _budget: Duration) -> TextDiff {
    unimplemented!()
}
