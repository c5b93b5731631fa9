//! The strict reader of I-JSON: a recursive descent that knows where it is.

use super::{MAX_DEPTH, MAX_INTEGER, push_pointer};
use crate::model::{Code, Refusal};
use serde_json::{Map, Number, Value};

/// Reads one value and nothing after it.
pub(super) fn read(bytes: &[u8]) -> Result<Value, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|e| Refusal {
        path: Some(String::new()),
        ..Refusal::new(Code::MalformedJson, format!("the body is not UTF-8 at byte {}", e.valid_up_to()))
    })?;
    let mut reader = Reader { text, at: 0, path: String::new(), depth: 0 };
    reader.space();
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.wrong("something stands after the end of the JSON value"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: String,
    depth: usize,
}

impl Reader<'_> {
    /// A refusal at the place where the reader stands.
    fn wrong(&self, what: impl std::fmt::Display) -> Refusal {
        self.wrong_at(self.at, what)
    }

    fn wrong_at(&self, at: usize, what: impl std::fmt::Display) -> Refusal {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
        Refusal {
            path: Some(self.path.clone()),
            ..Refusal::new(Code::MalformedJson, format!("{what} (line {line}, column {column})"))
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn value(&mut self) -> Result<Value, Refusal> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Number),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.wrong("this is not the beginning of a JSON value")),
            None => Err(self.wrong("the JSON ends too early")),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, Refusal> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.wrong("this is not the beginning of a JSON value"))
    }

    fn nested(&mut self, inside: fn(&mut Self) -> Result<Value, Refusal>) -> Result<Value, Refusal> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(format_args!("the JSON nests deeper than {MAX_DEPTH}")));
        }
        self.depth += 1;
        self.at += 1;
        let value = inside(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, Refusal> {
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            let before = self.path.len();
            push_pointer(&mut self.path, &items.len().to_string());
            self.space();
            items.push(self.value()?);
            self.path.truncate(before);
            self.space();
            if self.eat(b']') {
                return Ok(Value::Array(items));
            }
            if !self.eat(b',') {
                return Err(self.wrong("a comma or `]` is missing"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, Refusal> {
        let mut members = Map::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.wrong("a member's name in double quotes is missing"));
            }
            let start = self.at;
            let name = self.string()?;
            let before = self.path.len();
            push_pointer(&mut self.path, &name);
            if members.contains_key(&name) {
                return Err(self.wrong_at(start, format_args!("the name {name:?} stands twice in one object")));
            }
            self.space();
            if !self.eat(b':') {
                return Err(self.wrong("a colon is missing after a member's name"));
            }
            self.space();
            let value = self.value()?;
            members.insert(name, value);
            self.path.truncate(before);
            self.space();
            if self.eat(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.eat(b',') {
                return Err(self.wrong("a comma or `}` is missing"));
            }
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(control) => return Err(self.wrong(format_args!("the control character U+{control:04X} must be escaped"))),
                None => return Err(self.wrong("a text has no closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        let start = self.at;
        self.at += 1;
        let short = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.code_point(start);
            }
            _ => return Err(self.wrong_at(start, "this escape does not exist in JSON")),
        };
        self.at += 1;
        Ok(short)
    }

    /// The character of `\uXXXX`, or of a pair of them; `start` is where the backslash stands.
    fn code_point(&mut self, start: usize) -> Result<char, Refusal> {
        let first = self.hex(start)?;
        let lone = |reader: &Self| reader.wrong_at(start, format_args!("\\u{first:04x} is half of a surrogate pair"));
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| lone(self));
        }
        if first >= 0xdc00 || !self.text[self.at..].starts_with("\\u") {
            return Err(lone(self));
        }
        self.at += 2;
        let second = self.hex(start)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone(self));
        }
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(|| lone(self))
    }

    fn hex(&mut self, start: usize) -> Result<u32, Refusal> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let value = digits.and_then(|d| std::str::from_utf8(d).ok()).and_then(|d| u32::from_str_radix(d, 16).ok());
        let value = value.ok_or_else(|| self.wrong_at(start, "`\\u` needs four hex digits"))?;
        self.at += 4;
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Number, Refusal> {
        let start = self.at;
        self.eat(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (leading_zero && whole > 1) {
            return Err(self.wrong_at(start, "this is not a JSON number"));
        }
        let mut integer = true;
        if self.eat(b'.') {
            integer = false;
            if self.digits() == 0 {
                return Err(self.wrong_at(start, "a digit is missing after the decimal point"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.wrong_at(start, "a digit is missing in the exponent"));
            }
        }
        let text = &self.text[start..self.at];
        if integer {
            let value = text.parse::<i64>().ok().filter(|n| (-MAX_INTEGER..=MAX_INTEGER).contains(n));
            return value.map(Number::from).ok_or_else(|| {
                self.wrong_at(start, "the integer is beyond 2^53-1, which readers disagree on").hint("write it as a text")
            });
        }
        let value = text.parse::<f64>().ok().and_then(Number::from_f64);
        value.ok_or_else(|| self.wrong_at(start, "the number is too large for a double").hint("write it as a text"))
    }
}
