//! Decisions, pure: no async, no I/O, no clock, no SQL, no HTTP, no terminal.

pub mod access;
pub mod bucketing;
pub mod canonical;
pub mod chain;
pub mod content;
pub mod hidden;
pub mod policy;
pub mod promotion;
pub mod prose;
pub mod readiness;
pub mod resolution;
pub mod rollout;
pub mod statement;
pub mod structure;
pub mod template;
pub mod ticket;
