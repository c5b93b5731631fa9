//! Paragraphs: blocks between blank lines; list items, headings, fenced blocks and template tags are kept whole.

/// A line that is longer than this is a paragraph by itself: such text is written one paragraph a line.
const LONG_LINE: usize = 160;
/// How far a template tag may reach before it is taken for text that happens to begin like one.
const LONGEST_TAG: usize = 4000;

/// The paragraphs of `text`, in order and without gaps: concatenated they are the text. Blank lines belong to the paragraph
/// before them, those at the very beginning to the first.
pub(super) fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut fence: Option<&str> = None;
    let mut tag_end = 0;
    // Whether the next line with something on it begins a paragraph.
    let mut closed = true;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let inside = fence.is_some() || at < tag_end;
        if !bare.is_empty() {
            let alone = !inside && stands_alone(line, bare);
            if !inside && at > start && (closed || alone || begins_item(bare)) && !text[start..at].trim().is_empty() {
                found.push(&text[start..at]);
                start = at;
            }
            closed = alone && tag_reaches(text, at).is_none_or(|end| end <= at + line.len());
            match fence {
                Some(mark) if bare.starts_with(mark) && bare.trim_start_matches(&mark[..1]).is_empty() => {
                    fence = None;
                    closed = true;
                }
                None if !inside => fence = fence_mark(bare),
                _ => {}
            }
            if fence.is_none() {
                tag_end = tag_end.max(last_tag_end(text, at, line));
            }
        } else if !inside {
            closed = true;
        }
        at += line.len();
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

fn fence_mark(bare: &str) -> Option<&str> {
    ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark))
}

/// Headings, lines that are one template tag, and long lines.
fn stands_alone(line: &str, bare: &str) -> bool {
    let level = bare.bytes().take_while(|b| *b == b'#').count();
    let heading = (1..=6).contains(&level) && bare[level..].starts_with([' ', '\t']);
    heading || bare.starts_with("{%") || fence_mark(bare).is_some() || line.len() > LONG_LINE
}

/// `- `, `* `, `+ `, `1. `, `1) `
fn begins_item(bare: &str) -> bool {
    let rest = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if rest.len() < bare.len() { rest.strip_prefix(['.', ')']) } else { rest.strip_prefix(['-', '*', '+', '•']) };
    mark.is_some_and(|after| after.starts_with([' ', '\t']))
}

/// Where the tag that stands at the beginning of the line at `at` ends.
fn tag_reaches(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    let indent = rest.len() - rest.trim_start().len();
    tag_length(&rest[indent..]).map(|length| at + indent + length)
}

/// Where the last tag that begins on this line ends, which may be lines further on.
fn last_tag_end(text: &str, at: usize, line: &str) -> usize {
    let mut from = 0;
    let mut end = 0;
    while let Some(found) = line.get(from..).and_then(|rest| rest.find('{')) {
        let begin = from + found;
        match tag_length(&text[at + begin..]) {
            Some(length) => {
                end = at + begin + length;
                from = begin + length;
            }
            None => from = begin + 1,
        }
    }
    end
}

/// Bytes of the template tag at the beginning of `text`: `{{ … }}`, `{% … %}`, `{# … #}`.
pub(super) fn tag_length(text: &str) -> Option<usize> {
    let close = match text.as_bytes().get(..2)? {
        b"{{" => "}}",
        b"{%" => "%}",
        b"{#" => "#}",
        _ => return None,
    };
    let mut limit = text.len().min(LONGEST_TAG);
    while !text.is_char_boundary(limit) {
        limit -= 1;
    }
    text[2..limit].find(close).map(|at| 2 + at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_falls_into_paragraphs_as_a_reader_sees_them() {
        let long = format!("{}\n", "word ".repeat(40));
        for (text, expected) in [
            ("a\nb\n\nc\n", vec!["a\nb\n\n", "c\n"]),
            ("\n\na\n\n\nb", vec!["\n\na\n\n\n", "b"]),
            ("# H\ntext\nmore\n", vec!["# H\n", "text\nmore\n"]),
            ("intro:\n- one\n  more\n- two\n1. three\n", vec!["intro:\n", "- one\n  more\n", "- two\n", "1. three\n"]),
            ("a\n```\nx\n\ny\n```\nb\n", vec!["a\n", "```\nx\n\ny\n```\n", "b\n"]),
            ("{% if a %}\ntext\n{% endif %}\n", vec!["{% if a %}\n", "text\n", "{% endif %}\n"]),
            ("Hi {{\n\n name\n}} there\n\nb", vec!["Hi {{\n\n name\n}} there\n\n", "b"]),
            ("{{ never closed\n\nb", vec!["{{ never closed\n\n", "b"]),
            ("a\r\n\r\nb\r\n", vec!["a\r\n\r\n", "b\r\n"]),
            ("2.5 is a number\n-dash\n", vec!["2.5 is a number\n-dash\n"]),
            ("", vec![]),
            ("\n", vec!["\n"]),
        ] {
            assert_eq!(paragraphs(text), expected, "{text:?}");
        }
        let two = format!("{long}{long}");
        assert_eq!(paragraphs(&two).len(), 2);
    }

    proptest! {
        #[test]
        fn paragraphs_are_the_text_without_gaps(text in "([a-z#*`~{}% -]{0,8}(\n|\r\n|\n\n)?){0,12}") {
            let found = paragraphs(&text);
            prop_assert_eq!(found.concat(), text.clone());
            prop_assert!(found.iter().all(|p| !p.is_empty()));
        }
    }
}
