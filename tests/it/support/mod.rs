//! What several subjects' tests stand on.

pub mod engines;
pub mod rows;
