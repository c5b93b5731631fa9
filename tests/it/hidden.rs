//! Text of many languages, emoji and markup does not shout; the same text with one character hidden in it does.

use countersign::rules::hidden::{Ink, spans, visible};

const BENIGN: &str = include_str!("../../fixtures/benign.txt");

/// Samples of which something would have to be acknowledged.
fn alarms<'a>(samples: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    samples.filter(|sample| !spans(None, sample).is_empty()).collect()
}

#[test]
fn of_three_hundred_benign_samples_at_most_one_in_a_hundred_shouts() {
    let count = BENIGN.lines().count();
    assert!(count >= 300, "{count} samples");
    let loud = alarms(BENIGN.lines());
    assert!(loud.len() * 100 <= count, "{} of {count}: {loud:?}", loud.len());
    let inked: Vec<&str> = BENIGN.lines().filter(|s| visible(s).pieces().iter().any(|p| p.ink() == Ink::Lookalike)).collect();
    assert!(inked.len() * 100 <= count, "{} look-alikes of {count}: {inked:?}", inked.len());
}

#[test]
fn a_character_hidden_in_any_of_them_is_found() {
    for hidden in
        ['\u{200b}', '\u{202e}', '\u{2066}', '\u{e0041}', '\u{feff}', '\u{1b}', '\u{9b}', '\u{e000}', '\u{ad}', '\u{2063}']
    {
        for sample in BENIGN.lines() {
            let at = sample.char_indices().nth(sample.chars().count() / 2).map_or(0, |c| c.0);
            let text = format!("{}{hidden}{}", &sample[..at], &sample[at..]);
            assert!(!spans(Some(sample), &text).is_empty(), "{text:?}");
        }
    }
}
