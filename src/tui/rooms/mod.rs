//! The rooms: each a folder with its state, its update and its view.

pub(crate) mod audit;
pub(crate) mod inbox;
pub(crate) mod keys;
pub(crate) mod marks;
pub(crate) mod review;
pub(crate) mod rollouts;
pub(crate) mod throttle;
