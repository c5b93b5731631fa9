//! Marks inside a pair of paragraphs: words by UAX #29, template tags as one word.

use super::Unit;
use super::paragraphs::tag_length;
use crate::model::diff::{Change, Run};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::time::Instant;
use unicode_segmentation::UnicodeSegmentation;

/// The runs that lead from `old` to `new`, and whether the time ran out before they were as fine as they could be.
pub(super) fn runs(old: &str, new: &str, unit: Unit, deadline: Instant) -> (Vec<Run>, bool) {
    if old == new {
        return (vec![Run { change: Change::Equal, text: old.to_owned() }], false);
    }
    if Instant::now() >= deadline {
        return (coarse(old, new), true);
    }
    let (head, tail) = if unit == Unit::Word { shared(old, new) } else { (0, 0) };
    let (begin, end) = (&old[..head], &old[old.len() - tail..]);
    let (old, new) = (tokens(&old[head..old.len() - tail], unit), tokens(&new[head..new.len() - tail], unit));
    let mut numbers = HashMap::new();
    let (old_ids, new_ids) = (number(&old, &mut numbers), number(&new, &mut numbers));
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_ids, &new_ids, Some(deadline));
    let mut runs = Runs::default();
    runs.push(Change::Equal, begin);
    for op in ops {
        let (tag, from, to) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            runs.push(Change::Equal, &new[to].concat());
        } else {
            runs.push(Change::Delete, &old[from].concat());
            runs.push(Change::Insert, &new[to].concat());
        }
    }
    runs.push(Change::Equal, end);
    (joined(&runs.0), Instant::now() >= deadline)
}

/// Bytes that both texts begin with and end with, cut where a word surely begins in both: only what lies between is compared by
/// words.
fn shared(old: &str, new: &str) -> (usize, usize) {
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let mut head = seam(old, same).unwrap_or(0);
    while let Some(tag) = tag_across(old, head).or_else(|| tag_across(new, head)) {
        head = seam(old, tag + 1).unwrap_or(0);
    }
    let (old, new) = (&old[head..], &new[head..]);
    let same = old.bytes().rev().zip(new.bytes().rev()).take_while(|(a, b)| a == b).count();
    let from = old.len() - same;
    let tail = (from + 1..old.len()).find(|at| is_seam(old, *at)).map_or(0, |at| old.len() - at);
    let within = |text: &str| tail > 0 && tag_across(text, text.len() - tail).is_some();
    (head, if within(old) || within(new) { 0 } else { tail })
}

/// Whether an ASCII letter stands before a place and a space at it: there a word ends, whatever comes before or after.
fn is_seam(text: &str, at: usize) -> bool {
    let text = text.as_bytes();
    at > 0 && text[at] == b' ' && text[at - 1].is_ascii_alphabetic()
}

/// The last such place among the first bytes.
fn seam(text: &str, bytes: usize) -> Option<usize> {
    (1..bytes).rev().find(|at| is_seam(text, *at))
}

/// Where the template tag begins that reaches across a place.
fn tag_across(text: &str, place: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..place].find('{') {
        let at = from + found;
        from = at + tag_length(&text[at..]).unwrap_or(1);
        if from > place {
            return Some(at);
        }
    }
    None
}

fn number<'a>(tokens: &[&'a str], numbers: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    let mut of = |token| {
        *numbers.entry(token).or_insert_with(|| {
            next += 1;
            next
        })
    };
    tokens.iter().map(|token| of(*token)).collect()
}

/// The pieces that are compared; concatenated they are the text.
pub(super) fn tokens(text: &str, unit: Unit) -> Vec<&str> {
    match unit {
        Unit::Line => text.split_inclusive('\n').collect(),
        Unit::Sentence => text.split_sentence_bounds().collect(),
        Unit::Character => text.graphemes(true).collect(),
        Unit::Word => words(text),
    }
}

fn words(text: &str) -> Vec<&str> {
    let mut all = Vec::with_capacity(text.len() / 3);
    let (mut start, mut from) = (0, 0);
    while let Some(found) = text[from..].find('{') {
        let at = from + found;
        if let Some(length) = tag_length(&text[at..]) {
            words_between(&text[start..at], &mut all);
            all.push(&text[at..at + length]);
            start = at + length;
            from = start;
        } else {
            from = at + 1;
        }
    }
    words_between(&text[start..], &mut all);
    all
}

fn words_between<'t>(text: &'t str, all: &mut Vec<&'t str>) {
    if !text.is_ascii() {
        return all.extend(text.split_word_bounds());
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(ascii_word(rest.as_bytes()));
        all.push(word);
        rest = after;
    }
}

/// Bytes of the first word of ASCII text: UAX #29 without its tables, which take most of the time of a comparison.
fn ascii_word(text: &[u8]) -> usize {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let first = text[0];
    if first == b' ' {
        return text.iter().take_while(|b| **b == b' ').count();
    }
    if first == b'\r' && text.get(1) == Some(&b'\n') {
        return 2;
    }
    if !part(first) {
        return 1;
    }
    let mut end = 1;
    while end < text.len() {
        let (before, here, after) = (text[end - 1], text[end], text.get(end + 1).copied().unwrap_or(0));
        // Between letters an apostrophe, a dot or a colon joins (WB6, WB7), between digits a comma, too (WB11, WB12).
        let letters = before.is_ascii_alphabetic() && after.is_ascii_alphabetic() && matches!(here, b'\'' | b'.' | b':');
        let digits = before.is_ascii_digit() && after.is_ascii_digit() && matches!(here, b'\'' | b'.' | b',' | b';');
        if part(here) {
            end += 1;
        } else if letters || digits {
            end += 2;
        } else {
            break;
        }
    }
    end
}

/// Only what both ends have in common, up to the next space: linear, for when there is no time left.
fn coarse(old: &str, new: &str) -> Vec<Run> {
    let head = {
        let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
        old.as_bytes()[..same].iter().rposition(|b| *b == b' ' || *b == b'\n').map_or(0, |at| at + 1)
    };
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = {
        let same = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
        let from = old_rest.len() - same;
        old_rest.as_bytes()[from..].iter().position(|b| *b == b' ' || *b == b'\n').map_or(0, |at| same - at)
    };
    let mut runs = Runs::default();
    runs.push(Change::Equal, &old[..head]);
    runs.push(Change::Delete, &old_rest[..old_rest.len() - tail]);
    runs.push(Change::Insert, &new_rest[..new_rest.len() - tail]);
    runs.push(Change::Equal, &old_rest[old_rest.len() - tail..]);
    runs.0
}

/// Runs in order; within a change deletions come before insertions, and neighbours of one fate are one run.
#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn push(&mut self, change: Change, text: &str) {
        if text.is_empty() {
            return;
        }
        let from = self.0.iter().rposition(|r| r.change == Change::Equal).map_or(0, |at| at + 1);
        let group = if change == Change::Equal { self.0.len().saturating_sub(1) } else { from };
        if let Some(run) = self.0[group..].iter_mut().find(|r| r.change == change) {
            run.text.push_str(text);
        } else if change == Change::Delete {
            self.0.insert(from, Run { change, text: text.to_owned() });
        } else {
            self.0.push(Run { change, text: text.to_owned() });
        }
    }
}

/// Joins changes that only a space parts, or one word between two larger changes: "[-never possible-]" reads better than
/// "[-never-] [-possible-]".
fn joined(runs: &[Run]) -> Vec<Run> {
    let mut groups = Runs::default();
    for (i, run) in runs.iter().enumerate() {
        if run.change == Change::Equal && bridges(runs, i) {
            groups.push(Change::Delete, &run.text);
            groups.push(Change::Insert, &run.text);
        } else {
            groups.push(run.change, &run.text);
        }
    }
    groups.0
}

fn bridges(runs: &[Run], at: usize) -> bool {
    let text = &runs[at].text;
    if text.contains('\n') || text.len() > 24 {
        return false;
    }
    let words = text.split_ascii_whitespace().count();
    let side = |changed: &mut dyn Iterator<Item = &Run>| {
        changed.take_while(|r| r.change != Change::Equal).map(|r| r.text.split_ascii_whitespace().count()).max().unwrap_or(0)
    };
    let before = side(&mut runs[..at].iter().rev());
    let after = side(&mut runs[at + 1..].iter());
    match words {
        0 => before > 0 && after > 0,
        1 => before > 2 && after > 2,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn ascii_words_are_those_of_the_standard(text in "[ -~\r\n\t]{0,40}|[a-c0-2_'.,:; ]{0,24}") {
            let mut words = Vec::new();
            words_between(&text, &mut words);
            prop_assert_eq!(words, text.split_word_bounds().collect::<Vec<_>>());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_is_set_aside_ends_and_begins_at_a_word(
            head in "[ab {}%]{0,16}", tail in "[ab {}%]{0,16}", old in "[ab {}%é\u{301}]{0,6}", new in "[ab {}%é\u{301}]{0,6}",
        ) {
            let (old, new) = (format!("{head}{old}{tail}"), format!("{head}{new}{tail}"));
            let (begin, end) = shared(&old, &new);
            prop_assert_eq!(&old[..begin], &new[..begin]);
            prop_assert_eq!(&old[old.len() - end..], &new[new.len() - end..]);
            for text in [&old, &new] {
                let mut parts = words(&text[..begin]);
                parts.extend(words(&text[begin..text.len() - end]));
                parts.extend(words(&text[text.len() - end..]));
                prop_assert_eq!(parts, words(text));
            }
        }
    }

    fn marked(old: &str, new: &str, unit: Unit) -> String {
        let (runs, approximate) = runs(old, new, unit, Instant::now() + Duration::from_mins(1));
        assert!(!approximate);
        let one = |r: &Run| match r.change {
            Change::Equal => r.text.clone(),
            Change::Delete => format!("[-{}-]", r.text),
            Change::Insert => format!("{{+{}+}}", r.text),
        };
        runs.iter().map(one).collect()
    }

    #[test]
    fn changes_are_marked_by_the_unit_that_was_asked_for() {
        for (old, new, unit, expected) in [
            ("under 120 words", "under 90 words", Unit::Word, "under [-120-]{+90+} words"),
            ("is never possible now", "is not automatic now", Unit::Word, "is [-never possible-]{+not automatic+} now"),
            ("Hi {{ name }}!", "Hi {{ nome }}!", Unit::Word, "Hi [-{{ name }}-]{+{{ nome }}+}!"),
            (
                "a {% include \"x\" %} b",
                "a {% include \"y\" %} b",
                Unit::Word,
                "a [-{% include \"x\" %}-]{+{% include \"y\" %}+} b",
            ),
            ("One. Two. Three.", "One. 2. Three.", Unit::Sentence, "One. [-Two. -]{+2. +}Three."),
            ("a\nb\nc\n", "a\nB\nc\n", Unit::Line, "a\n[-b\n-]{+B\n+}c\n"),
            ("colour", "color", Unit::Character, "colo[-u-]r"),
            ("can't stop", "can't go", Unit::Word, "can't [-stop-]{+go+}"),
            ("a b", "a  b", Unit::Word, "a[- -]{+  +}b"),
        ] {
            assert_eq!(marked(old, new, unit), expected);
        }
    }

    #[test]
    fn a_spent_budget_leaves_coarse_marks_that_are_still_right() {
        let now = Instant::now();
        let (runs, approximate) = runs("the old words stay", "the new words stay", Unit::Word, now);
        assert!(approximate);
        let of = |keep: Change| runs.iter().filter(|r| r.change != keep).map(|r| &*r.text).collect::<String>();
        assert_eq!(of(Change::Insert), "the old words stay");
        assert_eq!(of(Change::Delete), "the new words stay");
        assert_eq!(runs.len(), 4);
    }
}
