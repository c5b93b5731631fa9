//! Taking a registry's present chain for the true one, after its database was put back rightfully (R26).

use super::pins::{Accepted, Pin, Pins};
use super::verify::{EMPTY, VerifyError, to_the_end};
use super::{Client, Contact};
use crate::model::{Digest, Timestamp};

/// What stands, and what was seen before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What this machine remembers; none where it never saw this server.
    pub before: Option<Pin>,
    /// What the registry has now, verified whole from #1.
    pub now: Pin,
}

/// Verifies the whole chain as it stands now, whatever was seen before.
///
/// # Errors
/// A chain that does not hold together by itself is never accepted.
pub async fn look(client: &Client, pins: &Pins) -> Result<Change, VerifyError> {
    let mut genesis = Digest::ZERO;
    let head = to_the_end(client, EMPTY, |at| {
        if at.seq == 1 {
            genesis = at.event_id;
        }
        Ok(())
    })
    .await?;
    let found = Contact { genesis, from: u64::from(head.seq != 0), head, first: false };
    Ok(Change { before: pins.get(client.base_url())?, now: found.pin(client) })
}

/// Remembers the present chain in place of the one seen before, and keeps why.
///
/// # Errors
/// The pin cannot be written.
pub fn accept(pins: &Pins, change: &Change, rationale: &str, at: Timestamp) -> std::io::Result<()> {
    pins.replace(
        &change.now,
        &Accepted { at, rationale: rationale.to_owned(), before: change.before.clone(), now: change.now.clone() },
    )
}
