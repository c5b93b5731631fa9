//! Fetching again when the world changed, but not for each of two hundred events a second.

use crate::model::Timestamp;
use crate::tui::effect::{Effect, Query, Slot};
use crate::tui::state::Cx;
use std::time::Duration;

/// Two fetches of one list are at least so far apart.
const APART: Duration = Duration::from_millis(400);

/// Remembers whether a list is out of date and when it was last asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Throttle {
    stale: bool,
    asked: Option<Duration>,
}

impl Throttle {
    /// The list is out of date: fetch it now, or as soon as it may be.
    pub(crate) fn stale(&mut self, slot: Slot, query: impl FnOnce() -> Query, cx: &mut Cx) -> Vec<Effect> {
        self.stale = true;
        self.due(slot, query, cx)
    }

    /// Time went by, or an answer came: fetch if it is due.
    pub(crate) fn due(&mut self, slot: Slot, query: impl FnOnce() -> Query, cx: &mut Cx) -> Vec<Effect> {
        // While the registry is away nothing is tried: its return makes everything stale.
        if !self.stale || cx.slots.is_waiting(slot) || !cx.link.is_live() {
            return Vec::new();
        }
        let left = self.asked.map_or(Duration::ZERO, |at| (at + APART).saturating_sub(cx.steady));
        if left > Duration::ZERO {
            let at = i64::try_from(left.as_micros()).unwrap_or(i64::MAX);
            return vec![Effect::WakeAt(Timestamp(cx.now.0.saturating_add(at)))];
        }
        self.now(slot, query(), cx)
    }

    /// Fetches now, whatever was asked before.
    pub(crate) fn now(&mut self, slot: Slot, query: Query, cx: &mut Cx) -> Vec<Effect> {
        self.stale = false;
        self.asked = Some(cx.steady);
        vec![cx.slots.load(slot, query)]
    }

    /// The last fetch failed: the list is out of date still.
    pub(crate) fn failed(&mut self) {
        self.stale = true;
    }
}
