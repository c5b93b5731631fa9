//! What a difference is, said in words where marks alone would be missed.

use super::super::hidden::{skeleton, spans, without_hidden};
use crate::model::diff::Ending;

/// How the lines of a text end.
pub(super) fn ending(text: &str) -> Ending {
    let all = text.matches('\n').count();
    let crlf = if text.contains('\r') { text.matches("\r\n").count() } else { 0 };
    match (all, crlf) {
        (0, _) => Ending::None,
        (_, 0) => Ending::Lf,
        (all, crlf) if all == crlf => Ending::Crlf,
        _ => Ending::Mixed,
    }
}

fn words(ending: Ending) -> &'static str {
    match ending {
        Ending::None => "one line",
        Ending::Lf => "LF",
        Ending::Crlf => "CRLF",
        Ending::Mixed => "mixed LF and CRLF",
    }
}

/// ASCII characters without a shape, other than white space.
fn unseen(byte: u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
}

/// The notes on a pair of texts, the most telling first.
pub(super) fn notes(old: &str, new: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if old == new {
        notes.push("the texts are the same".to_owned());
    } else {
        notes.extend(only(old, new));
    }
    let missing = |text: &str| !text.is_empty() && !text.ends_with('\n');
    match (missing(old), missing(new)) {
        (true, true) => notes.push("no newline at the end (both)".to_owned()),
        (true, false) if !new.is_empty() => notes.push("newline added at the end".to_owned()),
        (false, true) if !old.is_empty() => notes.push("newline at the end removed".to_owned()),
        (false, true) => notes.push("no newline at the end (new)".to_owned()),
        _ => {}
    }
    notes
}

/// The one class that the whole difference belongs to, and a change of line endings beside others.
fn only(old: &str, new: &str) -> Option<String> {
    let (before, after) = (ending(old), ending(new));
    let unix = |text: &str| text.replace("\r\n", "\n");
    if old.contains("\r\n") != new.contains("\r\n") || before != after {
        if unix(old) == unix(new) {
            return Some(format!("only line endings differ: {} (old), {} (new)", words(before), words(after)));
        }
        if before != Ending::None && after != Ending::None {
            return Some(format!("line endings change: {} (old), {} (new)", words(before), words(after)));
        }
    }
    // Most pairs part early; the longer comparisons below are for those that do not.
    if old.split_ascii_whitespace().eq(new.split_ascii_whitespace()) {
        return Some("only whitespace differs".to_owned());
    }
    if !old.bytes().chain(new.bytes()).any(|b| !b.is_ascii() || unseen(b)) {
        return None;
    }
    if without_hidden(old) == without_hidden(new) {
        let names = |from: &str, to: &str| {
            let mut points: Vec<String> = spans(Some(from), to)
                .iter()
                .flat_map(|s| s.code_points.split(' ').map(str::to_owned).collect::<Vec<_>>())
                .collect();
            points.sort();
            points.dedup();
            points.join(" ")
        };
        let (added, removed) = (names(old, new), names(new, old));
        let part = |verb: &str, points: &str| if points.is_empty() { String::new() } else { format!(", {verb} {points}") };
        return Some(format!("only invisible characters differ{}{}", part("added", &added), part("removed", &removed)));
    }
    (skeleton(old) == skeleton(new)).then(|| "only look-alike letters differ".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_is_easily_missed_is_said_in_words() {
        for (old, new, expected) in [
            ("a\nb\n", "a\r\nb\r\n", vec!["only line endings differ: LF (old), CRLF (new)"]),
            ("a\nb\n", "a\r\nc\r\n", vec!["line endings change: LF (old), CRLF (new)"]),
            ("a b\n", "a b \n", vec!["only whitespace differs"]),
            ("a b\n", "a b", vec!["only whitespace differs", "newline at the end removed"]),
            ("a b", "a b\n", vec!["only whitespace differs", "newline added at the end"]),
            ("ab c\n", "a\u{200b}b c\n", vec!["only invisible characters differ, added U+200B"]),
            ("a\u{202e}b c\n", "ab c\n", vec!["only invisible characters differ, removed U+202E"]),
            ("a b\n", "a\u{a0}b\n", vec!["only invisible characters differ, added U+00A0"]),
            ("paypal\n", "p\u{430}ypal\n", vec!["only look-alike letters differ"]),
            ("a", "b", vec!["no newline at the end (both)"]),
            ("a\n", "b\n", vec![]),
            ("a\n", "a\n", vec!["the texts are the same"]),
        ] {
            assert_eq!(notes(old, new), expected, "{old:?} {new:?}");
        }
    }
}
