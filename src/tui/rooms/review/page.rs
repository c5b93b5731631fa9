//! A whole difference as lines that only have to be drawn: sections, hunks, folds, paragraphs.

use super::lines::{Cells, Half, Mark, Pieces, Shape, Sign, cut, decorated, overhead, rows, shown};
use crate::model::diff::{Block, BlockKind, Change, ContentDiff, Ending, FieldChange, TextDiff};
use crate::model::{Digest, Variable};
use crate::rules::canonical::sha256;
use crate::rules::hidden::{Piece, visible_against, wrap};
use crate::rules::prose::Unit;
use crate::tui::highlight;
use std::collections::BTreeMap;
use std::ops::Range;

/// Unchanged lines that are kept above a change, if the paragraph has no more.
const CONTEXT: usize = 3;

/// How a page is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// What is marked.
    pub(crate) unit: Unit,
    /// Columns inside the pane.
    pub(crate) width: u16,
    /// Rows that structured changes have above the text, and columns there; where they need more, all of them stand in the page.
    pub(crate) above: (u16, u16),
    /// Side by side, where there is room.
    pub(crate) split: bool,
    /// Long lines are wrapped.
    pub(crate) wrap: bool,
    /// Fragments are expanded and nothing is folded.
    pub(crate) effective: bool,
    /// Source is coloured by its language, where it is small enough: a second pass, so that the first screen never waits.
    pub(crate) colour: bool,
}

/// One row of the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    /// The change that it belongs to.
    pub(crate) hunk: Option<usize>,
    /// The fold that hides it while it is closed.
    pub(crate) fold: Option<usize>,
    /// The fold that it stands for while that is closed.
    pub(crate) stands_for: Option<usize>,
    /// What it shows.
    pub(crate) cells: Cells,
}

impl Line {
    /// What it says, both sides of it.
    pub(crate) fn text(&self) -> String {
        let said = |half: &Half| -> String { half.pieces.iter().map(|(piece, _)| piece.text()).collect() };
        match &self.cells {
            Cells::Whole(half) => said(half),
            Cells::Split(old, new) => old.iter().chain(new).map(said).collect::<Vec<_>>().join("\n"),
        }
    }
}

/// A paragraph of the new text: what `]p` goes to and comments hang on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Paragraph {
    /// Its first line.
    pub(crate) line: usize,
    /// Its number in its text.
    pub(crate) number: u32,
    /// Hash of its text without the blank lines after it.
    pub(crate) anchor: Digest,
}

/// A difference, laid out for a width.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Page {
    /// How it was made.
    pub(crate) options: Options,
    /// Every line, folded ones too.
    pub(crate) lines: Vec<Line>,
    /// The lines of each change, none of which is ever folded.
    pub(crate) hunks: Vec<Range<usize>>,
    /// What each change is, whatever it is laid out for: what was seen of it holds at another width too.
    pub(crate) changes: Vec<Digest>,
    /// How many folds there are.
    pub(crate) folds: usize,
    /// Paragraphs of the new texts, in order.
    pub(crate) paragraphs: Vec<Paragraph>,
    /// Structured changes, in as many rows as there are.
    pub(crate) structure: Vec<Pieces>,
    /// What each of those that stand above the text is; empty where they stand in the page.
    pub(crate) above: Vec<Digest>,
    /// Columns of the paragraph numbers.
    pub(crate) gutter: usize,
    /// Whether the time for marks ran out.
    pub(crate) approximate: bool,
    /// Whether some text is small enough to be coloured, and is not yet.
    pub(crate) colourable: bool,
}

impl Page {
    /// Whether the structured changes all stand above the text, each of them whole.
    pub(crate) fn structure_is_above(&self) -> bool {
        self.above.len() == self.structure.len()
    }
    /// Whether text is missing at the end of a line.
    pub(crate) fn is_cut(&self, line: usize) -> bool {
        match &self.lines[line].cells {
            Cells::Whole(half) => half.cut,
            Cells::Split(old, new) => [old, new].into_iter().flatten().any(|half| half.cut),
        }
    }
    /// Columns before the text of a half: bar or space, number, space, sign, space.
    pub(crate) fn margin(&self) -> usize {
        self.gutter + 4
    }
}

/// Lays a difference out.
pub(crate) fn page(diff: &ContentDiff, options: Options) -> Page {
    let largest = diff.texts.iter().flat_map(|t| &t.1.blocks).filter_map(|b| b.new.max(b.old)).max().unwrap_or(0);
    let gutter = largest.to_string().len().max(3);
    let margin = gutter + 4;
    let width = usize::from(options.width);
    let columns = if options.split { (width.saturating_sub(2)) / 2 } else { width };
    let shape = Shape { columns: columns.saturating_sub(margin).max(8), split: options.split, wrap: options.wrap, colour: false };
    let mut page = Page {
        options,
        lines: Vec::new(),
        hunks: Vec::new(),
        changes: Vec::new(),
        folds: 0,
        paragraphs: Vec::new(),
        structure: Vec::new(),
        above: Vec::new(),
        gutter,
        approximate: diff.texts.iter().any(|t| t.1.approximate),
        colourable: false,
    };
    let (body, other): (Vec<_>, Vec<_>) = diff.fields.iter().partition(|f| f.path == "/body" || f.path.starts_with("/body/"));
    page.structure = other.iter().map(|field| structured(field)).collect();
    let mut builder =
        Builder { page, shape, width: width.saturating_sub(margin).max(8), path: String::new(), known: BTreeMap::new() };
    for (path, words) in &diff.lookalikes {
        builder.say(&format!("! look-alike at {path}: {words}"), Mark::Warn);
    }
    builder.structure(&other);
    builder.fields(&body, diff.texts.is_empty());
    let many = diff.texts.len() > 1 || diff.texts.iter().any(|t| t.0 != "/body");
    for (path, text) in &diff.texts {
        builder.text(path, text, many);
    }
    if diff.fields.is_empty() && diff.texts.is_empty() {
        builder.say("nothing differs", Mark::Note);
    }
    builder.page
}

/// The first rows of a difference as text: the whole page is laid out, and what a screen shows of it is given back.
pub(crate) fn first_screen(diff: &ContentDiff, width: u16, height: u16) -> Vec<String> {
    let options =
        Options { unit: Unit::Word, width, above: (6, width), split: false, wrap: true, effective: false, colour: false };
    let text = |half: &Half| half.pieces.iter().map(|(piece, _)| piece.text()).collect::<String>();
    let row = |line: &Line| match &line.cells {
        Cells::Whole(half) => text(half),
        Cells::Split(old, new) => [old, new].into_iter().flatten().map(text).collect::<Vec<_>>().join(" | "),
    };
    page(diff, options).lines.iter().filter(|line| line.fold.is_none()).take(usize::from(height)).map(row).collect()
}

/// A page that only says why there is nothing to compare.
pub(crate) fn blank(options: Options, words: &str) -> Page {
    let nothing = ContentDiff { fields: Vec::new(), texts: Vec::new(), hidden: Vec::new(), lookalikes: Vec::new() };
    let mut page = page(&nothing, options);
    page.lines.clear();
    let width = usize::from(options.width).saturating_sub(page.margin()).max(8);
    let line = |pieces| Line { hunk: None, fold: None, stands_for: None, cells: Cells::Whole(Half::of(pieces)) };
    page.lines.extend(wrap(&shown(words, Mark::Warn), width, &overhead).into_iter().map(line));
    page
}

struct Builder {
    page: Page,
    shape: Shape,
    width: usize,
    /// The text that is laid out.
    path: String,
    /// How many changes say the same.
    known: BTreeMap<Digest, u64>,
}

impl Builder {
    fn push(&mut self, cells: Cells, hunk: Option<usize>, fold: Option<usize>) {
        self.page.lines.push(Line { hunk, fold, stands_for: None, cells });
    }

    /// Words of ours, or of a note, on lines without a number.
    fn say(&mut self, words: &str, mark: Mark) {
        for pieces in wrap(&shown(words, mark), self.width, &overhead) {
            self.push(Cells::Whole(Half::of(pieces)), None, None);
        }
    }

    /// What a change is: where it stands, what was there, what comes, and which of several alike.
    fn identity(&mut self, path: &str, old: Option<&str>, new: Option<&str>) -> Digest {
        let mut says = Vec::new();
        for part in [Some(path), old, new] {
            let length = part.map_or(u64::MAX, |text| text.len() as u64);
            says.extend_from_slice(&length.to_be_bytes());
            says.extend_from_slice(part.unwrap_or_default().as_bytes());
        }
        let before = self.known.entry(sha256(&says)).and_modify(|count| *count += 1).or_default();
        says.extend_from_slice(&before.to_be_bytes());
        sha256(&says)
    }

    /// Structured changes stand above the text where each of them is whole there, else all of them first in the page.
    fn structure(&mut self, fields: &[&FieldChange]) {
        let (rows, columns) = self.page.options.above;
        let structure = self.page.structure.clone();
        let changes: Vec<Digest> = fields.iter().map(|f| self.identity(&f.path, f.old.as_deref(), f.new.as_deref())).collect();
        let is_whole = |pieces: &Pieces| !cut(pieces, usize::from(columns)).1;
        if structure.len() <= usize::from(rows) && structure.iter().all(is_whole) {
            self.page.above = changes;
            return;
        }
        self.say("structured changes", Mark::Head);
        for (pieces, change) in structure.iter().zip(changes) {
            self.change(pieces, change);
        }
    }

    /// A change that is one field.
    fn change(&mut self, pieces: &Pieces, change: Digest) {
        let (hunk, start) = (self.page.hunks.len(), self.page.lines.len());
        let lines = if self.shape.wrap {
            wrap(pieces, self.width, &overhead).into_iter().map(|line| (decorated(line), false)).collect()
        } else {
            vec![cut(pieces, self.width)]
        };
        for (i, (pieces, cut)) in lines.into_iter().enumerate() {
            let half = Half { continued: i > 0, sign: Sign::Edited, cut, ..Half::of(pieces) };
            self.push(Cells::Whole(half), Some(hunk), None);
        }
        self.page.hunks.push(start..self.page.lines.len());
        self.page.changes.push(change);
    }

    /// Changes of a JSON body, or of the roles in a chat.
    fn fields(&mut self, fields: &[&FieldChange], json: bool) {
        if fields.is_empty() {
            return;
        }
        self.say(if json { "body, by structure" } else { "messages" }, Mark::Head);
        for field in fields {
            let change = self.identity(&field.path, field.old.as_deref(), field.new.as_deref());
            self.change(&field_pieces(field.path.strip_prefix("/body").filter(|p| !p.is_empty()).unwrap_or("/"), field), change);
        }
    }

    fn text(&mut self, path: &str, text: &TextDiff, headed: bool) {
        path.clone_into(&mut self.path);
        if headed {
            self.say(&heading(path), Mark::Head);
        }
        for note in text.notes.iter().filter(|n| !n.ends_with("(both)")) {
            self.say(&format!("! {note}"), Mark::Warn);
        }
        if text.approximate {
            self.say("≈ approximate: the time for marks ran out, so they are coarser than they could be", Mark::Warn);
        }
        let runs = text.blocks.iter().flat_map(|block| &block.runs);
        let fits = highlight::fits(runs.map(|run| &*run.text));
        self.shape.colour = self.page.options.colour && fits;
        self.page.colourable |= fits && !self.page.options.colour;
        let mut at = 0;
        while at < text.blocks.len() {
            let alike = text.blocks[at..].iter().take_while(|b| b.kind == BlockKind::Equal).count();
            let ends = text.blocks[at..].iter().take_while(|b| only_ends(b)).count();
            if alike > 0 {
                self.unchanged(&text.blocks[at..at + alike], at + alike < text.blocks.len());
                at += alike;
            } else if ends > 1 {
                self.line_ends(&text.blocks[at..at + ends], text.endings);
                at += ends;
            } else {
                self.block(&text.blocks[at]);
                at += 1;
            }
        }
        self.say(&end_of_text(text), Mark::Dim);
    }

    fn block(&mut self, block: &Block) {
        let (hunk, start) = (self.page.hunks.len(), self.page.lines.len());
        self.paragraph(block, start);
        for cells in rows(block, self.shape) {
            self.push(cells, Some(hunk), None);
        }
        self.page.hunks.push(start..self.page.lines.len());
        let change = self.paragraphs_identity(std::slice::from_ref(block));
        self.page.changes.push(change);
    }

    fn paragraphs_identity(&mut self, blocks: &[Block]) -> Digest {
        let side = |gone: Change| {
            let runs = blocks.iter().flat_map(|block| &block.runs).filter(|run| run.change != gone);
            runs.map(|run| &*run.text).collect::<String>()
        };
        let path = std::mem::take(&mut self.path);
        let change = self.identity(&path, Some(&side(Change::Insert)), Some(&side(Change::Delete)));
        self.path = path;
        change
    }

    fn paragraph(&mut self, block: &Block, line: usize) {
        let Some(number) = block.new else { return };
        let text: String = block.runs.iter().filter(|r| r.change != Change::Delete).map(|r| &*r.text).collect();
        self.page.paragraphs.push(Paragraph { line, number, anchor: sha256(text.trim().as_bytes()) });
    }

    /// Unchanged paragraphs: the one above a change stays in sight if it is short, the others are folded.
    fn unchanged(&mut self, blocks: &[Block], change_follows: bool) {
        let drawn: Vec<Vec<Cells>> = blocks.iter().map(|b| rows(b, self.shape)).collect();
        let keep = usize::from(change_follows && drawn.last().is_some_and(|rows| rows.len() <= CONTEXT));
        let folded = blocks.len() - keep;
        // A fold of one line would save nothing.
        let worth = drawn.iter().take(folded).map(Vec::len).sum::<usize>() > 1;
        let fold = (worth && !self.page.options.effective).then_some(self.page.folds);
        if let Some(fold) = fold {
            let hint = if fold == 0 { " (z to unfold)" } else { "" };
            let words = match folded {
                1 => format!("⋯ 1 unchanged paragraph{hint} ⋯"),
                n => format!("⋯ {n} unchanged paragraphs{hint} ⋯"),
            };
            let cells = Cells::Whole(Half::of(shown(&words, Mark::Dim)));
            self.page.lines.push(Line { hunk: None, fold: None, stands_for: Some(fold), cells });
            self.page.folds += 1;
        }
        for (i, (block, rows)) in blocks.iter().zip(drawn).enumerate() {
            self.paragraph(block, self.page.lines.len());
            for cells in rows {
                self.push(cells, None, fold.filter(|_| i < folded));
            }
        }
    }

    /// Many paragraphs of which only the line ends differ are one change, said in words.
    fn line_ends(&mut self, blocks: &[Block], endings: (Ending, Ending)) {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return };
        let number = |n: Option<u32>| n.unwrap_or(0);
        let name = |e: Ending| match e {
            Ending::None => "none",
            Ending::Lf => "LF ␊",
            Ending::Crlf => "CRLF ␍␊",
            Ending::Mixed => "mixed",
        };
        let words = format!("¶{}–¶{}: only line ends differ, ", number(first.new), number(last.new));
        let mut pieces = shown(&words, Mark::Note);
        pieces.extend(shown(name(endings.0), Mark::Removed));
        pieces.extend(shown(name(endings.1), Mark::Added));
        let change = self.paragraphs_identity(blocks);
        self.change(&pieces, change);
    }
}

/// Whether a pair of paragraphs differs in line ends alone.
fn only_ends(block: &Block) -> bool {
    let side = |gone: Change| {
        let text: String = block.runs.iter().filter(|r| r.change != gone).map(|r| &*r.text).collect();
        text.replace("\r\n", "\n")
    };
    block.kind == BlockKind::Whitespace && side(Change::Insert) == side(Change::Delete)
}

fn heading(path: &str) -> String {
    let unescaped = |name: &str| name.replace("~1", "/").replace("~0", "~");
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next()) {
        (Some("body"), Some(index), _) => match index.parse::<u32>() {
            Ok(index) => format!("── message {} ──", index + 1),
            Err(_) => format!("── {path} ──"),
        },
        (Some("body"), None, _) => "── body ──".to_owned(),
        (Some("fragments"), Some(name), _) => format!("── fragment {} ──", unescaped(name)),
        _ => format!("── {path} ──"),
    }
}

fn end_of_text(text: &TextDiff) -> String {
    let name = |e: Ending| match e {
        Ending::None => "one line",
        Ending::Lf => "LF",
        Ending::Crlf => "CRLF",
        Ending::Mixed => "LF and CRLF mixed",
    };
    let (old, new) = text.endings;
    let ends = if old == new { format!("{} (both)", name(old)) } else { format!("{} (old), {} (new)", name(old), name(new)) };
    let newline = text.notes.iter().find(|n| n.contains("newline")).map_or(String::new(), |n| format!(" · {n}"));
    format!("end of text{newline} · {ends}")
}

/// `fragment  tone.core  @4410… → @8812…`
fn structured(field: &FieldChange) -> Pieces {
    let unescaped = |name: &str| name.replace("~1", "/").replace("~0", "~");
    let mut parts = field.path.splitn(3, '/').skip(1);
    let (member, name) = (parts.next().unwrap_or_default(), parts.next().map(unescaped));
    let label = match member {
        "model_pin" => "model_pin   ",
        "parameters" => "parameter   ",
        "fragments" => "fragment    ",
        "variables" => "variable    ",
        "format" => "format      ",
        _ => "            ",
    };
    let mut pieces = shown(label, Mark::Dim);
    match (member, name) {
        ("fragments", Some(name)) => {
            let short = |digest: &Option<String>| {
                digest.as_ref().map(|d| {
                    format!("@{}", d.trim_matches('"').trim_start_matches("sha256:").chars().take(12).collect::<String>())
                })
            };
            pieces.extend(shown(&format!("{name}  "), Mark::Plain));
            pieces.extend(change_pieces(short(&field.old).as_deref(), short(&field.new).as_deref()));
            pieces.extend(shown("  see below", Mark::Dim));
        }
        ("variables", Some(name)) if !name.contains('/') => {
            let words = |json: &Option<String>| json.as_deref().map(variable_words);
            pieces.extend(shown(&format!("{name}: "), Mark::Plain));
            pieces.extend(change_pieces(words(&field.old).as_deref(), words(&field.new).as_deref()));
        }
        (_, Some(name)) => pieces.extend(field_pieces(&name, field)),
        _ => pieces.extend(field_pieces("", field)),
    }
    pieces
}

/// `string, required` or `string = ""`; JSON as it stands where it is no variable.
fn variable_words(json: &str) -> String {
    match serde_json::from_str::<Variable>(json) {
        Ok(v) if v.required => format!("{}, required", v.kind),
        Ok(v) if v.default.is_null() => v.kind.to_string(),
        Ok(v) => format!("{} = {}", v.kind, v.default),
        Err(_) => json.to_owned(),
    }
}

/// `name: [-old-]{+new+} (note)`
fn field_pieces(name: &str, field: &FieldChange) -> Pieces {
    let mut pieces = Pieces::new();
    if !name.is_empty() {
        pieces.extend(shown(&format!("{name}: "), Mark::Plain));
    }
    pieces.extend(change_pieces(field.old.as_deref(), field.new.as_deref()));
    if let Some(note) = &field.note {
        pieces.extend(shown(&format!(" ({note})"), Mark::Warn));
    }
    pieces
}

fn change_pieces(old: Option<&str>, new: Option<&str>) -> Pieces {
    let beside = |text: Option<&str>, other: Option<&str>, mark| {
        let pieces = text.map(|text| visible_against(text, other.unwrap_or_default()).into_pieces()).unwrap_or_default();
        pieces.into_iter().map(move |piece: Piece| (piece, mark))
    };
    beside(old, new, Mark::Removed).chain(beside(new, old, Mark::Added)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines::plain;
    use super::*;
    use crate::model::{Content, Format};
    use crate::rules::hidden::Bodies;
    use crate::rules::structure::content_diff_by;
    use serde_json::{Value, json};
    use std::time::Duration;

    const OPTIONS: Options =
        Options { unit: Unit::Word, width: 78, above: (3, 78), split: false, wrap: true, effective: false, colour: false };

    fn content(format: Format, body: Value) -> Content {
        let (key, parameters, fragments) =
            ("support.refund".parse().unwrap(), serde_json::Map::new(), std::collections::BTreeMap::new());
        Content { key, format, body, model_pin: None, parameters, fragments, variables: Vec::new(), schema: 1 }
    }

    fn of(from: &Content, to: &Content, options: Options) -> Page {
        let none = Bodies::new();
        page(&content_diff_by(Some(from), to, (&none, &none), Unit::Word, Duration::from_mins(1)), options)
    }

    fn texts(old: &str, new: &str, options: Options) -> Page {
        of(&content(Format::Text, json!(old)), &content(Format::Text, json!(new)), options)
    }

    fn open(page: &Page) -> Vec<String> {
        let half = |h: &Half| plain(&h.pieces);
        let cells = |c: &Cells| match c {
            Cells::Whole(h) => half(h),
            Cells::Split(a, b) => {
                format!("{}|{}", a.as_ref().map(half).unwrap_or_default(), b.as_ref().map(half).unwrap_or_default())
            }
        };
        page.lines.iter().filter(|l| l.fold.is_none()).map(|l| cells(&l.cells)).collect()
    }

    #[test]
    fn unchanged_paragraphs_are_folded_and_counted() {
        let old = "one\n\ntwo\n\nthree\n\nfour is here now\n\nfive\n\nsix\n";
        let page = texts(old, &old.replace("four is here now", "four is here today"), OPTIONS);
        let expected = [
            "⋯ 2 unchanged paragraphs (z to unfold) ⋯",
            "three",
            "four is here [-now-]{+today+}",
            "⋯ 2 unchanged paragraphs ⋯",
            "end of text · LF (both)",
        ];
        assert_eq!(open(&page), expected);
        assert_eq!(page.hunks.len(), 1);
        assert_eq!(page.folds, 2);
        assert_eq!(page.paragraphs.iter().map(|p| p.number).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn line_ends_alone_are_one_change_said_in_words() {
        let old = "one\n\ntwo\n\nthree\n";
        let page = texts(old, &old.replace('\n', "\r\n"), OPTIONS);
        let expected = [
            "! only line endings differ: LF (old), CRLF (new)",
            "¶1–¶3: only line ends differ, [-LF ␊-]{+CRLF ␍␊+}",
            "end of text · LF (old), CRLF (new)",
        ];
        assert_eq!(open(&page), expected);
        assert_eq!(page.hunks.len(), 1);
    }

    #[test]
    fn json_is_shown_by_structure_with_types_named() {
        let from = content(Format::Json, json!({"limits": {"max": "1"}}));
        let to = content(Format::Json, json!({"limits": {"max": 1}}));
        let expected = ["body, by structure", "/limits/max: [-\"1\"-]{+1+} (type changes from string to number)"];
        assert_eq!(open(&of(&from, &to, OPTIONS)), expected);
    }

    #[test]
    fn structured_changes_stand_above_until_they_are_too_many() {
        let from = content(Format::Text, json!("same"));
        let mut to = content(Format::Text, json!("same"));
        to.model_pin = Some("gpt-x".into());
        let page = of(&from, &to, OPTIONS);
        assert!(page.structure_is_above());
        assert_eq!(plain(&page.structure[0]), "model_pin   null\"gpt-x\"");
        assert!(page.hunks.is_empty());
        for i in 0..9 {
            to.parameters.insert(format!("p{i}"), json!(i));
        }
        let page = of(&from, &to, OPTIONS);
        assert!(!page.structure_is_above());
        assert_eq!(page.hunks.len(), 10);
    }

    #[test]
    fn the_first_screen_is_the_first_rows_of_the_page() {
        let (from, to) = (content(Format::Text, json!("one two three\n")), content(Format::Text, json!("one two four\n")));
        let none = Bodies::new();
        let diff = content_diff_by(Some(&from), &to, (&none, &none), Unit::Word, Duration::from_mins(1));
        assert_eq!(first_screen(&diff, 80, 1), ["one two [-three-]"]);
    }

    #[test]
    fn every_line_fits_at_every_width() {
        let old = "A paragraph of several words, {{ variable }} and https://example.com/a/very/long/address/that/does/not/break.\n\n日本語のテキスト。\n";
        let new = old.replace("several", "a few").replace("テ", "デ\u{200b}").replace("\n\n", "\r\n\r\n");
        for width in 0..160 {
            for split in [false, true] {
                for wrap in [false, true] {
                    let page = texts(old, &new, Options { width, split, wrap, ..OPTIONS });
                    let room = if split { usize::from(width).saturating_sub(2) / 2 } else { usize::from(width) };
                    let room = room.saturating_sub(page.margin()).max(8) + 8;
                    for line in &page.lines {
                        let halves = match &line.cells {
                            Cells::Whole(_) if split => vec![],
                            Cells::Whole(h) => vec![Some(h)],
                            Cells::Split(a, b) => vec![a.as_ref(), b.as_ref()],
                        };
                        for half in halves.into_iter().flatten() {
                            let used: usize = half.pieces.iter().map(|p| p.0.width()).sum();
                            assert!(used <= room, "{width}: {used} > {room}: {}", plain(&half.pieces));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn source_is_coloured_when_asked_for_and_only_up_to_a_size() {
        let coloured = |old: &str, options: Options| {
            let page = texts(old, &old.replace("four", "4"), options);
            let halves = |line: &Line| match &line.cells {
                Cells::Whole(half) => half.pieces.clone(),
                Cells::Split(..) => Pieces::new(),
            };
            let pieces = page.lines.iter().flat_map(halves);
            let found = pieces.filter(|(_, mark)| matches!(mark, Mark::Source(_))).map(|(piece, _)| piece.text().to_owned());
            (open(&page).len(), found.collect::<String>())
        };
        let effective = Options { colour: true, ..OPTIONS };
        let small = "# One\n\ntwo {{ three }}\n\nfour\n";
        assert_eq!(coloured(small, OPTIONS).1, "");
        assert_eq!(coloured(small, effective).1, "# One{{ three }}");
        let large = format!("{small}{}", "-\n".repeat(5_001));
        let (lines, found) = coloured(&large, effective);
        assert_eq!(found, "");
        assert!(lines > 5_001, "{lines}");
    }
}
