//! Freeze windows on the clocks of a time zone (R29): when nothing new comes to serve, and until when.
//!
//! A window begins at the first moment at which the clocks there read its beginning or later, and ends when they read its end or
//! later for good. So a time that a clock change leaves out stands for the moment of the change, and of a time that comes twice a
//! window begins at the first and ends at the second: it is never shorter than the text says.

use crate::model::Timestamp;
use crate::model::policy::FreezeWindow;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Span, ToSpan as _};
use std::sync::LazyLock;

/// Windows that follow each other without a gap are followed so far.
const CHAIN: usize = 100;

/// The zones that this program brings along: every machine says the same, whatever is installed on it.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A freeze that holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// When it ends; none where windows follow each other without end.
    pub until: Option<Timestamp>,
    /// For people: which window, and until when on its clocks and in UTC.
    pub reason: String,
}

/// Whether a window is one.
///
/// # Errors
/// What is wrong with it.
pub fn check(window: &FreezeWindow) -> Result<(), String> {
    Window::read(window).map(drop)
}

/// A local date and time without an offset: `2026-12-24T18:00:00`, or with a blank, seconds perhaps left out.
pub fn local(text: &str) -> Option<DateTime> {
    let offset_free = !text.contains(['Z', 'z', '[', '+']) && text.matches('-').count() == 2 && text.contains(':');
    text.parse().ok().filter(|_| offset_free)
}

/// The freeze that holds at `now`. A window that cannot be read freezes: nothing comes to serve by a mistake.
pub fn frozen(windows: &[FreezeWindow], now: Timestamp) -> Option<Frozen> {
    let mut read = Vec::new();
    for window in windows {
        match Window::read(window) {
            Ok(window) => read.push(window),
            Err(why) => return Some(Frozen { until: None, reason: format!("frozen: a window cannot be read: {why}") }),
        }
    }
    let mut at = jiff::Timestamp::from_microsecond(now.0).ok()?;
    let mut last = None;
    for _ in 0..CHAIN {
        let next = read.iter().filter_map(|window| Some((window.ends_after(at)?, window))).max_by_key(|(end, _)| *end);
        let Some((end, window)) = next else {
            let (end, window): (jiff::Timestamp, &Window) = last?;
            return Some(Frozen { until: Some(Timestamp(end.as_microsecond())), reason: window.reason(end) });
        };
        at = end;
        last = Some((end, window));
    }
    Some(Frozen { until: None, reason: "frozen by windows that follow each other without end".to_owned() })
}

/// A window that was read.
struct Window {
    zone: TimeZone,
    when: When,
}

enum When {
    /// From one local time to another.
    Once(DateTime, DateTime),
    /// From one time of the week to another.
    Weekly(Point, Point),
}

/// A time of the week.
type Point = (Weekday, Time);

impl Window {
    fn read(window: &FreezeWindow) -> Result<Self, String> {
        let zone = ZONES.get(&window.tz).map_err(|_| format!("{:?} is not a time zone like \"Europe/Berlin\"", window.tz))?;
        let when = match (&window.from, &window.to, &window.weekly) {
            (Some(from), Some(to), None) => {
                let read = |text: &str| local(text).ok_or_else(|| format!("{text:?} is not a local date and time"));
                let (from, to) = (read(from)?, read(to)?);
                if from >= to {
                    return Err("a window must end after it begins".to_owned());
                }
                When::Once(from, to)
            }
            (None, None, Some(text)) => {
                let (from, to) = weekly(text).ok_or_else(|| format!("{text:?} is not a window like \"fri 16:00-mon 08:00\""))?;
                if from == to {
                    return Err("a weekly window must end at another time than it begins".to_owned());
                }
                When::Weekly(from, to)
            }
            _ => return Err("a window has `from` and `to`, or `weekly`".to_owned()),
        };
        Ok(Self { zone, when })
    }

    /// When the window ends, where `at` is inside it.
    fn ends_after(&self, at: jiff::Timestamp) -> Option<jiff::Timestamp> {
        let within = |from: DateTime, to: DateTime| {
            let (from, to) = (begins(&self.zone, from)?, ends(&self.zone, to)?);
            (from <= at && at < to).then_some(to)
        };
        match self.when {
            When::Once(from, to) => within(from, to),
            When::Weekly(from, to) => {
                let today = self.zone.to_datetime(at).date();
                // A week back to find the beginning, and a day ahead: a clock change at midnight moves dates.
                let days = (-8..=1_i64).filter_map(|days| today.checked_add(days.days()).ok());
                days.filter(|day| day.weekday() == from.0)
                    .filter_map(|day| within(day.to_datetime(from.1), end_of_week(day, from, to)?))
                    .max()
            }
        }
    }

    fn reason(&self, end: jiff::Timestamp) -> String {
        let there = self.zone.to_datetime(end);
        let which = match self.when {
            When::Once(from, to) => format!("{from} to {to}"),
            When::Weekly(from, to) => format!("weekly {} {}-{} {}", day(from.0), clock(from.1), day(to.0), clock(to.1)),
        };
        let zone = self.zone.iana_name().unwrap_or("UTC");
        let local = there.strftime("%a %Y-%m-%d %H:%M");
        format!("frozen until {local} {zone}, {} UTC ({which})", end.strftime("%Y-%m-%d %H:%M:%S"))
    }
}

/// The end of the week's window that begins on `day`.
fn end_of_week(day: Date, from: Point, to: Point) -> Option<DateTime> {
    let days = i64::from(from.0.until(to.0));
    // On the same weekday and not later: a week on.
    let days = if days == 0 && to.1 <= from.1 { 7 } else { days };
    let span: Span = days.days();
    Some(day.checked_add(span).ok()?.to_datetime(to.1))
}

/// `fri 16:00-mon 08:00`.
fn weekly(text: &str) -> Option<(Point, Point)> {
    let (from, to) = text.split_once('-')?;
    let read = |half: &str| {
        let (weekday, time) = half.trim().split_once(' ')?;
        let weekday = DAYS.iter().find(|(name, _)| *name == weekday)?.1;
        let (hour, minute) = time.trim().split_once(':')?;
        let number = |text: &str| text.parse::<i8>().ok().filter(|_| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()));
        Some((weekday, Time::new(number(hour)?, number(minute)?, 0, 0).ok()?))
    };
    Some((read(from)?, read(to)?))
}

const DAYS: [(&str, Weekday); 7] = [
    ("mon", Weekday::Monday),
    ("tue", Weekday::Tuesday),
    ("wed", Weekday::Wednesday),
    ("thu", Weekday::Thursday),
    ("fri", Weekday::Friday),
    ("sat", Weekday::Saturday),
    ("sun", Weekday::Sunday),
];

fn day(weekday: Weekday) -> &'static str {
    DAYS.iter().find(|(_, known)| *known == weekday).map_or("", |(name, _)| name)
}

fn clock(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

/// The first moment at which clocks read `local` or later.
fn begins(zone: &TimeZone, local: DateTime) -> Option<jiff::Timestamp> {
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local).ok(),
        // Read with the old offset it lies after the change, so the change is the last one before.
        AmbiguousOffset::Gap { before, .. } => {
            let after = before.to_timestamp(local).ok()?.checked_add(1.nanosecond()).ok()?;
            zone.preceding(after).next().map(|change| change.timestamp())
        }
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local).ok(),
    }
}

/// The first moment from which on clocks read `local` or later for good.
fn ends(zone: &TimeZone, local: DateTime) -> Option<jiff::Timestamp> {
    match zone.to_ambiguous_timestamp(local).offset() {
        AmbiguousOffset::Fold { after, .. } => after.to_timestamp(local).ok(),
        _ => begins(zone, local),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(tz: &str, from: &str, to: &str) -> FreezeWindow {
        FreezeWindow { tz: tz.into(), from: Some(from.into()), to: Some(to.into()), weekly: None }
    }

    fn weekly(tz: &str, text: &str) -> FreezeWindow {
        FreezeWindow { tz: tz.into(), from: None, to: None, weekly: Some(text.into()) }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    /// Frozen from `begin` on and no second before, until `end` and no second after, and says so all the while.
    fn check_edges(window: &FreezeWindow, begin: &str, end: &str) {
        let (begin, end) = (at(begin), at(end));
        let frozen = |moment: Timestamp| frozen(std::slice::from_ref(window), moment);
        let edges = [(begin.plus_seconds(-1), false), (begin, true), (begin.plus_seconds(1), true)];
        let edges = edges.into_iter().chain([(end.plus_seconds(-1), true), (end, false), (end.plus_seconds(1), false)]);
        for (moment, want) in edges {
            assert_eq!(frozen(moment).is_some(), want, "{window:?} at {moment}");
        }
        for inside in [begin, begin.plus_seconds(1), end.plus_seconds(-1)] {
            assert_eq!(frozen(inside).unwrap().until, Some(end), "{window:?} at {inside}");
        }
    }

    // 2026: Berlin springs forward on 29 March, 02:00 -> 03:00 at 01:00 UTC, and falls back on 25 October, 03:00 -> 02:00 at 01:00 UTC.
    // New York springs forward on 8 March, 02:00 -> 03:00 at 07:00 UTC, and falls back on 1 November, 02:00 -> 01:00 at 06:00 UTC.
    #[test]
    fn windows_are_right_to_the_second_over_the_clock_changes_of_2026() {
        let (berlin, york) = ("Europe/Berlin", "America/New_York");
        for (tz, from, to, begin, end) in [
            // Over a change, with edges on ordinary times.
            (berlin, "2026-03-28T16:00:00", "2026-03-30T08:00:00", "2026-03-28T15:00:00Z", "2026-03-30T06:00:00Z"),
            (berlin, "2026-10-24T16:00:00", "2026-10-26T08:00:00", "2026-10-24T14:00:00Z", "2026-10-26T07:00:00Z"),
            (york, "2026-03-07T16:00:00", "2026-03-09T08:00:00", "2026-03-07T21:00:00Z", "2026-03-09T12:00:00Z"),
            (york, "2026-10-31T16:00:00", "2026-11-02T08:00:00", "2026-10-31T20:00:00Z", "2026-11-02T13:00:00Z"),
            // A time that is left out stands for the change.
            (berlin, "2026-03-29T02:30:00", "2026-03-29T06:00:00", "2026-03-29T01:00:00Z", "2026-03-29T04:00:00Z"),
            (berlin, "2026-03-29T00:00:00", "2026-03-29T02:30:00", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"),
            (berlin, "2026-03-29T00:00:00", "2026-03-29T02:00:00", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"),
            (berlin, "2026-03-29T00:00:00", "2026-03-29T03:00:00", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"),
            (york, "2026-03-08T02:30:00", "2026-03-08T06:00:00", "2026-03-08T07:00:00Z", "2026-03-08T10:00:00Z"),
            (york, "2026-03-08T00:00:00", "2026-03-08T02:30:00", "2026-03-08T05:00:00Z", "2026-03-08T07:00:00Z"),
            // Of a time that comes twice, the first begins and the second ends.
            (berlin, "2026-10-25T02:30:00", "2026-10-25T06:00:00", "2026-10-25T00:30:00Z", "2026-10-25T05:00:00Z"),
            (berlin, "2026-10-25T00:00:00", "2026-10-25T02:30:00", "2026-10-24T22:00:00Z", "2026-10-25T01:30:00Z"),
            (berlin, "2026-10-25T02:00:00", "2026-10-25T02:30:00", "2026-10-25T00:00:00Z", "2026-10-25T01:30:00Z"),
            (york, "2026-11-01T01:30:00", "2026-11-01T06:00:00", "2026-11-01T05:30:00Z", "2026-11-01T11:00:00Z"),
            (york, "2026-11-01T00:00:00", "2026-11-01T01:30:00", "2026-11-01T04:00:00Z", "2026-11-01T06:30:00Z"),
        ] {
            check_edges(&window(tz, from, to), begin, end);
        }
    }

    #[test]
    fn weekly_windows_follow_the_clocks_of_their_zone() {
        for (tz, text, begin, end) in [
            ("Europe/Berlin", "fri 16:00-mon 08:00", "2026-03-20T15:00:00Z", "2026-03-23T07:00:00Z"),
            ("Europe/Berlin", "fri 16:00-mon 08:00", "2026-03-27T15:00:00Z", "2026-03-30T06:00:00Z"),
            ("Europe/Berlin", "fri 16:00-mon 08:00", "2026-10-23T14:00:00Z", "2026-10-26T07:00:00Z"),
            ("America/New_York", "fri 16:00-mon 08:00", "2026-03-06T21:00:00Z", "2026-03-09T12:00:00Z"),
            ("America/New_York", "fri 16:00-mon 08:00", "2026-10-30T20:00:00Z", "2026-11-02T13:00:00Z"),
            ("Europe/Berlin", "sun 02:30-sun 05:00", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00Z"),
            ("Europe/Berlin", "sun 02:30-sun 05:00", "2026-10-25T00:30:00Z", "2026-10-25T04:00:00Z"),
            ("America/New_York", "sat 12:00-sun 01:30", "2026-10-31T16:00:00Z", "2026-11-01T06:30:00Z"),
            ("UTC", "mon 08:00-mon 07:00", "2026-11-30T08:00:00Z", "2026-12-07T07:00:00Z"),
            ("Pacific/Auckland", "mon 00:00-mon 09:00", "2026-11-29T11:00:00Z", "2026-11-29T20:00:00Z"),
        ] {
            check_edges(&weekly(tz, text), begin, end);
        }
    }

    #[test]
    fn windows_that_touch_are_one_and_the_reason_names_the_end() {
        let windows =
            [weekly("Europe/Berlin", "fri 16:00-mon 08:00"), window("UTC", "2026-11-30T07:00:00", "2026-11-30T09:00:00")];
        let found = frozen(&windows, at("2026-11-29T12:00:00Z")).unwrap();
        assert_eq!(found.until, Some(at("2026-11-30T09:00:00Z")));
        assert_eq!(
            found.reason,
            "frozen until Mon 2026-11-30 09:00 UTC, 2026-11-30 09:00:00 UTC (2026-11-30T07:00:00 to 2026-11-30T09:00:00)"
        );
        let found = frozen(&windows[..1], at("2026-11-29T12:00:00Z")).unwrap();
        assert_eq!(
            found.reason,
            "frozen until Mon 2026-11-30 08:00 Europe/Berlin, 2026-11-30 07:00:00 UTC (weekly fri 16:00-mon 08:00)"
        );
        let ever = [weekly("UTC", "mon 00:00-fri 00:00"), weekly("UTC", "fri 00:00-mon 00:00")];
        assert_eq!(frozen(&ever, at("2026-11-29T12:00:00Z")).unwrap().until, None);
        assert_eq!(frozen(&[], at("2026-11-29T12:00:00Z")), None);
    }

    #[test]
    fn what_is_no_window_is_refused_and_freezes_where_it_stands_all_the_same() {
        for (bad, says) in [
            (window("Europe/Atlantis", "2026-01-01T00:00:00", "2026-01-02T00:00:00"), "not a time zone"),
            (window("UTC", "2026-01-02T00:00:00", "2026-01-02T00:00:00"), "end after it begins"),
            (window("UTC", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00"), "not a local date and time"),
            (window("UTC", "2026-01-01T00:00:00", "2026-02-30T00:00:00"), "not a local date and time"),
            (weekly("UTC", "fri 16:00"), "not a window like"),
            (weekly("UTC", "fri 24:00-mon 08:00"), "not a window like"),
            (weekly("UTC", "fri 1:00-mon 08:00"), "not a window like"),
            (weekly("UTC", "Friday 16:00-mon 08:00"), "not a window like"),
            (weekly("UTC", "fri 16:00-fri 16:00"), "another time"),
            (FreezeWindow { tz: "UTC".into(), from: None, to: None, weekly: None }, "`from` and `to`, or `weekly`"),
        ] {
            let why = check(&bad).unwrap_err();
            assert!(why.contains(says), "{bad:?}: {why}");
            assert!(frozen(&[bad], at("2030-01-01T00:00:00Z")).is_some(), "it freezes");
        }
    }
}
