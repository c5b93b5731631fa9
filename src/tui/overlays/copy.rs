//! The copy menu behind `y`: what can be copied of this row, with the text that would be sent.

use super::{Effect, Frame, Look, Rect, State, at_the_foot};
use crate::tui::action::Action;
use crate::tui::msg::Notice;
use crate::tui::state::Subject;
use crate::tui::theme::Role;
use crate::tui::update::{say, subject};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;

const ORDER: [Action; 4] = [Action::CopyDigest, Action::CopyKey, Action::CopyRationale, Action::CopyCommand];

fn text(action: Action, subject: &Subject) -> Option<String> {
    match action {
        Action::CopyDigest => subject.digest.map(|d| d.to_string()),
        Action::CopyKey => subject.key.as_ref().map(ToString::to_string),
        Action::CopyRationale => subject.rationale.clone(),
        Action::CopyCommand => subject.command(),
        _ => None,
    }
}

/// Something was chosen.
pub(crate) fn chosen(state: &mut State, action: Action) -> Vec<Effect> {
    match text(action, &subject(state)) {
        Some(text) => vec![Effect::Copy(text), say(Notice::note(format!("{} sent to the terminal's clipboard", action.title())))],
        None => vec![say(Notice::note(format!("this row has no {}", action.title())))],
    }
}

/// Draws the menu at the foot of the screen.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let subject = subject(state);
    let area = at_the_foot(area, 78, 6);
    let inside = Pane::new("copy").foot("esc leaves").focused(true).draw_over(frame, area, look);
    for (n, action) in ORDER.iter().enumerate() {
        let Some(y) = u16::try_from(n).ok().filter(|n| *n < inside.height) else { break };
        let key = look.keymap.text(*action).unwrap_or_default();
        let row = Row::new(inside.width, look).word(" ", Role::Text);
        let row = match text(*action, &subject) {
            Some(text) => row.own(key, 3, Role::Key).own(action.title(), 14, Role::Strong).outside_word(&text, Role::Text),
            None => row.own(key, 3, Role::Dim).own(action.title(), 14, Role::Dim).word("(none here)", Role::Dim),
        };
        frame.put(row.line(), Rect { y: inside.y + y, height: 1, ..inside });
    }
}
