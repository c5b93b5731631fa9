//! Draws the history of a key: its versions, its pointers, its latest promotions.

use super::state::{Focus, State};
use crate::model::{BasisPoints, Digest, EnvironmentPointer, GateStatus, Promotion, VersionState};
use crate::rules::hidden::visible;
use crate::rules::promotion::said;
use crate::tui::look::Look;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, environment, plural, scroll};
use crate::wire::keys::{GateSign, KeyHistory, VersionRow};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let mut title = Row::new(area.width.saturating_sub(6), look);
    title = match state.key() {
        Some(key) => title.outside_word(key.as_str(), Role::Title).word(format!(" {} history", look.sign("·", "-")), Role::Title),
        None => title.word("history", Role::Title),
    };
    let foot = state.current().map_or_else(String::new, |h| plural(h.versions.len(), "version"));
    let focused = state.focus == Focus::History;
    let inside = Pane::new(title.words()).foot(foot).focused(focused).draw(frame, area, look);
    let Some(history) = state.current() else {
        let text = if state.key().is_some() { " fetching the history" } else { " move to a key; enter opens a folder" };
        frame.put(Line::styled(text, look.style(Role::Dim)), Rect { height: 1.min(inside.height), ..inside });
        return;
    };
    let below = below(history, state, inside.width, look);
    let versions = usize::from(inside.height).saturating_sub(1);
    // Pointers must always be seen; versions scroll above them.
    let pointers = (history.pointers.len() + 2).min(versions / 2);
    let room = versions.saturating_sub(pointers).min(history.versions.len().max(1));
    let at = state.version_at().unwrap_or(0);
    let first = scroll::first(at, history.versions.len(), room);
    let widths = Widths::of(&history.versions[first..(first + room).min(history.versions.len())], history, inside.width);
    let mut lines = vec![header(widths, inside.width, look)];
    let shown = history.versions.iter().enumerate().skip(first).take(room);
    lines.extend(shown.map(|(n, v)| version(v, history, (n == at && focused, state.base), widths, inside.width, look)));
    if history.versions.is_empty() {
        lines.push(Line::styled(" no version yet: + writes one", look.style(Role::Dim)));
    }
    lines.push(Line::raw(""));
    lines.extend(below);
    for (n, line) in lines.into_iter().take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
}

/// Columns as wide as what stands in them: what is left is for the reasons.
#[derive(Clone, Copy)]
struct Widths {
    version: usize,
    state: usize,
    author: usize,
    model: usize,
    gates: usize,
    place: usize,
}

impl Widths {
    /// For the rows that are shown.
    fn of(rows: &[VersionRow], history: &KeyHistory, width: u16) -> Self {
        let wide = width >= 96;
        let column = |heading: &str, most: usize, text: &dyn Fn(&VersionRow) -> usize| {
            rows.iter().map(text).max().unwrap_or(0).clamp(heading.len(), most) + 1
        };
        Self {
            version: 19,
            state: column("STATE", 11, &|row| state_of(row).0.len()),
            author: column("AUTHOR", if wide { 16 } else { 8 }, &|row| visible(&row.version.author.name).width()),
            model: if wide { 16 } else { 0 },
            gates: column("GATES", 11, &|row| gates(&row.gates).len()),
            place: column("WHERE", if wide { 26 } else { 20 }, &|row| place(row.version.digest, history).len()),
        }
    }
}

fn header(w: Widths, width: u16, look: &Look) -> Line<'static> {
    Row::new(width, look)
        .own("  VERSION", 2 + w.version, Role::Dim)
        .own("STATE", w.state, Role::Dim)
        .own("AUTHOR", w.author, Role::Dim)
        .own("AGE", 5, Role::Dim)
        .own(if w.model > 0 { "MODEL" } else { "" }, w.model, Role::Dim)
        .own("GATES", w.gates, Role::Dim)
        .own("WHERE", w.place, Role::Dim)
        .word("RATIONALE", Role::Dim)
        .line()
}

fn state_of(row: &VersionRow) -> (String, Role) {
    let v = &row.version;
    match (&v.quarantine, v.discarded, v.state) {
        (Some(_), ..) => ("quarantined".to_owned(), Role::Danger),
        (_, true, _) => ("discarded".to_owned(), Role::Dim),
        (.., VersionState::Published) => ("published".to_owned(), Role::Text),
        (.., other) => (other.to_string(), Role::Pending),
    }
}

fn version(
    row: &VersionRow,
    history: &KeyHistory,
    (here, base): (bool, Option<Digest>),
    w: Widths,
    width: u16,
    look: &Look,
) -> Line<'static> {
    let v = &row.version;
    let mut line = Row::new(width, look);
    if here {
        line = line.on(Role::Selected);
    }
    let marked = base == Some(v.digest);
    line = line.own(if here { ">" } else { " " }, 1, Role::Key).own(if marked { "*" } else { " " }, 1, Role::Marked);
    let (state, role) = state_of(row);
    line = line.own(format!("v{} {}", v.number, v.digest.short()), w.version - 1, Role::Strong).pad(1);
    line = line.own(state, w.state - 1, role).pad(1).outside(&v.author.name, w.author - 1, Role::Text).pad(1);
    line = line.own(age::age(look.now, v.created_at), 4, Role::Dim).pad(1);
    if w.model > 0 {
        line = line.outside(v.model_pin.as_deref().unwrap_or("-"), w.model - 1, Role::Dim).pad(1);
    }
    let gates = gates(&row.gates);
    let role = if gates.contains('x') { Role::Danger } else { Role::Ok };
    line = line.own(gates, w.gates - 1, role).pad(1);
    let place = place(v.digest, history);
    line.outside(&place, w.place - 1, Role::Protected).pad(1).outside_word(&v.rationale, Role::Dim).line()
}

/// Where it serves, the last environment first; a whole share goes without saying. What is killed serves nobody.
fn place(digest: Digest, history: &KeyHistory) -> String {
    let mut places = Vec::new();
    if history.key.safe_default_digest == Some(digest) {
        places.push("safe default".to_owned());
    }
    for pointer in history.pointers.iter().rev() {
        let (name, share) = (pointer.environment.as_str(), pointer.rollout_pct);
        match pointer {
            p if p.killed && p.digest == digest => places.push(format!("killed in {name}")),
            p if p.killed => {}
            p if p.digest == digest && share == BasisPoints::ALL => places.push(name.to_owned()),
            p if p.digest == digest => places.push(format!("{name} {share}%")),
            p if p.baseline_digest == Some(digest) => places.push(format!("baseline of {name}")),
            _ => {}
        }
    }
    places.join(", ")
}

fn gates(gates: &[GateSign]) -> String {
    let count = |status: &[GateStatus]| gates.iter().filter(|g| status.contains(&g.status)).count();
    let parts = [
        (count(&[GateStatus::Pass]), '+'),
        (count(&[GateStatus::Fail, GateStatus::Error]), 'x'),
        (count(&[GateStatus::Pending]), '?'),
    ];
    let words: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, sign)| format!("{n}{sign}")).collect();
    if words.is_empty() { "-".into() } else { words.join(" ") }
}

fn below(history: &KeyHistory, _state: &State, width: u16, look: &Look) -> Vec<Line<'static>> {
    let mut lines: Vec<Line> = Vec::new();
    for (n, pointer) in history.pointers.iter().enumerate() {
        let label = if n == 0 { " POINTERS" } else { "" };
        lines.push(pointer_line(label, pointer, history, width, look));
    }
    if history.pointers.is_empty() {
        let row = Row::new(width, look).own(" POINTERS", 11, Role::Dim).word("serves nowhere yet", Role::Dim);
        lines.push(row.line());
    }
    let default = Row::new(width, look).own("", 11, Role::Dim).own("safe default", 14, Role::Dim);
    lines.push(match history.key.safe_default_digest {
        Some(digest) => default.word(name(history, &digest), Role::Text).line(),
        None => default.word("none: a kill makes applications use the code's own", Role::Warning).line(),
    });
    lines.push(Line::raw(""));
    for (n, promotion) in history.promotions.iter().enumerate() {
        lines.push(promotion_line(if n == 0 { " LATEST" } else { "" }, promotion, history, width, look));
    }
    lines
}

/// `v8 91c2f0aa55c3`
fn name(history: &KeyHistory, digest: &Digest) -> String {
    let number = history.versions.iter().find(|v| v.version.digest == *digest).map(|v| format!("v{} ", v.version.number));
    format!("{}{}", number.unwrap_or_default(), digest.short())
}

fn pointer_line(
    label: &'static str,
    pointer: &EnvironmentPointer,
    history: &KeyHistory,
    width: u16,
    look: &Look,
) -> Line<'static> {
    let protected = look.session.is_protected(&pointer.environment);
    let place = environment(pointer.environment.as_str(), protected);
    let mut row = Row::new(width, look).own(label, 11, Role::Dim);
    row = row.outside(&place, 13, if protected { Role::Protected } else { Role::Text }).pad(1);
    row = row.word(name(history, &pointer.digest), Role::Text);
    if pointer.killed {
        return row.word("  KILLED: everybody gets the safe default", Role::Danger).line();
    }
    let role = if pointer.rollout_pct == BasisPoints::ALL { Role::Text } else { Role::Warning };
    row = row.word(format!(" {}%", pointer.rollout_pct), role);
    if pointer.plan.len() > 1 && pointer.rollout_pct != BasisPoints::ALL {
        let steps: Vec<String> = pointer.plan.iter().map(|s| s.0.to_string()).collect();
        row = row.word(format!(" of {}", steps.join(look.sign("→", ">"))), Role::Dim);
    }
    if let Some(baseline) = &pointer.baseline_digest {
        let number = history.versions.iter().find(|v| v.version.digest == *baseline).map(|v| format!("v{}", v.version.number));
        let rest = number.unwrap_or_else(|| baseline.short());
        row = row.word(format!(" {} rest {rest}", look.sign("·", "-")), Role::Dim);
    }
    if pointer.held {
        row = row.word("  HELD", Role::Warning);
    }
    row.word(format!("  {}", age::ago(look.now, pointer.updated_at)), Role::Dim).line()
}

fn promotion_line(label: &'static str, p: &Promotion, history: &KeyHistory, width: u16, look: &Look) -> Line<'static> {
    let to = p.to_digest.map_or_else(|| "no value".to_owned(), |d| name(history, &d));
    let protected = look.session.is_protected(&p.environment);
    let role = match p.state {
        crate::model::PromotionState::Open => Role::Pending,
        crate::model::PromotionState::Applied => Role::Ok,
        _ => Role::Dim,
    };
    Row::new(width, look)
        .own(label, 11, Role::Dim)
        .outside(&environment(p.environment.as_str(), protected), 13, Role::Text)
        .pad(1)
        .own(said(p), 10, Role::Text)
        .own(p.state.as_str(), 10, role)
        .own(age::age(look.now, p.at), 5, Role::Dim)
        .outside(&p.actor.name, 8, Role::Text)
        .pad(1)
        .own(to, 19, Role::Text)
        .outside_word(&p.rationale, Role::Dim)
        .line()
}
