//! Differences of prose: paragraphs are aligned, then words inside aligned pairs.

mod align;
mod notes;
mod paragraphs;
mod words;

use crate::model::diff::{Block, BlockKind, Change, Run, TextDiff};
use align::Row;
use std::time::{Duration, Instant};

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

impl Unit {
    /// Its name on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Sentence => "sentence",
            Self::Line => "line",
            Self::Character => "character",
        }
    }
    /// The next one, after the last the first.
    pub fn next(self) -> Self {
        match self {
            Self::Word => Self::Sentence,
            Self::Sentence => Self::Line,
            Self::Line => Self::Character,
            Self::Character => Self::Word,
        }
    }
}

/// The budget for marks that the terminal and the server give.
pub const BUDGET: Duration = Duration::from_millis(150);
/// Share of a pair that may be changed and still be read as one line.
const LITTLE: f64 = 0.3;

/// The difference of two texts. Concatenating the Equal and Delete runs gives `old`, Equal and Insert runs `new`, byte for
/// byte. When `budget` runs out the marks get coarser and `approximate` is set.
pub fn diff(old: &str, new: &str, unit: Unit, budget: Duration) -> TextDiff {
    let deadline = Instant::now() + budget;
    let (old_paragraphs, new_paragraphs) = (paragraphs::paragraphs(old), paragraphs::paragraphs(new));
    let rows = align::align(&old_paragraphs, &new_paragraphs, deadline);
    let mut approximate = Instant::now() >= deadline;
    let mut blocks: Vec<Block> = Vec::with_capacity(rows.len());
    for row in rows {
        let whole = |change: Change, text: &str| vec![Run { change, text: text.to_owned() }];
        let (runs, cut) = match (row.old.map(|at| old_paragraphs[at]), row.new.map(|at| new_paragraphs[at])) {
            (Some(old), Some(new)) => words::runs(old, new, unit, deadline),
            (Some(old), None) => (whole(Change::Delete, old), false),
            (None, Some(new)) => (whole(Change::Insert, new), false),
            (None, None) => (Vec::new(), false),
        };
        approximate |= cut;
        blocks.push(block(row, runs));
    }
    give_blank_lines_to_neighbours(&mut blocks);
    TextDiff { blocks, notes: notes::notes(old, new), endings: (notes::ending(old), notes::ending(new)), approximate }
}

/// One side of a difference as it stood: the Equal runs and those of `side` (Delete: the old text, Insert: the new).
pub fn side(diff: &TextDiff, side: Change) -> String {
    let of = |b: &Block| {
        b.runs.iter().filter(|r| r.change == Change::Equal || r.change == side).map(|r| r.text.clone()).collect::<String>()
    };
    diff.blocks.iter().map(of).collect()
}

/// The paragraphs of a text as [`diff`] counts them; concatenated they are the text.
pub fn paragraphs_of(text: &str) -> Vec<&str> {
    paragraphs::paragraphs(text)
}

fn block(row: Row, runs: Vec<Run>) -> Block {
    let number = |at: Option<usize>| at.and_then(|at| u32::try_from(at + 1).ok());
    let kind = match (row.old, row.new) {
        (Some(_), None) => BlockKind::Deleted,
        (None, _) => BlockKind::Inserted,
        _ => kind(&runs),
    };
    Block { kind, old: number(row.old), new: number(row.new), moved: number(row.moved), runs }
}

fn kind(runs: &[Run]) -> BlockKind {
    if runs.iter().all(|run| run.change == Change::Equal) {
        return BlockKind::Equal;
    }
    let text = |gone: Change| runs.iter().filter(|r| r.change != gone).map(|r| &*r.text).collect::<String>();
    let (old, new) = (text(Change::Insert), text(Change::Delete));
    if old == new {
        return BlockKind::Equal;
    }
    if old.split_ascii_whitespace().eq(new.split_ascii_whitespace()) {
        return BlockKind::Whitespace;
    }
    let letters = |text: &str| text.bytes().filter(|b| !b.is_ascii_whitespace()).count();
    let changed: usize = runs.iter().filter(|r| r.change != Change::Equal).map(|r| letters(&r.text)).sum();
    #[expect(clippy::cast_precision_loss, reason = "a share of bytes, to be compared with 0.3")]
    let share = changed as f64 / (letters(&old) + letters(&new)).max(1) as f64;
    if share <= LITTLE { BlockKind::Edited } else { BlockKind::Replaced }
}

/// A paragraph that got or lost line ends only because one after it came or went has not changed there: they are part of
/// the neighbour's change.
fn give_blank_lines_to_neighbours(blocks: &mut [Block]) {
    for i in 1..blocks.len() {
        let (before, after) = blocks.split_at_mut(i);
        let (Some(pair), next) = (before.last_mut(), &mut after[0]) else { continue };
        let gives = match next.kind {
            BlockKind::Inserted => Change::Insert,
            BlockKind::Deleted => Change::Delete,
            _ => continue,
        };
        let tail = match &mut *pair.runs {
            // The other side has an end of its own here: it is replaced, not given away.
            [.., other, _] if other.change != Change::Equal && other.text.ends_with('\n') => continue,
            [_, .., last] if last.change == gives => {
                let kept = last.text.trim_end_matches(['\n', '\r']).len();
                last.text.split_off(kept)
            }
            _ => continue,
        };
        pair.runs.retain(|run| !run.text.is_empty());
        if pair.kind == BlockKind::Whitespace && pair.runs.iter().all(|run| run.change == Change::Equal) {
            pair.kind = BlockKind::Equal;
        }
        next.runs[0].text.insert_str(0, &tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLENTY: Duration = Duration::from_mins(1);

    fn kinds(old: &str, new: &str) -> Vec<BlockKind> {
        diff(old, new, Unit::Word, PLENTY).blocks.iter().map(|b| b.kind).collect()
    }

    #[test]
    fn each_way_to_face_has_its_kind() {
        use BlockKind::{Deleted, Edited, Equal, Inserted, Replaced, Whitespace};
        let long = "Keep replies under 120 words, and use the language of the customer.";
        for (old, new, expected) in [
            ("a\n\nb\n", "a\n\nb\n", vec![Equal, Equal]),
            (long, &*long.replace("120", "90"), vec![Edited]),
            ("Refunds are never possible here now", "Refunds are always granted here now", vec![Replaced]),
            ("a\n\nb\n", "a\n", vec![Equal, Deleted]),
            ("a", "a\n\nb", vec![Equal, Inserted]),
            ("a\n", "a\n\n", vec![Whitespace]),
            ("", "a\n", vec![Inserted]),
            ("a\n", "", vec![Deleted]),
            ("", "", vec![]),
        ] {
            assert_eq!(kinds(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn one_word_in_a_paragraph_of_six_hundred_marks_at_most_three_words() {
        let words: Vec<String> = (0..600).map(|i| format!("word{}", i * 7919 % 97)).collect();
        let old = words.join(" ");
        for at in [0, 1, 299, 598, 599] {
            let mut changed = words.clone();
            changed[at] = "other".into();
            let found = diff(&old, &changed.join(" "), Unit::Word, PLENTY);
            let marked: usize = found
                .blocks
                .iter()
                .flat_map(|b| &b.runs)
                .filter(|r| r.change != Change::Equal)
                .map(|r| r.text.split(' ').count())
                .sum();
            assert!(marked <= 3, "{marked} words marked");
            assert_eq!(found.blocks[0].kind, BlockKind::Edited);
        }
    }

    #[test]
    fn a_spent_budget_is_said() {
        let old = "some words\n\n".repeat(50);
        let found = diff(&old, &old.replace("some words", "other words here"), Unit::Word, Duration::ZERO);
        assert!(found.approximate);
        assert_eq!(side(&found, Change::Delete), old);
        assert!(!diff("a", "b", Unit::Word, PLENTY).approximate);
    }

    fn prose() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "Be brief.",
            "Refunds",
            " are",
            " never",
            " possible",
            "\n",
            "\n\n",
            "\r\n",
            "\r\n\r\n",
            "- item",
            "# Head",
            "```",
            "{{ name }}",
            "{%",
            "{% include \"x\" %}",
            " ",
            "\t",
            "\u{200b}",
            "\u{430}",
            "日本",
            "👩‍💻",
            "é",
            "x",
            "y z",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn the_runs_are_both_texts_byte_for_byte(old in prose(), new in prose(), unit in 0usize..4, spent in any::<bool>()) {
            let unit = [Unit::Word, Unit::Sentence, Unit::Line, Unit::Character][unit];
            let found = diff(&old, &new, unit, if spent { Duration::ZERO } else { PLENTY });
            prop_assert_eq!(side(&found, Change::Delete), old.clone());
            prop_assert_eq!(side(&found, Change::Insert), new.clone());
            let equal = found.blocks.iter().all(|b| b.kind == BlockKind::Equal);
            prop_assert_eq!(equal, old == new);
        }

        #[test]
        fn paragraph_numbers_rise_on_both_sides(old in prose(), new in prose()) {
            let found = diff(&old, &new, Unit::Word, PLENTY);
            let rise = |side: Vec<u32>| side.iter().enumerate().all(|(i, n)| usize::try_from(*n).unwrap() == i + 1);
            prop_assert!(rise(found.blocks.iter().filter_map(|b| b.old).collect()));
            prop_assert!(rise(found.blocks.iter().filter_map(|b| b.new).collect()));
        }
    }
}
