//! The terminal: one loop of input, effects, stream and timer; messages change the state; the state is drawn.

pub mod action;
pub mod dialogs;
pub(crate) mod drafts;
pub(crate) mod effect;
pub(crate) mod field;
pub mod keymap;
pub(crate) mod look;
pub(crate) mod msg;
pub(crate) mod nearness;
pub(crate) mod overlays;
pub(crate) mod rooms;
pub(crate) mod state;
pub mod theme;
pub(crate) mod widgets;
