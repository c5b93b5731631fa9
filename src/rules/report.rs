//! The report of changes as a table that spreadsheets read: comma-separated values (RFC 4180), every cell quoted.
//!
//! A cell whose first visible character could begin a formula gets an apostrophe before it, as OWASP asks ("CSV injection"), so
//! that a rationale runs nothing on the auditor's machine.

use super::hidden::is_blank;
use crate::model::{Approval, AuditEvent, Digest, EnvironmentPointer, GateVerdict, Promotion, Timestamp, Verdict, Version};
use std::collections::BTreeMap;

/// The columns, in order.
pub const COLUMNS: &[&str] = &[
    "seq",
    "at",
    "environment",
    "key",
    "action",
    "by",
    "from",
    "to",
    "version",
    "percent",
    "killed",
    "authors",
    "opened_by",
    "opened_at",
    "rationale",
    "kill_reason",
    "approvals",
    "gates",
    "reviewed_by",
    "reviewed_at",
    "change",
    "promotion",
    "event_id",
];

/// What one line is made of.
#[derive(Debug)]
pub struct Change<'a> {
    /// The event.
    pub event: &'a AuditEvent,
    /// The promotion that it applied.
    pub promotion: &'a Promotion,
    /// The pointer after it; none for a safe default.
    pub pointer: Option<&'a EnvironmentPointer>,
    /// The version that came to serve.
    pub version: Option<&'a Version>,
    /// Everything that was said on the promotion, in order.
    pub approvals: &'a [Approval],
    /// Every verdict on the version, in order.
    pub verdicts: &'a [GateVerdict],
}

/// The first line.
pub fn header() -> String {
    line(COLUMNS.iter().map(|name| (*name).to_owned()))
}

/// One change.
pub fn row(change: &Change<'_>) -> String {
    let Change { event, promotion, pointer, version, .. } = change;
    let (actor, action) = match &event.body {
        Some(body) => (body.actor.to_string(), body.action.to_string()),
        None => (String::new(), String::new()),
    };
    let rationale = event.body.as_ref().and_then(|body| body.detail.get("rationale")).and_then(serde_json::Value::as_str);
    let rationale = rationale.filter(|said| !is_blank(said)).unwrap_or(&promotion.rationale);
    line([
        event.seq.to_string(),
        event.at.to_string(),
        promotion.environment.to_string(),
        promotion.key_id.to_string(),
        action,
        actor,
        text(promotion.from_digest.as_ref()),
        text(promotion.to_digest.as_ref()),
        version.map_or(String::new(), |version| format!("v{}", version.number)),
        pointer.map_or(String::new(), |pointer| pointer.rollout_pct.to_string()),
        pointer.map_or(String::new(), |pointer| pointer.killed.to_string()),
        version.map_or(String::new(), authors),
        promotion.actor.to_string(),
        promotion.at.to_string(),
        rationale.to_owned(),
        text(promotion.reason.as_ref()),
        approvals(change.approvals),
        gates(change.verdicts, event.at),
        text(promotion.reviewed_by.as_ref()),
        text(promotion.reviewed_at.as_ref()),
        promotion.change.clone().unwrap_or_default(),
        promotion.promotion_id.to_string(),
        event.event_id.to_string(),
    ])
}

fn text(value: Option<&impl ToString>) -> String {
    value.map_or(String::new(), ToString::to_string)
}

fn authors(version: &Version) -> String {
    let mut all: Vec<String> =
        version.authors.iter().chain([&version.author]).chain(&version.submitter).map(ToString::to_string).collect();
    all.sort();
    all.dedup();
    all.join("; ")
}

/// `person:ana approve review as owners at TIME: why`, one after another; comments left out.
fn approvals(said: &[Approval]) -> String {
    let votes = said.iter().filter(|vote| vote.verdict != Verdict::Comment).map(|vote| {
        let Approval { approver, verdict, gate, groups, at, rationale, .. } = vote;
        let groups = if groups.is_empty() { String::new() } else { format!(" as {}", groups.join("+")) };
        let gate = if gate.is_empty() { String::new() } else { format!(" {gate}") };
        format!("{approver} {verdict}{gate}{groups} at {at}: {rationale}")
    });
    votes.collect::<Vec<_>>().join("; ")
}

/// The newest verdict of each gate at that moment.
fn gates(verdicts: &[GateVerdict], at: Timestamp) -> String {
    let mut newest: BTreeMap<&str, &GateVerdict> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| verdict.at <= at) {
        let held = newest.entry(&verdict.gate_name).or_insert(verdict);
        if verdict.attempt > held.attempt {
            *held = verdict;
        }
    }
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    let told = newest.into_values().map(|verdict| {
        let GateVerdict { gate_name, status, score, threshold, reporter, at, .. } = verdict;
        format!("{gate_name} {status} {} against {} by {reporter} at {at}", number(*score), number(*threshold))
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The digest that a line is about; the key's content is read by it.
pub fn version_of(promotion: &Promotion, pointer: Option<&EnvironmentPointer>) -> Option<Digest> {
    promotion.to_digest.or(pointer.map(|pointer| pointer.digest))
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let quoted: Vec<String> = cells.into_iter().map(|cell| quoted(&cell)).collect();
    format!("{}\r\n", quoted.join(","))
}

fn quoted(cell: &str) -> String {
    let formula = |c: char| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '|' | '%' | '＝' | '＋' | '－' | '＠');
    let first = cell.chars().find(|c| formula(*c) || !(c.is_whitespace() || is_invisible(*c)));
    let guard = if first.is_some_and(formula) { "'" } else { "" };
    format!("\"{guard}{}\"", cell.replace('"', "\"\""))
}

/// Characters that a spreadsheet may leave out before it looks for a formula.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{8}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_and_never_begins_a_formula() {
        for (cell, csv) in [
            ("", "\"\""),
            ("plain, with \"quotes\"\nand lines", "\"plain, with \"\"quotes\"\"\nand lines\""),
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            ("+1", "\"'+1\""),
            ("-1", "\"'-1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("\t=1", "\"'\t=1\""),
            ("\r=1", "\"'\r=1\""),
            (" =1", "\"' =1\""),
            ("\u{200b}=1", "\"'\u{200b}=1\""),
            ("\u{feff}\u{a0}＝1", "\"'\u{feff}\u{a0}＝1\""),
            ("person:ana", "\"person:ana\""),
            ("a=b", "\"a=b\""),
        ] {
            assert_eq!(quoted(cell), csv, "{cell:?}");
        }
    }

    #[test]
    fn the_header_has_a_cell_for_each_column() {
        assert_eq!(header().matches("\",\"").count() + 1, COLUMNS.len());
        assert!(header().ends_with("\"event_id\"\r\n"));
    }
}
