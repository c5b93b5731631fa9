//! Who loses what: the blast radius of a change of a pointer, in words.

use super::known::Known;
use super::sheet::Row;
use super::spec::units;
use super::words;
use crate::model::{BasisPoints, Digest, EnvironmentPointer};

/// Rows under `BLAST RADIUS`: reach, then what happens to whom.
pub(super) fn rows(known: &Known, movers: &[String]) -> Vec<Row> {
    let mut rows = vec![Row::Heading("BLAST RADIUS")];
    rows.push(Row::item(&known.reach().map_or_else(|| "reach is not known".into(), words::reach)));
    rows.extend(movers.iter().map(|line| Row::item(line)));
    rows
}

/// A promotion or revive to `to` for `share`, the others getting `baseline`.
pub(super) fn promotion(known: &Known, to: Option<&Digest>, share: BasisPoints, baseline: Option<&Digest>) -> Vec<String> {
    let (units, to, rest) = (units(known.unit()), known.name(to), known.name(baseline));
    let all = share == BasisPoints::ALL;
    let line = match known.pointer() {
        None if all => format!("nothing is served here yet: every unit gets {to}"),
        None => format!("nothing is served here yet: {share} % of {units} get {to}, the others {rest}"),
        Some(now) if now.killed && all => format!("killed now: every unit moves from the safe default to {to}"),
        Some(now) if now.killed => {
            format!("killed now: {share} % of {units} move from the safe default to {to}, the others get {rest}")
        }
        Some(now) => {
            let old = known.name(Some(&now.digest));
            match (now.rollout_pct == BasisPoints::ALL, all) {
                (true, true) => format!("every unit moves from {old} to {to}"),
                (true, false) => format!("{share} % of {units} move from {old} to {to}, the others keep {rest}"),
                (false, true) => {
                    format!(
                        "every unit moves to {to}: {} % from {old}, the others from {}",
                        now.rollout_pct,
                        known.name(now.baseline_digest.as_ref())
                    )
                }
                (false, false) => {
                    format!("the {} % of {units} on {old} lose it: {share} % get {to}, the others {rest}", now.rollout_pct)
                }
            }
        }
    };
    let mut lines = vec![line];
    if let (false, Some(reach)) = (all, known.reach()) {
        lines.push(words::part(reach, share));
    }
    lines
}

/// A step of a running rollout to `share`.
pub(super) fn step(known: &Known, now: &EnvironmentPointer, share: BasisPoints) -> Vec<String> {
    let (units, new, old) = (units(known.unit()), known.name(Some(&now.digest)), known.name(now.baseline_digest.as_ref()));
    let (was, is) = (now.rollout_pct.get(), share.get());
    let moved = BasisPoints::new(was.abs_diff(is)).unwrap_or_default();
    let line = if is >= was {
        format!("{moved} % more of {units} move from {old} to {new}")
    } else {
        format!("{moved} % of {units} go back from {new} to {old}")
    };
    let part = known.reach().map(|reach| words::part(reach, share));
    std::iter::once(line).chain(part).collect()
}

/// Back to `to` for everybody.
pub(super) fn rollback(known: &Known, now: &EnvironmentPointer, to: Option<&Digest>) -> Vec<String> {
    let (new, old) = (known.name(Some(&now.digest)), known.name(to));
    let who = if now.rollout_pct == BasisPoints::ALL {
        format!("every unit moves from {new} to {old}")
    } else {
        format!("every unit gets {old}: the {} % of {} on {new} lose it", now.rollout_pct, units(known.unit()))
    };
    vec![who, "held afterwards: no step until a person promotes again".into()]
}
