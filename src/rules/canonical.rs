//! From bytes to digest: strict I-JSON in, RFC 8785 out (R1-R3).

mod reader;
mod writer;

use crate::model::{Content, Digest, Refusal};
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
#[expect(clippy::expect_used, reason = "plain data has text for names, and a `Value` holds no NaN")]
pub fn canonical(data: &impl Serialize) -> Vec<u8> {
    let value = serde_json::to_value(data).expect("plain data is JSON");
    let mut out = Vec::with_capacity(256);
    writer::write(&value, &mut out);
    out
}

/// Appends a text, or an object, in canonical form: for those who write the same shape over and over.
pub(super) use writer::{write_members, write_text};

/// SHA-256 of bytes.
pub fn sha256(bytes: &[u8]) -> Digest {
    Digest(sha2::Sha256::digest(bytes).into())
}

/// SHA-256 of bytes that come piece by piece.
#[derive(Debug, Default)]
pub struct Hashing(sha2::Sha256);

impl Hashing {
    /// The next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// The digest of all pieces.
    pub fn end(self) -> Digest {
        Digest(self.0.finalize().into())
    }
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
    nul_at(value, &mut String::new(), except)
        .map_or(Ok(()), |path| Err(Refusal::invalid(path, "holds U+0000, which only content may").hint("take the character out")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Code;
    use proptest::prelude::*;

    fn refused(json: impl AsRef<[u8]>) -> (String, String) {
        let refusal = parse_strict(json.as_ref()).expect_err("refused");
        assert_eq!(refusal.code, Code::MalformedJson);
        (refusal.path.unwrap(), refusal.detail)
    }

    #[test]
    fn what_is_not_i_json_is_refused_with_its_place() {
        for (json, path, complaint) in [
            (r#"{"a": 1, "a": 1}"#, "/a", "the name \"a\" stands twice in one object (line 1, column 10)"),
            (r#"{"x": [0, {"a": {"b": 1, "\u0062": 2}}]}"#, "/x/1/a/b", "the name \"b\" stands twice"),
            (r#"{"a/b~": 9007199254740992}"#, "/a~1b~0", "the integer is beyond 2^53-1"),
            ("[9007199254740993]", "/0", "the integer is beyond 2^53-1"),
            ("[-9007199254740992]", "/0", "the integer is beyond 2^53-1"),
            ("[123456789012345678901234567890]", "/0", "the integer is beyond 2^53-1"),
            ("{\n \"a\": 1e400}", "/a", "the number is too large for a double (line 2, column 7)"),
            ("[-1e400]", "/0", "the number is too large for a double"),
            (r#"["\ud800"]"#, "/0", "\\ud800 is half of a surrogate pair (line 1, column 3)"),
            (r#"["é\udc00"]"#, "/0", "\\udc00 is half of a surrogate pair (line 1, column 4)"),
            (r#"["\ud800\u0041"]"#, "/0", "\\ud800 is half"),
            (r#"["\ud800\ud800"]"#, "/0", "\\ud800 is half"),
            (r#"{"\ud800": 1}"#, "", "\\ud800 is half"),
            (r#"["\u12g4"]"#, "/0", "`\\u` needs four hex digits"),
            (r#"["\u+123"]"#, "/0", "`\\u` needs four hex digits"),
            (r#"["\x"]"#, "/0", "this escape does not exist"),
            ("[\"a\nb\"]", "/0", "the control character U+000A must be escaped"),
            ("[\"abc", "/0", "a text has no closing quote"),
            ("[01]", "/0", "this is not a JSON number"),
            ("[-]", "/0", "this is not a JSON number"),
            ("[1.]", "/0", "a digit is missing after the decimal point"),
            ("[1e]", "/0", "a digit is missing in the exponent"),
            ("[+1]", "/0", "this is not the beginning of a JSON value"),
            ("[.5]", "/0", "this is not the beginning"),
            ("[NaN]", "/0", "this is not the beginning"),
            ("[tru]", "/0", "this is not the beginning"),
            ("[1,]", "/1", "this is not the beginning"),
            ("[1 2]", "", "a comma or `]` is missing"),
            (r#"{"a" 1}"#, "/a", "a colon is missing"),
            (r#"{"a": 1,}"#, "", "a member's name in double quotes is missing"),
            ("{a: 1}", "", "a member's name in double quotes is missing"),
            (r#"{"a": 1"#, "", "a comma or `}` is missing"),
            ("", "", "the JSON ends too early"),
            ("1 1", "", "something stands after the end"),
            ("\u{feff}1", "", "this is not the beginning"),
            ("// x\n1", "", "this is not the beginning"),
        ] {
            let (at, detail) = refused(json);
            assert_eq!(at, path, "{json}");
            assert!(detail.starts_with(complaint), "{json}: {detail}");
        }
        assert!(refused(b"\"\xff\"").1.contains("not UTF-8 at byte 1"));
    }

    #[test]
    fn nesting_stops_at_sixty_four() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse_strict(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(refused(nested(MAX_DEPTH + 1)).1.starts_with("the JSON nests deeper than 64"));
        assert!(refused("[".repeat(1_000_000)).1.starts_with("the JSON nests deeper than 64"));
        assert!(refused("{\"a\":".repeat(100)).0.starts_with("/a/a/a"));
    }

    #[test]
    fn text_is_kept_byte_for_byte() {
        for text in ["e\u{301}", "é", " \r\n\t ", "\0", "\u{feff}\u{200b}\u{202e}\u{e0041}", "\u{1f600}"] {
            let json = serde_json::to_vec(text).unwrap();
            assert_eq!(parse_strict(&json).unwrap(), Value::String(text.into()));
        }
        assert_eq!(parse_strict(br#""\ud83d\ude00\u00e9\/\b\f""#).unwrap(), json!("\u{1f600}é/\u{8}\u{c}"));
    }

    #[test]
    fn one_with_and_without_a_fraction_is_the_same_content() {
        let digest = |json: &str| digest_of(&parse_strict(json.as_bytes()).unwrap());
        assert_eq!(digest(r#"{"a": 1.0, "b": -0.0}"#), digest(r#"{ "b": 0, "a": 1e0 }"#));
        assert_ne!(digest("[1]"), digest("[1.5]"));
    }

    #[test]
    fn the_nul_character_is_refused_outside_of_content() {
        let body = json!({ "content": { "body": "a\0" }, "rationale": "fine", "list": [{ "x\0": 1 }] });
        assert_eq!(refuse_nul(&body, &["/content"]).unwrap_err().path.as_deref(), Some("/list/0/x\0"));
        assert_eq!(refuse_nul(&body, &["/content", "/list"]), Ok(()));
        assert_eq!(refuse_nul(&body, &["/list"]).unwrap_err().path.as_deref(), Some("/content/body"));
        assert!(refuse_nul(&json!("\0"), &[]).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-MAX_INTEGER..=MAX_INTEGER).prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|m| Value::Object(m.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn names_are_sorted_by_utf_16_units() {
        let value = json!({ "\u{fb33}": 1, "\u{1f600}": 2, "\u{80}": 3, "a": 4, "\r": 5 });
        assert_eq!(canonical(&value), "{\"\\r\":5,\"a\":4,\"\u{80}\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}".as_bytes());
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_the_one_of_rfc_8785(value in any_json()) {
            prop_assert_eq!(canonical(&value), serde_json_canonicalizer::to_vec(&value).unwrap());
        }

        #[test]
        fn any_json_is_read_as_it_was_written(value in any_json()) {
            // Doubles from 2^53 on that are whole are written without a fraction only by the canonical form.
            let written = serde_json::to_vec(&value).unwrap();
            prop_assert_eq!(canonical(&parse_strict(&written).unwrap()), canonical(&value));
        }

        #[test]
        fn any_bytes_are_read_or_refused_and_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let strict = parse_strict(&bytes);
            // Whoever is lenient reads at least what the strict reader reads, to the same value.
            if let Ok(value) = strict {
                prop_assert_eq!(canonical(&serde_json::from_slice::<Value>(&bytes).unwrap()), canonical(&value));
            }
        }

        #[test]
        fn json_like_text_is_read_alike(text in r#"[\[\]{},:"0-9eE+.\-\\u tfna-d]{0,40}"#) {
            if let Ok(value) = parse_strict(text.as_bytes()) {
                prop_assert_eq!(canonical(&serde_json::from_str::<Value>(&text).unwrap()), canonical(&value));
            }
        }
    }
}
