//! Handlers, one file a resource: read names and body, call a verb or a read, answer.

pub mod audit;
pub mod fragments;
pub mod health;
pub mod keys;
pub mod langfuse;
pub mod ofrep;
pub mod ofrep_events;
pub mod people;
pub mod pointers;
pub mod promotions;
pub mod resolve;
mod sight;
pub mod stream;
pub mod versions;
pub mod world;
