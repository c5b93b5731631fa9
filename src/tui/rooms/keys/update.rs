//! What Keys does with what happens.

use super::State;
use crate::tui::effect::Effect;
use crate::tui::msg::Msg;
use crate::tui::state::{Cx, Subject};

/// The room comes to the front: fetch what is missing.
pub(crate) fn open(_state: &mut State, _cx: &mut Cx) -> Vec<Effect> {
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
