//! What the syntax tree no longer shows: comments, raw blocks, `+` marks, escapes, spellings, markers of an include.

use super::{syntax, wrong};
use crate::model::Refusal;
use minijinja::machinery::{Span, Token, tokenize};

/// Refuses what readers of Jinja read differently before any tree is built.
pub(super) fn check(source: &str) -> Result<(), Refusal> {
    let mut tokens: Vec<(Token<'_>, Span)> = Vec::new();
    // A fault that the tokenizer finds is told by the parser, which says it with its place.
    for token in tokenize(source, false, syntax()).map_while(Result::ok) {
        tokens.push(token);
    }
    depth(source, &tokens)?;
    tags(source, &tokens)?;
    for (token, span) in &tokens {
        word(source, token, *span)?;
    }
    includes(source, &tokens)
}

/// The most tokens in one tag.
const TAG_TOKENS: usize = 200;
/// The most blocks that stand open at one place; each `elif` opens one more.
const OPEN_BLOCKS: usize = 50;

/// Bounds what the parser and the walk over its tree recurse into.
fn depth(source: &str, tokens: &[(Token<'_>, Span)]) -> Result<(), Refusal> {
    let mut open: Vec<usize> = Vec::new();
    let mut start = 0;
    for (at, (token, span)) in tokens.iter().enumerate() {
        let offset = span.start_offset as usize;
        match token {
            Token::VariableStart | Token::BlockStart => start = at,
            Token::Ident(word) if at > 0 && matches!(tokens[at - 1].0, Token::BlockStart) => match *word {
                "elif" | "else" => open.last_mut().into_iter().for_each(|arms| *arms += 1),
                word if word.starts_with("end") => drop(open.pop()),
                _ => open.push(1),
            },
            _ => {}
        }
        if at - start > TAG_TOKENS {
            return Err(wrong(source, offset, format_args!("a tag has {TAG_TOKENS} words at most")));
        }
        if open.iter().sum::<usize>() > OPEN_BLOCKS {
            return Err(wrong(source, offset, format_args!("blocks nest {OPEN_BLOCKS} deep at most, each elif counting as one")));
        }
    }
    Ok(())
}

/// Walks from tag to tag in the text itself: comments and raw blocks leave no token.
fn tags(source: &str, tokens: &[(Token<'_>, Span)]) -> Result<(), Refusal> {
    let ends = tokens.iter().filter(|(token, _)| matches!(token, Token::VariableEnd | Token::BlockEnd));
    let mut ends = ends.map(|(_, span)| span.end_offset as usize);
    let mut from = 0;
    while let Some((at, open)) = next_tag(source, from) {
        plain(source, from, at)?;
        let inside = source[at + 2..].trim_start_matches(['-', '+']);
        if open == "{#" {
            return Err(wrong(source, at, "comments are not in the template subset"));
        }
        if open == "{%" && inside.trim_start().starts_with("raw") {
            return Err(wrong(source, at, "raw blocks are not in the template subset"));
        }
        if source[at + 2..].starts_with('+') {
            return Err(wrong(source, at + 2, "`+` at the edge of a tag is not in the template subset"));
        }
        // Both go forward only: a text that is all tags is walked once.
        let Some(end) = ends.find(|end| *end > at) else { return Ok(()) };
        if source[..end.saturating_sub(2)].ends_with('+') {
            return Err(wrong(source, end - 3, "`+` at the edge of a tag is not in the template subset"));
        }
        from = end;
    }
    plain(source, from, source.len())
}

/// Text between tags: nunjucks takes a lone `#}` for the end of a comment.
fn plain(source: &str, from: usize, to: usize) -> Result<(), Refusal> {
    match source[from..to].find("#}") {
        Some(at) => Err(wrong(source, from + at, "readers stumble over `#}` outside of tags: put something between the two")),
        None => Ok(()),
    }
}

fn next_tag(source: &str, from: usize) -> Option<(usize, &str)> {
    let at = from + source[from..].match_indices('{').find(|(at, _)| source[from + at + 1..].starts_with(['{', '%', '#']))?.0;
    Some((at, &source[at..at + 2]))
}

fn word(source: &str, token: &Token<'_>, span: Span) -> Result<(), Refusal> {
    let (start, end) = (span.start_offset as usize, span.end_offset as usize);
    match token {
        Token::Ident(name @ ("True" | "False" | "None")) => {
            Err(wrong(source, start, format_args!("write {} instead of {name}", name.to_lowercase())))
        }
        Token::Ident("null") => Err(wrong(source, start, "write none instead of null")),
        Token::Str(_) | Token::String(_) => {
            let mut escaped = source.get(start..end).unwrap_or("").chars();
            while let Some(c) = escaped.next() {
                if c == '\\' && !matches!(escaped.next(), Some('n' | 't' | 'r' | '\\' | '"' | '\'')) {
                    return Err(wrong(source, start, "a text in a tag knows the escapes \\n \\t \\r \\\\ \\\" \\' only"));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// An include is a literal name and nothing else: `ignore missing` and `without context` leave no trace in the tree.
fn includes(source: &str, tokens: &[(Token<'_>, Span)]) -> Result<(), Refusal> {
    for (at, (token, span)) in tokens.iter().enumerate() {
        let opens = at > 0 && matches!(tokens[at - 1].0, Token::BlockStart);
        if !opens || !matches!(token, Token::Ident("include")) {
            continue;
        }
        let literal = matches!(tokens.get(at + 1), Some((Token::Str(_), _)));
        if !literal || !matches!(tokens.get(at + 2), Some((Token::BlockEnd, _))) {
            let what = "an include is the literal name of a fragment, `{% include \"name\" %}`, and nothing else";
            return Err(wrong(source, span.start_offset as usize, what));
        }
    }
    Ok(())
}
