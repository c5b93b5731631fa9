//! Dialogs: one arming protocol for everything that changes what is served.

pub mod arming;

use super::effect::Effect;
use super::look::Look;
use super::msg::{DialogRequest, Msg};
use super::state::Cx;
use ratatui::Frame;
use ratatui::layout::Rect;

/// An open dialog.
#[derive(Debug)]
pub(crate) struct Dialog {
    /// What was asked for.
    pub(crate) request: DialogRequest,
}

/// What a dialog did with a message.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What it wants done.
    pub(crate) effects: Vec<Effect>,
    /// Whether it is over.
    pub(crate) close: bool,
}

impl Dialog {
    /// Opens the dialog that was asked for; the effects fetch what it pins.
    pub(crate) fn open(request: DialogRequest, _cx: &mut Cx) -> (Self, Vec<Effect>) {
        (Self { request }, Vec::new())
    }

    /// Every message while it is open: keys, pastes, paints, ticks, answers of its slots, its receipts, the stream.
    pub(crate) fn update(&mut self, _msg: &Msg, _cx: &mut Cx) -> Outcome {
        Outcome { effects: Vec::new(), close: true }
    }
}

/// Draws the dialog over the body; `area` is the whole screen.
pub(crate) fn draw(_frame: &mut Frame, _area: Rect, _dialog: &Dialog, _look: &Look) {}
