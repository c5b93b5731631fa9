//! Draws one event whole: who, what, when, the particulars, the hashes.

use super::state::State;
use crate::model::AuditEvent;
use crate::tui::look::Look;
use crate::tui::state::Chain;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::{age, ink};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let current = state.current();
    let title = current.map_or_else(|| "record".to_owned(), |seq| format!("record #{seq}"));
    let inside = Pane::new(title).foot("enter closes").draw_over(frame, area, look);
    let record = state.record.as_ref().filter(|r| Some(r.seq) == current);
    let lines = match record {
        Some(event) => lines(event, inside.width, look),
        None => vec![Line::styled(" fetching the record", look.style(Role::Dim))],
    };
    for (n, line) in lines.into_iter().skip(state.scrolled).take(usize::from(inside.height)).enumerate() {
        let y = inside.y + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
}

fn lines(event: &AuditEvent, width: u16, look: &Look) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut add = |label: &str, text: &str, role: Role| lines.extend(ink::labelled(label, text, role, width, look));
    add("at", &age::absolute(event.at, look.screen.offset), Role::Text);
    match &event.body {
        Some(body) => {
            add("actor", &body.actor.to_string(), Role::Strong);
            let (action, said) = (body.action.as_str(), body.said());
            add("action", &if said == action { action.to_owned() } else { format!("{said} ({action})") }, Role::Strong);
            add("subject", &body.subject.0, Role::Text);
            for (name, value) in &body.detail {
                let text = match value {
                    serde_json::Value::String(text) => text.clone(),
                    serde_json::Value::Object(map) => map.iter().map(|(k, v)| format!("{k} {v}")).collect::<Vec<_>>().join(" · "),
                    other => other.to_string(),
                };
                add(name, &text, Role::Text);
            }
        }
        None => add("body", "withheld or erased; the chain holds without it", Role::Dim),
    }
    add("event_id", &event.event_id.to_string(), Role::Dim);
    add("prev_hash", &event.prev_hash.to_string(), Role::Dim);
    let (text, role) = match &look.link.chain {
        Chain::Broken { seq, .. } if event.seq >= *seq => (format!("BROKEN: the chain breaks at #{seq}"), Role::Alarm),
        Chain::Verified { from, head, .. } if (*from..=head.seq).contains(&event.seq) => {
            (format!("{} hashed on this machine, and linked to the event before", look.sign("✓", "ok")), Role::Ok)
        }
        _ => ("not hashed on this machine; c verifies the whole chain".to_owned(), Role::Dim),
    };
    add("chain", &text, role);
    lines
}
