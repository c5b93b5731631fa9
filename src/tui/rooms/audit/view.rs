//! Draws Audit.

use super::State;
use crate::tui::look::Look;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws the room into `area`.
pub(crate) fn draw(_frame: &mut Frame, _area: Rect, _state: &State, _look: &Look) {}
