//! From bytes to digest: strict I-JSON in, RFC 8785 out (R1-R3).

mod reader;

use crate::model::{Code, Content, Digest, Refusal};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::Digest as _;

/// How deep arrays and objects may nest.
pub const MAX_DEPTH: usize = 64;

/// The largest integer that every reader of JSON agrees on: 2^53 - 1 (RFC 7493, section 2.2).
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Reads I-JSON (RFC 7493): one value, UTF-8, no duplicate names, no lone surrogates, no integer beyond 2^53 - 1, no number
/// that overflows a double, nested 64 deep at most. Text is kept byte for byte.
///
/// # Errors
/// `malformed_json` with the JSON pointer of the place in `path`, and line and column in the detail.
pub fn parse_strict(bytes: &[u8]) -> Result<Value, Refusal> {
    reader::read(bytes)
}

/// Canonical JSON (JCS, RFC 8785) of plain data. Numbers that JSON cannot hold (NaN, infinities) become null.
#[expect(clippy::expect_used, reason = "plain data has text for names and has gone through `Value`, which holds no NaN")]
pub fn canonical(data: &impl Serialize) -> Vec<u8> {
    let value = serde_json::to_value(data).expect("plain data is JSON");
    serde_json_canonicalizer::to_vec(&value).expect("a JSON value has a canonical form")
}

/// SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(sha2::Sha256::digest(bytes).into())
}

/// SHA-256 of the canonical JSON of plain data.
pub fn digest_of(data: &impl Serialize) -> Digest {
    sha256(&canonical(data))
}

/// What a version is named by: SHA-256 of the canonical JSON of exactly its eight members.
pub fn content_digest(content: &Content) -> Digest {
    digest_of(content)
}

/// What a fragment revision is named by: SHA-256 of the canonical JSON of `{"name", "body"}`.
pub fn fragment_digest(name: &str, body: &str) -> Digest {
    digest_of(&json!({ "name": name, "body": body }))
}

/// Refuses U+0000 in any text or name of `value`, but under the JSON pointers in `except` (content keeps every character;
/// names, reasons and descriptions stand in columns that cannot hold it).
///
/// # Errors
/// `invalid` with the JSON pointer of the first such text.
pub fn refuse_nul(value: &Value, except: &[&str]) -> Result<(), Refusal> {
    nul_at(value, &mut String::new(), except).map_or(Ok(()), |path| {
        Err(Refusal::invalid(path, "the text contains U+0000, which may only stand in content").hint("remove the character"))
    })
}

fn nul_at(value: &Value, path: &mut String, except: &[&str]) -> Option<String> {
    if except.contains(&path.as_str()) {
        return None;
    }
    let before = path.len();
    match value {
        Value::String(text) => text.contains('\0').then(|| path.clone()),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            push_pointer(path, &at.to_string());
            let found = nul_at(item, path, except);
            path.truncate(before);
            found
        }),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            push_pointer(path, name);
            let found = if name.contains('\0') { Some(path.clone()) } else { nul_at(member, path, except) };
            path.truncate(before);
            found
        }),
        _ => None,
    }
}

/// Appends one step to a JSON pointer (RFC 6901: `~` is `~0`, `/` is `~1`).
pub fn push_pointer(path: &mut String, step: &str) {
    path.push('/');
    for c in step.chars() {
        match c {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            _ => path.push(c),
        }
    }
}

/// Reads an envelope from strict JSON: what every body that reaches the registry goes through.
///
/// # Errors
/// `malformed_json` as [`parse_strict`]; `invalid` where the JSON does not fit the envelope.
pub fn read_as<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_value(parse_strict(bytes)?).map_err(|e| Refusal::new(Code::Invalid, e.to_string()))
}
