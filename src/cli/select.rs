//! `KEY@SEL`, plans and durations as they are written on the command line.

use super::exit::{Exit, Failure};
use super::output::line;
use crate::client::{Client, ClientError};
use crate::model::{BasisPoints, Code, IdError, KeyId, Plan, PlanStep, Timestamp};
use crate::wire::keys::Selector;
use crate::wire::versions::VersionView;
use std::str::FromStr;
use std::time::Duration;
use uuid::Uuid;

/// A version by its key and a selector: `support.greeting@v3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyAt {
    /// The key.
    pub key: KeyId,
    /// `sha256:…`, a prefix of at least 6 digits, `vN`, or an environment.
    pub selector: String,
}

impl FromStr for KeyAt {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let Some((key, selector)) = text.split_once('@') else {
            let problem = "is a key alone; name the version too, like support.greeting@v3 or support.greeting@production".into();
            return Err(IdError { what: "KEY@SEL", problem });
        };
        selector.parse::<Selector>()?;
        Ok(Self { key: key.parse()?, selector: selector.to_owned() })
    }
}

impl KeyAt {
    /// The version, its content verified. An environment that serves it only in part is said on stderr.
    pub async fn find(&self, client: &Client) -> Result<VersionView, Failure> {
        if let Ok(Selector::Environment(environment)) = self.selector.parse() {
            warn_if_partial(client, &self.key, &environment).await;
        }
        version_of(client, &self.key, &self.selector).await
    }
}

/// The version of a key that a selector means, its content verified.
pub async fn version_of(client: &Client, key: &KeyId, selector: &str) -> Result<VersionView, Failure> {
    let missing = match selector.parse() {
        Ok(Selector::Environment(environment)) => format!("{key} serves nothing in {environment}"),
        _ => format!("{key} has no version {selector}"),
    };
    match client.version_by_selector(key, selector).await {
        Ok(found) => Ok(found),
        Err(error) => Err(which(client, key, error, &missing).await),
    }
}

/// Says what is not there: `missing`, or the key itself. The registry's own answer is the same for all, so as to tell nothing of
/// what is hidden; whoever may see the key is told the rest.
pub async fn which(client: &Client, key: &KeyId, error: ClientError, missing: &str) -> Failure {
    if error.code() != Some(Code::NotFound) {
        return error.into();
    }
    match client.key_history(key).await {
        Ok(_) => {
            Failure::new(Exit::NotFound, line(missing)).hint(format!("`countersign show {key}` lists versions and environments"))
        }
        Err(_) => Failure::new(Exit::NotFound, format!("there is no key {key} that you may see")),
    }
}

/// A promotion's id, as `inbox` prints it.
///
/// # Errors
/// What is none.
pub fn promotion_id(text: &str) -> Result<Uuid, IdError> {
    let problem = || "is none: it has 36 characters, like those that `countersign inbox` prints".to_owned();
    text.parse().map_err(|_| IdError { what: "promotion's id", problem: problem() })
}

/// Says that an environment's digest is not what everybody gets.
async fn warn_if_partial(client: &Client, key: &KeyId, environment: &str) {
    let Ok(environment) = environment.parse() else { return };
    let Ok(view) = client.pointer(key, &environment).await else { return };
    if view.pointer.killed {
        super::output::note(&format!("warning: {key} is killed in {environment}; nobody gets this version"));
    } else if view.pointer.rollout_pct != BasisPoints::ALL {
        super::output::note(&format!("warning: only {} % get this version in {environment}", view.pointer.rollout_pct));
    }
}

/// `5:30m,25:30m,100`: shares rising, each but the last with how long it bakes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanText(pub Plan);

impl FromStr for PlanText {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        let wrong = |problem: String| IdError { what: "plan", problem };
        let steps: Vec<&str> = text.split(',').map(str::trim).collect();
        let mut plan = Plan::new();
        for (number, step) in steps.iter().enumerate() {
            let last = number + 1 == steps.len();
            let (share, bake) = match step.split_once(':') {
                Some((share, bake)) => (share, Some(seconds(bake)?)),
                None => (*step, None),
            };
            if last != bake.is_none() {
                let rule = if last { "bakes in its last step, which has no end" } else { "has a step without a bake time" };
                return Err(wrong(format!("{rule}; write it like 5:30m,25:30m,100")));
            }
            let share: BasisPoints = share.parse()?;
            if plan.last().is_some_and(|before: &PlanStep| before.0 >= share) {
                return Err(wrong(format!("does not rise at {share}")));
            }
            plan.push(PlanStep(share, bake));
        }
        Ok(Self(plan))
    }
}

/// A plan as it is written.
pub fn plan_text(plan: &Plan) -> String {
    let step = |PlanStep(share, bake): &PlanStep| match bake {
        Some(bake) => format!("{share}:{}", duration_text(*bake)),
        None => share.to_string(),
    };
    plan.iter().map(step).collect::<Vec<_>>().join(",")
}

/// Whole seconds as `90s`, `30m`, `24h` or `14d`.
pub fn duration_text(seconds: i64) -> String {
    for (unit, size) in [("d", 86_400), ("h", 3_600), ("m", 60)] {
        if seconds != 0 && seconds % size == 0 {
            return format!("{}{unit}", seconds / size);
        }
    }
    format!("{seconds}s")
}

fn seconds(text: &str) -> Result<i64, IdError> {
    let wrong = || IdError { what: "duration", problem: format!("{text:?} is not a number and s, m, h or d, like 30m") };
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let size = match unit {
        "s" | "" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: i64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(size).filter(|s| *s > 0).ok_or_else(wrong)
}

/// A positive duration: `30s`, `5m`, `24h`, `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        Ok(Self(Duration::from_secs(seconds(text)?.unsigned_abs())))
    }
}

/// A time of the past: an event's number (`812` or `#812`), a moment, or how long ago (`2h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// After the event with this number.
    Seq(u64),
    /// At this moment.
    At(Timestamp),
    /// So many seconds ago.
    Ago(i64),
}

impl When {
    /// The moment that is meant; none for a number.
    pub fn moment(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Seq(_) => None,
            Self::At(at) => Some(at),
            Self::Ago(seconds) => Some(now.plus_seconds(-seconds)),
        }
    }
}

impl FromStr for When {
    type Err = IdError;
    fn from_str(text: &str) -> Result<Self, IdError> {
        if let Ok(number) = text.strip_prefix('#').unwrap_or(text).parse() {
            return Ok(Self::Seq(number));
        }
        if let Ok(seconds) = seconds(text) {
            return Ok(Self::Ago(seconds));
        }
        text.parse().map(Self::At).map_err(|_| IdError {
            what: "time",
            problem: "is none of an event's number like #812, how long ago like 2h, and a moment like 2026-11-30T12:00:00Z"
                .into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_past_is_a_number_a_moment_or_how_long_ago() {
        let noon: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        for (text, when) in
            [("812", When::Seq(812)), ("#812", When::Seq(812)), ("2h", When::Ago(7200)), ("2026-11-30T12:00:00Z", When::At(noon))]
        {
            assert_eq!(text.parse(), Ok(when), "{text}");
        }
        assert_eq!("2h".parse::<When>().unwrap().moment(noon), Some("2026-11-30T10:00:00Z".parse().unwrap()));
        for bad in ["", "#", "yesterday", "2 h ago", "-3", "2026-11-30"] {
            assert!(bad.parse::<When>().is_err(), "{bad}");
        }
    }

    #[test]
    fn plans_read_and_print_the_same() {
        for text in ["100", "5:30m,25:90s,100", "0.5:1h,12.5:2d,50"] {
            assert_eq!(plan_text(&text.parse::<PlanText>().unwrap().0), text);
        }
        for (bad, word) in [
            ("", "number"),
            ("5:30m", "last step"),
            ("5,100", "without a bake"),
            ("25:30m,5:30m,100", "rise"),
            ("5:30x,100", "30x"),
            ("5:0m,100", "0m"),
            ("101", "between"),
            ("5:99999999999999999d,100", "duration"),
        ] {
            let error = bad.parse::<PlanText>().unwrap_err().to_string();
            assert!(error.contains(word), "{bad}: {error}");
        }
    }

    #[test]
    fn a_version_is_named_by_key_and_selector() {
        let at: KeyAt = "support.greeting@v3".parse().unwrap();
        assert_eq!((at.key.as_str(), at.selector.as_str()), ("support.greeting", "v3"));
        for bad in ["support.greeting", "support@v1", "support.greeting@", "support.greeting@V1"] {
            assert!(bad.parse::<KeyAt>().is_err(), "{bad}");
        }
    }
}
