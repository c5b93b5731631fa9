//! A moment: whole microseconds since 1970 in code and tables, RFC 3339 UTC with six decimals and `Z` in JSON.

use super::ids::IdError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// This moment and `seconds` more (or fewer), saturating.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
    /// Whole seconds from `earlier` to here; negative when `earlier` is later.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0) / 1_000_000
    }
    /// A moment as a person types it: RFC 3339, or a local time with its zone in brackets.
    ///
    /// # Errors
    /// It is neither.
    pub fn typed(text: &str) -> Result<Self, IdError> {
        let zoned = || text.parse::<jiff::ZonedDateTime>().map(|at| Self(at.timestamp().as_microsecond()));
        text.parse().or_else(|_: IdError| zoned()).map_err(|_| IdError {
            what: "time",
            problem: "is neither 2026-12-01T08:00Z nor 2026-12-01T08:00[Europe/Berlin]".into(),
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(at) => write!(f, "{at:.6}"),
            Err(_) => f.write_str("out-of-range"),
        }
    }
}

impl FromStr for Timestamp {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse::<jiff::Timestamp>()
            .map(|at| Self(at.as_microsecond()))
            .map_err(|_| IdError { what: "time", problem: "is not RFC 3339, like 2026-11-30T12:00:00Z".into() })
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string", "format": "date-time", "description": "A moment, RFC 3339; given back in UTC with six decimals."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_decimals_and_z_always() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000000Z");
        let at: Timestamp = "2026-11-30T13:00:01.5+01:00".parse().unwrap();
        assert_eq!(at.to_string(), "2026-11-30T12:00:01.500000Z");
    }

    #[test]
    fn a_person_types_a_moment_with_its_offset_or_with_its_zone() {
        let eight: Timestamp = "2026-12-01T08:00:00Z".parse().unwrap();
        for text in
            ["2026-12-01T08:00Z", "2026-12-01T09:00+01:00", "2026-12-01T09:00[Europe/Berlin]", "2026-12-01 09:00[Europe/Berlin]"]
        {
            assert_eq!(Timestamp::typed(text).unwrap(), eight, "{text}");
        }
        for text in ["", "tomorrow", "2026-12-01", "2026-12-01T09:00", "2026-12-01T09:00[Europe/Atlantis]", "2026-13-01T08:00Z"] {
            assert!(Timestamp::typed(text).is_err(), "{text}");
        }
    }
}
