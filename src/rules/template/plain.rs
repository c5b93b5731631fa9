//! Templates that fill in names and do nothing else: what readers that know no more than `{{name}}` render rightly.

use super::wrong;
use crate::model::{Content, Format, Refusal};
use serde_json::Value;

/// The names of a template's tags in order of first use.
///
/// # Errors
/// `invalid`, with line and column, where a tag is more than a bare name.
pub fn bare_names(source: &str) -> Result<Vec<String>, Refusal> {
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        at += found;
        let tag = &source[at..];
        let more = || wrong(source, at, "this tag is more than a bare {{name}}");
        if tag.starts_with("{%") || tag.starts_with("{#") {
            return Err(more());
        }
        let Some(inside) = tag.strip_prefix("{{") else {
            at += 1;
            continue;
        };
        let end = inside.find("}}").ok_or_else(more)?;
        let name = inside[..end].trim_matches([' ', '\t']);
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || !name.bytes().all(is_letter) {
            return Err(more());
        }
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        at += end + 4;
    }
    Ok(names)
}

/// Whether readers that know no more than `{{name}}` make of a prompt what ours make of it.
///
/// # Errors
/// `invalid` with the place and the reason.
pub fn plain(content: &Content) -> Result<(), Refusal> {
    let texts: Vec<(String, &str)> = match (content.format, &content.body) {
        (Format::Text | Format::Template, Value::String(text)) => vec![("/body".to_owned(), text.as_str())],
        (Format::Chat, Value::Array(messages)) => {
            let texts = messages.iter().enumerate();
            texts.filter_map(|(i, m)| Some((format!("/body/{i}/content"), m.get("content")?.as_str()?))).collect()
        }
        _ => return Err(Refusal::invalid("/format", format!("the format {} is no prompt", content.format))),
    };
    for (path, text) in texts {
        if content.format == Format::Text {
            if let Some(at) = text.find("{{") {
                let literal = wrong(text, at, "this text means its {{ literally, and a reader of templates would fill it in");
                return Err(Refusal { path: Some(path), ..literal });
            }
            continue;
        }
        bare_names(text).map_err(|refusal| Refusal { path: Some(path), ..refusal })?;
    }
    match content.variables.iter().position(|variable| !variable.default.is_null()) {
        Some(index) => {
            let name = &content.variables[index].name;
            let why = format!("the variable {name} has a default, of which such readers know nothing");
            Err(Refusal::invalid(format!("/variables/{index}/default"), why))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_bare_names_are_plain() {
        for (source, found) in [
            ("plain { \"a\": {} }", Ok(vec![])),
            ("Hi {{who}}, {{ what }} and {{who}}", Ok(vec!["who", "what"])),
            ("{{{a}}}", Err("line 1, column 1")),
            ("é {{ a.b }}", Err("line 1, column 3")),
            ("{{a}}\n{% if a %}x{% endif %}", Err("line 2, column 1")),
            ("{{a}} {# note #}", Err("line 1, column 7")),
            ("{{a|upper}}", Err("line 1, column 1")),
            ("{{-a}}", Err("line 1, column 1")),
            ("{{_a}}", Err("line 1, column 1")),
            ("{{}}", Err("line 1, column 1")),
            ("{{a", Err("line 1, column 1")),
        ] {
            let names = bare_names(source).map_err(|refusal| refusal.detail);
            match found {
                Ok(found) => assert_eq!(names.unwrap(), found, "{source}"),
                Err(place) => assert!(names.unwrap_err().starts_with(place), "{source}"),
            }
        }
    }

    #[test]
    fn what_such_readers_would_render_otherwise_is_refused_with_its_place() {
        let variable = |default: Value| json!([{ "name": "who", "type": "string", "required": false, "default": default }]);
        for (format, body, variables, place) in [
            ("text", json!("Hello"), json!([]), None),
            ("text", json!("Write {{ who }} literally"), json!([]), Some("/body")),
            ("template", json!("Hello {{ who }}"), variable(Value::Null), None),
            ("template", json!("Hello {{ who }}"), variable(json!("you")), Some("/variables/0/default")),
            ("template", json!("Hello {{ who | upper }}"), variable(Value::Null), Some("/body")),
            (
                "chat",
                json!([{ "placeholder": "history" }, { "role": "user", "content": "{{ who }}" }]),
                variable(Value::Null),
                None,
            ),
            ("chat", json!([{ "role": "user", "content": "{% include \"a\" %}" }]), json!([]), Some("/body/0/content")),
            ("json", json!({}), json!([]), Some("/format")),
        ] {
            let content = json!({ "key": "a.b", "format": format, "body": body, "variables": variables });
            let refused = plain(&serde_json::from_value(content).unwrap()).err().and_then(|refusal| refusal.path);
            assert_eq!(refused.as_deref(), place, "{format} {body}");
        }
    }
}
