//! Times for people: relative ages that change on the minute, and absolute times in the person's own zone.

use crate::model::Timestamp;

/// `now`, `5m`, `3h`, `12d`; a moment in the future is `now`, too: clocks differ.
pub(crate) fn age(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.seconds_since(at).max(0);
    match seconds {
        0..60 => "now".into(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        86_400..34_560_000 => format!("{}d", seconds / 86_400),
        _ => format!("{}y", seconds / 31_557_600),
    }
}

/// `5m ago`, `just now`
pub(crate) fn ago(now: Timestamp, at: Timestamp) -> String {
    match age(now, at).as_str() {
        "now" => "just now".into(),
        age => format!("{age} ago"),
    }
}

/// `in 5m`, `due` once it has passed.
pub(crate) fn until(now: Timestamp, at: Timestamp) -> String {
    let seconds = at.seconds_since(now);
    if seconds <= 0 { "due".into() } else { format!("in {}", age(at, now).replace("now", "1m")) }
}

fn zoned(at: Timestamp, offset: i32) -> Option<jiff::ZonedDateTime> {
    let offset = jiff::tz::Offset::from_seconds(offset).ok()?;
    Some(jiff::Timestamp::from_microsecond(at.0).ok()?.to_zoned_datetime(offset.to_time_zone()))
}

/// `14:02:07` at an offset in seconds.
pub(crate) fn clock(at: Timestamp, offset: i32) -> String {
    zoned(at, offset).map_or_else(|| "--:--:--".into(), |z| z.strftime("%H:%M:%S").to_string())
}

/// `2026-11-30 14:02:07 +01:00`
pub(crate) fn absolute(at: Timestamp, offset: i32) -> String {
    zoned(at, offset).map_or_else(|| at.to_string(), |z| z.strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
}

/// `30m`, `2h`, `14d`: a duration in whole seconds, in its largest unit that divides it.
pub(crate) fn span(seconds: i64) -> String {
    match seconds {
        s if s > 0 && s % 86_400 == 0 => format!("{}d", s / 86_400),
        s if s > 0 && s % 3600 == 0 => format!("{}h", s / 3600),
        s if s > 0 && s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short_and_never_negative() {
        let now = Timestamp(1_000_000_000_000_000);
        for (seconds, text) in [
            (-90, "now"),
            (0, "now"),
            (59, "now"),
            (60, "1m"),
            (3599, "59m"),
            (3600, "1h"),
            (86_400 * 9, "9d"),
            (86_400 * 800, "2y"),
        ] {
            assert_eq!(age(now, now.plus_seconds(-seconds)), text);
        }
        assert_eq!(until(now, now.plus_seconds(1800)), "in 30m");
        assert_eq!(until(now, now.plus_seconds(5)), "in 1m");
        assert_eq!(until(now, now.plus_seconds(-5)), "due");
    }

    #[test]
    fn absolute_times_are_in_the_persons_zone() {
        let at: Timestamp = "2026-11-30T13:02:07Z".parse().unwrap();
        assert_eq!(clock(at, 3600), "14:02:07");
        assert_eq!(absolute(at, 3600), "2026-11-30 14:02:07 +01:00");
        assert_eq!(span(1800), "30m");
    }
}
