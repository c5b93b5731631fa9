//! The preview beside the Inbox: what a person wants to know before opening the change.

use super::state::{Entry, Section, State};
use super::words;
use crate::model::{PromotionKind, ReadinessKind, ReadinessStatus, Verdict};
use crate::rules::hidden::{Shown, visible};
use crate::tui::action::Action;
use crate::tui::look::Look;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, environment, ink};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let current = state.current();
    let title = current.map_or_else(|| Line::raw("preview"), |(_, entry)| title(entry, area.width, look));
    let double = current.is_some_and(|(_, e)| e.view.rule.is_protected());
    let inside = Pane::new(title).focused(state.in_preview).double(double).foot("p hides").draw(frame, area, look);
    let Some((_, entry)) = current else { return };
    let lines = lines(entry, inside.width, inside.height < 12, look);
    let first = state.scrolled.min(lines.len().saturating_sub(usize::from(inside.height)));
    for (n, line) in lines.into_iter().skip(first).take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
}

fn title(entry: &Entry, width: u16, look: &Look) -> Line<'static> {
    let p = &entry.view.promotion;
    let place = environment(p.environment.as_str(), entry.view.rule.is_protected());
    Row::new(width.saturating_sub(6), look)
        .outside_word(p.key_id.as_str(), Role::Title)
        .word("  ", Role::Title)
        .outside_word(&place, Role::Protected)
        .word("  ", Role::Title)
        .word(words::change(&entry.view, look.sign("→", ">")), Role::Title)
        .words()
}

/// A label and what follows it, wrapped under itself.
fn labelled(label: &'static str, text: &Shown, role: Role, width: u16, look: &Look) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(8).max(8);
    let style = look.style(role);
    let mut lines: Vec<Line> = text.wrap(room).iter().map(|l| ink::line(l, style, look)).collect();
    for (n, line) in lines.iter_mut().enumerate() {
        let text = if n == 0 { format!("{label:<8}") } else { " ".repeat(8) };
        line.spans.insert(0, Span::styled(text, look.style(Role::Dim)));
    }
    lines
}

fn lines(entry: &Entry, width: u16, brief: bool, look: &Look) -> Vec<Line<'static>> {
    let view = &entry.view;
    let mut lines = Vec::new();
    if entry.ghost {
        lines.push(Line::styled(
            "gone from the list: it was closed, applied, or is not yours any more",
            look.style(Role::Warning),
        ));
    }
    let mut about = about(entry, width, look);
    let promise = words::promise(&view.promotion, look.now);
    let promise = promise.map(|text| labelled("Then", &visible(&text), Role::Warning, width, look)).unwrap_or_default();
    let mut why = labelled("Why", &visible(&view.promotion.rationale), Role::Text, width, look);
    if brief {
        // In a few lines the reason and what is missing count for more than the plan.
        why.truncate(2);
        lines.push(about.remove(0));
        lines.extend(promise);
        lines.extend(why);
        lines.push(if entry.due == Section::Owed { owed(entry, width, look) } else { sum(view, width, look) });
        lines.extend(about);
    } else {
        lines.extend(about);
        lines.extend(promise);
        lines.extend(why);
        lines.extend((entry.due == Section::Owed).then(|| owed(entry, width, look)));
    }
    if !view.hidden.is_empty() {
        let text = format!("{} invisible or unusual characters in what it adds", view.hidden.len());
        lines.push(
            Row::new(width, look)
                .own("Hidden", 8, Role::Dim)
                .word(look.sign("! ", "! "), Role::Warning)
                .word(text, Role::Warning)
                .line(),
        );
    }
    if entry.due != Section::Owed {
        lines.extend(stands(view, width, look));
        lines.extend(gates(view, width, look));
    }
    lines.extend(votes(view, width, look));
    lines
}

/// What is owed after the fact, and the key that gives it.
fn owed(entry: &Entry, width: u16, look: &Look) -> Line<'static> {
    let (mine, promotion) = (&entry.view.mine, &entry.view.promotion);
    let what = match () {
        () if mine.owes_note => "the note of this kill",
        () if promotion.missed && !mine.can_review => "a decision: renew it, or X withdraws it",
        () => "a review: it took effect without the usual approvals",
    };
    let row = Row::new(width, look).own("Owed", 8, Role::Dim).word(what, Role::Warning);
    let key = look.keymap.text(Action::InboxSettle).filter(|_| !promotion.missed || mine.can_review || mine.owes_note);
    match key {
        Some(key) => row.word(": ", Role::Text).word(key, Role::Key).word(" gives it", Role::Text).line(),
        None => row.line(),
    }
}

/// Gates, approvals and hidden characters in one line.
fn sum(view: &crate::wire::promotions::PromotionView, width: u16, look: &Look) -> Line<'static> {
    let (given, asked) = words::approvals(view);
    let dot = look.sign("·", "-");
    let mut row = Row::new(width, look).own("Stands", 8, Role::Dim).word(format!("gates {}", words::gates(view)), Role::Text);
    row = row.word(format!(" {dot} {given} of {asked} approvals"), Role::Text);
    if !view.hidden.is_empty() {
        row = row.word(format!(" {dot} ! {} hidden characters", view.hidden.len()), Role::Warning);
    }
    if view.readiness.is_ready() { row.word(format!(" {dot} ready"), Role::Ok).line() } else { row.line() }
}

fn about(entry: &Entry, width: u16, look: &Look) -> Vec<Line<'static>> {
    let (view, p) = (&entry.view, &entry.view.promotion);
    let dot = look.sign("·", "-");
    let mut first = Row::new(width, look).own("By", 8, Role::Dim).outside_word(&p.actor.name, Role::Strong);
    first = first.word(format!(", {}", age::ago(look.now, p.at)), Role::Text);
    if let Some(to) = &view.to {
        if to.author != p.actor {
            first = first.word(format!(" {dot} written by "), Role::Dim).outside_word(&to.author.to_string(), Role::Text);
        }
        first = first.word(format!(" {dot} {} {}", to.format, to.digest.short()), Role::Dim);
    }
    let mut lines = vec![first.line()];
    if let (Some(to), Some(from)) = (&view.to, &view.from)
        && to.model_pin != from.model_pin
    {
        let name = |pin: &Option<String>| pin.clone().unwrap_or_else(|| "none".into());
        let row = Row::new(width, look).own("Model", 8, Role::Dim).outside_word(&name(&from.model_pin), Role::RemovedLine);
        lines.push(row.word(look.sign(" → ", " > "), Role::Dim).outside_word(&name(&to.model_pin), Role::AddedLine).line());
    }
    let mut serves = Row::new(width, look).own("Serves", 8, Role::Dim);
    serves = match &view.pointer {
        Some(pointer) if pointer.killed => serves.word("KILLED: the safe default", Role::Danger),
        Some(pointer) => {
            let number =
                view.from.as_ref().filter(|v| v.digest == pointer.digest).map_or_else(String::new, |v| format!("v{} ", v.number));
            serves.word(format!("{number}{} at {}%", pointer.digest.short(), pointer.rollout_pct), Role::Text)
        }
        None => serves.word("nothing yet", Role::Text),
    };
    let reach = &view.reach;
    serves = serves.word(format!(" {dot} {} resolves/min", reach.per_minute), Role::Dim);
    if !reach.services.is_empty() {
        let plural = if reach.services.len() == 1 { "" } else { "s" };
        serves = serves.word(format!(" {dot} {} service{plural}", reach.services.len()), Role::Dim);
    }
    lines.push(serves.line());
    if !p.plan.is_empty() {
        let steps: Vec<String> = p.plan.iter().map(|s| format!("{}%", s.0)).collect();
        let arrow = look.sign(" → ", " > ");
        lines.push(Row::new(width, look).own("Plan", 8, Role::Dim).word(steps.join(arrow), Role::Text).line());
    }
    lines
}

/// What blocks, and who can meet it.
fn stands(view: &crate::wire::promotions::PromotionView, width: u16, look: &Look) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for item in view.readiness.unmet().filter(|i| i.kind != ReadinessKind::Gate) {
        let sign = if item.status == ReadinessStatus::Pending { "? " } else { "x " };
        let mut text = format!("{}: {}", if item.name.is_empty() { item.kind.as_str() } else { &item.name }, item.reason);
        if !item.who.is_empty() {
            text = format!("{text} ({})", item.who.join(", "));
        }
        let label = if lines.is_empty() { "Needs" } else { "" };
        let mut wrapped = labelled(label, &visible(&text), Role::Text, width, look);
        if let Some(line) = wrapped.first_mut() {
            line.spans.insert(1, Span::styled(sign, look.style(Role::Warning)));
        }
        lines.extend(wrapped);
    }
    if view.readiness.is_ready() && view.promotion.state == crate::model::PromotionState::Open {
        let sign = look.sign("✓ ", "ok ");
        lines.push(
            Row::new(width, look)
                .own("Needs", 8, Role::Dim)
                .word(sign, Role::Ok)
                .word("nothing: ready to apply with !p", Role::Ok)
                .line(),
        );
    }
    lines
}

fn gates(view: &crate::wire::promotions::PromotionView, width: u16, look: &Look) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for item in view.readiness.0.iter().filter(|i| i.kind == ReadinessKind::Gate) {
        let (sign, role) = match item.status {
            ReadinessStatus::Met => ("+ ", Role::Ok),
            ReadinessStatus::Unmet => ("x ", Role::Danger),
            ReadinessStatus::Pending => ("? ", Role::Pending),
            ReadinessStatus::Overridden => ("! ", Role::Warning),
        };
        let label = if lines.is_empty() { "Gates" } else { "" };
        let name = Row::new(width, look).own(label, 8, Role::Dim).word(sign, role).outside(&item.name, 14, Role::Text).pad(1);
        lines.push(
            name.outside_word(&item.reason, if item.status == ReadinessStatus::Met { Role::Dim } else { Role::Text }).line(),
        );
    }
    lines
}

fn votes(view: &crate::wire::promotions::PromotionView, width: u16, look: &Look) -> Vec<Line<'static>> {
    let (given, asked) = words::approvals(view);
    let mut lines = Vec::new();
    // What took effect at once was never voted on.
    if view.promotion.kind == PromotionKind::Promote || !view.approvals.is_empty() {
        let count = Row::new(width, look).own("Votes", 8, Role::Dim);
        lines.push(count.word(format!("{given} of {asked} approvals"), Role::Text).line());
    }
    for vote in &view.approvals {
        let role = match vote.verdict {
            Verdict::Approve => Role::Ok,
            Verdict::Reject => Role::Danger,
            Verdict::Override => Role::Warning,
            Verdict::Comment | Verdict::Retract => Role::Comment,
        };
        let when = age::age(look.now, vote.at);
        let row = Row::new(width, look).own("", 8, Role::Dim).outside_word(&vote.approver.name, Role::Strong);
        let row = row.word(format!(" {} ", vote.verdict), role).word(format!("{when} "), Role::Dim);
        if visible(&vote.rationale).width() <= row.left() {
            lines.push(row.outside_word(&vote.rationale, Role::Text).line());
        } else {
            // A sentence is read whole, under who said it.
            lines.push(row.line());
            lines.extend(labelled("", &visible(&vote.rationale), Role::Text, width, look));
        }
    }
    if let Some((place, at)) = &view.mine.approved_before {
        let row = Row::new(width, look).own("", 8, Role::Dim).word("you approved this digest in ", Role::Dim);
        lines.push(row.outside_word(place, Role::Text).word(format!(" {} ago", age::age(look.now, *at)), Role::Dim).line());
    }
    lines
}
