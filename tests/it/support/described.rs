//! Whether an answer is as the API document says: status, media type, and every member of its JSON. All that tests are answered
//! over HTTP goes through here.

use countersign::server::openapi::document;
use countersign::server::router::TABLE;
use serde_json::{Map, Value};

/// What a server answered, to be compared.
pub struct Answered<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub media: &'a str,
    pub text: &'a str,
}

/// Compares an answer with the document; what is no route, or takes no such method, is not in it.
#[track_caller]
pub fn check(answered: &Answered<'_>) {
    let Some(operation) = operation(answered.method, answered.path) else { return };
    if answered.status == 405 {
        return;
    }
    let Answered { method, path, status, media, text } = answered;
    let place = format!("{method} {path}: {status} {media}");
    let response = operation["responses"].get(status.to_string()).unwrap_or_else(|| panic!("{place} is not described"));
    let response = target(response);
    if text.is_empty() {
        return;
    }
    let content = response["content"].get(media).unwrap_or_else(|| panic!("{place} is not described; {text}"));
    if media.ends_with("/json") || media.ends_with("+json") {
        let body: Value = serde_json::from_str(text).unwrap_or_else(|why| panic!("{place}: {why} in {text}"));
        fits(&content["schema"], &body).unwrap_or_else(|why| panic!("{place}: {why} in {text}"));
    }
}

/// The operation of a request; literal parts of a path count more than names.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = path.split('?').next()?.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        template.len() == parts.len() && template.iter().zip(&parts).all(|(want, have)| want.starts_with('{') || want == have)
    };
    let method = if method == "HEAD" { "get".to_owned() } else { method.to_lowercase() };
    let templates = TABLE.iter().map(|route| route.template).filter(|template| fits(template));
    let template = templates.min_by_key(|template| template.matches('{').count())?;
    document()["paths"][template].get(&method)
}

/// What a response stands for.
fn target(value: &'static Value) -> &'static Value {
    value.get("$ref").map_or(value, named)
}

fn named(reference: &Value) -> &'static Value {
    let pointer = reference.as_str().unwrap().trim_start_matches('#');
    document().pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not there"))
}

/// Whether a value is as a schema says (JSON Schema 2020-12, the words that the document uses).
///
/// # Errors
/// Where it is not.
pub fn fits(schema: &'static Value, value: &Value) -> Result<(), String> {
    let members = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(members) => members,
        other => return Err(format!("{other} admits nothing")),
    };
    members.iter().try_for_each(|(word, wants)| keyword(members, word, wants, value))
}

fn keyword(schema: &'static Map<String, Value>, word: &str, wants: &'static Value, value: &Value) -> Result<(), String> {
    let wrong = || Err(format!("{value} is not as {word} {wants} says"));
    let holds = match word {
        "$ref" => return fits(named(wants), value),
        "type" => kinds(wants).any(|kind| is(kind, value)),
        "const" => value == wants,
        "enum" => wants.as_array().unwrap().contains(value),
        "minimum" => value.as_f64().is_none_or(|number| number >= wants.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= wants.as_f64().unwrap()),
        "maxLength" => value.as_str().is_none_or(|text| text.chars().count() as u64 <= wants.as_u64().unwrap()),
        "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= wants.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= wants.as_u64().unwrap()),
        "required" => value
            .as_object()
            .is_none_or(|there| wants.as_array().unwrap().iter().all(|name| there.contains_key(name.as_str().unwrap()))),
        "anyOf" => wants.as_array().unwrap().iter().any(|one| fits(one, value).is_ok()),
        "oneOf" => wants.as_array().unwrap().iter().filter(|one| fits(one, value).is_ok()).count() == 1,
        "allOf" => return wants.as_array().unwrap().iter().try_for_each(|one| fits(one, value)),
        "items" => {
            let skipped = schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
            return value.as_array().into_iter().flatten().skip(skipped).try_for_each(|item| fits(wants, item));
        }
        "prefixItems" => {
            let pairs = wants.as_array().unwrap().iter().zip(value.as_array().into_iter().flatten());
            return pairs.into_iter().try_for_each(|(wants, item)| fits(wants, item));
        }
        "properties" => {
            let there = wants.as_object().unwrap().iter().filter_map(|(name, wants)| Some((name, wants, value.get(name)?)));
            return there
                .into_iter()
                .try_for_each(|(name, wants, value)| fits(wants, value).map_err(|why| format!("{name}: {why}")));
        }
        // Members that are named by digests or keys: the types that wrote them read the names.
        "patternProperties" => {
            let [one] = &wants.as_object().unwrap().values().collect::<Vec<_>>()[..] else { panic!("names of two kinds") };
            return value
                .as_object()
                .into_iter()
                .flatten()
                .try_for_each(|(name, value)| fits(one, value).map_err(|why| format!("{name}: {why}")));
        }
        "additionalProperties" if schema.contains_key("patternProperties") => true,
        "additionalProperties" => {
            let known = schema.get("properties").and_then(Value::as_object);
            let others =
                value.as_object().into_iter().flatten().filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)));
            return others.into_iter().try_for_each(|(name, value)| fits(wants, value).map_err(|why| format!("{name}: {why}")));
        }
        // Names and moments are read by the types that wrote them.
        "pattern" | "format" | "description" | "title" | "default" => true,
        other => panic!("the check does not know {other:?}"),
    };
    if holds { Ok(()) } else { wrong() }
}

fn kinds(wants: &Value) -> impl Iterator<Item = &str> {
    std::iter::once(wants).filter_map(Value::as_str).chain(wants.as_array().into_iter().flatten().filter_map(Value::as_str))
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("there is no type {other}"),
    }
}
