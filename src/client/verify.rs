//! Verifying the chain against what this machine saw before (R26): at contact from the pin on, or whole.

use super::pins::{Pin, Pins};
use super::{Client, ClientError};
use crate::model::{AuditEvent, ChainHead, Digest, Timestamp};
use crate::rules::chain::{self, Break};
use crate::wire::world::ListAudit;

/// Events a page while verifying.
const PAGE: u32 = 1000;

/// Before the first event.
pub(super) const EMPTY: ChainHead = ChainHead { seq: 0, event_id: Digest::ZERO, at: Timestamp(0) };

/// Why the chain could not be verified.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The registry could not be asked.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The chain is not the one that was seen before, or does not hold together: an alarm.
    #[error("the audit chain is broken at #{}: {}", .0.seq, .0.why)]
    Broken(Break),
    /// The remembered head cannot be read or written.
    #[error("the remembered chain head cannot be used: {0}")]
    Pins(#[from] std::io::Error),
}

/// What is known of a registry's chain after a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The first event's hash: which registry this is.
    pub genesis: Digest,
    /// The first event of the run that was hashed on this machine: `✓ from #N`.
    pub from: u64,
    /// The last event that was hashed on this machine.
    pub head: ChainHead,
    /// Whether this machine saw this server for the first time: `pinned from #N`.
    pub first: bool,
}

/// What a whole verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// How many events, from #1.
    pub events: u64,
    /// The newest.
    pub head: ChainHead,
    /// Up to where this machine had seen the chain before.
    pub seen_before: Option<u64>,
}

/// Compares a registry with what was remembered of it, verifies what came since, and remembers the new head.
///
/// # Errors
/// A changed, missing or truncated event, or another registry at this address, is [`VerifyError::Broken`] with the first bad
/// number.
pub async fn contact(client: &Client, pins: Option<&Pins>) -> Result<Contact, VerifyError> {
    let pinned = match pins {
        Some(pins) => pins.get(client.base_url())?,
        None => None,
    };
    let found = match &pinned {
        Some(pin) => known(client, pin).await?,
        None => first(client).await?,
    };
    remember(client, pins, &found)?;
    Ok(found)
}

/// Checks that the registry still is the one of `pin` and still holds the pinned event, then verifies to the end.
async fn known(client: &Client, pin: &Pin) -> Result<Contact, VerifyError> {
    still_there(client, pin).await?;
    let head = to_the_end(client, pin.head, |_| Ok(())).await?;
    Ok(Contact { genesis: pin.genesis, from: pin.from, head, first: false })
}

/// The registry's first event and the pinned one are where they were.
pub(super) async fn still_there(client: &Client, pin: &Pin) -> Result<(), VerifyError> {
    let genesis = genesis(client).await?;
    if genesis != Some(pin.genesis) {
        let now = genesis.map_or("an empty chain".into(), |g| format!("the chain that begins with {g}"));
        let why =
            format!("another registry answers at this address: it has {now}; the one seen before began with {}", pin.genesis);
        return Err(broken(1, why));
    }
    let seq = pin.head.seq;
    match event_at(client, seq).await? {
        None => Err(broken(seq, format!("event #{seq} was seen before and is gone"))),
        Some(event) if event.seq != seq => Err(broken(seq, format!("event #{seq} was seen before and is missing"))),
        Some(event) => {
            let hashed = alone(&event)?;
            if hashed.event_id == pin.head.event_id {
                return Ok(());
            }
            Err(broken(seq, format!("event #{seq} is not the one seen before: {} was {}", hashed.event_id, pin.head.event_id)))
        }
    }
}

async fn first(client: &Client) -> Result<Contact, VerifyError> {
    let Some(genesis) = genesis(client).await? else {
        return Ok(Contact { genesis: Digest::ZERO, from: 1, head: EMPTY, first: true });
    };
    let stated = client.audit_head().await?;
    let Some(event) = event_at(client, stated.seq).await?.filter(|e| e.seq == stated.seq) else {
        return Err(broken(stated.seq, "the registry states this head and does not have it".into()));
    };
    let head = alone(&event)?;
    Ok(Contact { genesis, from: head.seq, head, first: true })
}

/// Hashes an event on its own: its predecessor is taken as stated.
fn alone(event: &AuditEvent) -> Result<ChainHead, VerifyError> {
    let before = ChainHead { seq: event.seq.saturating_sub(1), event_id: event.prev_hash, at: event.at };
    chain::verify(&before, event).map_err(VerifyError::Broken)
}

async fn event_at(client: &Client, seq: u64) -> Result<Option<AuditEvent>, ClientError> {
    let ask = ListAudit { after: Some(seq.saturating_sub(1)), limit: Some(1), ..ListAudit::default() };
    Ok(client.audit(&ask).await?.items.into_iter().next())
}

async fn genesis(client: &Client) -> Result<Option<Digest>, VerifyError> {
    let Some(event) = event_at(client, 1).await? else { return Ok(None) };
    Ok(Some(chain::verify(&EMPTY, &event).map_err(VerifyError::Broken)?.event_id))
}

/// Verifies every event after `head`, each shown to `seen`.
pub(super) async fn to_the_end(
    client: &Client,
    mut head: ChainHead,
    mut seen: impl FnMut(&ChainHead) -> Result<(), VerifyError>,
) -> Result<ChainHead, VerifyError> {
    loop {
        let ask = ListAudit { after: Some(head.seq), limit: Some(PAGE), ..ListAudit::default() };
        let page = client.audit(&ask).await?;
        if page.items.is_empty() {
            return Ok(head);
        }
        for event in &page.items {
            head = chain::verify(&head, event).map_err(VerifyError::Broken)?;
            seen(&head)?;
        }
    }
}

/// Verifies the whole chain from #1, also against what this machine saw before, and remembers its head.
///
/// `seen` gets each link just verified and the number that the registry states; what it finds broken is.
pub async fn verify_all(
    client: &Client,
    pins: Option<&Pins>,
    mut seen: impl FnMut(&ChainHead, u64) -> Result<(), Break>,
) -> Result<Verified, VerifyError> {
    let pinned = match pins {
        Some(pins) => pins.get(client.base_url())?,
        None => None,
    };
    let stated = client.audit_head().await?;
    let mut genesis = None;
    let head = to_the_end(client, EMPTY, |at| {
        if at.seq == 1 {
            genesis = Some(at.event_id);
        }
        seen(at, stated.seq).map_err(VerifyError::Broken)?;
        as_pinned(pinned.as_ref(), at)
    })
    .await?;
    if head.seq < stated.seq {
        return Err(broken(head.seq + 1, format!("the registry states {} events and this one is missing", stated.seq)));
    }
    if let Some(pin) = pinned.as_ref().filter(|pin| pin.head.seq > head.seq) {
        let (first, last) = (head.seq + 1, pin.head.seq);
        return Err(broken(first, format!("events up to #{last} were seen before; from #{first} on they are gone")));
    }
    let from = u64::from(head.seq != 0);
    let found = Contact { genesis: genesis.unwrap_or(Digest::ZERO), from, head, first: pinned.is_none() };
    remember(client, pins, &found)?;
    Ok(Verified { events: head.seq, head, seen_before: pinned.map(|pin| pin.head.seq) })
}

/// Verifies from event `from` to the end, also against what this machine saw before; what came before it is taken as it states
/// it. Gives the newest event. From #1 on it is [`verify_all`].
///
/// # Errors
/// As [`verify_all`].
pub async fn verify_from(client: &Client, pins: Option<&Pins>, from: u64) -> Result<ChainHead, VerifyError> {
    if from <= 1 {
        return Ok(verify_all(client, pins, |_, _| Ok(())).await?.head);
    }
    let pinned = match pins {
        Some(pins) => pins.get(client.base_url())?,
        None => None,
    };
    let stated = client.audit_head().await?;
    let Some(event) = event_at(client, from).await?.filter(|event| event.seq == from) else {
        return Err(broken(from, "this event is missing".into()));
    };
    let first = alone(&event)?;
    as_pinned(pinned.as_ref(), &first)?;
    let head = to_the_end(client, first, |at| as_pinned(pinned.as_ref(), at)).await?;
    let seen = pinned.map_or(0, |pin| pin.head.seq).max(stated.seq);
    if head.seq < seen {
        return Err(broken(head.seq + 1, format!("events up to #{seen} were stated or seen before; from here on they are gone")));
    }
    Ok(head)
}

/// An event that was pinned must be the same now.
fn as_pinned(pinned: Option<&Pin>, at: &ChainHead) -> Result<(), VerifyError> {
    let Some(pin) = pinned else { return Ok(()) };
    if at.seq == 1 && at.event_id != pin.genesis {
        return Err(broken(
            1,
            format!("another registry answers at this address: the one seen before began with {}", pin.genesis),
        ));
    }
    if at.seq == pin.head.seq && at.event_id != pin.head.event_id {
        let seq = at.seq;
        return Err(broken(seq, format!("event #{seq} is not the one seen before: {} was {}", at.event_id, pin.head.event_id)));
    }
    Ok(())
}

/// Keeps a verified head for the next contact; an empty chain is not kept.
pub(super) fn remember(client: &Client, pins: Option<&Pins>, found: &Contact) -> std::io::Result<()> {
    match pins {
        Some(pins) if found.head.seq > 0 => pins.put(&found.pin(client)),
        _ => Ok(()),
    }
}

impl Contact {
    /// What to remember of it.
    pub(super) fn pin(&self, client: &Client) -> Pin {
        Pin { server: client.base_url().to_owned(), genesis: self.genesis, from: self.from, head: self.head }
    }
}

fn broken(seq: u64, why: String) -> VerifyError {
    VerifyError::Broken(Break { seq, why })
}
