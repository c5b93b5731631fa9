//! Walking the old part of the chain again and again while a stream is open: an event that was changed long after it was
//! seen is found too, not only at the next `audit verify`.

use super::Client;
use super::verify::{Contact, EMPTY, VerifyError};
use crate::model::ChainHead;
use crate::rules::chain::{self, Break};
use crate::wire::world::ListAudit;
use std::time::Duration;

/// Heartbeats (seconds) between two rounds.
pub(super) const BEATS: u32 = 10;
/// Events a round: the whole of a small registry, and 70,000 in some twelve minutes.
const PAGE: u32 = 1000;
/// A slow round must not hold up the stream; it is left out.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the walk stands.
#[derive(Debug)]
pub(super) struct Patrol {
    at: ChainHead,
}

impl Patrol {
    /// Begins before the first event.
    pub(super) fn new() -> Self {
        Self { at: EMPTY }
    }

    /// Verifies the next events up to the known head; then begins anew.
    ///
    /// # Errors
    /// The first event that does not fit what was verified before. A registry that does not answer is no error here: the
    /// stream tells of that.
    pub(super) async fn round(&mut self, client: &Client, known: &Contact) -> Result<(), Break> {
        match tokio::time::timeout(PATIENCE, self.walk(client, known)).await {
            Ok(Err(VerifyError::Broken(at))) => Err(at),
            Ok(Ok(()) | Err(_)) | Err(_) => Ok(()),
        }
    }

    async fn walk(&mut self, client: &Client, known: &Contact) -> Result<(), VerifyError> {
        let ask = ListAudit { after: Some(self.at.seq), limit: Some(PAGE), ..ListAudit::default() };
        let page = client.audit(&ask).await?;
        if page.items.is_empty() && self.at.seq < known.head.seq {
            let seq = self.at.seq + 1;
            return Err(VerifyError::Broken(Break { seq, why: format!("event #{seq} was seen before and is gone") }));
        }
        for event in &page.items {
            self.at = chain::verify(&self.at, event).map_err(VerifyError::Broken)?;
            self.compare(known)?;
            if self.at.seq >= known.head.seq {
                self.at = EMPTY;
                break;
            }
        }
        Ok(())
    }

    fn compare(&self, known: &Contact) -> Result<(), VerifyError> {
        let seq = self.at.seq;
        let was = match seq {
            _ if seq == known.head.seq => known.head.event_id,
            1 => known.genesis,
            _ => return Ok(()),
        };
        if was == self.at.event_id {
            return Ok(());
        }
        let why = format!("event #{seq} is not the one seen before: {} was {was}", self.at.event_id);
        Err(VerifyError::Broken(Break { seq, why }))
    }
}
