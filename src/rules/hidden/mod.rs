//! Hostile text made visible: `visible()`, `Shown`, hidden characters in what was added, look-alikes.

mod fate;
mod lookalikes;
mod shown;
mod spans;

use fate::Fate;
use std::collections::BTreeMap;

pub use lookalikes::{lookalike, skeleton};
pub use shown::{Ink, Piece, Shown, clip, wrap};
pub(crate) use spans::pointer_segment;
pub use spans::{content_spans, spans, without_hidden};

/// Bodies of pinned fragments by name.
pub type Bodies = BTreeMap<String, String>;

/// What a tab is drawn as: its width does not depend on where it stands, so that reading it back does not either.
const TAB: &str = "→   ";

/// Turns every character that would act, hide or mislead into a visible token. [`decode`] gives the text back.
pub fn visible(text: &str) -> Shown {
    if text.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Shown::of_plain(text);
    }
    shown(text, false, &lookalikes::mixed_letters(text))
}

/// [`visible`] for a text that stands beside another: where the two would look the same, joiners and selectors that stand in
/// their place (Persian, Indic scripts, emoji) become tokens too, and letters that only look like the other's are marked.
pub fn visible_against(text: &str, other: &str) -> Shown {
    if text == other || (text.is_ascii() && other.is_ascii()) {
        return visible(text);
    }
    let strict = without_hidden(text) == without_hidden(other);
    let mut marked = lookalikes::mixed_letters(text);
    if skeleton(text) == skeleton(other) {
        let differ = |(mine, theirs): ((usize, char), char)| (mine.1 != theirs).then_some(mine.0);
        marked.extend(text.char_indices().zip(other.chars()).filter_map(differ));
        marked.sort_unstable();
    }
    shown(text, strict, &marked)
}

fn shown(text: &str, strict: bool, marked: &[usize]) -> Shown {
    let mut shown = Shown::default();
    for (at, c, fate) in fate::fates(text) {
        match fate {
            Fate::Plain if marked.binary_search(&at).is_ok() => shown.push(format!("{c}{}", code_point(c)), Ink::Lookalike),
            Fate::Plain => shown.push_plain(c),
            Fate::Joined if !strict => shown.push_plain(c),
            Fate::Joined | Fate::Quiet | Fate::Alarm => shown.push(token(c), Ink::Token),
        }
    }
    shown
}

/// One [`Shown`] a line; `\n` and `\r\n` end lines and are not shown, a lone `\r` is the token `␍`.
pub fn visible_lines(text: &str) -> Vec<Shown> {
    text.split('\n').map(|line| visible(line.strip_suffix('\r').unwrap_or(line))).collect()
}

/// The text that [`visible`] was given, read from text and ink.
pub fn decode(shown: &Shown) -> String {
    let mut text = String::new();
    for piece in shown.pieces() {
        match piece.ink() {
            Ink::Plain => text.push_str(piece.text()),
            Ink::Lookalike => text.extend(piece.text().chars().next()),
            Ink::Token => text.extend(read_token(piece.text())),
        }
    }
    text
}

/// Whether nobody would see anything of a text: blanks, control characters, characters and letters without a shape.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(fate::has_no_shape)
}

/// `‹U+202E›`
pub(crate) fn code_point(c: char) -> String {
    format!("‹U+{:04X}›", u32::from(c))
}

fn token(c: char) -> String {
    match c {
        '\t' => TAB.to_owned(),
        '\r' => "␍".to_owned(),
        '\n' => "␊".to_owned(),
        _ => code_point(c),
    }
}

fn read_token(token: &str) -> Option<char> {
    match token {
        TAB => Some('\t'),
        "␍" => Some('\r'),
        "␊" => Some('\n'),
        _ => {
            let hex = token.strip_prefix("‹U+")?.strip_suffix('›')?;
            char::from_u32(u32::from_str_radix(hex, 16).ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<String> {
        let of = |ink| move |p: &&Piece| p.ink() == ink;
        visible(text).pieces().iter().filter(of(Ink::Token)).map(|p| p.text().to_owned()).collect()
    }

    #[test]
    fn a_text_of_which_nothing_is_seen_is_blank() {
        for text in ["", " \n\t", "\u{200b}", "\u{2060} \u{feff}", "\u{ad}\u{34f}\u{61c}", "\u{115f}\u{1160}\u{3164}\u{ffa0}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["\u{2800}\u{3000}\u{a0}", "\u{180e}\u{fe0f}\u{e0041}", "\u{202e}\u{2066}\u{7}", "\u{1d173}\u{fffa}"] {
            assert!(is_blank(text), "{text:?}");
        }
        for text in ["x", "\u{200b}x", "\u{200f}\u{5d0}", "\u{1f600}\u{fe0f}", "\u{3042}", "\u{301}", "-"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    /// Reads plain output back: what proves that it is injective.
    fn decode_plain(plain: &str) -> String {
        let mut text = String::new();
        let mut rest = plain;
        while let Some(c) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix(TAB) {
                text.push('\t');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('‹') {
                let end = after.find('›').unwrap();
                let c = read_token(&rest[..'‹'.len_utf8() + end + '›'.len_utf8()]).unwrap();
                let annotation = visible(&c.to_string()).pieces()[0].ink() == Ink::Plain && !shown::MARKS.contains(&c);
                if !(annotation && text.ends_with(c)) {
                    text.push(c);
                }
                rest = &after[end + '›'.len_utf8()..];
            } else {
                text.push(match c {
                    '␍' => '\r',
                    '␊' => '\n',
                    c => c,
                });
                rest = &rest[c.len_utf8()..];
            }
        }
        text
    }

    fn hostile() -> impl Strategy<Value = String> {
        let special = prop::sample::select(
            "\u{202e}\u{200b}\u{200d}\u{200c}\u{fe0f}\u{e0041}\u{e007f}\u{1b}\u{9b}\t\r\n‹›→␍␊U+0430а\u{301}\u{a0}👩💻🏴e p\u{feff}क्"
                .chars()
                .collect::<Vec<_>>(),
        );
        prop::collection::vec(prop_oneof![3 => special, 1 => any::<char>()], 0..24).prop_map(|c| c.into_iter().collect())
    }

    /// A few thousand cases, a million with `PROVE=full`.
    fn cases() -> u32 {
        if std::env::var("PROVE").is_ok_and(|how| how == "full") { 1_000_000 } else { 2000 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]
        #[test]
        fn what_is_shown_reads_back_as_what_it_was(text in hostile()) {
            prop_assert_eq!(decode(&visible(&text)), text.clone());
            prop_assert_eq!(decode(&visible_against(&text, &without_hidden(&text))), text);
        }

        #[test]
        fn plain_output_reads_back_as_what_it_was(text in hostile()) {
            prop_assert_eq!(decode_plain(&visible(&text).plain()), text);
        }

        #[test]
        fn nothing_that_acts_or_hides_is_left_to_draw(text in hostile()) {
            let drawn: String = visible(&text).pieces().iter().map(Piece::text).collect();
            for c in drawn.chars() {
                prop_assert!(!c.is_control(), "{:?}", c);
                prop_assert!(!matches!(u32::from(c), 0x200b | 0x200e..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff), "{:?}", c);
            }
        }
    }

    #[test]
    fn each_kind_of_hidden_character_becomes_its_token() {
        for (text, expected) in [
            ("a\u{1b}[31m", "‹U+001B›"),
            ("a\u{9b}31m", "‹U+009B›"),
            ("a\u{7f}", "‹U+007F›"),
            ("a\u{0}b", "‹U+0000›"),
            ("a\tb", "→   "),
            ("a\rb", "␍"),
            ("a\nb", "␊"),
            ("a\u{202e}b", "‹U+202E›"),
            ("a\u{2066}b", "‹U+2066›"),
            ("a\u{200b}b", "‹U+200B›"),
            ("a\u{200d}b", "‹U+200D›"),
            ("a\u{feff}b", "‹U+FEFF›"),
            ("a\u{e0041}b", "‹U+E0041›"),
            ("a\u{e000}b", "‹U+E000›"),
            ("a\u{10fffd}b", "‹U+10FFFD›"),
            ("a\u{fe0f}b", "‹U+FE0F›"),
            ("a\u{e0100}b", "‹U+E0100›"),
            ("a\u{a0}b", "‹U+00A0›"),
            ("a\u{2003}b", "‹U+2003›"),
            ("a\u{3164}b", "‹U+3164›"),
            ("a\u{2800}b", "‹U+2800›"),
            ("a\u{ad}b", "‹U+00AD›"),
            ("a\u{2028}b", "‹U+2028›"),
            ("a\u{fffe}b", "‹U+FFFE›"),
        ] {
            assert_eq!(tokens(text), [expected], "{text:?}");
        }
    }

    #[test]
    fn the_fifth_mark_on_a_letter_is_a_token() {
        let zalgo = format!("e{}", "\u{301}".repeat(6));
        assert_eq!(tokens(&zalgo), ["‹U+0301›", "‹U+0301›"]);
        assert!(tokens(&format!("e{}", "\u{301}".repeat(4))).is_empty());
    }

    #[test]
    fn a_mark_cannot_land_on_our_own_furniture() {
        assert_eq!(tokens("\u{301}a"), ["‹U+0301›"]);
        assert_eq!(tokens("a\u{200b}\u{301}"), ["‹U+200B›", "‹U+0301›"]);
    }

    #[test]
    fn a_literal_token_differs_from_a_real_one() {
        let literal = visible("‹U+200B›");
        let real = visible("\u{200b}");
        assert_ne!(literal, real);
        assert_ne!(literal.plain(), real.plain());
        assert_eq!(real.plain(), "‹U+200B›");
        assert_eq!(literal.plain(), "‹U+2039›U+200B›");
    }

    #[test]
    fn joiners_in_their_place_are_plain_until_asked_for() {
        let family = "👩\u{200d}💻";
        assert!(tokens(family).is_empty());
        assert_eq!(visible_against(family, "👩💻").pieces()[1].text(), "‹U+200D›");
    }

    #[test]
    fn letters_of_another_script_inside_a_word_carry_their_code_point() {
        assert_eq!(visible("p\u{430}ypal").plain(), "p\u{430}‹U+0430›ypal");
        assert!(visible("привет мир").pieces().iter().all(|p| p.ink() == Ink::Plain));
    }

    #[test]
    fn a_word_that_changed_only_its_script_is_marked_against_the_other() {
        assert_eq!(visible_against("\u{441}\u{43e}\u{440}", "cop").plain(), "с‹U+0441›о‹U+043E›р‹U+0440›");
        assert_eq!(visible_against("cop", "\u{441}\u{43e}\u{440}").plain(), "c‹U+0063›o‹U+006F›p‹U+0070›");
        assert_eq!(visible_against("сор", "кор").plain(), "сор");
    }

    #[test]
    fn lines_end_without_tokens_but_a_lone_return_is_one() {
        let lines: Vec<String> = visible_lines("a\r\nb\rc\n").iter().map(Shown::plain).collect();
        assert_eq!(lines, ["a", "b␍c", ""]);
    }
}
