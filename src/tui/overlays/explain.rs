//! What a unit gets and why, step by step: the registry's answer to `:explain`.

use super::{Frame, Look, Outcome, Rect, State, centred};
use crate::model::Resolution;
use crate::tui::action::{Action, Scope};
use crate::tui::effect::{Answer, Effect, Failure, Query, Slot};
use crate::tui::keymap::{Found, Key};
use crate::tui::msg::{Asked, Notice};
use crate::tui::state::Modal;
use crate::tui::theme::Role;
use crate::tui::update::say;
use crate::tui::widgets::ink;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::scroll::{Cursor, Move};
use ratatui::text::Line;

/// A question and its answer. Of what is served only the digest is kept.
#[derive(Debug)]
pub(crate) struct Explain {
    asked: Asked,
    answer: Option<Result<Vec<(String, String)>, Failure>>,
    cursor: Cursor,
}

/// What is said of an answer, label and text.
pub(crate) fn rows(answer: &Resolution) -> Vec<(String, String)> {
    let gets = answer.digest.map_or_else(|| "no value: the code's default".to_owned(), |digest| digest.to_string());
    let mut rows = vec![("gets".to_owned(), gets), ("because".to_owned(), answer.reason.to_string())];
    if answer.stale {
        rows.push(("stale".to_owned(), "what answers has not heard from its database for too long".to_owned()));
    }
    rows.extend(answer.steps.iter().map(|step| (step.step.clone(), step.found.clone())));
    rows
}

/// Asks the registry, over the room that is open.
pub(crate) fn open(state: &mut State, asked: Asked) -> Vec<Effect> {
    if state.session.is_closed(&asked.key) {
        return vec![say(Notice::note("its content is confidential, and would come with the answer: R on its row first"))];
    }
    let load = state.slots.load(Slot::Explain, Query::Explain(asked.clone()));
    state.modal = Some(Modal::Explain(Box::new(Explain { asked, answer: None, cursor: Cursor::default() })));
    vec![load]
}

/// The answer came; whoever left does not see it any more.
pub(crate) fn take(state: &mut State, answer: Result<Answer, Failure>) {
    let Some(Modal::Explain(explain)) = &mut state.modal else { return };
    match answer {
        Ok(Answer::Explained(answer)) => explain.answer = Some(Ok(rows(&answer))),
        Ok(_) => {}
        Err(failure) => explain.answer = Some(Err(failure)),
    }
}

impl Explain {
    /// A key: move, leave (esc, q).
    pub(crate) fn pressed(&mut self, key: Key, state: &State) -> Outcome {
        let Found::Action(action) = state.keymap.find(&[Scope::Global], &[key.as_pressed()]) else { return Outcome::default() };
        if let (Some(how), Some(Ok(rows))) = (Move::of(action, 10), &self.answer) {
            self.cursor.go(how, rows.len());
        }
        Outcome { close: matches!(action, Action::Back | Action::Quit), ..Outcome::default() }
    }

    /// Draws the question and its answer.
    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, look: &Look) {
        let Asked { key, environment, unit } = &self.asked;
        let area = centred(area, area.width.saturating_sub(4).min(100), area.height.saturating_sub(4).min(24));
        let title = format!("explain {key} in {environment}");
        let inside = Pane::new(title).foot("esc leaves").focused(true).draw_over(frame, area, look);
        let mut lines = ink::labelled("unit", unit.as_deref().unwrap_or("none was given"), Role::Text, inside.width, look);
        match &self.answer {
            None => lines.push(Line::styled("asking the registry", look.style(Role::Dim))),
            Some(Err(failure)) => lines.extend(ink::labelled("failed", &failure.text, Role::Danger, inside.width, look)),
            Some(Ok(rows)) => {
                for (n, (label, text)) in rows.iter().enumerate().skip(self.cursor.at) {
                    let role = if n == 0 { Role::Strong } else { Role::Text };
                    lines.extend(ink::labelled(label, text, role, inside.width, look));
                }
            }
        }
        for (n, line) in lines.into_iter().take(usize::from(inside.height)).enumerate() {
            let y = inside.y + u16::try_from(n).unwrap_or(0);
            frame.put(line, Rect { y, height: 1, ..inside });
        }
    }
}
