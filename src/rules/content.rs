//! Whether a content is one: formats, variables, fragments.

use super::canonical::{canonical, push_pointer, sha256};
use super::template::{self, Used, fits, is_variable_name};
use crate::model::ids::check_fragment_name;
use crate::model::{Content, Digest, Format, Fragment, Refusal};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A content that was found to be one.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The content.
    pub content: Content,
    /// Its canonical JSON: what is stored and hashed.
    pub bytes: Vec<u8>,
    /// Its digest: the version's name.
    pub digest: Digest,
    /// Things worth knowing that stop nothing: unused variables.
    pub warnings: Vec<String>,
}

/// Checks a content against its format, and its template against its variables and pinned fragments.
///
/// `fragments` are the revisions that the registry has, by digest; those that `content.fragments` pins must be among them.
///
/// # Errors
/// `invalid` with the JSON pointer of the place in the content; for templates line and column stand in the detail.
pub fn check(content: Content, fragments: &BTreeMap<Digest, Fragment>) -> Result<Checked, Refusal> {
    if content.schema != 1 {
        return Err(Refusal::invalid("/schema", "the content schema is always 1"));
    }
    model_pin(&content)?;
    variables(&content)?;
    let pinned = pinned(&content, fragments)?;
    let names: BTreeSet<String> = pinned.keys().cloned().collect();
    let mut used = Used::default();
    match (content.format, &content.body) {
        (Format::Text, Value::String(_)) | (Format::Json, _) => literal(&content)?,
        (Format::Template, Value::String(source)) => used.add(template(&content, source, &names, "/body")?),
        (Format::Chat, Value::Array(messages)) => used.add(chat(&content, messages, &names)?),
        (Format::Chat, _) => return Err(Refusal::invalid("/body", "the body of a chat is a list of messages")),
        (format, _) => return Err(Refusal::invalid("/body", format!("the body of a {format} is a text"))),
    }
    for (name, body) in &pinned {
        let mut path = "/fragments".to_owned();
        push_pointer(&mut path, name);
        let within = template::check(body, &content.variables, &BTreeSet::new());
        used.add(within.map_err(|e| Refusal {
            detail: format!("in the fragment {name}: {}", e.detail),
            path: Some(path),
            ..e
        })?);
    }
    let warnings = warnings(&content, &used);
    let bytes = canonical(&content);
    Ok(Checked { digest: sha256(&bytes), bytes, content, warnings })
}

fn model_pin(content: &Content) -> Result<(), Refusal> {
    match content.model_pin.as_deref() {
        Some(pin) if pin.trim().is_empty() => Err(Refusal::invalid("/model_pin", "a model pin is not blank; null means none")),
        Some(pin) if pin.len() > 200 => Err(Refusal::invalid("/model_pin", "a model pin has 200 bytes at most")),
        Some(pin) if pin.chars().any(char::is_control) => {
            Err(Refusal::invalid("/model_pin", "a model pin has no control characters"))
        }
        _ => Ok(()),
    }
}

/// A content declares so many variables at most: each is looked at again wherever the version is.
const MOST_VARIABLES: usize = 200;

fn variables(content: &Content) -> Result<(), Refusal> {
    if content.variables.len() > MOST_VARIABLES {
        return Err(Refusal::invalid("/variables", format!("a content declares {MOST_VARIABLES} variables at most")));
    }
    let mut names = BTreeSet::new();
    for (at, variable) in content.variables.iter().enumerate() {
        let name = &variable.name;
        let path = |member: &str| format!("/variables/{at}/{member}");
        if !is_variable_name(name) {
            let what =
                format!("{name:?} is not a variable's name: letters, digits and `_`, a letter first, and no word of Jinja's own");
            return Err(Refusal::invalid(path("name"), what));
        }
        if !names.insert(name) {
            return Err(Refusal::invalid(path("name"), format!("the variable {name:?} is declared twice")));
        }
        if !variable.default.is_null() && !fits(variable.kind, &variable.default) {
            let what = format!("the default of {name:?} is not of the type {}", variable.kind);
            return Err(Refusal::invalid(path("default"), what));
        }
    }
    Ok(())
}

/// Bodies of the pinned fragments by name.
fn pinned(content: &Content, fragments: &BTreeMap<Digest, Fragment>) -> Result<BTreeMap<String, String>, Refusal> {
    let mut out = BTreeMap::new();
    for (name, digest) in &content.fragments {
        let mut path = "/fragments".to_owned();
        push_pointer(&mut path, name);
        check_fragment_name(name).map_err(|e| Refusal::invalid(&path, e.to_string()))?;
        match fragments.get(digest) {
            Some(fragment) if fragment.name == *name => out.insert(name.clone(), fragment.body.clone()),
            Some(fragment) => {
                return Err(Refusal::invalid(&path, format!("{digest} is a revision of the fragment {:?}", fragment.name)));
            }
            None => return Err(Refusal::invalid(&path, format!("there is no fragment revision {digest}"))),
        };
    }
    Ok(out)
}

fn literal(content: &Content) -> Result<(), Refusal> {
    let what = |member: &str| format!("a {} is literal: it has no {member}", content.format);
    if !content.variables.is_empty() {
        return Err(Refusal::invalid("/variables", what("variables")));
    }
    if !content.fragments.is_empty() {
        return Err(Refusal::invalid("/fragments", what("fragments")));
    }
    Ok(())
}

fn template(content: &Content, source: &str, names: &BTreeSet<String>, path: &str) -> Result<Used, Refusal> {
    template::check(source, &content.variables, names).map_err(|e| Refusal { path: Some(path.to_owned()), ..e })
}

fn chat(content: &Content, messages: &[Value], names: &BTreeSet<String>) -> Result<Used, Refusal> {
    if messages.is_empty() {
        return Err(Refusal::invalid("/body", "a chat has one message at least"));
    }
    let mut used = Used::default();
    let mut placeholders = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        let path = format!("/body/{at}");
        let shape = || Refusal::invalid(&path, "a message is {\"role\", \"content\"} or {\"placeholder\"}, all texts");
        let members = message.as_object().ok_or_else(shape)?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        match (members.len(), text("role"), text("content"), text("placeholder")) {
            (2, Some(role), Some(source), None) => {
                if role.is_empty() || role.len() > 60 || !role.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') {
                    return Err(Refusal::invalid(format!("{path}/role"), "a role is a word like system, user or assistant"));
                }
                used.add(template(content, source, names, &format!("{path}/content"))?);
            }
            (1, None, None, Some(name)) => {
                let taken = content.variables.iter().any(|variable| variable.name == name) || !placeholders.insert(name);
                if !is_variable_name(name) || taken {
                    let what = "a placeholder has a name like a variable's, and one of its own";
                    return Err(Refusal::invalid(format!("{path}/placeholder"), what));
                }
            }
            _ => return Err(shape()),
        }
    }
    Ok(used)
}

fn warnings(content: &Content, used: &Used) -> Vec<String> {
    let mut out = Vec::new();
    for variable in &content.variables {
        let name = &variable.name;
        if !used.variables.contains(name) {
            out.push(format!("the variable {name:?} is not used"));
        }
        if used.unguarded.contains(name) {
            out.push(format!("the variable {name:?} may be absent: read it as `{name} | default(…)`"));
        }
        if variable.required && !variable.default.is_null() {
            out.push(format!("the variable {name:?} is required, so its default only serves readers that do not check"));
        }
    }
    for name in content.fragments.keys().filter(|name| !used.fragments.contains(*name)) {
        out.push(format!("the fragment {name:?} is pinned and not included"));
    }
    let sources = match &content.body {
        Value::Array(messages) => messages.iter().filter_map(|message| message.get("content")).collect(),
        body => vec![body],
    };
    let carriage_return = sources.into_iter().filter_map(Value::as_str).any(|source| source.contains('\r'));
    if matches!(content.format, Format::Template | Format::Chat) && carriage_return {
        out.push("the template has carriage returns, which Python's jinja2 turns into newlines".into());
    }
    out
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "values are written where they are passed")]
mod tests {
    use super::*;
    use crate::model::{Actor, Timestamp};
    use crate::rules::canonical::fragment_digest;
    use serde_json::json;

    fn fragment(name: &str, body: &str) -> Fragment {
        Fragment {
            fragment_id: uuid::Uuid::nil(),
            digest: fragment_digest(name, body),
            name: name.into(),
            owning_group: "g".into(),
            body: body.into(),
            author: Actor::person("dee"),
            created_at: Timestamp(0),
        }
    }

    fn checked(content: Value, fragments: &[Fragment]) -> Result<Checked, Refusal> {
        let mut whole = json!({ "key": "a.b", "format": "template", "body": "" });
        whole.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        check(serde_json::from_value(whole).unwrap(), &fragments.iter().map(|f| (f.digest, f.clone())).collect())
    }

    fn variable(name: &str, kind: &str, default: Value) -> Value {
        json!({ "name": name, "type": kind, "required": false, "default": default })
    }

    #[test]
    fn what_is_left_out_is_filled_before_the_digest() {
        let bytes = checked(json!({ "format": "text", "body": "hi" }), &[]).unwrap().bytes;
        let whole = r#"{"body":"hi","format":"text","fragments":{},"key":"a.b","model_pin":null,"parameters":{},"schema":1,"variables":[]}"#;
        assert_eq!(String::from_utf8(bytes).unwrap(), whole);
    }

    #[test]
    fn what_is_no_content_is_refused_with_its_place() {
        let tone = fragment("tone", "Be brief.");
        let calls = fragment("calls", "{{ name() }}");
        let nested = fragment("nested", "{% include \"tone\" %}");
        let pin = |f: &Fragment| json!({ f.name.clone(): f.digest });
        for (content, path, complaint) in [
            (json!({ "schema": 2 }), "/schema", "the content schema is always 1"),
            (json!({ "model_pin": " " }), "/model_pin", "a model pin is not blank"),
            (json!({ "model_pin": "a\u{0}" }), "/model_pin", "a model pin has no control characters"),
            (json!({ "model_pin": "a".repeat(201) }), "/model_pin", "a model pin has 200 bytes"),
            (json!({ "format": "text", "body": 1 }), "/body", "the body of a text is a text"),
            (json!({ "format": "template", "body": [] }), "/body", "the body of a template is a text"),
            (json!({ "format": "chat", "body": "x" }), "/body", "the body of a chat is a list of messages"),
            (json!({ "format": "chat", "body": [] }), "/body", "a chat has one message at least"),
            (json!({ "format": "chat", "body": [{ "role": "user" }] }), "/body/0", "a message is"),
            (json!({ "format": "chat", "body": [{ "role": "user", "content": "", "x": 1 }] }), "/body/0", "a message is"),
            (json!({ "format": "chat", "body": [{ "role": "Boss", "content": "" }] }), "/body/0/role", "a role is a word"),
            (json!({ "format": "chat", "body": [{ "placeholder": "1" }] }), "/body/0/placeholder", "a placeholder has"),
            (
                json!({ "format": "chat", "body": [{ "placeholder": "h" }, { "placeholder": "h" }] }),
                "/body/1/placeholder",
                "a placeholder has",
            ),
            (
                json!({ "format": "chat", "body": [{ "role": "user", "content": "a\n{{ x }}" }] }),
                "/body/0/content",
                "line 2, column 4: \"x\" is not declared",
            ),
            (json!({ "body": "{{ x }}" }), "/body", "line 1, column 4: \"x\" is not declared"),
            (
                json!({ "format": "text", "body": "", "variables": [variable("x", "string", Value::Null)] }),
                "/variables",
                "a text is literal",
            ),
            (json!({ "format": "json", "body": {}, "fragments": pin(&tone) }), "/fragments", "a json is literal"),
            (
                json!({ "variables": [variable("_x", "string", json!(""))] }),
                "/variables/0/name",
                "\"_x\" is not a variable's name",
            ),
            (
                json!({ "variables": [variable("loop", "json", json!(1))] }),
                "/variables/0/name",
                "\"loop\" is not a variable's name",
            ),
            (
                json!({ "variables": [variable("x", "string", json!("")), variable("x", "json", json!(1))] }),
                "/variables/1/name",
                "the variable \"x\" is declared twice",
            ),
            (json!({ "variables": [variable("x", "string", json!(1))] }), "/variables/0/default", "the default of \"x\" is not"),
            (
                json!({ "variables": [variable("x", "integer", json!(1.5))] }),
                "/variables/0/default",
                "the default of \"x\" is not",
            ),
            (
                json!({ "variables": [variable("x", "number", json!("1"))] }),
                "/variables/0/default",
                "the default of \"x\" is not",
            ),
            (json!({ "variables": [variable("x", "boolean", json!(0))] }), "/variables/0/default", "the default of \"x\" is not"),
            (json!({ "fragments": { "other": tone.digest } }), "/fragments/other", "sha256:"),
            (json!({ "fragments": { "tone": Digest::ZERO } }), "/fragments/tone", "there is no fragment revision"),
            (json!({ "fragments": { "a/B": tone.digest } }), "/fragments/a~1B", "fragment name is not segments"),
            (json!({ "fragments": pin(&calls) }), "/fragments/calls", "in the fragment calls: line 1, column 4: calls are not"),
            (
                json!({ "fragments": { "nested": nested.digest, "tone": tone.digest } }),
                "/fragments/nested",
                "in the fragment nested: line 1, column 12: the fragment \"tone\" is not pinned here",
            ),
            (json!({ "body": "{% include \"tone\" %}" }), "/body", "line 1, column 12: the fragment \"tone\" is not pinned"),
        ] {
            let refusal =
                checked(content.clone(), &[tone.clone(), calls.clone(), nested.clone()]).expect_err(&content.to_string());
            assert_eq!(refusal.path.as_deref(), Some(path), "{content}: {refusal}");
            assert!(refusal.detail.starts_with(complaint), "{content}: {refusal}");
        }
    }

    #[test]
    fn what_is_odd_but_allowed_is_a_warning() {
        let tone = fragment("tone", "Be brief, {{ name }}.");
        let warned = |content: Value| checked(content, std::slice::from_ref(&tone)).unwrap().warnings;
        let name = variable("name", "string", json!("you"));
        assert_eq!(warned(json!({ "body": "\r\n", "variables": [name.clone()] })).len(), 2);
        // A variable that only a pinned fragment reads is used.
        let pinned =
            json!({ "body": "{% include \"tone\" %}", "fragments": { "tone": tone.digest }, "variables": [name.clone()] });
        assert_eq!(warned(pinned), Vec::<String>::new());
        let idle = warned(json!({ "body": "{{ name }}", "fragments": { "tone": tone.digest }, "variables": [name] }));
        assert_eq!(idle, ["the fragment \"tone\" is pinned and not included"]);
        let absent = warned(json!({ "body": "{{ x }}", "variables": [variable("x", "string", Value::Null)] }));
        assert_eq!(absent, ["the variable \"x\" may be absent: read it as `x | default(…)`"]);
    }

    #[test]
    fn the_order_of_variables_counts_and_the_order_of_members_does_not() {
        let (x, y) = (variable("x", "json", json!({ "b": 1, "a": 2 })), variable("y", "json", json!(1)));
        let digest = |content: Value| checked(content, &[]).unwrap().digest;
        assert_ne!(digest(json!({ "variables": [x.clone(), y.clone()] })), digest(json!({ "variables": [y, x.clone()] })));
        let reordered = variable("x", "json", json!({ "a": 2, "b": 1.0 }));
        assert_eq!(digest(json!({ "variables": [x] })), digest(json!({ "variables": [reordered] })));
    }
}
