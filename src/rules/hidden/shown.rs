//! Text that is safe to draw, and how it is cut and wrapped.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Marks of our own in plain output; where they are literal they are written as code points.
pub(super) const MARKS: [char; 4] = ['‹', '→', '␍', '␊'];

/// How a piece of shown text is to be drawn, by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ink {
    /// The text as it stands.
    Plain,
    /// Stands for a character that would not be seen: `‹U+202E›`, `→`, `␍`, `␊`.
    Token,
    /// A letter that looks like another script's, followed by its code point: `а‹U+0430›`.
    Lookalike,
}

/// A piece of shown text with one ink.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    text: String,
    ink: Ink,
}

impl Piece {
    /// What is drawn.
    pub fn text(&self) -> &str {
        &self.text
    }
    /// How it is drawn.
    pub fn ink(&self) -> Ink {
        self.ink
    }
    /// Columns that it takes.
    pub fn width(&self) -> usize {
        width(&self.text)
    }
    /// A part of it with its ink: `bytes` between grapheme clusters; nothing where they are outside of it.
    pub(crate) fn part(&self, bytes: Range<usize>) -> Self {
        Self { text: self.text.get(bytes).unwrap_or_default().to_owned(), ink: self.ink }
    }
    /// Our own furniture (marks, labels): known when compiled, so never text from outside.
    pub fn own(text: &'static str) -> Self {
        Self { text: text.to_owned(), ink: Ink::Plain }
    }
}

/// Text from outside that is safe to draw: made by `visible` alone, so that the type is the guard.
/// Always one line: a line feed is the token `␊` (see `visible_lines`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shown {
    pieces: Vec<Piece>,
}

impl Shown {
    pub(super) fn of_plain(text: &str) -> Self {
        let mut shown = Self::default();
        if !text.is_empty() {
            shown.push(text.to_owned(), Ink::Plain);
        }
        shown
    }
    pub(super) fn push(&mut self, text: String, ink: Ink) {
        self.pieces.push(Piece { text, ink });
    }
    pub(super) fn push_plain(&mut self, c: char) {
        match self.pieces.last_mut() {
            Some(last) if last.ink == Ink::Plain => last.text.push(c),
            _ => self.push(c.to_string(), Ink::Plain),
        }
    }
    /// The pieces in order; no two neighbours are both plain.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
    /// The pieces themselves.
    pub fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }
    /// Text without styles for plain output: injective, since the token marks themselves are escaped where they are literal.
    pub fn plain(&self) -> String {
        let mut plain = String::new();
        for piece in &self.pieces {
            if piece.ink == Ink::Plain && piece.text.contains(MARKS) {
                for c in piece.text.chars() {
                    if MARKS.contains(&c) { plain.push_str(&super::code_point(c)) } else { plain.push(c) }
                }
            } else {
                plain.push_str(&piece.text);
            }
        }
        plain
    }
    /// Columns that it takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(Piece::width).sum()
    }
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
    /// Cut to `width` columns, with `…` at the end where something is missing.
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let mut left = width.saturating_sub(1);
        let mut cut = Self::default();
        for piece in &self.pieces {
            let (head, whole) = fitting(&piece.text, left);
            if !head.is_empty() {
                cut.push(head.to_owned(), piece.ink);
            }
            left -= self::width(head);
            if !whole {
                break;
            }
        }
        if width > 0 {
            cut.pieces.push(Piece::own("…"));
        }
        cut
    }
    /// Wrapped at words into lines of at most `width` columns; at least one line.
    pub fn wrap(&self, width: usize) -> Vec<Self> {
        let pieces: Vec<(Piece, ())> = self.pieces.iter().map(|p| (p.clone(), ())).collect();
        wrap(&pieces, width, &|()| 0).into_iter().map(|line| Self { pieces: line.into_iter().map(|p| p.0).collect() }).collect()
    }
}

/// Columns as they are drawn: cluster by cluster, since that is how cells are filled.
fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).map(UnicodeWidthStr::width).sum() }
}

/// The longest head of whole grapheme clusters that fits into `width` columns, and whether that is all.
fn fitting(text: &str, columns: usize) -> (&str, bool) {
    if width(text) <= columns {
        return (text, true);
    }
    if text.is_ascii() {
        return (&text[..columns], false);
    }
    let mut used = 0;
    for (at, cluster) in text.grapheme_indices(true) {
        used += width(cluster);
        if used > columns {
            return (&text[..at], false);
        }
    }
    (text, true)
}

/// Wraps pieces, each with a mark of the caller's (a meaning, a fate), at words into lines of at most `columns`. A word
/// that is longer than a line is broken between grapheme clusters. The spaces at which a line breaks are dropped.
/// `overhead` is what the caller will put around each stretch of one mark on each line, in columns.
pub fn wrap<S: Copy + PartialEq>(pieces: &[(Piece, S)], columns: usize, overhead: &dyn Fn(S) -> usize) -> Vec<Vec<(Piece, S)>> {
    let columns = columns.max(1);
    if let [(Piece { text, ink: Ink::Plain }, mark)] = pieces
        && text.is_ascii()
        && overhead(*mark) == 0
    {
        let piece = |line: &str| (Piece { text: line.to_owned(), ink: Ink::Plain }, *mark);
        return ascii_lines(text, columns).into_iter().map(|line| vec![piece(line)]).collect();
    }
    let mut lines = Lines { columns, overhead, done: Vec::new(), line: Vec::new(), used: 0, word: Vec::new() };
    for (piece, mark) in pieces {
        if piece.ink == Ink::Plain {
            for chunk in piece.text.split_inclusive(' ') {
                let word = chunk.trim_end_matches(' ');
                lines.extend_word(word, piece.ink, *mark);
                if word.len() < chunk.len() {
                    lines.end_word();
                    lines.space(*mark);
                }
            }
        } else {
            lines.extend_word(&piece.text, piece.ink, *mark);
        }
    }
    lines.end_word();
    lines.done.push(lines.line);
    lines.done
}

/// [`wrap`] for what nearly all text is: one piece of ASCII.
fn ascii_lines(text: &str, columns: usize) -> Vec<&str> {
    let mut lines = Vec::with_capacity(text.len() / columns + 1);
    let mut rest = text;
    while rest.len() > columns {
        let window = &rest.as_bytes()[..=columns];
        // A word that fits on a line of its own moves there whole; a longer one is broken here.
        let space = window.iter().rposition(|b| *b == b' ');
        let begin = space.map_or(0, |at| at + 1);
        let word = rest[begin..].find(' ').unwrap_or(rest.len() - begin);
        let end = if space.is_some() && word <= columns { begin } else { columns };
        lines.push(rest[..end].trim_end_matches(' '));
        rest = rest[end..].trim_start_matches(' ');
    }
    lines.push(rest);
    lines
}

/// One line of at most `columns`, with `…` and the mark `missing` at the end where something had to go, and whether it had.
pub fn clip<S: Copy + PartialEq>(
    pieces: &[(Piece, S)],
    columns: usize,
    overhead: &dyn Fn(S) -> usize,
    missing: S,
) -> (Vec<(Piece, S)>, bool) {
    let needs = |pieces: &[(Piece, S)]| {
        let mut before = None;
        let cost = |before: Option<S>, mark: S| if before == Some(mark) { 0 } else { overhead(mark) };
        pieces.iter().map(|(piece, mark)| piece.width() + cost(before.replace(*mark), *mark)).sum::<usize>()
    };
    if needs(pieces) <= columns {
        return (pieces.to_vec(), false);
    }
    let mut line: Vec<(Piece, S)> = Vec::new();
    for (piece, mark) in pieces {
        let cost = if line.last().is_some_and(|last| last.1 == *mark) { 0 } else { overhead(*mark) };
        let left = columns.saturating_sub(1 + needs(&line) + cost);
        let (head, whole) = fitting(&piece.text, left);
        if !head.is_empty() {
            line.push((Piece { text: head.to_owned(), ink: piece.ink }, *mark));
        }
        if !whole {
            break;
        }
    }
    line.push((Piece::own("…"), missing));
    (line, true)
}

struct Lines<'a, S> {
    columns: usize,
    overhead: &'a dyn Fn(S) -> usize,
    done: Vec<Vec<(Piece, S)>>,
    line: Vec<(Piece, S)>,
    used: usize,
    word: Vec<(Piece, S)>,
}

impl<S: Copy + PartialEq> Lines<'_, S> {
    fn extend_word(&mut self, text: &str, ink: Ink, mark: S) {
        if !text.is_empty() {
            self.word.push((Piece { text: text.to_owned(), ink }, mark));
        }
    }
    /// What `mark` costs after a piece with another mark, or at the beginning of a line.
    fn cost(&self, before: Option<S>, mark: S) -> usize {
        if before == Some(mark) { 0 } else { (self.overhead)(mark) }
    }
    fn word_width(&self, mut before: Option<S>) -> usize {
        let mut sum = 0;
        for (piece, mark) in &self.word {
            sum += piece.width() + self.cost(before, *mark);
            before = Some(*mark);
        }
        sum
    }
    fn last_mark(&self) -> Option<S> {
        self.line.last().map(|last| last.1)
    }
    fn end_word(&mut self) {
        // A word that no line holds starts where it stands; all others move to the next line whole.
        let whole = self.word_width(None) <= self.columns;
        if whole && self.used > 0 && self.used + self.word_width(self.last_mark()) > self.columns {
            self.break_line();
        }
        for (piece, mark) in std::mem::take(&mut self.word) {
            if whole || (piece.ink != Ink::Plain && piece.width() <= self.columns) {
                self.add_whole(&piece, mark);
            } else {
                self.add_broken(&piece, mark);
            }
        }
    }
    fn add_whole(&mut self, piece: &Piece, mark: S) {
        let needs = piece.width() + self.cost(self.last_mark(), mark);
        if self.used > 0 && self.used + needs > self.columns {
            self.break_line();
        }
        self.add(&piece.text, piece.ink, mark);
    }
    fn add_broken(&mut self, piece: &Piece, mark: S) {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            let taken = self.used + self.cost(self.last_mark(), mark);
            let (mut head, _) = fitting(rest, self.columns - taken.min(self.columns));
            if head.is_empty() && self.used > 0 {
                self.break_line();
                continue;
            }
            if head.is_empty() {
                // One cluster that is wider than the line: it overhangs rather than looping for ever.
                head = rest.graphemes(true).next().unwrap_or(rest);
            }
            self.add(head, piece.ink, mark);
            rest = &rest[head.len()..];
        }
    }
    fn space(&mut self, mark: S) {
        if self.used + self.cost(self.last_mark(), mark) < self.columns {
            self.add(" ", Ink::Plain, mark);
        }
    }
    fn add(&mut self, text: &str, ink: Ink, mark: S) {
        self.used += width(text) + self.cost(self.last_mark(), mark);
        match self.line.last_mut() {
            Some((last, m)) if last.ink == Ink::Plain && ink == Ink::Plain && *m == mark => last.text.push_str(text),
            _ => self.line.push((Piece { text: text.to_owned(), ink }, mark)),
        }
    }
    fn break_line(&mut self) {
        self.used = 0;
        while let Some((last, _)) = self.line.last_mut().filter(|(last, _)| last.ink == Ink::Plain && last.text.ends_with(' ')) {
            last.text.truncate(last.text.trim_end_matches(' ').len());
            if !last.text.is_empty() {
                break;
            }
            self.line.pop();
        }
        self.done.push(std::mem::take(&mut self.line));
    }
}

#[cfg(test)]
mod tests {
    use super::super::visible;
    use super::*;
    use proptest::prelude::*;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        visible(text).wrap(width).iter().map(Shown::plain).collect()
    }

    #[test]
    fn lines_break_at_words() {
        assert_eq!(wrapped("the quick brown fox", 10), ["the quick", "brown fox"]);
        assert_eq!(wrapped("abcdefghij klm", 4), ["abcd", "efgh", "ij", "klm"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("日本語テキスト", 5), ["日本", "語テ", "キス", "ト"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(visible("the quick").cut(6).plain(), "the q…");
        assert_eq!(visible("the").cut(3).plain(), "the");
        assert_eq!(visible("日本語").cut(4).plain(), "日…");
        assert_eq!(visible("ab").cut(0).plain(), "");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked_and_no_letter_is_lost(text in "[a-z \u{200b}日\u{430}é]{0,60}", width in 2usize..30) {
            let lines = visible(&text).wrap(width);
            for line in &lines {
                prop_assert!(line.width() <= width, "{:?}", line);
            }
            let strip = |s: &str| s.chars().filter(|c| *c != ' ').collect::<String>();
            let joined: String = lines.iter().flat_map(Shown::pieces).map(Piece::text).collect();
            let whole: String = visible(&text).pieces().iter().map(Piece::text).collect();
            prop_assert_eq!(strip(&joined), strip(&whole));
        }

        #[test]
        fn the_short_way_for_ascii_wraps_like_the_long_way(text in "[a-z]{1,12}( {1,2}[a-z]{1,12}){0,12}", width in 1usize..20) {
            let piece = |text: &str| Piece { text: text.to_owned(), ink: Ink::Plain };
            let short: Vec<String> = ascii_lines(&text, width).into_iter().map(str::to_owned).collect();
            // Two marks keep it from the short way.
            let (head, tail) = text.split_at(1);
            let long = wrap(&[(piece(head), 0), (piece(tail), 1)], width, &|_| 0);
            let long: Vec<String> = long.iter().map(|line| line.iter().map(|p| p.0.text()).collect()).collect();
            let clean = |lines: Vec<String>| lines.into_iter().filter(|l| !l.is_empty()).collect::<Vec<_>>();
            prop_assert_eq!(clean(short), clean(long));
        }

        #[test]
        fn a_cut_is_never_wider_than_asked(text in "\\PC{0,30}", width in 0usize..20) {
            prop_assert!(visible(&text).cut(width).width() <= width);
        }
    }
}
