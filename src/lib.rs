//! Countersign: a prompt and configuration registry, and the terminal in which its changes are reviewed and promoted.
//!
//! The rooms, each knowing only those above it (`tests/it/architecture.rs` holds the whole table):
//!
//! - `model`: plain data, one file per entity of the data model.
//! - `rules`: decisions, pure.
//! - `wire`: paths, envelopes, problems, stream events.
//! - `clock`, `config`: wall time and randomness; settings and paths.
//! - `storage`: SQL, one text for SQLite and PostgreSQL.
//! - `snapshot`: what answers without a database.
//! - `workflow`: the verbs, one transaction each.
//! - `outward`: what the server calls by itself: receivers of notices, issuers of identities.
//! - `server`: HTTP.
//! - `client`: typed calls, the stream, the verified chain.
//! - `tui`: the terminal.
//! - `cli`: the commands.

pub mod clock;
pub mod config;
pub mod model;
pub mod rules;
pub mod wire;

#[cfg(feature = "server")]
pub mod outward;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod snapshot;
#[cfg(feature = "server")]
pub mod storage;
#[cfg(feature = "server")]
pub mod workflow;

#[cfg(feature = "tui")]
pub mod client;
#[cfg(feature = "tui")]
pub mod tui;

pub mod cli;
