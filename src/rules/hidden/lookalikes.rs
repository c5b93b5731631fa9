//! Letters that look like another script's: a small table of Cyrillic, Greek and Armenian letters beside Latin ones.

use super::code_point;

/// Letters that most typefaces draw alike, after the Unicode confusables (UTS #39), only those between Latin and its
/// neighbours that a reader cannot tell apart.
const PAIRS: &[(char, char)] = &[
    ('а', 'a'),
    ('А', 'A'),
    ('В', 'B'),
    ('с', 'c'),
    ('С', 'C'),
    ('ԁ', 'd'),
    ('е', 'e'),
    ('Е', 'E'),
    ('һ', 'h'),
    ('Н', 'H'),
    ('і', 'i'),
    ('І', 'I'),
    ('ј', 'j'),
    ('Ј', 'J'),
    ('К', 'K'),
    ('ӏ', 'l'),
    ('Ӏ', 'I'),
    ('М', 'M'),
    ('о', 'o'),
    ('О', 'O'),
    ('р', 'p'),
    ('Р', 'P'),
    ('ԛ', 'q'),
    ('Ԛ', 'Q'),
    ('ѕ', 's'),
    ('Ѕ', 'S'),
    ('Т', 'T'),
    ('у', 'y'),
    ('У', 'Y'),
    ('ѵ', 'v'),
    ('Ѵ', 'V'),
    ('ԝ', 'w'),
    ('Ԝ', 'W'),
    ('х', 'x'),
    ('Х', 'X'),
    ('Ү', 'Y'),
    ('ү', 'y'),
    ('ɡ', 'g'),
    ('ɑ', 'a'),
    ('ı', 'i'),
    ('Α', 'A'),
    ('Β', 'B'),
    ('Ε', 'E'),
    ('Ζ', 'Z'),
    ('Η', 'H'),
    ('Ι', 'I'),
    ('Κ', 'K'),
    ('Μ', 'M'),
    ('Ν', 'N'),
    ('Ο', 'O'),
    ('ο', 'o'),
    ('Ρ', 'P'),
    ('ρ', 'p'),
    ('Τ', 'T'),
    ('Υ', 'Y'),
    ('Χ', 'X'),
    ('ν', 'v'),
    ('ϲ', 'c'),
    ('ϳ', 'j'),
    ('ι', 'i'),
    ('օ', 'o'),
    ('Օ', 'O'),
    ('ս', 'u'),
    ('ո', 'n'),
    ('հ', 'h'),
    ('ց', 'g'),
    ('զ', 'q'),
    ('Տ', 'S'),
    ('Ս', 'U'),
    ('Լ', 'L'),
];

/// The Latin letter that `c` looks like.
fn latin_twin(c: char) -> Option<char> {
    if c.is_ascii() {
        return None;
    }
    PAIRS.iter().find(|p| p.0 == c).map(|p| p.1)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Cyrillic, Greek, Armenian, and the few Latin letters of the table that are not ASCII.
fn is_neighbour(c: char) -> bool {
    matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}' | 'ɡ' | 'ɑ')
}

/// What a word looks like: every letter of the table replaced by its Latin twin.
pub fn skeleton(word: &str) -> String {
    if word.is_ascii() {
        return word.to_owned();
    }
    word.chars().map(|c| latin_twin(c).unwrap_or(c)).collect()
}

/// Byte offsets of the letters that make words of mixed scripts look like words of one, in order.
pub(super) fn mixed_letters(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut word: Vec<(usize, char)> = Vec::new();
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        if is_latin(c) || is_neighbour(c) {
            word.push((at, c));
        } else if !c.is_alphanumeric() && !word.is_empty() {
            found.extend(mixed_in_word(&word));
            word.clear();
        }
    }
    found
}

/// The letters outside Latin are the strangers when each of them has a twin there, else the Latin ones when they are few
/// and each has a twin outside: "pаypal" and "Mосква" are marked, "SMSка" is not.
fn mixed_in_word(word: &[(usize, char)]) -> Vec<usize> {
    let (foreign, latin): (Vec<_>, Vec<_>) = word.iter().copied().partition(|(_, c)| is_neighbour(*c));
    let strangers = if foreign.is_empty() || latin.is_empty() {
        Vec::new()
    } else if foreign.iter().all(|(_, c)| latin_twin(*c).is_some()) {
        foreign
    } else if latin.len() * 2 <= foreign.len() && latin.iter().all(|(_, c)| PAIRS.iter().any(|p| p.1 == *c)) {
        latin
    } else {
        Vec::new()
    };
    strangers.into_iter().map(|(at, _)| at).collect()
}

/// Words for a change that only a code point shows: `"pаypal" (U+0430) looks like "paypal"`; `None` where the two differ
/// in what they look like, or not at all.
pub fn lookalike(old: &str, new: &str) -> Option<String> {
    if old == new || (old.is_ascii() && new.is_ascii()) || skeleton(old) != skeleton(new) {
        return None;
    }
    let strange: Vec<String> = new
        .chars()
        .zip(old.chars())
        .filter(|(n, o)| n != o)
        .map(|(n, _)| code_point(n).trim_matches(['‹', '›']).to_owned())
        .collect();
    Some(format!("\"{new}\" ({}) looks like \"{old}\"", strange.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mixed_scripts_are_found_and_words_of_one_are_not() {
        for (word, count) in [
            ("p\u{430}ypal", 1),
            ("paypal", 0),
            ("\u{440}\u{430}ypal", 2),
            ("привет", 0),
            ("Mосква", 1),
            ("SMSка", 0),
            ("Ελλάδα", 0),
            ("Wi-Fi и LTE", 0),
            ("g\u{3bf}\u{3bf}gle", 2),
            ("μm", 0),
        ] {
            assert_eq!(mixed_letters(word).len(), count, "{word}");
        }
    }

    #[test]
    fn a_look_alike_is_named_with_its_code_point() {
        assert_eq!(lookalike("paypal", "p\u{430}ypal").unwrap(), "\"p\u{430}ypal\" (U+0430) looks like \"paypal\"");
        assert_eq!(lookalike("paypal", "paypol"), None);
        assert_eq!(lookalike("paypal", "paypal"), None);
    }
}
