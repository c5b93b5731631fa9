//! The document as a page of plain HTML: no script, nothing from elsewhere.

use super::document;
use crate::rules::canonical;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::LazyLock;

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
code,pre{font:14px/1.4 ui-monospace,monospace}\
pre{overflow:auto;max-height:30rem;padding:.75rem;border:1px solid #8886;border-radius:.3rem}\
summary{cursor:pointer;padding:.3rem 0}summary code{font-weight:600}\
details>div{margin:0 0 1rem 1.2rem}\
table{border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}\
a{color:inherit}";

/// The page, and the policy under which browsers may show it: this style and nothing else.
pub fn page() -> &'static (String, String) {
    static PAGE: LazyLock<(String, String)> = LazyLock::new(|| {
        let hash = BASE64.encode(canonical::sha256(STYLE.as_bytes()).0);
        let policy =
            format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        (html(document()), policy)
    });
    &PAGE
}

fn html(document: &Value) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Countersign API</title><style>{STYLE}</style><h1>Countersign API</h1><p>{}</p>\
         <p>As a document: <a href=\"openapi.json\">openapi.json</a> (OpenAPI {}).</p>",
        prose(&document["info"]["description"]),
        prose(&document["openapi"]),
    );
    for area in list(&document["tags"]) {
        let _ = write!(out, "<h2>{}</h2>", prose(&area["description"]));
        for (path, methods) in members(&document["paths"]) {
            for (method, operation) in members(methods).filter(|(_, operation)| operation["tags"][0] == area["name"]) {
                one(&mut out, path, method, operation, &methods["parameters"]);
            }
        }
    }
    out.push_str("<h2>What is sent and answered</h2>");
    for (name, schema) in members(&document["components"]["schemas"]) {
        let (id, about) = (escaped(name), prose(&schema["description"]));
        let _ =
            write!(out, "<details id=\"{id}\"><summary><code>{id}</code> {about}</summary><div>{}</div></details>", json(schema));
    }
    out
}

fn one(out: &mut String, path: &str, method: &str, operation: &Value, names: &Value) {
    let (method, path, summary) = (method.to_uppercase(), escaped(path), prose(&operation["summary"]));
    let _ = write!(out, "<details><summary><code>{method} {path}</code> {summary}</summary><div>");
    let parameters: Vec<&Value> = list(names).chain(list(&operation["parameters"])).collect();
    if !parameters.is_empty() {
        out.push_str("<table><tr><th>parameter<th>in<th>");
        for parameter in parameters {
            let star = if parameter["required"] == true { " (required)" } else { "" };
            let (name, place, about) = (prose(&parameter["name"]), prose(&parameter["in"]), prose(&parameter["description"]));
            let _ = write!(out, "<tr><td><code>{name}</code>{star}<td>{place}<td>{about}");
        }
        out.push_str("</table>");
    }
    if let Some(body) = operation.pointer("/requestBody/content/application~1json") {
        let _ = write!(out, "<h3>Body</h3>{}", json(&body["example"]));
        let _ = write!(out, "<details><summary>schema</summary>{}</details>", json(&body["schema"]));
    }
    for (status, answer) in members(&operation["responses"]) {
        for (media, content) in members(&answer["content"]) {
            let _ = write!(out, "<h3>{} <code>{}</code></h3>", escaped(status), escaped(media));
            let _ = write!(out, "{}{}", json(&content["schema"]), json(&content["example"]));
        }
    }
    let problems = members(&operation["responses"]).filter(|(_, answer)| answer.get("$ref").is_some());
    let problems: Vec<&str> = problems.map(|(status, _)| status.as_str()).collect();
    let _ = write!(out, "<p>Problems: {}.</p></div></details>", problems.join(", "));
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A value as text: strings as they read, all else as JSON. References lead to where they point.
fn json(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let mut parts = text.split("#/components/schemas/");
    let mut linked = escaped(parts.next().unwrap_or_default());
    for part in parts {
        let (name, rest) = part.split_once('"').unwrap_or((part, ""));
        let (name, rest) = (escaped(name), escaped(rest));
        let _ = write!(linked, "<a href=\"#{name}\">{name}</a>&quot;{rest}");
    }
    format!("<pre>{linked}</pre>")
}

/// A sentence, its code marked.
fn prose(value: &Value) -> String {
    let text = escaped(value.as_str().unwrap_or_default());
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() }).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_page_shows_every_operation_and_loads_nothing() {
        let (page, policy) = page();
        for (path, methods) in members(&document()["paths"]) {
            for (method, _) in members(methods).filter(|(method, _)| *method != "parameters") {
                assert!(page.contains(&format!("<code>{} {path}</code>", method.to_uppercase())), "{method} {path}");
            }
        }
        for what in ["<script", "src=", "<link", "<img", "@import", "url(", "<iframe"] {
            assert!(!page.contains(what), "{what}");
        }
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"));
    }

    #[test]
    fn text_stays_text_and_references_lead_somewhere() {
        assert_eq!(prose(&json!("a `<b>` & \"c\"")), "a <code>&lt;b&gt;</code> &amp; &quot;c&quot;");
        let shown = super::json(&json!({ "$ref": "#/components/schemas/Key" }));
        assert!(shown.contains("<a href=\"#Key\">Key</a>&quot;"), "{shown}");
        for (name, _) in members(&document()["components"]["schemas"]) {
            assert!(page().0.contains(&format!("<details id=\"{name}\">")), "{name}");
        }
    }
}
