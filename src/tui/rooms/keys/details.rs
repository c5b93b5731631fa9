//! Draws what is known of the version under the cursor: variables, model, fragments, owner.

use super::state::State;
use crate::rules::hidden::visible;
use crate::tui::look::Look;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, ink};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let inside = Pane::new("Details").draw(frame, area, look);
    for (n, line) in lines(state, (inside.width, inside.height), look).into_iter().take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
}

fn labelled(label: &'static str, text: &str, width: u16, look: &Look) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(11).max(8);
    let mut lines: Vec<Line> = visible(text).wrap(room).iter().map(|l| ink::line(l, look.style(Role::Text), look)).collect();
    for (n, line) in lines.iter_mut().enumerate() {
        let label = if n == 0 { format!("{label:<11}") } else { " ".repeat(11) };
        line.spans.insert(0, Span::styled(label, look.style(Role::Dim)));
    }
    lines
}

fn lines(state: &State, (width, height): (u16, u16), look: &Look) -> Vec<Line<'static>> {
    let Some(history) = state.current() else { return Vec::new() };
    let mut lines = Vec::new();
    if let Some(row) = state.version_at().map(|at| &history.versions[at]) {
        let v = &row.version;
        if let Some(mark) = &v.quarantine {
            lines.extend(labelled("QUARANTINE", &format!("{}: {}", mark.by.name, mark.reason), width, look));
        }
        let at = age::absolute(v.created_at, look.screen.offset);
        let head = Row::new(width, look).own(format!("v{}", v.number), 11, Role::Dim).own(v.digest.short(), 14, Role::Strong);
        let head = head.word(format!("{} ", v.format), Role::Text).outside_word(&v.author.to_string(), Role::Text);
        lines.push(head.word(format!(" {} {at}", look.sign("·", "-")), Role::Dim).line());
        let mut why = labelled("WHY", &v.rationale, width, look);
        // In three rows the reason leaves one for what it is about.
        why.truncate(usize::from(height.saturating_sub(2).max(1)));
        lines.extend(why);
    }
    let confidential = history.key.confidential && !look.session.is_closed(&history.key.key_id);
    if let Some(details) = state.details.as_ref().filter(|d| Some(d.version.digest) == state.digest()) {
        lines.extend(opening(details).filter(|_| confidential).map(|text| labelled("CONTENT", &text, width, look).remove(0)));
        lines.extend(content(details, width, look));
    }
    let key = &history.key;
    if look.session.is_closed(&key.key_id) {
        let text = "confidential: R shows variables, model and text; each reading is recorded";
        lines.extend(labelled("CONTENT", text, width, look));
    }
    let owner =
        format!("group {} · unit {}{}", key.owning_group, key.unit_type, if key.confidential { " · confidential" } else { "" });
    lines.extend(labelled("OWNER", &owner, width, look));
    if !key.description.is_empty() {
        lines.extend(labelled("ABOUT", &key.description, width, look));
    }
    lines
}

/// How a content that was asked for begins: the person sees that it is open, and how to read on.
fn opening(details: &crate::wire::versions::VersionView) -> Option<String> {
    let body = &details.content.as_ref()?.body;
    let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Some(format!("shown, enter reads it: {first}"))
}

fn content(details: &crate::wire::versions::VersionView, width: u16, look: &Look) -> Vec<Line<'static>> {
    let Some(content) = &details.content else {
        return labelled("CONTENT", "you may not read it", width, look);
    };
    let mut lines = Vec::new();
    if !content.variables.is_empty() {
        let words: Vec<String> = content
            .variables
            .iter()
            .map(|v| {
                let default = if v.default.is_null() { String::new() } else { format!(" = {}", v.default) };
                format!("{} {}{}{default}", v.name, v.kind, if v.required { " required" } else { "" })
            })
            .collect();
        lines.extend(labelled("VARIABLES", &words.join(" · "), width, look));
    }
    if let Some(model) = &content.model_pin {
        lines.extend(labelled("MODEL", model, width, look));
    }
    if !content.fragments.is_empty() {
        let words: Vec<String> = content.fragments.iter().map(|(name, d)| format!("{name}@{}", &d.short()[..4])).collect();
        lines.extend(labelled("FRAGMENTS", &words.join(" · "), width, look));
    }
    lines
}
