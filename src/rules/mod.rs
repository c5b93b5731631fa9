//! Decisions, pure: no async, no I/O, no clock, no SQL, no HTTP, no terminal.

pub mod access;
pub mod bucketing;
pub mod bundle;
pub mod canonical;
pub mod chain;
pub mod checkpoint;
pub mod content;
pub mod hidden;
pub mod jwt;
pub mod net;
pub mod note;
pub mod notice;
pub mod oidc;
pub mod policy;
pub mod promotion;
pub mod prose;
pub mod readiness;
pub mod report;
pub mod resolution;
pub mod restraint;
pub mod rollout;
pub mod statement;
pub mod structure;
pub mod template;
pub mod ticket;
