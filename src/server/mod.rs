//! HTTP, thin: it authenticates, reads what was sent, calls a verb or a read, and writes the answer.

pub mod error;
