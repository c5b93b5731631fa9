//! What time alone meets: a soak in the environment before, and the end of a freeze (R29).

use super::{Serving, item};
use crate::model::{ReadinessItem, ReadinessKind, Timestamp};
use crate::rules::freeze::frozen;
use crate::rules::soak::Stretch;

/// Whether the environment before has served it to everybody for long enough, without a break.
pub(super) fn soak(serving: &Serving<'_>) -> Option<ReadinessItem> {
    let (before, seconds) = (serving.rule.after.as_ref()?, serving.rule.soak?);
    let long = span(seconds);
    if let Some(done) = serving.soaked.iter().find(|stretch| stretch.lasted(seconds, serving.now)) {
        let reason = format!("{before} held it at 100 % for {long} from {} on", second(done.since));
        return Some(item(ReadinessKind::Soak, Ok(reason), Vec::new()));
    }
    let (reason, until) = match serving.soaked.last() {
        Some(Stretch { since, until: None }) => {
            let until = since.plus_seconds(seconds);
            let reason =
                format!("{before} has held it at 100 % since {}; it takes {long}, until {}", second(*since), second(until));
            (reason, Some(until))
        }
        Some(Stretch { since, until: Some(until) }) => {
            let held = format!("{before} held it at 100 % from {} to {} only", second(*since), second(*until));
            (format!("{held}; it takes {long} without a break: promote it there again"), None)
        }
        None => (format!("{before} has not held this digest at 100 %; it takes {long} there"), None),
    };
    let item = item(ReadinessKind::Soak, Err(reason), glass(serving));
    Some(ReadinessItem { until, ..item })
}

/// Whether nothing new may come to serve now.
pub(super) fn freeze(serving: &Serving<'_>) -> Option<ReadinessItem> {
    let windows = serving.rule.freeze.as_deref().filter(|windows| !windows.is_empty())?;
    let Some(frozen) = frozen(windows, serving.now) else {
        return Some(item(ReadinessKind::Freeze, Ok("not frozen".to_owned()), Vec::new()));
    };
    let item = item(ReadinessKind::Freeze, Err(frozen.reason), glass(serving));
    Some(ReadinessItem { until: frozen.until, ..item })
}

/// Who need not wait.
fn glass(serving: &Serving<'_>) -> Vec<String> {
    serving.rule.break_glass.iter().flatten().map(|role| format!("role:{role}")).collect()
}

/// `2026-11-30 12:00:00 UTC`.
fn second(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// `30m`, `24h`, `14d`: the longest unit that fits without a rest.
fn span(seconds: i64) -> String {
    match seconds {
        s if s % 86_400 == 0 && s > 86_400 => format!("{}d", s / 86_400),
        s if s % 3600 == 0 => format!("{}h", s / 3600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}
