//! Draws Keys: tree, history and details, side by side where there is room.
//!
//! ```text
//! ┌─ Keys ────────────┐┌─ support.refund.system · history ──────────────────────┐
//! │ v support         ││  VERSION          STATE      AUTHOR  AGE  GATES  WHERE │
//! │   > refund.system ││> v9 e07a19c4aa01  review     dee     12m  5+ 1!  stage │
//! └───────────────────┘└────────────────────────────────────────────────────────┘
//! ┌─ Details ────────────────────────────────────────────────────────────────────┐
//! ```

use super::state::{Focus, State};
use super::{details, history, tree};
use crate::tui::look::Look;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws the room into `area`.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let wide = area.width >= 100;
    if look.screen.zoom || (!wide && state.focus == Focus::Tree) {
        match state.focus {
            Focus::Tree => tree::draw(frame, area, state, look),
            Focus::History => history::draw(frame, area, state, look),
        }
        return;
    }
    let below = if look.screen.preview && area.height >= 12 { if area.height >= 20 { 7 } else { 5 } } else { 0 };
    let upper = Rect { height: area.height - below, ..area };
    if wide {
        let left = (area.width * 30 / 100).clamp(34, 50);
        tree::draw(frame, Rect { width: left, ..upper }, state, look);
        history::draw(frame, Rect { x: upper.x + left, width: upper.width - left, ..upper }, state, look);
    } else {
        history::draw(frame, upper, state, look);
    }
    if below > 0 {
        details::draw(frame, Rect { y: upper.bottom(), height: below, ..area }, state, look);
    }
}
