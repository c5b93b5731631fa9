//! What lies over a room: help, palette, danger menu, copy menu, errors, what a unit gets.

mod commands;
pub(crate) mod copy;
pub(crate) mod danger;
pub(crate) mod errors;
pub(crate) mod explain;
pub(crate) mod help;
pub(crate) mod palette;

use super::effect::Effect;
use super::keymap::Key;
use super::look::Look;
use super::state::{Modal, State};
use ratatui::Frame;
use ratatui::layout::Rect;

/// What an overlay did with a key.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What it wants done.
    pub(crate) effects: Vec<Effect>,
    /// Whether it is over.
    pub(crate) close: bool,
}

impl Outcome {
    /// Over, with something to do.
    pub(crate) fn close(effects: Vec<Effect>) -> Self {
        Self { effects, close: true }
    }
}

/// A key for the overlay that is open.
pub(crate) fn pressed(state: &mut State, key: Key) -> Vec<Effect> {
    let Some(modal) = state.modal.take() else { return Vec::new() };
    let (modal, outcome) = match modal {
        Modal::Help(mut help) => {
            let outcome = help.pressed(key, state);
            (Modal::Help(help), outcome)
        }
        Modal::Palette(mut palette) => {
            let outcome = palette.pressed(key, state);
            (Modal::Palette(palette), outcome)
        }
        Modal::Errors(mut errors) => {
            let outcome = errors.pressed(key, state);
            (Modal::Errors(errors), outcome)
        }
        Modal::Explain(mut explain) => {
            let outcome = explain.pressed(key, state);
            (Modal::Explain(explain), outcome)
        }
        other => (other, Outcome::default()),
    };
    if !outcome.close {
        state.modal = Some(modal);
    }
    outcome.effects
}

/// A paste for the text field of the overlay that is open.
pub(crate) fn pasted(modal: &mut Modal, text: &str) {
    match modal {
        Modal::Help(help) => help.pasted(text),
        Modal::Palette(palette) => palette.pasted(text),
        _ => {}
    }
}

/// Draws the overlay over the whole screen's `area`.
pub(crate) fn draw(frame: &mut Frame, area: Rect, modal: &Modal, state: &State, look: &Look) {
    match modal {
        Modal::Help(help) => help.draw(frame, area, look),
        Modal::Palette(palette) => palette.draw(frame, area, look),
        Modal::Errors(errors) => errors.draw(frame, area, state, look),
        Modal::Explain(explain) => explain.draw(frame, area, look),
        Modal::Danger => danger::draw(frame, area, state, look),
        Modal::Copy => copy::draw(frame, area, state, look),
        Modal::Dialog(_) => {}
    }
}

/// A box of a size in the middle of `area`, never outside it.
pub(crate) fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// A box of a size at the lower edge of `area`, above status and hints where there is room.
pub(crate) fn at_the_foot(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let y = area.bottom().saturating_sub(height + 2).max(area.y);
    Rect { x: area.x + (area.width - width) / 2, y, width, height }
}
