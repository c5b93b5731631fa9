//! Writes canonical JSON (RFC 8785) straight into bytes: it is what every digest and every event of the chain is hashed over.

use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// Appends the canonical form of a value.
pub(super) fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Value::Object(members) => write_members(members, out),
    }
}

/// Appends an object, its members sorted by their names' UTF-16 units (section 3.2.3).
pub fn write_members(members: &Map<String, Value>, out: &mut Vec<u8>) {
    if members.keys().is_sorted_by(|one, other| by_units(one, other) != Ordering::Greater) {
        return write_sorted(members.iter(), out);
    }
    let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
    sorted.sort_unstable_by(|(one, _), (other, _)| by_units(one, other));
    write_sorted(sorted.into_iter(), out);
}

fn write_sorted<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_text(name, out);
        out.push(b':');
        write(value, out);
    }
    out.push(b'}');
}

fn by_units(one: &str, other: &str) -> Ordering {
    if one.is_ascii() && other.is_ascii() { one.cmp(other) } else { one.encode_utf16().cmp(other.encode_utf16()) }
}

/// Appends a text; serde_json escapes exactly what section 3.2.2.2 asks for.
#[expect(clippy::expect_used, reason = "a vector takes every byte, and text is always JSON")]
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    // Most texts have nothing to escape, which is quicker to see than to go through letter by letter.
    if text.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        return serde_json::to_writer(out, text).expect("text is JSON");
    }
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends a number as ECMAScript prints the double (section 3.2.2.3); whole numbers that every double holds are their digits.
#[expect(clippy::expect_used, reason = "a vector takes every byte, and a JSON number has a canonical form")]
fn write_number(number: &Number, out: &mut Vec<u8>) {
    match number.as_i64() {
        Some(whole) if whole.unsigned_abs() <= super::MAX_INTEGER.unsigned_abs() => {
            serde_json::to_writer(out, number).expect("a number is JSON");
        }
        _ => out.extend(serde_json_canonicalizer::to_vec(number).expect("a number has a canonical form")),
    }
}
