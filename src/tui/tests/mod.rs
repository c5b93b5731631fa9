//! Tests of the whole terminal without a terminal: a state, messages, and what is drawn.

mod bench;
mod hostile;
mod keys;
mod marks;
mod rooms;
mod screens;
