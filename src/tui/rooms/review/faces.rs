//! The other faces of the text pane, and the discussion, as lines: gates and votes, fragments, invisible characters.

use super::lines::{Mark, Pieces, overhead, shown};
use super::places;
use super::state::{Face, State};
use super::work::bodies;
use crate::model::approval::HiddenSpan;
use crate::model::policy::Threshold;
use crate::model::{Approval, GateStatus, GateVerdict, ReadinessStatus, Timestamp, Verdict};
use crate::rules::hidden::wrap;
use crate::tui::rooms::inbox::words::promise;
use crate::tui::widgets::age::age;
use crate::wire::promotions::PromotionView;

/// Lines under construction.
struct Text {
    lines: Vec<Pieces>,
    width: usize,
}

impl Text {
    fn new(width: u16) -> Self {
        Self { lines: Vec::new(), width: usize::from(width).max(8) }
    }
    fn add(&mut self, parts: &[(&str, Mark)]) {
        let pieces: Pieces = parts.iter().flat_map(|(text, mark)| shown(text, *mark)).collect();
        self.lines.extend(wrap(&pieces, self.width, &overhead));
    }
    fn blank(&mut self) {
        self.lines.push(Pieces::new());
    }
    fn head(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.blank();
        }
        self.add(&[(text, Mark::Head)]);
    }
    /// Text from outside that may have several lines.
    fn paragraph(&mut self, text: &str, mark: Mark) {
        for line in text.lines() {
            self.add(&[(line, mark)]);
        }
    }
}

/// The lines of the face that is shown; none for the difference.
pub(crate) fn lines(state: &State, now: Timestamp) -> Vec<Pieces> {
    let width = places::columns(state.size.0, false);
    match state.face {
        Face::Diff => Vec::new(),
        Face::Gates => gates(state, width, now),
        Face::Fragments => fragments(state, width),
        Face::Hidden => hidden(state, width),
    }
}

/// The last line that can stand at the top of `height` rows.
pub(crate) fn last_top(state: &State, height: usize, now: Timestamp) -> usize {
    lines(state, now).len().saturating_sub(height.max(1))
}

// --- gates, readiness, votes, words ---

fn gates(state: &State, width: u16, now: Timestamp) -> Vec<Pieces> {
    let mut text = Text::new(width);
    let Some(view) = state.promotion.as_deref() else {
        text.add(&[("no promotion is open here, so no gate is asked: open the version's history (2) for its gates", Mark::Dim)]);
        return text.lines;
    };
    text.head("Gates");
    if view.rule.gate.is_empty() {
        text.add(&[("none is asked here", Mark::Dim)]);
    }
    for (name, rule) in &view.rule.gate {
        gate(&mut text, name, rule.threshold, view.verdicts.iter().find(|v| v.gate_name == *name), view, now);
    }
    text.head("Readiness");
    for item in &view.readiness.0 {
        let (sign, mark) = standing(item.status);
        let who = if item.who.is_empty() || item.status == ReadinessStatus::Met {
            String::new()
        } else {
            format!("  ({})", item.who.join(", "))
        };
        let name = if item.name == item.kind.as_str() { item.kind.to_string() } else { format!("{} {}", item.kind, item.name) };
        text.add(&[(sign, mark), (&name, Mark::Plain), ("  ", Mark::Plain), (&item.reason, Mark::Dim), (&who, Mark::Dim)]);
    }
    text.head("Votes");
    let mut none = true;
    for approval in view.approvals.iter().filter(|a| a.verdict != Verdict::Comment) {
        vote(&mut text, approval, now);
        none = false;
    }
    if none {
        text.add(&[("none yet", Mark::Dim)]);
    }
    if state.places().talk == 0 {
        text.head("Rationale & discussion");
        talk_into(&mut text, state, now);
    }
    text.lines
}

fn standing(status: ReadinessStatus) -> (&'static str, Mark) {
    match status {
        ReadinessStatus::Met => ("+ ", Mark::Good),
        ReadinessStatus::Unmet => ("x ", Mark::Bad),
        ReadinessStatus::Pending => ("? ", Mark::Wait),
        ReadinessStatus::Overridden => ("! ", Mark::Warn),
    }
}

fn gate(text: &mut Text, name: &str, threshold: Threshold, verdict: Option<&GateVerdict>, view: &PromotionView, now: Timestamp) {
    let bound = match threshold {
        Threshold::AtMost(x) => format!("≤ {x}"),
        Threshold::AtLeast(x) => format!("≥ {x}"),
    };
    let Some(verdict) = verdict else {
        text.add(&[
            ("? ", Mark::Wait),
            (&format!("{name:<16} "), Mark::Plain),
            (&format!("— {bound}  nothing reported yet"), Mark::Dim),
        ]);
        return;
    };
    let (sign, mark, word) = match (verdict.status, verdict.passed) {
        (GateStatus::Pass, true) => ("+ ", Mark::Good, "pass"),
        (GateStatus::Pending, _) => ("? ", Mark::Wait, "pending"),
        (GateStatus::Error, _) => ("x ", Mark::Bad, "error"),
        _ => ("x ", Mark::Bad, "fail"),
    };
    let score = verdict.score.map_or_else(|| "—".to_owned(), |score| score.to_string());
    let facts = format!("{score} {bound}  {word}  {}  {}", verdict.reporter, age(now, verdict.at));
    let attempt = if verdict.attempt > 1 { format!("  attempt {}", verdict.attempt) } else { String::new() };
    text.add(&[(sign, mark), (&format!("{name:<16} "), Mark::Plain), (&facts, Mark::Plain), (&attempt, Mark::Dim)]);
    for approval in view.approvals.iter().filter(|a| a.verdict == Verdict::Override && a.gate == name) {
        let words = format!("  overridden by {} {}: ", approval.approver, age(now, approval.at));
        text.add(&[(&words, Mark::Warn), (&approval.rationale, Mark::Plain)]);
    }
    if !verdict.summary.is_empty() {
        for line in verdict.summary.lines() {
            text.add(&[("  ", Mark::Dim), (line, Mark::Dim)]);
        }
    }
    if let Some(url) = &verdict.details_url {
        text.add(&[("  ", Mark::Dim), (url, Mark::Dim)]);
    }
}

fn vote(text: &mut Text, approval: &Approval, now: Timestamp) {
    let (sign, mark) = match approval.verdict {
        Verdict::Approve => ("+ ", Mark::Good),
        Verdict::Reject => ("x ", Mark::Bad),
        Verdict::Override => ("! ", Mark::Warn),
        Verdict::Retract | Verdict::Comment => ("- ", Mark::Dim),
    };
    let facts = format!("{} {} {}  {}  ", approval.approver.name, approval.verdict, approval.gate, age(now, approval.at));
    text.add(&[(sign, mark), (&facts, Mark::Plain), (&approval.rationale, Mark::Dim)]);
    let hidden = approval.acknowledged_hidden.len();
    if hidden > 0 {
        text.add(&[(&format!("  acknowledged {hidden} invisible"), Mark::Dim)]);
    }
}

// --- rationale and discussion ---

/// Rationale and comments, for their own pane.
pub(crate) fn talk(state: &State, width: u16, now: Timestamp) -> Vec<Pieces> {
    let mut text = Text::new(width);
    talk_into(&mut text, state, now);
    text.lines
}

fn talk_into(text: &mut Text, state: &State, now: Timestamp) {
    let Some(view) = state.promotion.as_deref() else {
        if let Some(version) = state.compared.to.as_deref().map(|v| &v.version) {
            text.add(&[
                (&format!("{}  ", version.author.name), Mark::Head),
                (&format!("{}  ", age(now, version.created_at)), Mark::Dim),
            ]);
            text.paragraph(&version.rationale, Mark::Plain);
        }
        return;
    };
    let promotion = &view.promotion;
    let mut rationale = promotion.rationale.lines();
    let first = rationale.next().unwrap_or("(no rationale)");
    text.add(&[
        (&format!("{}  ", promotion.actor.name), Mark::Head),
        (&format!("{}  ", age(now, promotion.at)), Mark::Dim),
        (first, Mark::Plain),
    ]);
    rationale.for_each(|line| text.add(&[(line, Mark::Plain)]));
    if let Some(promise) = promise(promotion, now) {
        text.add(&[(&promise, Mark::Warn)]);
    }
    if let Some(version) = view.to.as_ref().filter(|v| v.rationale != promotion.rationale) {
        text.add(&[(&format!("{} (v{})  ", version.author.name, version.number), Mark::Head), (&version.rationale, Mark::Plain)]);
    }
    for comment in view.approvals.iter().filter(|a| a.verdict == Verdict::Comment) {
        self::comment(text, state, comment, now);
    }
}

fn comment(text: &mut Text, state: &State, comment: &Approval, now: Timestamp) {
    let page = state.counted().and_then(super::reading::Reading::page);
    let place = match (&comment.anchor, page) {
        (Some(anchor), Some(page)) => match page.paragraphs.iter().find(|p| p.anchor == *anchor) {
            Some(paragraph) => format!("¶{}: ", paragraph.number),
            None => "(outdated: its paragraph changed) ".to_owned(),
        },
        _ => String::new(),
    };
    let indent = if comment.reply_to.is_some() { "   " } else { " " };
    let head = format!("{indent}{}  ", comment.approver.name);
    let mut lines = comment.rationale.lines();
    let first = lines.next().unwrap_or_default();
    text.add(&[
        (&head, Mark::Head),
        (&format!("{}  ", age(now, comment.at)), Mark::Dim),
        (&place, Mark::Note),
        (first, Mark::Plain),
    ]);
    lines.for_each(|line| text.add(&[("  ", Mark::Plain), (line, Mark::Plain)]));
}

// --- fragments ---

fn fragments(state: &State, width: u16) -> Vec<Pieces> {
    let mut text = Text::new(width);
    let Some(to) = state.compared.to.as_deref() else { return text.lines };
    let before = state.compared.from.as_deref().map(bodies).unwrap_or_default();
    if to.fragment_bodies.is_empty() {
        text.add(&[("this version pins no fragment", Mark::Dim)]);
    }
    for fragment in &to.fragment_bodies {
        let change = match before.get(&fragment.name) {
            None if state.compared.from.is_some() => "  new here",
            Some(body) if *body != fragment.body => "  changed: see the difference (d)",
            _ => "",
        };
        let facts = format!("  @{}  by {}  of {}", fragment.digest.short(), fragment.author.name, fragment.owning_group);
        text.head(&fragment.name);
        text.add(&[(&facts, Mark::Dim), (change, Mark::Warn)]);
        for line in fragment.body.lines() {
            text.add(&[("  ", Mark::Plain), (line, Mark::Plain)]);
        }
    }
    text.lines
}

// --- invisible characters ---

fn hidden(state: &State, width: u16) -> Vec<Pieces> {
    let mut text = Text::new(width);
    if state.compared.hidden.is_empty() {
        text.add(&[("no invisible or unusual character in what was added", Mark::Dim)]);
    }
    for (i, span) in state.compared.hidden.iter().enumerate() {
        let known = state.acknowledged.contains(span);
        let sign = if known { ("+ ", Mark::Good) } else { ("! ", Mark::Warn) };
        let place = format!("{}. {}", i + 1, place(state, span));
        text.add(&[
            sign,
            (&place, Mark::Plain),
            ("  ", Mark::Plain),
            (&span.code_points, Mark::Head),
            ("  ", Mark::Plain),
            (&names(&span.code_points), Mark::Dim),
        ]);
    }
    if let Some(diff) = &state.compared.diff {
        for (path, words) in &diff.0.lookalikes {
            text.add(&[("! ", Mark::Warn), (path, Mark::Plain), ("  ", Mark::Plain), (words, Mark::Plain)]);
        }
    }
    if !state.compared.hidden.is_empty() {
        text.blank();
        let words = if state.unacknowledged() > 0 {
            "A acknowledges these characters: your approval will name each of them. They must be acknowledged here."
        } else if state.acknowledged.is_empty() {
            "A acknowledges these characters: your approval will name each of them. The policy does not ask for it here."
        } else {
            "Acknowledged: your approval will name each of them."
        };
        text.add(&[(words, Mark::Note)]);
    }
    text.lines
}

/// `¶17, character 43 of /body`
fn place(state: &State, span: &HiddenSpan) -> String {
    let paragraph = state.compared.to.as_deref().and_then(|v| v.content.as_ref()).and_then(|content| {
        let body = serde_json::json!({ "body": content.body });
        let text = body.pointer(&span.path)?.as_str()?.to_owned();
        let mut left = usize::try_from(span.start).ok()?;
        crate::rules::prose::paragraphs_of(&text).iter().position(|p| {
            let length = p.chars().count();
            let here = left < length;
            left = left.saturating_sub(length);
            here
        })
    });
    let paragraph = paragraph.map_or(String::new(), |at| format!("¶{} ", at + 1));
    format!("{paragraph}character {} of {}", span.start + 1, span.path)
}

/// Names for the code points that people meet most.
fn names(code_points: &str) -> String {
    let name = |point: &str| {
        let code = u32::from_str_radix(point.trim_start_matches("U+"), 16).unwrap_or(0);
        match code {
            0xad => "soft hyphen",
            0xa0 | 0x202f => "no-break space",
            0x200b => "zero-width space",
            0x200c => "zero-width non-joiner",
            0x200d => "zero-width joiner",
            0x200e | 0x200f | 0x61c => "direction mark",
            0x202a..=0x202e => "overrides the direction of text",
            0x2066..=0x2069 => "isolates the direction of text",
            0x2060 | 0xfeff => "zero-width no-break space",
            0x0..=0x1f | 0x7f..=0x9f => "control character",
            0xe0000..=0xe0fff => "tag character: text that no one sees",
            0xe000..=0xf8ff | 0xf0000..=0x10_ffff => "private use: drawn differently everywhere",
            0xfe00..=0xfe0f => "variation selector",
            0x2000..=0x200a | 0x205f | 0x3000 | 0x1680 => "unusual space",
            0x2800 | 0x3164 | 0x115f | 0x1160 | 0xffa0 => "blank letter",
            _ => "no shape of its own",
        }
    };
    let mut names: Vec<&str> = code_points.split(' ').map(name).collect();
    names.dedup();
    names.join(", ")
}
