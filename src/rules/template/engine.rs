//! Strict rendering: no auto-escape, the trailing newline kept, only the closed list of filters, a bounded amount of work.

use super::{syntax, wrong};
use crate::model::Refusal;
use minijinja::value::{Enumerator, Object, ObjectRepr, Rest, Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Work that one rendering may do: about one unit an instruction or 64 bytes.
const FUEL: u64 = 200_000;

/// Whether a number that is not whole is written alike by Python, JavaScript and here: no exponent in any of them.
pub(super) fn is_portable(number: f64) -> bool {
    number.fract() != 0.0 && (1e-4..1e16).contains(&number.abs())
}

/// An object of a json variable: it has members, but cannot be looped over or printed.
#[derive(Debug)]
struct Members(Map<String, Json>);

impl Object for Members {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_str()?).map(|json| value(json).unwrap_or_default())
    }
    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }
}

/// JSON as the engine's value; numbers that readers write differently are none.
fn value(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => Value::from(()),
        Json::Bool(b) => Value::from(*b),
        Json::String(s) => Value::from(s.as_str()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Option<Vec<_>>>()?),
        Json::Object(members) => {
            members.values().try_for_each(|member| value(member).map(drop))?;
            Value::from_object(Members(members.clone()))
        }
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            // 1.0 and 1 are the same content, so they are written alike.
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9e15 => Value::from(float as i64),
            (None, Some(float)) if is_portable(float) => Value::from(float),
            _ => return None,
        },
    })
}

/// The engine's value as JSON.
fn json(value: &Value) -> Result<Json, Error> {
    match value.kind() {
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::String => Ok(Json::String(value.as_str().unwrap_or_default().to_owned())),
        ValueKind::Number if value.is_integer() => i64::try_from(value.clone()).map(Json::from),
        ValueKind::Number => f64::try_from(value.clone()).map(Json::from),
        ValueKind::Seq => value.try_iter()?.map(|item| json(&item)).collect::<Result<_, _>>().map(Json::Array),
        _ => match value.downcast_object_ref::<Members>() {
            Some(members) => Ok(Json::Object(members.0.clone())),
            None => Err(refuse("this cannot be written as JSON")),
        },
    }
}

fn refuse(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, what)
}

/// Renders templates with one set of fragments and variables.
pub(super) struct Renderer {
    engine: Environment<'static>,
    fragments: BTreeMap<String, String>,
    vars: BTreeMap<String, Option<Value>>,
}

impl Renderer {
    pub(super) fn new(fragments: &BTreeMap<String, String>, vars: Map<String, Json>) -> Self {
        let mut engine = Environment::empty();
        engine.set_undefined_behavior(UndefinedBehavior::Strict);
        engine.set_syntax(syntax());
        engine.set_auto_escape_callback(|_| AutoEscape::None);
        engine.set_fuel(Some(FUEL));
        engine.set_formatter(write);
        engine.add_filter("default", default);
        engine.add_filter("join", join);
        engine.add_filter("length", length);
        engine.add_filter("lower", |text: &Value| letters("lower", text, str::to_lowercase));
        engine.add_filter("upper", |text: &Value| letters("upper", text, str::to_uppercase));
        engine.add_filter("trim", |text: &Value| letters("trim", text, |t| t.trim().to_owned()));
        engine.add_filter("tojson", |of: &Value| Ok::<_, Error>(python_json(&json(of)?)));
        let vars = vars.into_iter().map(|(name, json)| (name, value(&json))).collect();
        Self { engine, fragments: fragments.clone(), vars }
    }

    pub(super) fn render(&self, source: &str) -> Result<String, Refusal> {
        if let Some((name, _)) = self.vars.iter().find(|(_, value)| value.is_none()) {
            let what = format!("{name} holds a number that readers write differently: very large or very small, with a fraction");
            return Err(Refusal::invalid("", what).hint("give it as a text"));
        }
        let mut engine = self.engine.clone();
        for (name, body) in &self.fragments {
            engine.add_template_owned(name.clone(), body.clone()).map_err(|e| told(source, &e))?;
        }
        engine.render_named_str("template", source, &self.vars).map_err(|e| told(source, &e))
    }
}

fn told(source: &str, error: &Error) -> Refusal {
    let what = match error.kind() {
        ErrorKind::OutOfFuel => "the template does too much work".to_owned(),
        ErrorKind::UndefinedError => "a value is undefined here; `| default(…)` guards one that may be absent".to_owned(),
        kind => error.detail().map_or_else(|| kind.to_string(), str::to_owned),
    };
    match error.name() {
        Some("template") | None => wrong(source, error.range().map_or(0, |range| range.start), what),
        Some(fragment) => Refusal::invalid("", format!("in the fragment {fragment}, line {}: {what}", error.line().unwrap_or(1))),
    }
}

/// Writes texts and numbers; all else is written differently by other readers, so it is refused.
fn write(out: &mut Output<'_>, _: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Number => write!(out, "{value}").map_err(Error::from),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        kind => Err(refuse(format!("readers write a {kind} differently: add `| tojson`, or use `if`"))),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments over by value")]
fn default(value: &Value, args: Rest<Value>) -> Value {
    let empty = value.is_undefined() || (args.get(1).is_some_and(Value::is_true) && !value.is_true());
    if empty { args.first().cloned().unwrap_or_default() } else { value.clone() }
}

fn letters(name: &str, value: &Value, change: impl Fn(&str) -> String) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(change(text)),
        None if value.is_undefined() => Err(Error::from(ErrorKind::UndefinedError)),
        None => Err(refuse(format!("`{name}` takes a text"))),
    }
}

fn length(value: &Value) -> Result<usize, Error> {
    match value.kind() {
        ValueKind::Seq => Ok(value.len().unwrap_or(0)),
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        _ => match value.downcast_object_ref::<Members>() {
            Some(members) => Ok(members.0.len()),
            None => Err(refuse("only lists have a length that readers count alike")),
        },
    }
}

fn join(value: &Value, separator: Option<&str>) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Seq => {}
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        _ => return Err(refuse("`join` takes a list")),
    }
    let mut parts = Vec::new();
    for item in value.try_iter()? {
        match item.kind() {
            ValueKind::String | ValueKind::Number => parts.push(item.to_string()),
            kind => return Err(refuse(format!("readers write a {kind} in a list differently"))),
        }
    }
    Ok(parts.join(separator.unwrap_or("")))
}

/// JSON as Jinja's own `tojson` writes it: names sorted, `, ` and `: `, ASCII only, `<` `>` `&` `'` escaped
/// (jinja2, `htmlsafe_json_dumps`).
fn python_json(json: &Json) -> String {
    let mut out = String::new();
    write_json(json, &mut out);
    out
}

fn write_json(json: &Json, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Json::String(text) => write_text(text, out),
        Json::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_json(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            // serde_json's map is sorted by code point, as Python sorts.
            for (at, (name, member)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_text(name, out);
                out.push_str(": ");
                write_json(member, out);
            }
            out.push('}');
        }
        Json::Number(n) => match value(&Json::Number(n.clone())) {
            Some(plain) => out.push_str(&plain.to_string()),
            None => out.push_str(&n.to_string()),
        },
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' if !matches!(c, '<' | '>' | '&' | '\'') => out.push(c),
            _ => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str("\\u");
                    out.push_str(&hex::encode(unit.to_be_bytes()));
                }
            }
        }
    }
    out.push('"');
}
