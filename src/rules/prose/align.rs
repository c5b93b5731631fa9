//! Which old paragraph faces which new one: first those that are the same, then those that are alike.

use crate::rules::hidden::skeleton;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::time::Instant;

/// Share of words that two paragraphs must have in common to face each other (Dice's coefficient over their words).
const ALIKE: f32 = 0.35;
/// Steps that one gap may take when likeness is weighed; beyond, only pairs near the diagonal are looked at.
const STEPS: usize = 2_000_000;
/// Words that a paragraph must have to be called moved: short ones ("Example:") recur.
const MOVED_WORDS: usize = 4;

/// A row of the alignment, by index of paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The old paragraph.
    pub old: Option<usize>,
    /// The new paragraph.
    pub new: Option<usize>,
    /// Where the paragraph stands on the other side, when it only moved.
    pub moved: Option<usize>,
}

/// Aligns two lists of paragraphs; both sides appear in their order.
pub(super) fn align(old: &[&str], new: &[&str], deadline: Instant) -> Vec<Row> {
    let (old_keys, new_keys) = (keys(old), keys(new));
    let ops = capture_diff_slices_deadline(Algorithm::Patience, &old_keys, &new_keys, Some(deadline));
    let moves = moves(old, (&old_keys, &new_keys), &ops);
    let mut rows = Vec::with_capacity(old.len().max(new.len()));
    for op in ops {
        let (tag, from, to) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            rows.extend(from.zip(to).map(|(o, n)| Row { old: Some(o), new: Some(n), moved: None }));
        } else {
            gap(&Gap { old, new, moves: &moves, deadline }, from, to, &mut rows);
        }
    }
    rows
}

/// A number for the words of each paragraph, whatever the whitespace between them.
fn keys(paragraphs: &[&str]) -> Vec<u64> {
    let key = |paragraph: &&str| paragraph.split_ascii_whitespace().fold(0, |key, word| word_mixed(key, word.as_bytes()));
    paragraphs.iter().map(key).collect()
}

/// Takes a word in, eight bytes at a time; its length keeps "a b" from "ab". Two paragraphs with one number would only face each
/// other without need: what stands in them is compared byte for byte afterwards.
fn word_mixed(key: u64, word: &[u8]) -> u64 {
    let (eights, rest) = word.as_chunks::<8>();
    let key = eights.iter().fold(key, |key, eight| mixed(key, u64::from_le_bytes(*eight)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = u8::try_from(word.len() % 255).unwrap_or(0);
    mixed(key, u64::from_le_bytes(last))
}

/// One step of a multiplicative hash (the constant is 2^64 over the golden ratio).
fn mixed(hash: u64, part: u64) -> u64 {
    (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1)
}

/// Paragraphs outside the common order that stand unchanged on the other side.
#[derive(Default)]
struct Moves {
    of_old: HashMap<usize, usize>,
    of_new: HashMap<usize, usize>,
}

fn moves(old: &[&str], keys: (&[u64], &[u64]), ops: &[similar::DiffOp]) -> Moves {
    let mut left: HashMap<u64, VecDeque<usize>> = HashMap::new();
    let gaps = || ops.iter().map(similar::DiffOp::as_tag_tuple).filter(|op| op.0 != DiffTag::Equal);
    for o in gaps().flat_map(|op| op.1) {
        if old[o].split_ascii_whitespace().nth(MOVED_WORDS - 1).is_some() {
            left.entry(keys.0[o]).or_default().push_back(o);
        }
    }
    let mut moves = Moves::default();
    for n in gaps().flat_map(|op| op.2) {
        if let Some(o) = left.get_mut(&keys.1[n]).and_then(VecDeque::pop_front) {
            moves.of_old.insert(o, n);
            moves.of_new.insert(n, o);
        }
    }
    moves
}

struct Gap<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    moves: &'a Moves,
    deadline: Instant,
}

/// Rows of a stretch in which no paragraph is the same: pairs that are alike, deletions and insertions between them.
fn gap(gap: &Gap, from: Range<usize>, to: Range<usize>, rows: &mut Vec<Row>) {
    let old: Vec<usize> = from.clone().filter(|o| !gap.moves.of_old.contains_key(o)).collect();
    let new: Vec<usize> = to.clone().filter(|n| !gap.moves.of_new.contains_key(n)).collect();
    let (mut o, mut n) = (from.start, to.start);
    let until = |rows: &mut Vec<Row>, o: &mut usize, n: &mut usize, old_end: usize, new_end: usize| {
        rows.extend((*o..old_end).map(|o| Row { old: Some(o), new: None, moved: gap.moves.of_old.get(&o).copied() }));
        rows.extend((*n..new_end).map(|n| Row { old: None, new: Some(n), moved: gap.moves.of_new.get(&n).copied() }));
        (*o, *n) = (old_end, new_end);
    };
    for (i, j) in alike(gap, &old, &new) {
        until(rows, &mut o, &mut n, old[i], new[j]);
        rows.push(Row { old: Some(o), new: Some(n), moved: None });
        (o, n) = (o + 1, n + 1);
    }
    until(rows, &mut o, &mut n, from.end, to.end);
}

/// Pairs of indexes, rising on both sides, with the largest sum of likeness (dynamic programming).
fn alike(gap: &Gap, old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() || Instant::now() >= gap.deadline {
        return Vec::new();
    }
    let old_bags: Vec<Vec<u64>> = old.iter().map(|o| bag(gap.old[*o])).collect();
    let new_bags: Vec<Vec<u64>> = new.iter().map(|n| bag(gap.new[*n])).collect();
    let words: usize = old_bags.iter().chain(&new_bags).map(Vec::len).sum::<usize>() / (old.len() + new.len()) + 1;
    let band = (STEPS / (old.len() * words * 2)).max(8);
    let near = |i: usize, j: usize| (i * new.len() / old.len()).abs_diff(j) <= band;
    let wide = new.len() + 1;
    let mut best = vec![0f32; (old.len() + 1) * wide];
    let mut likeness = vec![0f32; old.len() * new.len()];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let alike = if near(i, j) { dice(&old_bags[i], &new_bags[j]) } else { 0.0 };
            likeness[i * new.len() + j] = alike;
            let pair = if alike >= ALIKE { alike + best[(i + 1) * wide + j + 1] } else { 0.0 };
            best[i * wide + j] = pair.max(best[(i + 1) * wide + j]).max(best[i * wide + j + 1]);
        }
    }
    let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
    while i < old.len() && j < new.len() {
        let here = best[i * wide + j];
        if here <= best[(i + 1) * wide + j] {
            i += 1;
        } else if here <= best[i * wide + j + 1] {
            j += 1;
        } else {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        }
    }
    pairs
}

/// Hashes of the words as they look, sorted: a paragraph with a look-alike letter still faces the one that it imitates.
fn bag(paragraph: &str) -> Vec<u64> {
    let mut bag: Vec<u64> = if paragraph.is_ascii() {
        paragraph
            .as_bytes()
            .split(|b| !b.is_ascii_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(|word| word_mixed(0, word))
            .collect()
    } else {
        paragraph
            .split(|c: char| !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(|word| word_mixed(0, skeleton(word).as_bytes()))
            .collect()
    };
    bag.sort_unstable();
    bag
}

/// Dice's coefficient of two bags: twice what they share over what they hold.
fn dice(a: &[u64], b: &[u64]) -> f32 {
    let (mut i, mut j, mut shared) = (0, 0, 0u16);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared = shared.saturating_add(1);
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    let held = u16::try_from(a.len() + b.len()).unwrap_or(u16::MAX);
    if held == 0 { 0.0 } else { 2.0 * f32::from(shared) / f32::from(held) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn rows(old: &[&str], new: &[&str]) -> Vec<(Option<usize>, Option<usize>, Option<usize>)> {
        align(old, new, Instant::now() + Duration::from_mins(1)).into_iter().map(|r| (r.old, r.new, r.moved)).collect()
    }

    #[test]
    fn paragraphs_that_are_alike_face_each_other() {
        let old = ["Be kind and brief.", "Refunds are never possible after 90 days.", "End."];
        let new = ["Be kind and brief.", "A wholly other thing.", "Refunds are not possible after 90 days.", "End."];
        let expected = [(Some(0), Some(0), None), (None, Some(1), None), (Some(1), Some(2), None), (Some(2), Some(3), None)];
        assert_eq!(rows(&old, &new), expected);
    }

    #[test]
    fn a_paragraph_that_only_moved_says_where_from() {
        let old = ["one two three four five", "b b b b", "c c c c"];
        let new = ["b b b b", "c c c c", "one two three four five"];
        let expected = [(Some(0), None, Some(2)), (Some(1), Some(0), None), (Some(2), Some(1), None), (None, Some(2), Some(0))];
        assert_eq!(rows(&old, &new), expected);
    }

    #[test]
    fn whitespace_does_not_part_what_is_the_same() {
        assert_eq!(rows(&["a b\n"], &["a  b\r\n\r\n"]), [(Some(0), Some(0), None)]);
    }
}
