//! The terminal: one loop, one closed message enum.

pub mod dialogs;
