//! Patterns of key names: what lists, kills and the audit trail are asked for. Read once, so that all of them mean the same.

use super::ids::{IdError, KeyId, is_segment};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt, str::FromStr};

/// A pattern as requests and the policy write it, for JSON Schema.
const SYNTAX: &str = r"^(\*\*|[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*\.\*\*?|[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+)$";

/// Which keys are meant, by their whole name: `**`, `support.**`, `support.*` or one key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeyPattern {
    /// `**`: all of them.
    #[default]
    All,
    /// `support.**`: everything under a namespace; holds the prefix with its dot.
    Under(String),
    /// `support.*`: one segment more; holds the prefix with its dot.
    Direct(String),
    /// One key.
    Key(KeyId),
}

impl KeyPattern {
    /// Whether it covers a key's name.
    pub fn covers(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Under(prefix) => key.starts_with(prefix),
            Self::Direct(prefix) => key.strip_prefix(prefix.as_str()).is_some_and(|rest| !rest.contains('.')),
            Self::Key(one) => key == one.as_str(),
        }
    }
}

impl FromStr for KeyPattern {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = || IdError {
            what: "pattern",
            problem: format!(
                "{text:?} is none: it is a key, or segments and then `.*` (one more) or `.**` (any number), or `**`"
            ),
        };
        if text == "**" {
            return Ok(Self::All);
        }
        let (namespace, many) = match text.strip_suffix(".**") {
            Some(namespace) => (namespace, true),
            None => match text.strip_suffix(".*") {
                Some(namespace) => (namespace, false),
                None => return text.parse().map(Self::Key).map_err(|_| wrong()),
            },
        };
        if text.len() > 200 || !namespace.split('.').all(is_segment) {
            return Err(wrong());
        }
        let prefix = format!("{namespace}.");
        Ok(if many { Self::Under(prefix) } else { Self::Direct(prefix) })
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("**"),
            Self::Under(prefix) => write!(f, "{prefix}**"),
            Self::Direct(prefix) => write!(f, "{prefix}*"),
            Self::Key(one) => f.write_str(one.as_str()),
        }
    }
}

impl TryFrom<String> for KeyPattern {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<KeyPattern> for String {
    fn from(pattern: KeyPattern) -> Self {
        pattern.to_string()
    }
}

impl schemars::JsonSchema for KeyPattern {
    fn schema_name() -> Cow<'static, str> {
        "KeyPattern".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "maxLength": 200, "pattern": SYNTAX,
            "description": "Keys by their whole name: `**` all, `a.b.**` all under a.b, `a.b.*` one segment more, `a.b` that key.",
        })
    }
}

/// What a list of keys is asked for: a pattern, or a part of the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum KeyNames {
    /// A pattern: what has a `*` in it.
    Pattern(KeyPattern),
    /// A part of the name; what no name has in it gives an empty list.
    Part(String),
}

impl Default for KeyNames {
    fn default() -> Self {
        Self::Pattern(KeyPattern::All)
    }
}

impl KeyNames {
    /// Whether it covers a key's name.
    pub fn covers(&self, key: &str) -> bool {
        match self {
            Self::Pattern(pattern) => pattern.covers(key),
            Self::Part(part) => key.contains(part),
        }
    }
}

impl FromStr for KeyNames {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.contains('*') { text.parse().map(Self::Pattern) } else { Ok(Self::Part(text.to_owned())) }
    }
}

impl TryFrom<String> for KeyNames {
    type Error = IdError;
    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<KeyNames> for String {
    fn from(names: KeyNames) -> Self {
        match names {
            KeyNames::Pattern(pattern) => pattern.to_string(),
            KeyNames::Part(part) => part,
        }
    }
}

impl schemars::JsonSchema for KeyNames {
    fn schema_name() -> Cow<'static, str> {
        "KeyNames".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "pattern": format!(r"(^[^*]*$|{SYNTAX})"),
            "description": "A pattern like `support.**` or `support.*`, or a part of the name.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_what_it_says_and_nothing_else() {
        for (pattern, covered, not_covered) in [
            ("**", &["support.a", "a.b.c"][..], &[][..]),
            ("support.**", &["support.a", "support.refund.a"], &["supporters.a", "search.support.a"]),
            ("support.*", &["support.a", "support.b-c"], &["support.refund.a", "supporters.a"]),
            ("support.refund.*", &["support.refund.a"], &["support.refund", "support.a"]),
            ("support.a", &["support.a"], &["support.ab", "support.a.b", "z.support.a"]),
        ] {
            let read: KeyPattern = pattern.parse().unwrap();
            assert_eq!(read.to_string(), pattern);
            for key in covered {
                assert!(read.covers(key), "{pattern} covers {key}");
            }
            for key in not_covered {
                assert!(!read.covers(key), "{pattern} does not cover {key}");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_and_never_means_more() {
        let long = format!("{}.**", "a".repeat(300));
        for text in [
            "",
            "*",
            "support",
            "**.k2",
            "*.k2",
            "a.**.b",
            "a.*.b",
            "a.b*",
            "a.**.**",
            "a.*.**",
            "***",
            "a.***",
            ".**",
            "a..**",
            "a.b.",
            "A.**",
            " a.**",
            "a.** ",
            "a.\u{430}.**",
            "a,b.*",
            "%.**",
            "a.\0.**",
            &long,
        ] {
            assert!(text.parse::<KeyPattern>().is_err(), "{text:?}");
            assert_eq!(text.parse::<KeyNames>().is_err(), text.contains('*'), "{text:?}");
        }
    }
}
