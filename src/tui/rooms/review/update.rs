//! What Review does with what happens.

use super::State;
use crate::tui::effect::Effect;
use crate::tui::msg::{Msg, ReviewTarget};
use crate::tui::state::{Cx, Subject};

/// The room comes to the front with something to show: fetch it.
pub(crate) fn open(_state: &mut State, _target: ReviewTarget, _cx: &mut Cx) -> Vec<Effect> {
    Vec::new()
}

/// A message for this room.
pub(crate) fn update(_state: &mut State, _msg: &Msg, _cx: &mut Cx) -> Vec<Effect> {
    Vec::new()
}

/// What the cursor is on.
pub(crate) fn subject(_state: &State) -> Subject {
    Subject::default()
}

/// Whether a text field of this room has the keys.
pub(crate) fn typing(_state: &State) -> bool {
    false
}

/// Whether esc has something to go back from inside this room; else it leaves.
pub(crate) fn goes_back(_state: &State) -> bool {
    false
}

/// Why an action cannot be done here, if so.
pub(crate) fn off(_state: &State, _action: crate::tui::action::Action) -> Option<String> {
    None
}
