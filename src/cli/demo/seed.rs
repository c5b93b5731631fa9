//! What the demo holds at its first start, made through the HTTP API alone.

use super::People;
use crate::cli::exit::{Done, Failure};

/// The demo's policy.
pub const POLICY: &str = "";

/// The person who gets the first token, as admin.
pub const ADMIN: &str = "ana";

/// Every account that gets a token: persons and services of [`POLICY`].
pub const ACCOUNTS: &[&str] = &["person:ana", "person:bob", "person:carol", "person:dee", "service:ci"];

/// Fills an empty registry. `progress` gets a line for each thing made.
pub async fn seed(_people: &People, _progress: &(dyn Fn(&str) + Sync)) -> Done {
    Err(Failure::failed("not there yet"))
}
