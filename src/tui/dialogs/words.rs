//! How dialogs say numbers, versions and times.

use crate::model::{Actor, BasisPoints, Plan, PlanStep, Timestamp, Version};
use crate::tui::widgets::age::span;
pub(super) use crate::tui::widgets::plural;
use crate::wire::pointers::Reach;

/// `12 min`, `3 h`, `9 d`; what lies in the future is `now`.
pub(super) fn age(at: Timestamp, now: Timestamp) -> String {
    match now.seconds_since(at).max(0) {
        0..60 => "just now".into(),
        s @ 60..3_600 => format!("{} min ago", s / 60),
        s @ 3_600..172_800 => format!("{} h ago", s / 3_600),
        s => format!("{} d ago", s / 86_400),
    }
}

/// `ana` of `person:ana`; other kinds keep their prefix.
pub(super) fn who(actor: &Actor) -> String {
    if actor.is_person() { actor.name.to_string() } else { actor.to_string() }
}

/// `v4 e07a19c4d2b1`
pub(super) fn short(version: &Version) -> String {
    format!("v{} {}", version.number, version.digest.short())
}

/// `v4 e07a19c4d2b1 (dee, 12 min ago)`
pub(super) fn version(version: &Version, now: Timestamp) -> String {
    let mark = if version.quarantine.is_some() { " QUARANTINED" } else { "" };
    format!("{} ({}, {}){mark}", short(version), who(&version.author), age(version.created_at, now))
}

/// `5 → 25 → 100 %`, or `100 %`.
pub(super) fn plan(plan: &Plan) -> String {
    let shares: Vec<String> = plan.iter().map(|step| step.0.to_string()).collect();
    if shares.is_empty() { "100 %".into() } else { format!("{} %", shares.join(" → ")) }
}

/// `5 → 25 → 100 %, 30m each`, or `5 (30m) → 25 (2h) → 100 %`: what is approved are the waits too.
pub(super) fn steps(plan: &Plan) -> String {
    let waits: Vec<i64> = plan.iter().filter_map(|step| step.1).collect();
    match waits.first() {
        None => self::plan(plan),
        Some(first) if waits.len() + 1 == plan.len() && waits.iter().all(|wait| wait == first) => {
            let each = if waits.len() == 1 { "first" } else { "each" };
            format!("{}, {} {each}", self::plan(plan), span(*first))
        }
        Some(_) => {
            let step = |step: &PlanStep| step.1.map_or(step.0.to_string(), |wait| format!("{} ({})", step.0, span(wait)));
            format!("{} %", plan.iter().map(step).collect::<Vec<_>>().join(" → "))
        }
    }
}

/// `41.2k`
pub(super) fn count(n: u64) -> String {
    match n {
        0..10_000 => n.to_string(),
        10_000..1_000_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        _ => format!("{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
    }
}

/// `412 resolves/min · 3 services: chat-edge, helpdesk-api, ivr`
pub(super) fn reach(reach: &Reach) -> String {
    let names: Vec<&str> = reach.services.iter().map(|s| s.strip_prefix("service:").unwrap_or(s)).collect();
    let services = match names.len() {
        0 => "no service in the last hour".to_owned(),
        1 => format!("1 service: {}", names[0]),
        n if n > 6 => format!("{n} services: {}, …", names[..6].join(", ")),
        n => format!("{n} services: {}", names.join(", ")),
    };
    format!("{} resolves/min · {services}", count(reach.per_minute))
}

/// `at 5 % ≈ 21 a minute`
pub(super) fn part(reach: &Reach, share: BasisPoints) -> String {
    let some = reach.per_minute.saturating_mul(u64::from(share.get())) / 10_000;
    if some == 0 { format!("at {share} % fewer than 1 a minute") } else { format!("at {share} % ≈ {} a minute", count(some)) }
}

/// `1 open promotion goes stale`
pub(super) fn stale(n: usize) -> String {
    format!("{} {} stale", plural(n, "open promotion"), if n == 1 { "goes" } else { "go" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_well_and_never_run_backwards() {
        let now = Timestamp(1_000_000_000_000);
        for (seconds, text) in [(-90, "just now"), (59, "just now"), (60, "1 min ago"), (7_200, "2 h ago"), (777_600, "9 d ago")]
        {
            assert_eq!(age(now.plus_seconds(-seconds), now), text);
        }
    }

    #[test]
    fn a_plan_that_is_approved_says_how_long_each_step_waits() {
        let plan = |steps: &[(u16, Option<i64>)]| -> Plan {
            steps.iter().map(|(share, wait)| PlanStep(BasisPoints::new(*share * 100).unwrap(), *wait)).collect()
        };
        for (steps, text) in [
            (plan(&[]), "100 %"),
            (plan(&[(100, None)]), "100 %"),
            (plan(&[(5, Some(1_800)), (100, None)]), "5 → 100 %, 30m first"),
            (plan(&[(5, Some(1_800)), (25, Some(1_800)), (100, None)]), "5 → 25 → 100 %, 30m each"),
            (plan(&[(5, Some(60)), (25, Some(7_200)), (100, None)]), "5 (1m) → 25 (2h) → 100 %"),
        ] {
            assert_eq!(super::steps(&steps), text);
        }
    }

    #[test]
    fn reach_names_the_services_and_counts_in_thousands() {
        let mut some = Reach { per_minute: 41_230, services: vec!["service:chat-edge".into(), "service:ivr".into()] };
        assert_eq!(reach(&some), "41.2k resolves/min · 2 services: chat-edge, ivr");
        some.services.clear();
        some.per_minute = 3;
        assert_eq!(reach(&some), "3 resolves/min · no service in the last hour");
        some.per_minute = 41_200;
        assert_eq!(part(&some, BasisPoints::new(500).unwrap()), "at 5 % ≈ 2060 a minute");
    }
}
