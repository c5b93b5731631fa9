//! Differences between two contents, as data: structure first, then text in paragraphs and words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Stands in both.
    Equal,
    /// Only in the old.
    Delete,
    /// Only in the new.
    Insert,
}

/// A run of text with one fate; concatenating the runs of a side gives that side byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its fate.
    pub change: Change,
    /// The text as it stands.
    pub text: String,
}

/// How two paragraphs face each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// The same on both sides.
    Equal,
    /// Little changed: shown as one line `~`.
    Edited,
    /// Much changed: shown as a `-`/`+` pair with marks.
    Replaced,
    /// Only in the old.
    Deleted,
    /// Only in the new.
    Inserted,
    /// Same words, other whitespace or line endings.
    Whitespace,
}

/// A paragraph, or a pair of them. Blank lines that follow a paragraph belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// How they face each other.
    pub kind: BlockKind,
    /// Number of the old paragraph from 1.
    pub old: Option<u32>,
    /// Number of the new paragraph from 1.
    pub new: Option<u32>,
    /// Where an inserted paragraph stood before (moved, `⇅ moved from ¶9`), or where a deleted one went.
    pub moved: Option<u32>,
    /// The runs in order.
    pub runs: Vec<Run>,
}

/// Line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// No line ends.
    None,
    /// `\n`
    Lf,
    /// `\r\n`
    Crlf,
    /// More than one kind.
    Mixed,
}

/// A text's difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextDiff {
    /// In the order of the new text, deletions where they stood.
    pub blocks: Vec<Block>,
    /// Things to be said in words: "only line endings differ", "no newline at the end (new)".
    pub notes: Vec<String>,
    /// Line endings, old and new.
    pub endings: (Ending, Ending),
    /// Whether the time budget ran out, so that marks are coarser than they could be.
    pub approximate: bool,
}

/// A difference of structure: one member that was added, removed or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChange {
    /// JSON pointer into the content.
    pub path: String,
    /// Canonical JSON of the old value.
    pub old: Option<String>,
    /// Canonical JSON of the new value.
    pub new: Option<String>,
    /// Said in words where it is easily missed: "type changes from string to number", "look-alike letters".
    pub note: Option<String>,
}

/// The whole difference between two contents of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentDiff {
    /// format, model_pin, parameters, fragments, variables; for json bodies the body too.
    pub fields: Vec<FieldChange>,
    /// Texts: `/body`, each chat message, each changed fragment (`/fragments/NAME/body`), by JSON pointer.
    pub texts: Vec<(String, TextDiff)>,
    /// Invisible and unusual characters in what was added.
    pub hidden: Vec<super::approval::HiddenSpan>,
    /// Look-alike changes: JSON pointer and words, `"раypal" U+0440 U+0430 looks like "paypal"`.
    pub lookalikes: Vec<(String, String)>,
}
