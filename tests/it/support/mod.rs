//! What several subjects' tests stand on.

pub mod described;
pub mod engines;
pub mod issuer;
pub mod near;
pub mod policy;
pub mod program;
pub mod proxy;
pub mod pty;
pub mod registry;
pub mod rows;
pub mod stage;
pub mod story;
pub mod world;
