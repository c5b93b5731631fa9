//! Differences of structure between two contents: members first, then each text with its own difference.

use super::hidden::{Bodies, content_spans, lookalike};
use super::prose::{self, BUDGET, Unit};
use crate::model::diff::{Change, ContentDiff, FieldChange, TextDiff};
use crate::model::{Content, Format};
use serde_json::{Map, Value, json};
use similar::{Algorithm, DiffTag, capture_diff_slices};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The whole difference of two contents of a key, with the bodies of the fragments that each pins; `from` is `None` where
/// there was nothing before. Texts are marked by words, within the usual budget for all of them together.
pub fn content_diff(from: Option<&Content>, to: &Content, from_bodies: &Bodies, to_bodies: &Bodies) -> ContentDiff {
    content_diff_by(from, to, (from_bodies, to_bodies), Unit::Word, BUDGET)
}

/// [`content_diff`] with marks by another unit and another budget.
pub fn content_diff_by(
    from: Option<&Content>,
    to: &Content,
    bodies: (&Bodies, &Bodies),
    unit: Unit,
    budget: Duration,
) -> ContentDiff {
    let mut found = Finder { fields: Vec::new(), texts: Vec::new(), lookalikes: Vec::new(), unit, end: Instant::now() + budget };
    let nothing = Value::Null;
    if let Some(from) = from.filter(|from| from.format != to.format) {
        found.value("/format", Some(&json!(from.format)), Some(&json!(to.format)));
    }
    found.value("/model_pin", from.map(|c| json!(c.model_pin)).as_ref(), Some(&json!(to.model_pin)));
    let none = Map::new();
    found.members("/parameters", from.map_or(&none, |c| &c.parameters), &to.parameters);
    found.fragments(from, to, bodies);
    found.variables(from, to);
    let body = from.map(|c| &c.body);
    match (to.format, body.filter(|_| from.is_some_and(|c| c.format == to.format))) {
        (Format::Json, same) => found.value("/body", Some(same.unwrap_or(&nothing)).filter(|_| from.is_some()), Some(&to.body)),
        (Format::Chat, same) => found.messages(same.or(body), &to.body),
        (Format::Text | Format::Template, same) => {
            let old = same.or(body).map(text_of);
            found.text("/body".to_owned(), old.as_deref().unwrap_or_default(), &text_of(&to.body));
        }
    }
    // The text itself is read before the fragments that it includes.
    found.texts.sort_by_key(|(path, _)| path.starts_with("/fragments/"));
    let hidden = content_spans(from, to, bodies.0, bodies.1);
    ContentDiff { fields: found.fields, texts: found.texts, hidden, lookalikes: found.lookalikes }
}

/// A body as text: a string as it stands, anything else as pretty JSON.
fn text_of(body: &Value) -> String {
    match body {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

struct Finder {
    fields: Vec<FieldChange>,
    texts: Vec<(String, TextDiff)>,
    lookalikes: Vec<(String, String)>,
    unit: Unit,
    end: Instant,
}

impl Finder {
    /// A text that may have changed; nothing is noted where it has not.
    fn text(&mut self, path: String, old: &str, new: &str) {
        if old == new {
            return;
        }
        let diff = prose::diff(old, new, self.unit, self.end.saturating_duration_since(Instant::now()));
        for pair in diff.blocks.iter().flat_map(|b| b.runs.windows(2)) {
            if (pair[0].change, pair[1].change) == (Change::Delete, Change::Insert) {
                self.words(&path, &pair[0].text, &pair[1].text);
            }
        }
        self.texts.push((path, diff));
    }

    /// Words that changed only in what they are, not in what they look like.
    fn words(&mut self, path: &str, old: &str, new: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split_whitespace().collect(), new.split_whitespace().collect());
        if old.len() == new.len() {
            let words = old.iter().zip(&new).filter_map(|(old, new)| lookalike(old, new));
            self.lookalikes.extend(words.map(|words| (path.to_owned(), words)));
        }
    }

    /// A value, by its structure: only members that differ are noted.
    fn value(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => self.members(path, old, new),
            (old, new) if old == new || (old.is_none() && new == Some(&Value::Null)) => {}
            (Some(Value::Array(old)), Some(Value::Array(new))) => self.items(path, old, new),
            _ => self.field(path, old, new),
        }
    }

    fn members(&mut self, path: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let gone = old.iter().filter(|(name, _)| !new.contains_key(*name)).map(|(name, value)| (name, Some(value), None));
        let here = new.iter().map(|(name, value)| (name, old.get(name), Some(value)));
        // Whole members that are equal cost one comparison; paths are made only for the others.
        let differ = |(_, old, new): &(&String, Option<&Value>, Option<&Value>)| match (old, new) {
            (Some(Value::Object(_)), Some(Value::Object(_))) => true,
            (old, new) => old != new,
        };
        let mut changed: Vec<(&String, Option<&Value>, Option<&Value>)> = gone.chain(here).filter(differ).collect();
        changed.sort_by_key(|member| member.0);
        for (name, before, after) in changed {
            let path = format!("{path}/{}", super::hidden::pointer_segment(name));
            if before.is_none() {
                // A name that only looks like one that went away.
                for gone in old.keys().filter(|gone| !name.is_ascii() && !new.contains_key(*gone)) {
                    self.words(&path, gone, name);
                }
                self.field(&path, None, after);
            } else if after.is_none() {
                self.field(&path, before, None);
            } else {
                self.value(&path, before, after);
            }
        }
    }

    /// Lists are aligned by their items; an item that faces another of its kind is compared with it.
    fn items(&mut self, path: &str, old: &[Value], new: &[Value]) {
        let keys = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>();
        for op in capture_diff_slices(Algorithm::Myers, &keys(old), &keys(new)) {
            let (tag, from, to) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                continue;
            }
            let pairs = from.len().max(to.len());
            for i in 0..pairs {
                let (o, n) = (from.start + i, to.start + i);
                let (before, after) = (old.get(o).filter(|_| o < from.end), new.get(n).filter(|_| n < to.end));
                let path = format!("{path}/{}", if after.is_some() { n } else { o });
                match (before, after) {
                    (Some(before), Some(after)) => self.value(&path, Some(before), Some(after)),
                    (before, after) => self.field(&path, before, after),
                }
            }
        }
    }

    fn field(&mut self, path: &str, old: Option<&Value>, new: Option<&Value>) {
        let note = note(old, new);
        if let (Some(Value::String(old)), Some(Value::String(new))) = (old, new) {
            self.words(path, old, new);
        }
        let json = |value: Option<&Value>| value.map(Value::to_string);
        self.fields.push(FieldChange { path: path.to_owned(), old: json(old), new: json(new), note });
    }

    fn fragments(&mut self, from: Option<&Content>, to: &Content, bodies: (&Bodies, &Bodies)) {
        let pinned = from.map(|c| &c.fragments);
        let names: BTreeSet<&String> = pinned.into_iter().flat_map(|p| p.keys()).chain(to.fragments.keys()).collect();
        for name in names {
            let (old, new) = (pinned.and_then(|p| p.get(name)), to.fragments.get(name));
            if old == new {
                continue;
            }
            let path = format!("/fragments/{}", super::hidden::pointer_segment(name));
            self.field(&path, old.map(|d| json!(d)).as_ref(), new.map(|d| json!(d)).as_ref());
            let body = |pinned: bool, bodies: &Bodies| bodies.get(name).filter(|_| pinned).cloned().unwrap_or_default();
            self.text(format!("{path}/body"), &body(old.is_some(), bodies.0), &body(new.is_some(), bodies.1));
        }
    }

    /// Variables by name; their order is content too.
    fn variables(&mut self, from: Option<&Content>, to: &Content) {
        let old = from.map(|c| &*c.variables).unwrap_or_default();
        let names: Vec<&String> = old.iter().chain(&to.variables).map(|v| &v.name).collect();
        let mut known = BTreeSet::new();
        for name in names.into_iter().filter(|name| known.insert(*name)) {
            let of = |list: &[crate::model::Variable]| list.iter().find(|v| v.name == *name).map(|v| json!(v));
            self.value(
                &format!("/variables/{}", super::hidden::pointer_segment(name)),
                of(old).as_ref(),
                of(&to.variables).as_ref(),
            );
        }
        let order = |list: &[crate::model::Variable]| list.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        let (before, after) = (order(old), order(&to.variables));
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        if before != after && sorted(before.clone()) == sorted(after.clone()) {
            self.field("/variables", Some(&json!(before)), Some(&json!(after)));
        }
    }

    /// Messages of a chat, aligned by role and text: a text each, and a field where role or placeholder changed.
    fn messages(&mut self, old: Option<&Value>, new: &Value) {
        let list = |body: Option<&Value>| match body {
            Some(Value::Array(items)) => items.clone(),
            None => Vec::new(),
            Some(other) => vec![json!({"role": "user", "content": text_of(other)})],
        };
        let (old, new) = (list(old), list(Some(new)));
        let keys = |items: &[Value]| items.iter().map(Value::to_string).collect::<Vec<_>>();
        for op in capture_diff_slices(Algorithm::Myers, &keys(&old), &keys(&new)) {
            let (tag, from, to) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                continue;
            }
            for i in 0..from.len().max(to.len()) {
                let (o, n) = (from.start + i, to.start + i);
                let (before, after) = (old.get(o).filter(|_| o < from.end), new.get(n).filter(|_| n < to.end));
                self.message(if after.is_some() { n } else { o }, before, after);
            }
        }
    }

    fn message(&mut self, at: usize, old: Option<&Value>, new: Option<&Value>) {
        let head = |message: Option<&Value>| {
            message.map(|m| m.get("role").or_else(|| m.get("placeholder")).cloned().unwrap_or(Value::Null))
        };
        let name = |m: Option<&Value>| if m.is_some_and(|m| m.get("placeholder").is_some()) { "placeholder" } else { "role" };
        let path = format!("/body/{at}");
        if head(old) != head(new) || name(old) != name(new) {
            self.field(&format!("{path}/{}", name(new.or(old))), head(old).as_ref(), head(new).as_ref());
        }
        let text = |message: Option<&Value>| {
            message.and_then(|m| m.get("content")).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        self.text(format!("{path}/content"), &text(old), &text(new));
    }
}

/// What is easily missed, in words.
fn note(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    let (old, new) = (old?, new?);
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    if kind(old) != kind(new) && !old.is_null() && !new.is_null() {
        return Some(format!("type changes from {} to {}", kind(old), kind(new)));
    }
    let (Value::String(old), Value::String(new)) = (old, new) else { return None };
    if lookalike(old, new).is_some() {
        return Some("look-alike letters".to_owned());
    }
    let unseen = |text: &str| super::hidden::without_hidden(text);
    if unseen(old) == unseen(new) {
        return Some("only invisible characters differ".to_owned());
    }
    old.split_ascii_whitespace().eq(new.split_ascii_whitespace()).then(|| "only whitespace differs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Variable, VariableType};

    fn content(format: Format, body: Value) -> Content {
        let variables = Vec::new();
        let (key, parameters, fragments) = ("support.refund".parse().unwrap(), Map::new(), std::collections::BTreeMap::new());
        Content { key, format, body, model_pin: None, parameters, fragments, variables, schema: 1 }
    }

    fn of(from: &Content, to: &Content) -> ContentDiff {
        content_diff(Some(from), to, &Bodies::new(), &Bodies::new())
    }

    fn fields(diff: &ContentDiff) -> Vec<String> {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        diff.fields
            .iter()
            .map(|f| {
                format!(
                    "{} {} {}{}",
                    f.path,
                    show(&f.old),
                    show(&f.new),
                    f.note.as_ref().map_or(String::new(), |n| format!(" ({n})"))
                )
            })
            .collect()
    }

    #[test]
    fn json_bodies_are_compared_by_structure_and_types_are_named() {
        let from = content(Format::Json, json!({"b": 1, "a": {"x": "1", "y": [1, 2, 3]}, "gone": true}));
        let to = content(Format::Json, json!({"a": {"y": [1, 3], "x": 1}, "b": 1, "new": null}));
        let expected = [
            "/body/a/x \"1\" 1 (type changes from string to number)",
            "/body/a/y/1 2 -",
            "/body/gone true -",
            "/body/new - null",
        ];
        assert_eq!(fields(&of(&from, &to)), expected);
        assert!(of(&from, &from).fields.is_empty());
    }

    #[test]
    fn members_of_the_content_are_compared_one_by_one() {
        let digest = |c: char| format!("sha256:{}", c.to_string().repeat(64)).parse::<crate::model::Digest>().unwrap();
        let variable =
            |name: &str, required| Variable { name: name.into(), kind: VariableType::String, required, default: Value::Null };
        let mut from = content(Format::Template, json!("Hi"));
        from.model_pin = Some("gpt-x".into());
        from.parameters.insert("temperature".into(), json!(0.5));
        from.fragments.insert("tone".into(), digest('a'));
        from.variables = vec![variable("name", true), variable("tier", false)];
        let mut to = from.clone();
        to.model_pin = None;
        to.parameters.insert("temperature".into(), json!("0.5"));
        to.fragments.insert("tone".into(), digest('b'));
        to.variables = vec![variable("name", false), variable("policy", false)];
        let bodies = |text: &str| Bodies::from([("tone".to_owned(), text.to_owned())]);
        let diff = content_diff(Some(&from), &to, &bodies("Be kind."), &bodies("Be brief."));
        let names: Vec<&str> = diff.fields.iter().map(|f| &*f.path).collect();
        let expected = [
            "/model_pin",
            "/parameters/temperature",
            "/fragments/tone",
            "/variables/name/required",
            "/variables/tier",
            "/variables/policy",
        ];
        assert_eq!(names, expected);
        assert_eq!(diff.texts.len(), 1);
        assert_eq!(diff.texts[0].0, "/fragments/tone/body");
    }

    #[test]
    fn the_order_of_variables_is_content() {
        let variable =
            |name: &str| Variable { name: name.into(), kind: VariableType::String, required: true, default: Value::Null };
        let mut from = content(Format::Template, json!("Hi"));
        from.variables = vec![variable("a"), variable("b")];
        let mut to = from.clone();
        to.variables.reverse();
        assert_eq!(fields(&of(&from, &to)), ["/variables [\"a\",\"b\"] [\"b\",\"a\"]"]);
    }

    #[test]
    fn chat_messages_are_aligned() {
        let message = |role: &str, text: &str| json!({"role": role, "content": text});
        let from = content(Format::Chat, json!([message("system", "Be kind."), message("user", "{{ q }}")]));
        let to = content(
            Format::Chat,
            json!([message("system", "Be brief."), json!({"placeholder": "history"}), message("user", "{{ q }}")]),
        );
        let diff = of(&from, &to);
        assert_eq!(diff.texts.iter().map(|t| &*t.0).collect::<Vec<_>>(), ["/body/0/content"]);
        assert_eq!(fields(&diff), ["/body/1/placeholder - \"history\""]);
    }

    #[test]
    fn a_first_version_is_all_new() {
        let to = content(Format::Text, json!("One.\n\nTwo.\n"));
        let diff = content_diff(None, &to, &Bodies::new(), &Bodies::new());
        assert!(diff.fields.is_empty());
        assert_eq!(diff.texts[0].1.blocks.len(), 2);
        let json = content(Format::Json, json!({"a": 1}));
        assert_eq!(fields(&content_diff(None, &json, &Bodies::new(), &Bodies::new())), ["/body - {\"a\":1}"]);
    }

    #[test]
    fn a_change_that_cannot_be_seen_is_shown_and_said() {
        let old = "Pay with paypal and answer in one line.\nThen stop.\n";
        for (new, note, hidden, lookalikes) in [
            (old.replace("answer", "ans\u{200b}wer"), "only invisible characters differ, added U+200B", 1, 0),
            (old.replace("answer", "\u{202e}answer"), "only invisible characters differ, added U+202E", 1, 0),
            (old.replace("line", "line\u{e0041}\u{e0042}"), "only invisible characters differ, added U+E0041 U+E0042", 1, 0),
            (old.replace('\n', "\r\n"), "only line endings differ: LF (old), CRLF (new)", 0, 0),
            (old.replace("line.", "line. "), "only whitespace differs", 0, 0),
            (old.replace("paypal", "p\u{430}ypal"), "only look-alike letters differ", 0, 1),
        ] {
            let diff = of(&content(Format::Text, json!(old)), &content(Format::Text, json!(new)));
            let text = &diff.texts[0].1;
            assert_eq!(text.notes, [note], "{new:?}");
            assert_eq!((diff.hidden.len(), diff.lookalikes.len()), (hidden, lookalikes), "{new:?}");
            assert!(text.blocks.iter().any(|b| b.kind != crate::model::diff::BlockKind::Equal));
        }
    }

    #[test]
    fn a_look_alike_in_a_name_is_said() {
        let mut from = content(Format::Text, json!("Hi"));
        from.model_pin = Some("gpt-pay".into());
        from.parameters.insert("top".into(), json!(1));
        let mut to = content(Format::Text, json!("Hi"));
        to.model_pin = Some("gpt-p\u{430}y".into());
        to.parameters.insert("t\u{43e}p".into(), json!(1));
        let diff = of(&from, &to);
        let expected = ["\"gpt-p\u{430}y\" (U+0430) looks like \"gpt-pay\"", "\"t\u{43e}p\" (U+043E) looks like \"top\""];
        assert_eq!(diff.lookalikes.iter().map(|l| &*l.1).collect::<Vec<_>>(), expected);
        assert_eq!(diff.fields[0].note.as_deref(), Some("look-alike letters"));
    }
}
