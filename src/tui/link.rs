//! What the stream, answers and refusals say about the connection and the chain.

use super::effect::{Answer, Effect, Failure, Query, Slot};
use super::msg::{Followed, Notice};
use super::state::{Chain, Link, Now, State, Wire};
use super::update::{refetch, say};
use crate::model::Timestamp;

/// A stream that is silent for so many microseconds is stale: heartbeats come each second.
pub(crate) const SILENCE: i64 = 2_500_000;

impl Link {
    /// What a verification found. An alarm stays.
    pub(crate) fn verified(&mut self, answer: &Answer) {
        match answer {
            Answer::Verified(from, head) if !matches!(self.chain, Chain::Broken { .. }) => {
                // What was verified before ends where this ends: the earlier beginning counts.
                let (from, first) = match &self.chain {
                    Chain::Verified { from: known, first, .. } if known < from => (*known, *first),
                    _ => (*from, false),
                };
                self.chain = Chain::Verified { from, head: *head, first };
            }
            Answer::Broken { seq, why } => self.chain = Chain::Broken { seq: *seq, why: why.clone() },
            _ => {}
        }
    }

    /// A request failed: whether that is because the registry takes no token from here, which the link line says from then on.
    pub(crate) fn refused(&mut self, failure: &Failure) -> bool {
        let refused = failure.is_of_token() && self.wire != Wire::Live;
        if refused {
            self.wire = Wire::SignedOut;
        }
        refused
    }
}

/// What the stream says about the connection and the chain.
pub(super) fn heard(state: &mut State, followed: &Followed, now: Now) -> Vec<Effect> {
    let link = &mut state.link;
    let was = link.wire;
    match followed {
        Followed::Lost { attempt, why, signed_out, .. } => {
            link.wire = if *signed_out { Wire::SignedOut } else { Wire::Reconnecting(*attempt) };
            // A token that ended does not come back by itself: say it, once.
            return why.iter().map(|why| say(Notice::error(why.clone()))).collect();
        }
        Followed::Broken { seq, why } => link.chain = Chain::Broken { seq: *seq, why: why.clone() },
        Followed::Accepted => link.chain = Chain::Unknown,
        Followed::Connected { contact } => {
            let broken = matches!(link.chain, Chain::Broken { .. });
            if let Some(contact) = contact.filter(|_| !broken) {
                link.chain = Chain::Verified { from: contact.from, head: contact.head, first: contact.first };
            }
        }
        Followed::Audit(event) => {
            if let Chain::Verified { head, .. } = &mut link.chain {
                *head = crate::model::ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
            }
        }
        Followed::Heartbeat(head) => link.head = Some(*head),
        Followed::Pointer(_) => {}
    }
    link.heard_at = Some(now.wall);
    link.wire = Wire::Live;
    match followed {
        // After a gap everything may be different.
        Followed::Connected { .. } if was != Wire::Live && was != Wire::Connecting => refetch(state, now),
        // The first time everything is on its way already: each room asks again after what it gets.
        Followed::Connected { .. } if state.session.world.is_none() && !state.slots.is_waiting(Slot::Session) => {
            vec![state.slots.load(Slot::Session, Query::Session)]
        }
        _ => Vec::new(),
    }
}

/// The next moment at which something changes by itself: the link turns stale, or the minute is over.
pub(crate) fn next_tick(state: &State, now: Timestamp) -> Timestamp {
    const MINUTE: i64 = 60_000_000;
    let minute = now.0.div_euclid(MINUTE).saturating_add(1).saturating_mul(MINUTE);
    let silent =
        state.link.heard_at.filter(|_| state.link.wire == Wire::Live).map_or(i64::MAX, |at| at.0.saturating_add(SILENCE));
    Timestamp(minute.min(silent))
}
