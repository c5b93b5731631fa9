//! A block of a difference as lines of a given width: signs, marks that need no colour, wraps.

use crate::model::diff::{Block, BlockKind, Change, Run};
use crate::rules::hidden::{Piece, clip, visible, visible_against, wrap};
use crate::tui::highlight::{self, Sense, Syntax};

/// What a piece of a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mark {
    /// Text as it stands.
    Plain,
    /// Only in the old.
    Removed,
    /// Only in the new.
    Added,
    /// Less important.
    Dim,
    /// A heading.
    Head,
    /// Said about the text.
    Note,
    /// Needs attention.
    Warn,
    /// Passed, met.
    Good,
    /// Failed, blocks.
    Bad,
    /// Still runs.
    Wait,
    /// Unchanged source text with a meaning in its language.
    Source(Sense),
}

/// Pieces of a line with what each means.
pub(crate) type Pieces = Vec<(Piece, Mark)>;

/// The sign before a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sign {
    /// Unchanged.
    Same,
    /// `~`
    Edited,
    /// `-`
    Removed,
    /// `+`
    Added,
    /// `⇅`
    Moved,
}

/// A line, or one side of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Half {
    /// The paragraph's number, on its first line.
    pub(crate) number: Option<u32>,
    /// Whether the line goes on from the one above: `↪`
    pub(crate) continued: bool,
    /// The sign.
    pub(crate) sign: Sign,
    /// The text.
    pub(crate) pieces: Pieces,
    /// Whether text is missing at the end because lines are not wrapped.
    pub(crate) cut: bool,
}

impl Half {
    /// A line without number and sign.
    pub(crate) fn of(pieces: Pieces) -> Self {
        Self { number: None, continued: false, sign: Sign::Same, pieces, cut: false }
    }
}

/// What stands on one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cells {
    /// One column.
    Whole(Half),
    /// Old and new side by side.
    Split(Option<Half>, Option<Half>),
}

/// How lines are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Columns for the text of a half.
    pub(crate) columns: usize,
    /// Whether old and new stand side by side.
    pub(crate) split: bool,
    /// Whether long lines are wrapped; else they are cut.
    pub(crate) wrap: bool,
    /// Whether unchanged text is coloured by its language.
    pub(crate) colour: bool,
}

/// Text from outside as pieces.
pub(crate) fn shown(text: &str, mark: Mark) -> Pieces {
    visible(text).into_pieces().into_iter().map(|piece| (piece, mark)).collect()
}

/// The rows of a block.
pub(crate) fn rows(block: &Block, shape: Shape) -> Vec<Cells> {
    let side = |gone: Option<Change>, number, sign| {
        // In a paragraph that is new or gone as a whole every line end is: spelling each would only be noise.
        let spell = !matches!(block.kind, BlockKind::Inserted | BlockKind::Deleted);
        let lines = source_lines(&block.runs, gone, spell, block.moved.is_some());
        halves(if shape.colour { coloured(lines, &block.runs) } else { lines }, number, sign, shape)
    };
    let old = || side(Some(Change::Insert), block.old, if block.moved.is_some() { Sign::Moved } else { Sign::Removed });
    let new = || side(Some(Change::Delete), block.new, if block.moved.is_some() { Sign::Moved } else { Sign::Added });
    let whole = |halves: Vec<Half>| halves.into_iter().map(Cells::Whole).collect::<Vec<_>>();
    match (block.kind, shape.split) {
        (BlockKind::Equal, false) => whole(side(None, block.new, Sign::Same)),
        (BlockKind::Equal, true) => beside(side(None, block.old, Sign::Same), side(None, block.new, Sign::Same)),
        (BlockKind::Edited | BlockKind::Whitespace, false) => whole(side(None, block.new, Sign::Edited)),
        (BlockKind::Replaced, false) => whole([old(), new()].concat()),
        (BlockKind::Edited | BlockKind::Whitespace | BlockKind::Replaced, true) => beside(old(), new()),
        (BlockKind::Deleted, split) => {
            let halves = match block.moved {
                Some(to) => vec![moved(&format!("⇅ moved to ¶{to}"), block.old)],
                None => old(),
            };
            if split { beside(halves, Vec::new()) } else { whole(halves) }
        }
        (BlockKind::Inserted, split) => {
            let mut halves = new();
            if let Some(from) = block.moved {
                for half in &mut halves {
                    half.number = None;
                }
                halves.insert(0, moved(&format!("⇅ moved from ¶{from}"), block.new));
            }
            if split { beside(Vec::new(), halves) } else { whole(halves) }
        }
    }
}

fn moved(words: &str, number: Option<u32>) -> Half {
    Half { number, sign: Sign::Moved, ..Half::of(shown(words, Mark::Note)) }
}

fn beside(old: Vec<Half>, new: Vec<Half>) -> Vec<Cells> {
    let count = old.len().max(new.len());
    let (mut old, mut new) = (old.into_iter(), new.into_iter());
    (0..count).map(|_| Cells::Split(old.next(), new.next())).collect()
}

/// The runs as lines of the source, each with its marks; runs of the fate `gone` are left out.
fn source_lines(runs: &[Run], gone: Option<Change>, spell_ends: bool, unmarked: bool) -> Vec<Pieces> {
    let mut lines: Vec<Pieces> = vec![Vec::new()];
    for (i, run) in runs.iter().enumerate().filter(|(_, run)| Some(run.change) != gone) {
        let mark = match run.change {
            _ if unmarked => Mark::Plain,
            Change::Equal => Mark::Plain,
            Change::Delete => Mark::Removed,
            Change::Insert => Mark::Added,
        };
        let other = if run.change == Change::Equal { None } else { Some(partner(runs, i)) };
        let mut others = other.map(|other| other.split('\n'));
        let mut at = 0;
        for part in run.text.split_inclusive('\n') {
            at += part.len();
            let body = part.strip_suffix('\n').map_or(part, |b| b.strip_suffix('\r').unwrap_or(b));
            let end = &part[body.len()..];
            let beside = others.as_mut().map(|others| others.next().unwrap_or_default());
            let Some(line) = lines.last_mut() else { continue };
            spell(line, body, beside, mark, !end.is_empty() || (i + 1 == runs.len() && part.len() == body.len()));
            if !end.is_empty() {
                if mark != Mark::Plain && spell_ends {
                    line.extend(shown(end, mark));
                }
                // An end that is replaced by another one ends the line once.
                let replaced = gone.is_none() && at == run.text.len() && ends_again(runs, i);
                if !replaced {
                    lines.push(Vec::new());
                }
            }
        }
    }
    while lines.len() > 1 && lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    if !spell_ends {
        // Blank lines that part it from the paragraph before.
        let blank = lines.iter().take_while(|line| line.is_empty()).count().min(lines.len() - 1);
        lines.drain(..blank);
    }
    lines
}

/// The lines with the meaning of what is unchanged in them. What is drawn is read, so that places are those of the pieces.
fn coloured(lines: Vec<Pieces>, runs: &[Run]) -> Vec<Pieces> {
    let paragraph: String = runs.iter().filter(|run| run.change != Change::Delete).map(|run| &*run.text).collect();
    let texts: Vec<String> = lines.iter().map(|line| line.iter().map(|(piece, _)| piece.text()).collect()).collect();
    let stretches = highlight::stretches(Syntax::of(&paragraph), &texts);
    let line = |(line, stretches): (Pieces, Vec<_>)| {
        let (mut at, mut out) = (0, Pieces::with_capacity(line.len()));
        for (piece, mark) in line {
            let length = piece.text().len();
            if mark == Mark::Plain {
                let parts = highlight::cut(piece, at, &stretches);
                out.extend(parts.into_iter().map(|(part, sense)| (part, sense.map_or(mark, Mark::Source))));
            } else {
                out.push((piece, mark));
            }
            at += length;
        }
        out
    };
    lines.into_iter().zip(stretches).map(line).collect()
}

fn ends_again(runs: &[Run], at: usize) -> bool {
    runs[at].change == Change::Delete && runs.get(at + 1).is_some_and(|r| r.change == Change::Insert && r.text.contains('\n'))
}

/// The text that a changed run faces: the other half of the change, or nothing.
fn partner(runs: &[Run], at: usize) -> &str {
    let other = if runs[at].change == Change::Delete { runs.get(at + 1) } else { at.checked_sub(1).map(|at| &runs[at]) };
    other.filter(|r| r.change != Change::Equal && r.change != runs[at].change).map_or("", |r| r.text.trim_end_matches('\r'))
}

/// Text with its mark; in changed text spaces that would not be seen are dots.
fn spell(line: &mut Pieces, text: &str, beside: Option<&str>, mark: Mark, ends_line: bool) {
    let seen = match mark {
        Mark::Plain => text,
        _ if text.bytes().all(|b| b == b' ') || ends_line => text.trim_end_matches(' '),
        _ => text,
    };
    let shown = beside.map_or_else(|| visible(seen), |beside| visible_against(seen, beside));
    line.extend(shown.into_pieces().into_iter().map(|piece| (piece, mark)));
    line.extend((seen.len()..text.len()).map(|_| (Piece::own("·"), mark)));
}

fn halves(lines: Vec<Pieces>, number: Option<u32>, sign: Sign, shape: Shape) -> Vec<Half> {
    let mut halves = Vec::with_capacity(lines.len());
    for (i, line) in lines.into_iter().enumerate() {
        let number = number.filter(|_| i == 0);
        if shape.wrap {
            let wrapped = wrap(&line, shape.columns, &overhead);
            halves.extend(wrapped.into_iter().enumerate().map(|(k, pieces)| Half {
                number: number.filter(|_| k == 0),
                continued: k > 0,
                sign,
                pieces: decorated(pieces),
                cut: false,
            }));
        } else {
            let (pieces, cut) = cut(&line, shape.columns);
            halves.push(Half { number, continued: false, sign, pieces, cut });
        }
    }
    halves
}

/// Columns of `[-` and `-]`, `{+` and `+}`.
pub(crate) fn overhead(mark: Mark) -> usize {
    if matches!(mark, Mark::Removed | Mark::Added) { 4 } else { 0 }
}

/// Puts the marks around each changed stretch: they make it readable without colour.
pub(crate) fn decorated(pieces: Pieces) -> Pieces {
    let mut out = Pieces::with_capacity(pieces.len() + 4);
    let mut open = Mark::Plain;
    for (piece, mark) in pieces {
        if mark != open {
            out.extend(closing(open));
            out.extend(opening(mark));
            open = mark;
        }
        out.push((piece, mark));
    }
    out.extend(closing(open));
    out
}

fn opening(mark: Mark) -> Option<(Piece, Mark)> {
    match mark {
        Mark::Removed => Some((Piece::own("[-"), mark)),
        Mark::Added => Some((Piece::own("{+"), mark)),
        _ => None,
    }
}

fn closing(mark: Mark) -> Option<(Piece, Mark)> {
    match mark {
        Mark::Removed => Some((Piece::own("-]"), mark)),
        Mark::Added => Some((Piece::own("+}"), mark)),
        _ => None,
    }
}

/// One line of at most `columns`, and whether something had to go.
pub(crate) fn cut(line: &Pieces, columns: usize) -> (Pieces, bool) {
    let (pieces, cut) = clip(line, columns, &overhead, Mark::Dim);
    (decorated(pieces), cut)
}

#[cfg(test)]
pub(crate) fn plain(pieces: &[(Piece, Mark)]) -> String {
    pieces.iter().map(|(piece, _)| piece.text()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::hidden::Ink;
    use crate::rules::prose::{Unit, diff};
    use std::time::Duration;

    fn drawn(old: &str, new: &str, shape: Shape) -> Vec<String> {
        let half = |h: &Half| {
            let sign = match h.sign {
                Sign::Same => ' ',
                Sign::Edited => '~',
                Sign::Removed => '-',
                Sign::Added => '+',
                Sign::Moved => '⇅',
            };
            format!("{sign}{} {}", if h.continued { "↪" } else { "" }, plain(&h.pieces))
        };
        let side = |h: &Option<Half>| h.as_ref().map(half).unwrap_or_default();
        let row = |c: Cells| match c {
            Cells::Whole(h) => half(&h),
            Cells::Split(a, b) => format!("{} | {}", side(&a), side(&b)),
        };
        diff(old, new, Unit::Word, Duration::from_mins(1)).blocks.iter().flat_map(|b| rows(b, shape)).map(row).collect()
    }

    const WIDE: Shape = Shape { columns: 80, split: false, wrap: true, colour: false };

    #[test]
    fn changes_are_readable_without_colour() {
        for (old, new, expected) in [
            (
                "Keep replies under 120 words, always.\n",
                "Keep replies under 90 words, always.\n",
                vec!["~ Keep replies under [-120-]{+90+} words, always."],
            ),
            (
                "Refunds are never possible here.\n",
                "Refunds are granted with care.\n",
                vec!["- Refunds are [-never possible here-].", "+ Refunds are {+granted with care+}."],
            ),
            ("a\n", "a\n\nsome new words\n", vec!["  a", "+ {+some new words+}"]),
            ("a b c d.\n", "a b c d. \n", vec!["~ a b c d.{+·+}"]),
            ("a b\n", "a  b\n", vec!["~ a[-·-]{+··+}b"]),
            ("a b\n", "a b", vec!["~ a b[-␊-]"]),
            ("a b\n", "a b\r\n", vec!["~ a b[-␊-]{+␍␊+}"]),
            ("one two three four\n", "one two\u{200b} three four\n", vec!["~ one two{+‹U+200B›+} three four"]),
            (
                "please pay with paypal now\n",
                "please pay with p\u{430}ypal now\n",
                vec!["~ please pay with [-pa‹U+0061›ypal-]{+p\u{430}‹U+0430›ypal+} now"],
            ),
        ] {
            assert_eq!(drawn(old, new, WIDE), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_moved_paragraph_says_from_where_and_to_where() {
        let old = "one two three four five\n\nb b b b\n\nc c c c\n";
        let new = "b b b b\n\nc c c c\n\none two three four five\n";
        let expected = ["⇅ ⇅ moved to ¶3", "  b b b b", "  c c c c", "⇅ ⇅ moved from ¶1", "⇅ one two three four five"];
        assert_eq!(drawn(old, new, WIDE), expected);
    }

    #[test]
    fn wrapped_lines_carry_their_own_marks_and_fit() {
        let narrow = Shape { columns: 24, ..WIDE };
        let new = "some wholly new paragraph that is too long for one line\n";
        let expected = ["+ {+some wholly new+}", "+↪ {+paragraph that is+}", "+↪ {+too long for one+}", "+↪ {+line+}"];
        assert_eq!(drawn("", new, narrow), expected);
    }

    #[test]
    fn side_by_side_shows_each_side_alone() {
        let split = Shape { columns: 40, split: true, ..WIDE };
        let expected = ["- under [-120-] words here | + under {+90+} words here", "  b |   b", " | + {+c d+}"];
        assert_eq!(drawn("under 120 words here\n\nb\n", "under 90 words here\n\nb\n\nc d\n", split), expected);
    }

    #[test]
    fn lines_that_are_not_wrapped_say_that_they_are_cut() {
        let cut = Shape { columns: 10, wrap: false, ..WIDE };
        assert_eq!(drawn("one two three four\n", "one two three four\n", cut), ["  one two t…"]);
    }

    #[test]
    fn colour_changes_what_text_means_and_not_what_it_says() {
        let colour = Shape { colour: true, ..WIDE };
        let old = "# Tone of {{ x }}\nold {{ a\u{200b}b }} and 120 words\n\n{\"a\": [1, \"b\"]}\n";
        let new = old.replace("120", "90");
        for columns in [9, 80] {
            for split in [false, true] {
                let (plain, coloured) = (Shape { columns, split, ..WIDE }, Shape { columns, split, ..colour });
                assert_eq!(drawn(old, &new, coloured), drawn(old, &new, plain));
            }
        }
        let found = diff(old, &new, Unit::Word, Duration::from_mins(1));
        let cells: Vec<Cells> = found.blocks.iter().flat_map(|b| rows(b, colour)).collect();
        let pieces: Vec<(Piece, Mark)> = cells
            .into_iter()
            .flat_map(|cells| match cells {
                Cells::Whole(half) => half.pieces,
                Cells::Split(..) => Pieces::new(),
            })
            .collect();
        for (piece, mark) in &pieces {
            assert!(piece.ink() == Ink::Plain || *mark == Mark::Plain, "{piece:?} {mark:?}");
        }
        let means = |text: &str| pieces.iter().find(|(piece, _)| piece.text().contains(text)).map(|(_, mark)| *mark);
        assert_eq!(means("U+200B"), Some(Mark::Plain));
        assert_eq!(means("x"), Some(Mark::Source(Sense::Tag)));
        assert_eq!(means("Tone"), Some(Mark::Source(Sense::Heading)));
        assert_eq!((means("120"), means("90")), (Some(Mark::Removed), Some(Mark::Added)));
        assert_eq!(means("\"a\""), Some(Mark::Source(Sense::Name)));
        assert_eq!(means("\"b\""), Some(Mark::Source(Sense::Literal)));
    }
}
