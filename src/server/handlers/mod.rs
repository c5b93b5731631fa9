//! Handlers, one file a resource: read names and body, call a verb or a read, answer.

pub mod audit;
pub mod docs;
pub mod feeds;
pub mod fragments;
pub mod health;
pub mod keys;
pub mod langfuse;
pub mod metrics;
pub mod mirror;
pub mod ofrep;
mod ofrep_bulk;
pub mod ofrep_events;
pub mod people;
pub mod pointers;
pub mod promotions;
pub mod proofs;
pub mod report;
pub mod resolve;
mod sight;
pub mod stream;
pub mod versions;
pub mod webhooks;
pub mod world;
