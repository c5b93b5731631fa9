//! Dialogs: everything that acts asks first, under one arming protocol.

pub mod arming;
