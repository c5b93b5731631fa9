//! Dialogs: one arming protocol for everything that changes what is served.
//!
//! The root gives every message first to the [`desk::Desk`], then to the open dialog; when no modal is open it asks
//! [`desk::Desk::asks`] whether an act waits for the person's word. A dialog is a form ([`form`]) over what was read
//! ([`known`]); what it shows and sends is computed anew after each message ([`spec`], one file a kind).

mod after;
mod approve;
pub mod arming;
mod blast;
pub(crate) mod desk;
mod dialog;
mod draft;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod form;
mod kill;
pub(crate) mod known;
mod many;
#[cfg(test)]
mod many_tests;
mod open;
mod pointer;
mod promote;
pub(crate) mod sending;
pub(crate) mod sheet;
mod spec;
mod start;
mod timing;
mod unanswered;
mod version;
mod view;
mod words;

pub(crate) use dialog::Dialog;
pub(crate) use view::draw;

use super::effect::Effect;
use super::state::Cx;
use arming::Moment;

/// A wake-up at a moment of the steady clock.
fn wake_at(at: Moment, cx: &Cx) -> Effect {
    let left = at.saturating_sub(cx.steady).as_micros();
    Effect::WakeAt(crate::model::Timestamp(cx.now.0.saturating_add(i64::try_from(left).unwrap_or(i64::MAX))))
}
