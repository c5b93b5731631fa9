//! Validated names: digests, keys, environments, actors and percentages in basis points.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, sync::Arc};

/// The pseudo environment under which a key's safe default moves.
pub const SAFE_DEFAULT: &str = "@safe-default";

/// Why a text is not the name that it should be; reads well after "failed to read …:".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct IdError {
    /// What was being read, e.g. `key_id`.
    pub what: &'static str,
    /// What is wrong and what would be right.
    pub problem: String,
}

fn wrong(what: &'static str, problem: impl Into<String>) -> IdError {
    IdError { what, problem: problem.into() }
}

macro_rules! text_serde {
    ($t:ty) => {
        impl Serialize for $t {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $t {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
                text.parse().map_err(de::Error::custom)
            }
        }
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

/// Says in JSON Schema what a name's text looks like.
macro_rules! text_schema {
    ($t:ident, $most:literal, $pattern:literal, $means:literal) => {
        impl schemars::JsonSchema for $t {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($t).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "maxLength": $most, "pattern": $pattern, "description": $means })
            }
        }
    };
}

/// A SHA-256 content digest, written `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The `prev_hash` of the first audit event.
    pub const ZERO: Self = Self([0; 32]);

    /// All 64 hex digits, without the algorithm.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The first 12 hex digits: what screens show beside `vN`.
    pub fn short(&self) -> String {
        hex::encode(&self.0[..6])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        // Written for every event of a chain that is verified: no text of its own.
        let mut text = *b"sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for (pair, byte) in text[7..].chunks_exact_mut(2).zip(self.0) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl FromStr for Digest {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = || wrong("digest", "is not `sha256:` and 64 lower-case hex digits");
        let hex_digits = text.strip_prefix("sha256:").ok_or_else(bad)?;
        if hex_digits.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(hex_digits, &mut bytes).map_err(|_| bad())?;
        Ok(Self(bytes))
    }
}
text_serde!(Digest);
text_schema!(Digest, 71, "^sha256:[0-9a-f]{64}$", "`sha256:` and 64 lower-case hex digits.");

pub(super) fn is_segment(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

/// A fragment's name: one key segment, or several joined by dots; 200 bytes at most.
///
/// # Errors
/// Says what is wrong with the name.
pub fn check_fragment_name(text: &str) -> Result<(), IdError> {
    if text.len() > 200 || !text.split('.').all(is_segment) {
        return Err(wrong("fragment name", "is not segments `[a-z0-9][a-z0-9_-]*` joined by dots, 200 bytes at most"));
    }
    Ok(())
}

/// A key's name: at least two segments `[a-z0-9][a-z0-9_-]*` joined by dots, 200 bytes at most.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// All but the last segment.
    pub fn namespace(&self) -> &str {
        self.0.rsplit_once('.').map_or("", |(namespace, _)| namespace)
    }
    /// The last segment: what a person types to arm a dialog.
    pub fn last_segment(&self) -> &str {
        self.0.rsplit_once('.').map_or(&*self.0, |(_, last)| last)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for KeyId {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() > 200 {
            return Err(wrong("key_id", "is longer than 200 bytes"));
        }
        let segments: Vec<&str> = text.split('.').collect();
        if segments.len() < 2 {
            return Err(wrong("key_id", "needs two segments at least, joined by a dot, like `support.greeting`"));
        }
        match segments.iter().find(|s| !is_segment(s)) {
            Some(bad) => Err(wrong(
                "key_id",
                format!(
                    "has the segment {bad:?}; a segment is lower-case letters, digits, `_` and `-`, and starts with a letter or digit"
                ),
            )),
            None => Ok(Self(text.into())),
        }
    }
}
text_serde!(KeyId);
text_schema!(
    KeyId,
    200,
    r"^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+$",
    "A key's name: two segments at least, joined by dots, 200 bytes at most."
);

/// An environment's name (one key segment), or [`SAFE_DEFAULT`].
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Environment(Arc<str>);

impl Environment {
    /// The pseudo environment of safe defaults.
    pub fn safe_default() -> Self {
        Self(SAFE_DEFAULT.into())
    }
    /// Whether this is [`SAFE_DEFAULT`].
    pub fn is_safe_default(&self) -> bool {
        &*self.0 == SAFE_DEFAULT
    }
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Environment {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if text == SAFE_DEFAULT || (is_segment(text) && text.len() <= 60) {
            return Ok(Self(text.into()));
        }
        Err(wrong("environment", "is not one segment `[a-z0-9][a-z0-9_-]*` of 60 bytes at most"))
    }
}
text_serde!(Environment);
text_schema!(
    Environment,
    60,
    "^(@safe-default|[a-z0-9][a-z0-9_-]{0,59})$",
    "An environment's name; `@safe-default` is where a key's safe default moves."
);

/// What kind of actor acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ActorKind {
    /// A human being; only persons approve.
    Person,
    /// A program with a token.
    Service,
    /// The registry itself.
    System,
    /// An author named by an imported git history; never acts.
    Git,
}

impl ActorKind {
    /// The word before the colon.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Service => "service",
            Self::System => "system",
            Self::Git => "git",
        }
    }
}

/// Who acted: `person:ana`, `service:ci`, `system:rollout`, or `git:Any Name` (as an author only).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Actor {
    /// What kind of actor.
    pub kind: ActorKind,
    /// The name after the colon.
    pub name: Arc<str>,
}

impl Actor {
    /// `person:NAME`; the caller has checked the name.
    pub fn person(name: &str) -> Self {
        Self { kind: ActorKind::Person, name: name.into() }
    }
    /// `service:NAME`; the caller has checked the name.
    pub fn service(name: &str) -> Self {
        Self { kind: ActorKind::Service, name: name.into() }
    }
    /// `system:NAME`.
    pub fn system(name: &str) -> Self {
        Self { kind: ActorKind::System, name: name.into() }
    }
    /// Whether this is a human being.
    pub fn is_person(&self) -> bool {
        self.kind == ActorKind::Person
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.name)
    }
}

impl FromStr for Actor {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let bad = || wrong("actor", "is not `person:`, `service:`, `system:` or `git:` and a name");
        let (kind, name) = text.split_once(':').ok_or_else(bad)?;
        let kind = match kind {
            "person" => ActorKind::Person,
            "service" => ActorKind::Service,
            "system" => ActorKind::System,
            "git" => ActorKind::Git,
            _ => return Err(bad()),
        };
        let fits = if kind == ActorKind::Git { !name.is_empty() } else { name.split('.').all(is_segment) };
        if !fits || name.len() > 200 {
            return Err(wrong("actor", "has a name that is not lower-case segments joined by dots"));
        }
        Ok(Self { kind, name: name.into() })
    }
}
text_serde!(Actor);
text_schema!(
    Actor,
    208,
    r"^((person|service|system):[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*|git:[\s\S]+)$",
    "Who: `person:`, `service:`, `system:` and a lower-case name; `git:` and any name as an author only."
);

/// A share in whole basis points, 0 to 10000; in JSON a percentage of at most two decimals (12.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct BasisPoints(u16);

impl BasisPoints {
    /// Nobody.
    pub const ZERO: Self = Self(0);
    /// Everybody.
    pub const ALL: Self = Self(10_000);

    /// A share of `points` basis points.
    ///
    /// # Errors
    /// More than 10000 is refused.
    pub fn new(points: u16) -> Result<Self, IdError> {
        if points > 10_000 {
            return Err(wrong("percentage", "is above 100"));
        }
        Ok(Self(points))
    }
    /// The share in basis points.
    pub fn get(self) -> u16 {
        self.0
    }
    /// The share of a percentage.
    ///
    /// # Errors
    /// Outside 0 to 100, or more than two decimals.
    pub fn from_percent(percent: f64) -> Result<Self, IdError> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(wrong("percentage", "is not between 0 and 100"));
        }
        let points = (percent * 100.0).round();
        if (points / 100.0 - percent).abs() > 1e-9 {
            return Err(wrong("percentage", "has more than two decimals"));
        }
        // The range was checked, so the cast is exact.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
        Ok(Self(points as u16))
    }
}

impl fmt::Display for BasisPoints {
    /// `25`, `12.5`, `0.01`: the percentage without a sign.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, rest) if rest % 10 == 0 => write!(f, "{whole}.{}", rest / 10),
            (whole, rest) => write!(f, "{whole}.{rest:02}"),
        }
    }
}

impl FromStr for BasisPoints {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let text = text.trim().trim_end_matches('%').trim_end();
        let percent = text.parse().map_err(|_| wrong("percentage", "is not a number between 0 and 100"))?;
        Self::from_percent(percent)
    }
}

impl Serialize for BasisPoints {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(100) { s.serialize_u16(self.0 / 100) } else { s.serialize_f64(f64::from(self.0) / 100.0) }
    }
}
impl<'de> Deserialize<'de> for BasisPoints {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Self::from_percent(f64::deserialize(d)?).map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for BasisPoints {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Percentage".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number", "minimum": 0, "maximum": 100, "description": "A share in percent, two decimals at most."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_names_are_refused_with_the_segment() {
        for bad in ["support", "Support.a", "a..b", "a.-b", ".a", "a.b c", "a.b/../c"] {
            assert!(bad.parse::<KeyId>().is_err(), "{bad}");
        }
        let key: KeyId = "support.refund.system".parse().unwrap();
        assert_eq!((key.namespace(), key.last_segment()), ("support.refund", "system"));
        assert!("a.B".parse::<KeyId>().unwrap_err().to_string().contains("\"B\""));
        assert!(format!("{}.b", "a".repeat(199)).parse::<KeyId>().is_err());
    }

    #[test]
    fn digests_are_lower_case_and_whole() {
        let text = format!("sha256:{}", "ab".repeat(32));
        assert_eq!(text.parse::<Digest>().unwrap().to_string(), text);
        for bad in [text.to_uppercase(), text[..70].to_owned(), text.replace("sha256", "sha512"), format!("{text}0")] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    #[test]
    fn percentages_keep_two_decimals_and_print_short() {
        for (percent, text) in [(0.0, "0"), (12.5, "12.5"), (0.01, "0.01"), (99.99, "99.99"), (100.0, "100")] {
            let share = BasisPoints::from_percent(percent).unwrap();
            assert_eq!(share.to_string(), text);
            assert_eq!(serde_json::to_string(&share).unwrap(), text);
            assert_eq!(serde_json::from_str::<BasisPoints>(text).unwrap(), share);
        }
        for bad in [-0.1, 100.01, 0.001, f64::NAN, f64::INFINITY] {
            assert!(BasisPoints::from_percent(bad).is_err(), "{bad}");
        }
    }
}
