//! What lies over a room: help, palette, danger menu, copy menu, errors.

pub(crate) mod errors;
pub(crate) mod help;
pub(crate) mod palette;
