//! Dialogs: one arming protocol for everything that changes what is served.
//!
//! The root gives every message first to the [`desk::Desk`], then to the open dialog; when no modal is open it asks
//! [`desk::Desk::asks`] whether an act waits for the person's word.

pub mod arming;
pub(crate) mod desk;
pub(crate) mod sending;

use super::effect::Effect;
use super::look::Look;
use super::msg::{DialogRequest, Msg};
use super::state::Cx;
use arming::Moment;
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
    /// Opens the dialog that was asked for; the effects fetch what it pins. None where there is nothing to ask: holding
    /// is safe and done at once, and what cannot be done is said in the status line.
    pub(crate) fn open(request: DialogRequest, _cx: &mut Cx) -> (Option<Box<Self>>, Vec<Effect>) {
        (Some(Box::new(Self { request })), Vec::new())
    }

    /// Every message while it is open: keys, pastes, paints, ticks, answers of its slots, its receipts, the stream.
    pub(crate) fn update(&mut self, _msg: &Msg, _cx: &mut Cx) -> Outcome {
        Outcome { effects: Vec::new(), close: true }
    }
}

/// Draws the dialog over the body; `area` is the whole screen.
pub(crate) fn draw(_frame: &mut Frame, _area: Rect, _dialog: &Dialog, _look: &Look) {}

/// A wake-up at a moment of the steady clock.
fn wake_at(at: Moment, cx: &Cx) -> Effect {
    let left = at.saturating_sub(cx.steady).as_micros();
    Effect::WakeAt(crate::model::Timestamp(cx.now.0.saturating_add(i64::try_from(left).unwrap_or(i64::MAX))))
}
