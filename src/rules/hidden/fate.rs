//! What becomes of each character: drawn as it stands, or as a token, and whether that is worth an alarm.

use unicode_width::UnicodeWidthChar;

/// Marks that may stand on one letter; more are tokens, since a stack of them covers the lines above.
const MARKS_ON_ONE: usize = 4;

/// What becomes of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Drawn as it stands.
    Plain,
    /// A joiner or selector in its place: drawn as it stands, although it has no shape of its own.
    Joined,
    /// A token, but usual in its place: no alarm.
    Quiet,
    /// A token that must be seen.
    Alarm,
}

/// Byte offset, character and fate of each character of `text`.
pub(super) fn fates(text: &str) -> Vec<(usize, char, Fate)> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::with_capacity(chars.len());
    let mut marks = 0;
    let mut on_token = true;
    for (i, &(at, c)) in chars.iter().enumerate() {
        let fate = if c.is_ascii() {
            marks = 0;
            ascii(c, chars.get(i + 1).map(|n| n.1))
        } else if let Some(fate) = special(&chars, i) {
            fate
        } else if is_mark(c) {
            marks += 1;
            match (on_token, marks) {
                (true, _) => Fate::Quiet,
                (false, ..=MARKS_ON_ONE) => Fate::Plain,
                _ => Fate::Alarm,
            }
        } else {
            marks = 0;
            Fate::Plain
        };
        // Only a letter that is drawn as it stands can carry a mark.
        on_token = matches!(fate, Fate::Quiet | Fate::Alarm);
        found.push((at, c, fate));
    }
    found
}

/// Whether a character leaves its place empty wherever it stands: white space, control, default-ignorable, a blank letter.
pub(super) fn has_no_shape(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{13430}'..='\u{1345f}' | '\u{16fe4}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn ascii(c: char, next: Option<char>) -> Fate {
    match c {
        ' '..='~' => Fate::Plain,
        '\n' | '\t' => Fate::Quiet,
        '\r' if next == Some('\n') => Fate::Quiet,
        _ => Fate::Alarm,
    }
}

/// Combining marks: no width of their own, and not letters of a conjoining alphabet.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && c.width() == Some(0) && !matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Characters without a shape, or with another than they seem to have; `None` for all others.
fn special(chars: &[(usize, char)], i: usize) -> Option<Fate> {
    let c = chars[i].1;
    let before = i.checked_sub(1).map(|j| chars[j].1);
    let after = chars.get(i + 1).map(|n| n.1);
    let place = |in_place: bool, fate| Some(if in_place { fate } else { Fate::Alarm });
    match c {
        '\u{200c}' => place(before.is_some_and(joins) && after.is_some_and(joins), Fate::Joined),
        '\u{200d}' => place(joiner_in_place(chars, i), Fate::Joined),
        '\u{fe0e}' | '\u{fe0f}' => place(selector_in_place(before, after), Fate::Joined),
        '\u{180b}'..='\u{180f}' => place(before.is_some_and(|b| matches!(b, '\u{1820}'..='\u{18aa}')), Fate::Joined),
        '\u{e0020}'..='\u{e007f}' => place(in_flag(chars, i), Fate::Joined),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => place(near_right_to_left(chars, i), Fate::Quiet),
        '\u{a0}' | '\u{202f}' | '\u{2009}' => place(space_in_place(before, after), Fate::Quiet),
        '\u{3000}' => place(before.is_some_and(is_cjk) || after.is_some_and(is_cjk), Fate::Quiet),
        '\u{115f}' | '\u{1160}' => {
            place([before, after].iter().flatten().any(|n| matches!(n, '\u{1100}'..='\u{11ff}')), Fate::Quiet)
        }
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{1680}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{2000}'..='\u{200b}'
        | '\u{2028}'..='\u{202e}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffc}'
        | '\u{13430}'..='\u{1345f}'
        | '\u{16fe4}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}'
        | '\u{f0000}'..='\u{10ffff}' => Some(Fate::Alarm),
        // The last two code points of every plane are no characters.
        c if u32::from(c) & 0xfffe == 0xfffe => Some(Fate::Alarm),
        _ => None,
    }
}

/// Letters and marks of scripts in which U+200C and U+200D choose a letter's form: Arabic, Syriac, N'Ko, the Brahmic
/// scripts of South and South-East Asia, Mongolian.
fn joins(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{f00}'..='\u{fff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{18af}' | '\u{1b00}'..='\u{1bff}' | '\u{a8e0}'..='\u{a8ff}' | '\u{a980}'..='\u{a9df}'
        | '\u{fb50}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

fn is_virama(c: char) -> bool {
    matches!(u32::from(c), 0x94d | 0x9cd | 0xa4d | 0xacd | 0xb4d | 0xbcd | 0xc4d | 0xccd | 0xd4d | 0xdca)
}

fn joiner_in_place(chars: &[(usize, char)], i: usize) -> bool {
    let after = chars.get(i + 1).map(|n| n.1);
    // An emoji may carry a selector or a skin tone before the joiner.
    let mut back = chars[..i].iter().rev().map(|n| n.1).skip_while(|c| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}'));
    let emoji = back.next().is_some_and(is_emoji) && after.is_some_and(is_emoji);
    let before = i.checked_sub(1).map(|j| chars[j].1);
    // U+0647 with a joiner is the usual abbreviation of the Hijri calendar.
    let letter = before.is_some_and(|b| is_virama(b) || b == '\u{647}' || (joins(b) && after.is_some_and(joins)));
    emoji || letter
}

fn selector_in_place(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|b| is_emoji(b) || (matches!(b, '0'..='9' | '#' | '*') && after == Some('\u{20e3}')))
}

/// Characters that have an emoji form: blocks rather than the exact list, since new ones appear each year.
fn is_emoji(c: char) -> bool {
    matches!(c, '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | 'Ⓜ'
        | '\u{25a0}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b00}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}

/// Tag characters spell the flags of England, Scotland and Wales and nothing else that is in use.
fn in_flag(chars: &[(usize, char)], i: usize) -> bool {
    let is_tag = |c: char| ('\u{e0020}'..='\u{e007f}').contains(&c);
    let Some(start) = chars[..i].iter().rposition(|n| !is_tag(n.1)) else { return false };
    let name: String = chars[start + 1..]
        .iter()
        .take(7)
        .map_while(|n| is_tag(n.1).then(|| char::from_u32(u32::from(n.1) - 0xe0000)))
        .flatten()
        .collect();
    let end = start + 1 + name.chars().count();
    chars[start].1 == '\u{1f3f4}' && matches!(&*name, "gbeng\u{7f}" | "gbsct\u{7f}" | "gbwls\u{7f}") && i < end
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && c != '\u{61c}'
}

fn near_right_to_left(chars: &[(usize, char)], i: usize) -> bool {
    const NEAR: usize = 8;
    // Two marks in a row say nothing that one does not.
    let doubled = i > 0 && matches!(chars[i - 1].1, '\u{200e}' | '\u{200f}' | '\u{61c}');
    !doubled && chars[i.saturating_sub(NEAR)..chars.len().min(i + NEAR + 1)].iter().any(|n| is_right_to_left(n.1))
}

/// No-break and thin spaces as French punctuation, units and grouped digits use them.
fn space_in_place(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|b| b.is_ascii_digit() || matches!(b, '«' | '‹' | '–' | '—' | '№' | '§'))
        || after.is_some_and(|a| matches!(a, '»' | '›' | ':' | ';' | '!' | '?' | '%' | '€' | '–' | '—' | '°'))
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{2fff}' | '\u{3001}'..='\u{30ff}' | '\u{3100}'..='\u{312f}' | '\u{31a0}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ff9f}' | '\u{20000}'..='\u{3fffd}')
}
