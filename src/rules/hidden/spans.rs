//! Hidden characters in what was added: the same on client and server, so that an acknowledgement can be compared.

use super::Bodies;
use super::fate::{Fate, fates};
use crate::model::approval::HiddenSpan;
use crate::model::{Content, Format};
use serde_json::Value;
use std::collections::HashMap;

/// Characters on each side that tell one hidden character from another: the same neighbours in the old text mean that it
/// was there before. Too few would let a copy through, too many would ask again after each edit nearby.
const NEIGHBOURS: usize = 8;
/// Spans of one text that are listed one by one; what follows is one span with every code point that it holds.
const LISTED: usize = 256;

/// Hidden characters of one text.
struct Found {
    start: usize,
    chars: Vec<char>,
    around: String,
}

/// Hidden characters of `new` that `old` did not have; `path` is empty. The same on every machine, linear in the length.
pub fn spans(old: Option<&str>, new: &str) -> Vec<HiddenSpan> {
    let mut known = HashMap::new();
    if let Some(old) = old {
        remember(&mut known, "", found(old));
    }
    added(&mut known, "", "", found(new))
}

/// Hidden characters in what `new` adds to `old`: body, names, model_pin, parameters, defaults, template literals after
/// their escapes, and the bodies of pinned fragments (`/fragments/NAME/body`). A member's name stands at its path + `#name`.
pub fn content_spans(old: Option<&Content>, new: &Content, old_bodies: &Bodies, new_bodies: &Bodies) -> Vec<HiddenSpan> {
    let mut known = HashMap::new();
    for text in old.map(|old| texts(old, old_bodies)).unwrap_or_default() {
        remember(&mut known, &text.area, text.found());
    }
    let mut spans = Vec::new();
    for text in texts(new, new_bodies) {
        spans.extend(added(&mut known, &text.area, &text.path, text.found()));
    }
    spans.sort();
    spans
}

/// The text without characters that have no shape, unusual spaces as usual ones: what a reader believes to see.
pub fn without_hidden(text: &str) -> String {
    if text.is_ascii() && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\r' && c != '\t') {
        return text.to_owned();
    }
    let keep = |(_, c, fate): (usize, char, Fate)| match (c, fate) {
        ('\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}', _) => Some(' '),
        (c, Fate::Plain) | (c @ ('\n' | '\r' | '\t'), _) => Some(c),
        _ => None,
    };
    fates(text).into_iter().filter_map(keep).collect()
}

type Known = HashMap<(String, String), usize>;

fn remember(known: &mut Known, area: &str, found: Vec<Found>) {
    for one in found {
        *known.entry((area.to_owned(), one.around)).or_default() += 1;
    }
}

fn added(known: &mut Known, area: &str, path: &str, found: Vec<Found>) -> Vec<HiddenSpan> {
    let mut fresh: Vec<Found> = found
        .into_iter()
        .filter(|one| match known.get_mut(&(area.to_owned(), one.around.clone())) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        })
        .collect();
    if fresh.len() > LISTED {
        let rest = fresh.split_off(LISTED - 1);
        let start = rest.first().map_or(0, |one| one.start);
        let mut chars: Vec<char> = rest.into_iter().flat_map(|one| one.chars).collect();
        chars.sort_unstable();
        chars.dedup();
        fresh.push(Found { start, chars, around: String::new() });
    }
    let words = |chars: &[char]| chars.iter().map(|c| format!("U+{:04X}", u32::from(*c))).collect::<Vec<_>>().join(" ");
    let span = |one: Found| HiddenSpan {
        path: path.to_owned(),
        start: u32::try_from(one.start).unwrap_or(u32::MAX),
        code_points: words(&one.chars),
    };
    fresh.into_iter().map(span).collect()
}

/// Printable ASCII and line ends: nothing can hide in it.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t'))
}

fn found(text: &str) -> Vec<Found> {
    if is_plain(text) {
        return Vec::new();
    }
    let fates = fates(text);
    let mut all = Vec::new();
    let mut i = 0;
    while i < fates.len() {
        let length = fates[i..].iter().take_while(|f| f.2 == Fate::Alarm).count();
        if length > 0 {
            all.push(Found {
                start: i,
                chars: fates[i..i + length].iter().map(|f| f.1).collect(),
                around: fates[i.saturating_sub(NEIGHBOURS)..fates.len().min(i + length + NEIGHBOURS)]
                    .iter()
                    .map(|f| f.1)
                    .collect(),
            });
        }
        i += length.max(1);
    }
    all
}

/// Hidden characters that escapes in the string literals of template tags spell: `{{ x | default("\u202e") }}`.
fn found_in_literals(text: &str) -> Vec<Found> {
    if !(text.contains('\\') && (text.contains("{{") || text.contains("{%"))) {
        return Vec::new();
    }
    let chars: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut inside = false;
    let mut i = 0;
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('{', '{' | '%') => inside = true,
            ('}' | '%', '}') => inside = false,
            ('\\', kind) if inside => {
                let (c, length) = escaped(kind, &chars[i + 2..]);
                if let Some(c) = c.filter(|c| fates(&format!("a{c}b"))[1].2 == Fate::Alarm) {
                    let around = chars[i.saturating_sub(NEIGHBOURS)..chars.len().min(i + length + NEIGHBOURS)].iter().collect();
                    all.push(Found { start: i, chars: vec![c], around });
                }
                i += length;
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    all
}

/// The character that an escape spells and the length of the escape, backslash included.
fn escaped(kind: char, rest: &[char]) -> (Option<char>, usize) {
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '0' => return (Some('\0'), 2),
        'b' => return (Some('\u{8}'), 2),
        'f' => return (Some('\u{c}'), 2),
        'r' => return (Some('\r'), 2),
        _ => return (None, 2),
    };
    let read = |from: usize| {
        let hex: String = rest.iter().skip(from).take(digits).collect();
        (hex.chars().count() == digits).then(|| u32::from_str_radix(&hex, 16).ok()).flatten()
    };
    match read(0) {
        // A pair of surrogates is one character beyond the basic plane.
        Some(high @ 0xd800..=0xdbff) if kind == 'u' && rest.get(4..6) == Some(&['\\', 'u']) => match read(6) {
            Some(low @ 0xdc00..=0xdfff) => (char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12),
            _ => (None, 6),
        },
        code => (code.and_then(char::from_u32), 2 + digits),
    }
}

/// A text of a content, and the area in which it may have stood before.
struct Place {
    area: String,
    path: String,
    text: String,
    template: bool,
}

impl Place {
    fn found(&self) -> Vec<Found> {
        let mut all = found(&self.text);
        if self.template {
            all.extend(found_in_literals(&self.text));
            all.sort_by_key(|one| one.start);
        }
        all
    }
}

/// Every text of a content that a reader is shown or that is served, as far as anything can hide in it.
fn texts(content: &Content, bodies: &Bodies) -> Vec<Place> {
    let template = matches!(content.format, Format::Template | Format::Chat);
    let mut walk = Walk { area: "body".to_owned(), path: String::new(), template, all: Vec::new() };
    walk.step("body", |walk| walk.value(&content.body));
    (walk.area, walk.template) = ("model_pin".to_owned(), false);
    walk.step("model_pin", |walk| walk.text(content.model_pin.as_deref().unwrap_or_default()));
    walk.area = String::from("parameters");
    walk.step("parameters", |walk| content.parameters.iter().for_each(|(name, value)| walk.member(name, value)));
    walk.area = String::from("variables");
    walk.step("variables", |walk| {
        for (i, variable) in content.variables.iter().enumerate() {
            walk.step(&i.to_string(), |walk| {
                walk.step("name", |walk| walk.text(&variable.name));
                walk.step("default", |walk| walk.value(&variable.default));
            });
        }
    });
    walk.step("fragments", |walk| {
        for name in content.fragments.keys() {
            (walk.area, walk.template) = ("fragments".to_owned(), false);
            walk.name(name);
            (walk.area, walk.template) = (format!("fragment {name}"), true);
            walk.step(name, |walk| walk.step("body", |walk| walk.text(bodies.get(name).map_or("", String::as_str))));
        }
    });
    walk.all
}

/// On the way through a content.
struct Walk {
    area: String,
    path: String,
    template: bool,
    all: Vec<Place>,
}

impl Walk {
    fn step(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        if name.contains(['~', '/']) {
            self.path.push_str(&pointer_segment(name));
        } else {
            self.path.push_str(name);
        }
        inside(self);
        self.path.truncate(length);
    }
    fn text(&mut self, text: &str) {
        if !is_plain(text) || (self.template && text.contains('\\')) {
            let (area, path) = (self.area.clone(), self.path.clone());
            self.all.push(Place { area, path, text: text.to_owned(), template: self.template });
        }
    }
    fn name(&mut self, name: &str) {
        if !is_plain(name) {
            let (area, path) = (self.area.clone(), format!("{}/{}#name", self.path, pointer_segment(name)));
            self.all.push(Place { area, path, text: name.to_owned(), template: false });
        }
    }
    fn member(&mut self, name: &str, value: &Value) {
        // The members of a chat message are named by the format, not by its author.
        if !self.template {
            self.name(name);
        }
        self.step(name, |walk| walk.value(value));
    }
    fn value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.step(&i.to_string(), |walk| walk.value(item));
                }
            }
            Value::Object(members) => members.iter().for_each(|(name, value)| self.member(name, value)),
            _ => {}
        }
    }
}

/// RFC 6901: `~` and `/` in a name.
pub(crate) fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Variable, VariableType};
    use serde_json::json;

    fn content(format: Format, body: Value) -> Content {
        Content {
            key: "support.refund".parse().unwrap(),
            format,
            body,
            model_pin: None,
            parameters: serde_json::Map::new(),
            fragments: std::collections::BTreeMap::new(),
            variables: Vec::new(),
            schema: 1,
        }
    }

    fn of(old: Option<&Content>, new: &Content) -> Vec<(String, u32, String)> {
        let none = Bodies::new();
        content_spans(old, new, &none, &none).into_iter().map(|s| (s.path, s.start, s.code_points)).collect()
    }

    #[test]
    fn only_what_was_added_counts() {
        let old = "Answer\u{200b} only about orders that the customer owns. Be brief.";
        assert_eq!(spans(None, old).len(), 1);
        assert!(spans(Some(old), old).is_empty());
        assert!(spans(Some(old), &old.replace("brief", "short")).is_empty(), "an edit far away asks nothing again");
        let doubled = format!("{old} Never\u{200b} promise.");
        assert_eq!(spans(Some(old), &doubled).len(), 1);
        assert_eq!(spans(Some(old), &doubled)[0].start, 65);
    }

    #[test]
    fn a_run_of_hidden_characters_is_one_span_with_its_code_points() {
        let spans = spans(None, "a\u{e0041}\u{e0042}b\u{202e}");
        assert_eq!(spans[0].code_points, "U+E0041 U+E0042");
        assert_eq!((spans[1].start, &*spans[1].code_points), (4, "U+202E"));
    }

    #[test]
    fn every_place_that_holds_text_is_looked_at() {
        let mut new = content(Format::Chat, json!([{"role": "user", "content": "a\u{200b}"}]));
        new.model_pin = Some("gpt\u{200b}-x".into());
        new.parameters.insert("sto\u{200b}p".into(), json!(["\u{202e}end"]));
        let kind = VariableType::String;
        new.variables.push(Variable { name: "tone".into(), kind, required: false, default: json!("b\u{feff}") });
        let digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
        new.fragments.insert("tone.core".into(), digest.parse().unwrap());
        let bodies = Bodies::from([("tone.core".to_owned(), "be\u{200b} kind".to_owned())]);
        let paths: Vec<String> = content_spans(None, &new, &Bodies::new(), &bodies).into_iter().map(|s| s.path).collect();
        let expected = [
            "/body/0/content",
            "/fragments/tone.core/body",
            "/model_pin",
            "/parameters/sto\u{200b}p#name",
            "/parameters/sto\u{200b}p/0",
            "/variables/0/default",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn json_bodies_are_looked_at_by_path() {
        let new = content(Format::Json, json!({"a/b": {"x\u{200b}": "y\u{202e}"}}));
        let found: Vec<String> = of(None, &new).into_iter().map(|s| s.0).collect();
        assert_eq!(found, ["/body/a~1b/x\u{200b}", "/body/a~1b/x\u{200b}#name"]);
    }

    #[test]
    fn escapes_in_template_literals_are_read() {
        let new = content(Format::Template, json!("Hi {{ name | default(\"\\u202e\\n\\ud83d\\ude00\") }} and \\u202e outside"));
        assert_eq!(of(None, &new), [("/body".to_owned(), 22, "U+202E".to_owned())]);
        assert!(of(None, &content(Format::Text, new.body.clone())).is_empty(), "literal text has no escapes");
    }

    #[test]
    fn a_message_that_only_moved_asks_nothing() {
        let message = |text: &str| json!({"role": "user", "content": text});
        let old = content(Format::Chat, json!([message("look\u{200b}")]));
        let new = content(Format::Chat, json!([message("first"), message("look\u{200b}")]));
        assert!(of(Some(&old), &new).is_empty());
    }

    #[test]
    fn thousands_of_spans_are_listed_as_a_few_hundred() {
        let found = spans(None, &"a\u{200b}".repeat(5000));
        assert_eq!(found.len(), LISTED);
    }
}
