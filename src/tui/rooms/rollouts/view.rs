//! Draws Rollouts.
//!
//! ```text
//! ┌─ Rollouts · 3 ───────────────────────────────────────────────────────────────┐
//! │  KEY                    ENV     TO                SHARE           NEXT  STATE│
//! │> support.refund.system  [PROD]  v9 e07a19c4       ██░░░░░░░░  25% 50%   step │
//! └──────────────────────────────────────────────────────────────────────────────┘
//! ┌─ Plan ───────────────────────────────────────────────────────────────────────┐
//! ```

use super::State;
use super::state::Rolling;
use crate::model::{BasisPoints, Version};
use crate::rules::hidden::visible;
use crate::tui::look::Look;
use crate::tui::rooms::marks;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, environment, ink, scroll};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws the room into `area`.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let below = if look.screen.preview && !look.screen.zoom && area.height >= 12 { (area.height / 2).min(11) } else { 0 };
    let upper = Rect { height: area.height - below, ..area };
    list(frame, upper, state, look);
    if below > 0 {
        plan(frame, Rect { y: upper.bottom(), height: below, ..area }, state, look);
    }
}

const ENVIRONMENT: usize = 13;
const SHARE: usize = 16;
const STATE: usize = 9;

fn list(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let dot = look.sign("·", "-");
    let of = |rows: &[&Rolling]| rows.iter().filter(|row| !row.ghost).count();
    let count = state.rows.iter().filter(|r| !r.ghost).count();
    let (rows, at) = (state.visible(), state.current().map_or(0, |(at, _)| at));
    let foot = match state.current() {
        None => String::new(),
        Some((_, row)) if row.ghost => "over: it leaves with the cursor".to_owned(),
        Some((at, _)) => format!("{} of {}", of(&rows[..=at]), of(&rows)),
    };
    let marked = if state.marks.len() > 0 { format!(" {dot} {} marked", state.marks.len()) } else { String::new() };
    let title = format!("Rollouts {dot} {count} {dot} killed first{marked}");
    let inside = Pane::new(title).foot(foot).focused(true).draw(frame, area, look);
    let filtering = state.typing || !state.filter.text().is_empty();
    let mut lines = vec![if filtering { Line::styled("/ ", look.style(Role::Key)) } else { header(inside.width, look) }];
    let room = usize::from(inside.height).saturating_sub(1);
    let first = scroll::first(at, rows.len(), room);
    for (n, rolling) in rows.iter().enumerate().skip(first).take(room) {
        let pointer = &rolling.view.pointer;
        let marked = state.marks.has(&(pointer.key_id.clone(), pointer.environment.clone()));
        lines.push(row(rolling, n == at, marks::sign(n == at, marked, look), inside.width, look));
    }
    if rows.is_empty() {
        let text = if !state.rows.is_empty() {
            " no row matches the filter; esc clears it"
        } else if state.loaded {
            " every pointer is at 100 % and none is killed"
        } else {
            look.awaited(" fetching rollouts")
        };
        lines.push(Line::styled(text, look.style(Role::Dim)));
    }
    if !state.newer.is_empty() {
        let text = format!(" {} newer {} press . to insert", state.newer.len(), look.sign("—", "-"));
        lines.truncate(usize::from(inside.height).saturating_sub(1));
        lines.push(Line::styled(text, look.style(Role::Warning)));
    }
    for (n, line) in lines.into_iter().take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
    if filtering && inside.height > 0 {
        // While rows are looked for, the filter stands in place of the headings.
        let field = Rect { x: inside.x + 2, width: inside.width.saturating_sub(2), height: 1, ..inside };
        state.filter.draw(frame, field, state.typing, look);
    }
}

struct Widths {
    key: usize,
    to: usize,
    next: usize,
}

fn widths(width: u16) -> Widths {
    let (to, next) = if width >= 96 { (19, 12) } else { (9, 5) };
    let key = usize::from(width).saturating_sub(2 + ENVIRONMENT + to + SHARE + next + STATE).clamp(12, 60);
    Widths { key, to, next }
}

fn header(width: u16, look: &Look) -> Line<'static> {
    let w = widths(width);
    Row::new(width, look)
        .own("  KEY", 2 + w.key, Role::Dim)
        .own("ENV", ENVIRONMENT, Role::Dim)
        .own("TO", w.to, Role::Dim)
        .own("SHARE", SHARE, Role::Dim)
        .own("NEXT", w.next, Role::Dim)
        .own("STATE", STATE, Role::Dim)
        .line()
}

/// `v9 e07a19c4aa01`, cut to what fits.
fn version(version: Option<&Version>, digest: &crate::model::Digest, width: usize) -> String {
    let number = version.map_or_else(String::new, |v| format!("v{} ", v.number));
    let digits = if width >= 19 { 12 } else { 4 };
    format!("{number}{}", &digest.short()[..digits])
}

/// A bar of ten and the share: never colour alone.
fn share(points: BasisPoints, look: &Look) -> String {
    // However small, a share that serves is seen.
    let full = usize::from(points.get().div_ceil(1000)).min(10);
    let (on, off) = (look.sign("█", "#"), look.sign("░", "."));
    format!("{}{}{:>4}%", on.repeat(full), off.repeat(10 - full), points.to_string())
}

fn row(row: &Rolling, here: bool, sign: &'static str, width: u16, look: &Look) -> Line<'static> {
    let (view, pointer, w) = (&row.view, &row.view.pointer, widths(width));
    let mut line = Row::new(width, look);
    if here {
        line = line.on(Role::Selected);
    }
    let plain = if row.ghost { Role::Dim } else { Role::Text };
    line = line.own(sign, 2, Role::Key).outside(pointer.key_id.as_str(), w.key - 1, plain).pad(1);
    let role = if view.protected { Role::Protected } else { plain };
    line = line.outside(&environment(pointer.environment.as_str(), view.protected), ENVIRONMENT - 1, role).pad(1);
    line = line.own(version(view.version.as_ref(), &pointer.digest, w.to), w.to - 1, plain).pad(1);
    let (text, role) = state_of(row);
    if pointer.killed {
        return line.own("nobody gets it", SHARE + w.next, Role::Danger).own(text, STATE, role).line();
    }
    line = line.own(share(pointer.rollout_pct, look), SHARE, plain);
    let next = match (row.next(), pointer.next_step_at) {
        (Some(step), Some(at)) if w.next >= 12 => format!("{}% {}", step.0, age::until(look.now, at)),
        (Some(step), _) => format!("{}%", step.0),
        (None, _) => "-".into(),
    };
    line.own(next, w.next, plain).own(text, STATE, role).line()
}

fn state_of(row: &Rolling) -> (&'static str, Role) {
    let pointer = &row.view.pointer;
    match () {
        () if row.ghost => ("over", Role::Dim),
        () if pointer.killed => ("KILLED", Role::Danger),
        () if pointer.held => ("HELD", Role::Warning),
        () if row.next().is_none() => ("partial", Role::Pending),
        () if row.waits().next().is_some() => ("PAUSED", Role::Warning),
        () if row.view.next.as_ref().is_some_and(|next| next.auto) => ("auto", Role::Pending),
        () => ("stepping", Role::Pending),
    }
}

fn plan(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let Some((_, row)) = state.current() else {
        Pane::new("Plan").draw(frame, area, look);
        return;
    };
    let pointer = &row.view.pointer;
    let place = environment(pointer.environment.as_str(), row.view.protected);
    let title = Row::new(area.width.saturating_sub(6), look)
        .outside_word(pointer.key_id.as_str(), Role::Title)
        .word("  ", Role::Title)
        .outside_word(&place, Role::Protected)
        .words();
    let inside = Pane::new(title).double(row.view.protected).draw(frame, area, look);
    for (n, line) in facts(row, inside.width, look).into_iter().take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
}

fn facts(row: &Rolling, width: u16, look: &Look) -> Vec<Line<'static>> {
    let (view, pointer) = (&row.view, &row.view.pointer);
    let label = |label: &'static str| Row::new(width, look).own(label, 9, Role::Dim);
    let mut lines = Vec::new();
    let named = |v: Option<&Version>, d: &crate::model::Digest| version(v, d, 19);
    if pointer.killed {
        let to = match (&view.safe_default_digest, &view.safe_default) {
            (Some(digest), v) => format!("the safe default {}", named(v.as_ref(), digest)),
            (None, _) => "no value: applications use the code's own".to_owned(),
        };
        lines.push(label("Now").word("KILLED ", Role::Danger).word(format!("everybody gets {to}"), Role::Text).line());
        let undo = view
            .undo_kill_until
            .filter(|at| *at > look.now)
            .map(|at| format!(", or !K within {}", age::until(look.now, at).trim_start_matches("in ")));
        lines.push(
            label("Back").word(format!("!v revives it through a promotion{}", undo.unwrap_or_default()), Role::Text).line(),
        );
    } else {
        let digest = named(view.version.as_ref(), &pointer.digest);
        lines.push(label("In").word(format!("{}% get {digest}", pointer.rollout_pct), Role::Text).line());
        let rest = match &pointer.baseline_digest {
            Some(baseline) => format!("the rest gets {}", named(view.baseline.as_ref(), baseline)),
            None => "the rest gets no value: applications use the code's own".to_owned(),
        };
        if pointer.rollout_pct != BasisPoints::ALL {
            lines.push(label("Out").word(rest, Role::Text).line());
        }
        lines.push(steps(row, width, look));
        for item in row.waits() {
            let waits = label("Waits").word(format!("{}: ", item.kind), Role::Warning);
            lines.push(waits.outside_word(&item.reason, Role::Text).line());
        }
    }
    let services = if view.reach.services.is_empty() { "no service seen yet".to_owned() } else { view.reach.services.join(", ") };
    let reach = label("Reach").word(format!("{} resolves/min {} ", view.reach.per_minute, look.sign("·", "-")), Role::Text);
    lines.push(reach.outside_word(&services, Role::Text).line());
    let mut moved = label("Moved").word(age::ago(look.now, pointer.updated_at), Role::Text);
    if let Some(by) = &view.moved_by {
        moved = moved.word(" by ", Role::Text).outside_word(by, Role::Strong);
    }
    lines.push(moved.word(format!(" {} revision {}", look.sign("·", "-"), pointer.revision), Role::Dim).line());
    if let Some(version) = &view.version {
        let room = usize::from(width).saturating_sub(9).max(8);
        for (n, line) in visible(&version.rationale).wrap(room).iter().enumerate() {
            let mut line = ink::line(line, look.style(Role::Text), look);
            let label = if n == 0 { "Why      " } else { "         " };
            line.spans.insert(0, Span::styled(label, look.style(Role::Dim)));
            lines.push(line);
        }
    }
    if let Some(digest) = view.rollback_to.filter(|_| !pointer.killed) {
        let back = named(view.baseline.as_ref().filter(|v| v.digest == digest), &digest);
        let dot = look.sign("·", "-");
        lines.push(label("Danger").word(format!("!r rolls back to {back} {dot} !k kills"), Role::Dim).line());
    }
    lines
}

/// `5 → [25] → 50 → 100   step 2 of 4`
fn steps(row: &Rolling, width: u16, look: &Look) -> Line<'static> {
    let pointer = &row.view.pointer;
    let mut line = Row::new(width, look).own("Plan", 9, Role::Dim);
    for (n, step) in pointer.plan.iter().enumerate() {
        if n > 0 {
            line = line.word(look.sign(" → ", " > "), Role::Dim);
        }
        let here = step.0 == pointer.rollout_pct;
        let text = if here { format!("[{}%]", step.0) } else { format!("{}%", step.0) };
        line = line.word(text, if here { Role::Strong } else { Role::Text });
        if let Some(bake) = step.1 {
            line = line.word(format!(" {}", age::span(bake)), Role::Dim);
        }
    }
    let (at, of) = row.step();
    line = line.word(format!("   step {at} of {of}"), Role::Dim);
    if let Some(at) = pointer.next_step_at.filter(|_| row.next().is_some()) {
        let auto = row.view.next.as_ref().is_some_and(|next| next.auto);
        let who = if auto { " by itself" } else { ": !+" };
        line = line.word(format!(", next {}{who}", age::until(look.now, at)), Role::Dim);
    }
    line.line()
}
