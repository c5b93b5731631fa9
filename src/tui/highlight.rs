//! Syntax colouring of prompt templates and of JSON: what each stretch of a text means. For workers, never while drawing.

use super::theme::Role;
use crate::rules::hidden::{Ink, Piece};
use serde::de::IgnoredAny;
use std::ops::Range;
use std::sync::LazyLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxDefinition, SyntaxSet, SyntaxSetBuilder};
use unicode_segmentation::UnicodeSegmentation;

/// Bytes of a text beyond which it stays plain.
const MOST_BYTES: usize = 256 * 1024;
/// Lines of a text beyond which it stays plain.
const MOST_LINES: usize = 5_000;

/// What a stretch of source text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sense {
    /// `{{ … }}`, `{% … %}`
    Tag,
    /// `{# … #}`
    Remark,
    /// The name of a member in JSON.
    Name,
    /// A text, a number, `true`.
    Literal,
    /// A heading.
    Heading,
    /// The sign before an item of a list.
    Bullet,
}

impl Sense {
    /// How it looks.
    pub(crate) fn role(self) -> Role {
        match self {
            Self::Tag | Self::Name => Role::Variable,
            Self::Literal => Role::Literal,
            Self::Remark => Role::Comment,
            Self::Heading | Self::Bullet => Role::Strong,
        }
    }
}

/// The language of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// Jinja tags in light Markdown.
    Template,
    /// JSON, such as an example in a prompt.
    Json,
}

impl Syntax {
    /// JSON if the paragraph is a whole object or array, else a template.
    pub(crate) fn of(paragraph: &str) -> Self {
        let structured = paragraph.trim_start().starts_with(['{', '[']);
        if structured && serde_json::from_str::<IgnoredAny>(paragraph).is_ok() { Self::Json } else { Self::Template }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Template => "Prompt template",
            Self::Json => "JSON",
        }
    }
}

/// Both languages, compiled when a worker first asks.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(|| {
    let sources = [include_str!("syntax/template.sublime-syntax"), include_str!("syntax/json.sublime-syntax")];
    let mut builder = SyntaxSetBuilder::new();
    // A test holds that both are read; a text of a language that is not there stays plain.
    for syntax in sources.iter().filter_map(|source| SyntaxDefinition::load_from_str(source, false, None).ok()) {
        builder.add(syntax);
    }
    builder.build()
});

/// What the scopes in the definitions mean.
static SENSES: LazyLock<Vec<(Scope, Sense)>> = LazyLock::new(|| {
    let senses = [
        ("variable", Sense::Tag),
        ("comment", Sense::Remark),
        ("entity", Sense::Name),
        ("string", Sense::Literal),
        ("constant", Sense::Literal),
        ("markup.heading", Sense::Heading),
        ("markup.list", Sense::Bullet),
    ];
    senses.into_iter().filter_map(|(scope, sense)| Some((Scope::new(scope).ok()?, sense))).collect()
});

/// Whether a text is small enough to be coloured.
pub(crate) fn fits<'a>(parts: impl Iterator<Item = &'a str>) -> bool {
    let (mut bytes, mut ends) = (0, 0);
    for part in parts {
        bytes += part.len();
        ends += part.bytes().filter(|b| *b == b'\n').count();
        if bytes > MOST_BYTES || ends > MOST_LINES {
            return false;
        }
    }
    true
}

/// The stretches of each line that mean something, in order; a tag may go on over lines.
pub(crate) fn stretches(syntax: Syntax, lines: &[String]) -> Vec<Vec<(Range<usize>, Sense)>> {
    let Some(found) = SYNTAXES.find_syntax_by_name(syntax.name()) else { return vec![Vec::new(); lines.len()] };
    let (mut state, mut stack) = (ParseState::new(found), ScopeStack::new());
    lines.iter().map(|line| line_stretches(line, &mut state, &mut stack)).collect()
}

fn line_stretches(line: &str, state: &mut ParseState, stack: &mut ScopeStack) -> Vec<(Range<usize>, Sense)> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut until = |to: usize, stack: &ScopeStack| {
        if let Some(sense) = sense(stack).filter(|_| to > from) {
            found.push((from..to, sense));
        }
        from = to;
    };
    for (at, op) in state.parse_line(line, &SYNTAXES).unwrap_or_default() {
        until(at, stack);
        if stack.apply(&op).is_err() {
            break;
        }
    }
    until(line.len(), stack);
    found
}

/// The innermost meaning.
fn sense(stack: &ScopeStack) -> Option<Sense> {
    let of = |scope: &Scope| SENSES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, sense)| *sense);
    stack.as_slice().iter().rev().find_map(of)
}

/// A piece that begins at byte `at` of its line, cut where the meaning changes and only between grapheme clusters.
/// What stands for a hidden character, or marks a look-alike, is never cut and has no meaning but its own.
pub(crate) fn cut(piece: Piece, at: usize, stretches: &[(Range<usize>, Sense)]) -> Vec<(Piece, Option<Sense>)> {
    if piece.ink() != Ink::Plain || stretches.is_empty() {
        return vec![(piece, None)];
    }
    let mut left = &stretches[stretches.partition_point(|(range, _)| range.end <= at)..];
    let mut cuts: Vec<(usize, Option<Sense>)> = Vec::new();
    for (offset, _) in piece.text().grapheme_indices(true) {
        while left.first().is_some_and(|(range, _)| range.end <= at + offset) {
            left = &left[1..];
        }
        let sense = left.first().filter(|(range, _)| range.start <= at + offset).map(|(_, sense)| *sense);
        if cuts.last().is_none_or(|last| last.1 != sense) {
            cuts.push((offset, sense));
        }
    }
    let ends = cuts.iter().skip(1).map(|cut| cut.0).chain([piece.text().len()]);
    cuts.iter().zip(ends).map(|((from, sense), to)| (piece.part(*from..to), *sense)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::hidden::visible;

    fn meanings(syntax: Syntax, text: &str) -> Vec<(String, Sense)> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = stretches(syntax, &lines);
        let line = |(line, found): (&String, Vec<(Range<usize>, Sense)>)| {
            found.into_iter().map(|(range, sense)| (line[range].to_owned(), sense)).collect::<Vec<_>>()
        };
        let mut all: Vec<(String, Sense)> = lines.iter().zip(found).flat_map(line).collect();
        // Stretches that follow each other with one meaning are one.
        all.dedup_by(|next, before| {
            before.1 == next.1 && text.contains(&format!("{}{}", before.0, next.0)) && {
                before.0.push_str(&next.0);
                true
            }
        });
        all
    }

    #[test]
    fn both_languages_are_read() {
        for syntax in [Syntax::Template, Syntax::Json] {
            assert!(SYNTAXES.find_syntax_by_name(syntax.name()).is_some(), "{syntax:?}");
        }
        assert_eq!(SENSES.len(), 7);
    }

    #[test]
    fn tags_headings_and_bullets_of_a_template_have_their_meaning() {
        use Sense::{Bullet, Heading, Literal, Remark, Tag};
        for (text, expected) in [
            ("Dear {{ name }}, hello", vec![("{{ name }}", Tag)]),
            (
                "{% if a == \"x\" %}b{% endif %}",
                vec![("{% if a == ", Tag), ("\"x\"", Literal), (" %}", Tag), ("{% endif %}", Tag)],
            ),
            ("{{ top_2 + 12 }}", vec![("{{ top_2 + ", Tag), ("12", Literal), (" }}", Tag)]),
            ("a {# why #} b", vec![("{# why #}", Remark)]),
            ("## Tone\nBe kind, not # loud", vec![("## Tone", Heading)]),
            ("- one\n  2. two\n-x", vec![("-", Bullet), ("  2.", Bullet)]),
            ("a {{ b\nc }} d", vec![("{{ b", Tag), ("c }}", Tag)]),
            ("only \"words\" and 12 numbers", vec![]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|(text, sense)| (text.to_owned(), sense)).collect();
            assert_eq!(meanings(Syntax::Template, text), expected, "{text:?}");
        }
        assert_eq!((Tag.role(), Literal.role(), Heading.role()), (Role::Variable, Role::Literal, Role::Strong));
    }

    #[test]
    fn names_texts_numbers_and_words_of_json_have_their_meaning() {
        use Sense::{Literal, Name};
        let text = "{\"a\": \"x \\\" y\", \"b\":\n[-1.5e3, true, {\"c\": null}], \"d\": 7}";
        let expected = [
            ("\"a\"", Name),
            ("\"x \\\" y\"", Literal),
            ("\"b\"", Name),
            ("-1.5e3", Literal),
            ("true", Literal),
            ("\"c\"", Name),
            ("null", Literal),
            ("\"d\"", Name),
            ("7", Literal),
        ];
        assert_eq!(meanings(Syntax::Json, text), expected.map(|(text, sense)| (text.to_owned(), sense)));
    }

    #[test]
    fn a_paragraph_is_json_only_as_a_whole() {
        for (text, expected) in [
            ("{\"a\": 1}\n", Syntax::Json),
            ("  [1, 2]", Syntax::Json),
            ("{{ a }}", Syntax::Template),
            ("{\"a\": {{ b }}}", Syntax::Template),
            ("12", Syntax::Template),
            ("", Syntax::Template),
        ] {
            assert_eq!(Syntax::of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_piece_is_cut_between_clusters_and_a_token_never() {
        let text = "{{ a\u{200b}b }}e\u{301} p\u{430}ypal {{ c }}\u{301}";
        let shown = visible(text);
        let line: String = shown.pieces().iter().map(Piece::text).collect();
        let found = stretches(Syntax::Template, std::slice::from_ref(&line)).remove(0);
        let (mut at, mut all) = (0, Vec::new());
        for piece in shown.pieces() {
            let parts = cut(piece.clone(), at, &found);
            if piece.ink() != Ink::Plain {
                assert_eq!(parts, [(piece.clone(), None)]);
            }
            at += piece.text().len();
            all.extend(parts);
        }
        assert_eq!(all.iter().map(|(piece, _)| piece.text()).collect::<String>(), line);
        assert!(all.iter().any(|(piece, _)| piece.ink() == Ink::Token));
        assert_eq!(all[0].1, Some(Sense::Tag));
        for (piece, _) in &all {
            assert!(!piece.text().starts_with('\u{301}'), "{all:?}");
        }
    }

    #[test]
    fn a_text_that_is_too_large_does_not_fit() {
        let (line, byte) = ("\n".repeat(MOST_LINES), "a".repeat(MOST_BYTES));
        assert!(fits([&*line].into_iter()) && fits([&*byte].into_iter()));
        assert!(!fits([&*line, "\n"].into_iter()) && !fits([&*byte, "a"].into_iter()));
    }
}
