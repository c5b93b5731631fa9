//! Following a registry: each event once, in order, verified; lost connections come back by themselves.

use super::patrol::{self, Patrol};
use super::pins::{Accepted, Pins};
use super::verify::{self, Contact, VerifyError};
use super::{Client, ClientError, sse};
use crate::model::{AuditEvent, ChainHead, Code, EnvironmentPointer};
use crate::rules::chain::{self, Break};
use crate::wire::stream::StreamEvent;
use crate::wire::world::ListAudit;
use futures_util::{Stream, StreamExt as _};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;

/// A stream that says nothing for so long is lost: heartbeats come each second.
const SILENCE: Duration = Duration::from_millis(2500);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What happened on the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Followed {
    /// The stream is up. With what is known of the chain: none where the caller may not read the audit trail, or where the
    /// chain is broken.
    Connected(Option<Contact>),
    /// The next link of the chain, verified (after a [`Followed::Broken`]: as it came).
    Audit(Box<AuditEvent>),
    /// A pointer as it is now, just before its audit event.
    Pointer(Box<EnvironmentPointer>),
    /// The registry lives; its newest link as it states it.
    Heartbeat(ChainHead),
    /// The connection is gone; the next attempt comes after `retry_in`.
    Lost {
        /// How long until the next attempt.
        retry_in: Duration,
        /// Why: a 401 shows here too.
        error: ClientError,
    },
    /// The chain is not what it was or does not hold together: an alarm that stays. Events go on coming, unverified.
    Broken(Break),
    /// After an alarm a person took the chain as it stands for the true one, on this machine: the alarm is over, and the
    /// stream begins anew.
    Accepted,
}

/// The stream that [`follow`] gives; dropping it ends the connection.
#[derive(Debug)]
pub struct Following {
    receiver: mpsc::Receiver<Followed>,
}

impl Stream for Following {
    type Item = Followed;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Followed>> {
        self.receiver.poll_recv(cx)
    }
}

/// Follows a registry from now on (from the pinned head on, once known), until the stream is dropped. Needs a tokio runtime.
///
/// The first item is [`Followed::Connected`], [`Followed::Lost`] or [`Followed::Broken`]. With `pins`, the verified head is
/// remembered across processes; without, only while this stream lives.
pub fn follow(client: Client, pins: Option<Pins>) -> Following {
    let (sender, receiver) = mpsc::channel(1024);
    let mut follower = Follower {
        client,
        pins,
        sender,
        known: None,
        trust: Trust::Unknown,
        heard: 0,
        kept: 0,
        beats: 0,
        patrol: Patrol::new(),
        accepted: None,
    };
    tokio::spawn(async move { follower.run().await });
    Following { receiver }
}

/// Whether events are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// No contact yet.
    Unknown,
    /// Each event is verified against the one before.
    Verifying,
    /// The caller may not read the audit trail.
    Blind,
    /// An alarm was raised.
    Broken,
}

struct Follower {
    client: Client,
    pins: Option<Pins>,
    sender: mpsc::Sender<Followed>,
    /// The run of events that was verified here.
    known: Option<Contact>,
    trust: Trust,
    /// The number of the heartbeat before.
    heard: u64,
    /// The number of the pin that was last written.
    kept: u64,
    /// Heartbeats since the patrol's last round.
    beats: u32,
    patrol: Patrol,
    /// What a person had accepted on this machine when the alarm was raised.
    accepted: Option<Accepted>,
}

/// Why a connection ended.
enum End {
    /// Nobody listens any more.
    Dropped,
    /// The chain as it stands was accepted: begin anew, at once.
    Anew,
    /// To be tried again.
    Lost(ClientError),
}

impl From<ClientError> for End {
    fn from(error: ClientError) -> Self {
        Self::Lost(error)
    }
}

impl Follower {
    async fn run(&mut self) {
        let mut attempt = 0;
        loop {
            let before = self.heard;
            let sender = self.sender.clone();
            let end = tokio::select! {
                end = self.connection() => end,
                () = sender.closed() => End::Dropped,
            };
            let error = match end {
                End::Lost(error) => error,
                End::Anew => continue,
                End::Dropped => return,
            };
            attempt = if self.heard == before { attempt + 1 } else { 1 };
            let retry_in = wait(attempt, rand::random());
            if self.sender.send(Followed::Lost { retry_in, error }).await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(retry_in) => {}
                () = self.sender.closed() => return,
            }
        }
    }

    /// One connection, from contact to its end.
    async fn connection(&mut self) -> End {
        match self.converse().await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn converse(&mut self) -> Result<std::convert::Infallible, End> {
        self.meet().await?;
        let after = match &self.known {
            Some(known) => known.head.seq,
            None => self.heard,
        };
        let mut events = sse::open(&self.client, after).await?;
        let contact = self.known.clone().filter(|_| self.trust == Trust::Verifying);
        self.tell(Followed::Connected(contact)).await?;
        loop {
            let Ok(next) = tokio::time::timeout(SILENCE, events.next()).await else {
                return Err(ClientError::Timeout { seconds: SILENCE.as_secs() }.into());
            };
            let Some(event) = next else {
                let why = "the stream ended".to_owned();
                return Err(ClientError::Unreachable { server: self.client.base_url().to_owned(), why }.into());
            };
            match event? {
                StreamEvent::Audit(event) => self.audit(event).await?,
                StreamEvent::Pointer(pointer) => self.tell(Followed::Pointer(pointer)).await?,
                StreamEvent::Heartbeat(head) => self.heartbeat(head).await?,
            }
        }
    }

    /// Learns what the chain is, the first time; afterwards, that it still is what it was.
    async fn meet(&mut self) -> Result<(), End> {
        let met = match (self.trust, &self.known) {
            (Trust::Blind | Trust::Broken, _) => return Ok(()),
            (Trust::Verifying, Some(known)) if known.head.seq > 0 => {
                verify::still_there(&self.client, &known.pin(&self.client)).await.map(|()| known.clone())
            }
            _ => verify::contact(&self.client, self.pins.as_ref()).await,
        };
        match met {
            Ok(contact) => {
                self.trust = Trust::Verifying;
                self.kept = contact.head.seq;
                self.known = Some(contact);
                Ok(())
            }
            Err(VerifyError::Client(error)) if error.code() == Some(Code::Forbidden) => {
                self.trust = Trust::Blind;
                Ok(())
            }
            Err(VerifyError::Client(error)) => Err(error.into()),
            Err(VerifyError::Broken(at)) => self.alarm(at).await,
            Err(VerifyError::Pins(error)) => {
                let why = format!("the remembered chain head cannot be used: {error}");
                self.alarm(Break { seq: 0, why }).await
            }
        }
    }

    async fn audit(&mut self, event: Box<AuditEvent>) -> Result<(), End> {
        let Some(known) = self.known.clone().filter(|_| self.trust == Trust::Verifying) else {
            return self.pass(event).await;
        };
        if event.seq <= known.head.seq {
            // Sent twice, for example after a gap was filled.
            return Ok(());
        }
        if event.seq > known.head.seq + 1 {
            self.fill(event.seq).await?;
            return Ok(());
        }
        self.link(event).await
    }

    /// Verifies and passes on the event that follows.
    async fn link(&mut self, event: Box<AuditEvent>) -> Result<(), End> {
        let Some(known) = self.known.as_mut() else { return self.pass(event).await };
        match chain::verify(&known.head, &event) {
            Ok(head) => {
                known.head = head;
                if head.seq == 1 {
                    known.genesis = head.event_id;
                }
                self.tell(Followed::Audit(event)).await
            }
            Err(at) => {
                self.alarm(at).await?;
                self.pass(event).await
            }
        }
    }

    /// Passes an event on as it came.
    async fn pass(&mut self, event: Box<AuditEvent>) -> Result<(), End> {
        if let Some(known) = self.known.as_mut() {
            known.head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
        }
        self.tell(Followed::Audit(event)).await
    }

    /// Fetches, verifies and passes on what is missing up to `seq`.
    async fn fill(&mut self, seq: u64) -> Result<(), End> {
        while let Some(at) = self.known.as_ref().map(|k| k.head.seq).filter(|at| *at < seq) {
            let ask = ListAudit { after: Some(at), limit: Some(1000), ..ListAudit::default() };
            let page = self.client.audit(&ask).await?;
            if page.items.is_empty() {
                let why = format!("the registry speaks of #{seq} and does not have it");
                return self.alarm(Break { seq: at + 1, why }).await;
            }
            for event in page.items {
                self.link(Box::new(event)).await?;
            }
        }
        Ok(())
    }

    async fn heartbeat(&mut self, head: ChainHead) -> Result<(), End> {
        if self.trust == Trust::Verifying {
            self.compare(&head).await?;
            self.walk().await?;
        }
        if self.trust == Trust::Broken {
            self.forgive().await?;
        }
        self.heard = head.seq;
        self.keep();
        self.tell(Followed::Heartbeat(head)).await
    }

    /// A heartbeat that speaks of less than was seen, of another event, or (twice) of more, is looked into.
    async fn compare(&mut self, head: &ChainHead) -> Result<(), End> {
        let Some(known) = self.known.clone() else { return Ok(()) };
        let behind = head.seq < known.head.seq || (head.seq == known.head.seq && head.event_id != known.head.event_id);
        if behind && known.head.seq > 0 {
            return match verify::still_there(&self.client, &known.pin(&self.client)).await {
                Ok(()) | Err(VerifyError::Pins(_)) => Ok(()),
                Err(VerifyError::Broken(at)) => self.alarm(at).await,
                Err(VerifyError::Client(error)) => Err(error.into()),
            };
        }
        // One heartbeat may overtake the event that it speaks of; a second one does not.
        if self.heard > known.head.seq { self.fill(self.heard).await } else { Ok(()) }
    }

    /// Now and then looks at the old part of the chain again.
    async fn walk(&mut self) -> Result<(), End> {
        self.beats = (self.beats + 1) % patrol::BEATS;
        let Some(known) = self.known.as_ref().filter(|_| self.beats == 0 && self.trust == Trust::Verifying) else {
            return Ok(());
        };
        match self.patrol.round(&self.client, known).await {
            Ok(()) => Ok(()),
            Err(at) => self.alarm(at).await,
        }
    }

    /// Remembers the verified head, when it moved. A full disk must not stop the stream.
    fn keep(&mut self) {
        let Some(known) = self.known.as_ref().filter(|k| self.trust == Trust::Verifying && k.head.seq > self.kept) else {
            return;
        };
        match verify::remember(&self.client, self.pins.as_ref(), known) {
            Ok(()) => self.kept = known.head.seq,
            Err(error) => tracing::warn!(%error, "the verified chain head cannot be remembered"),
        }
    }

    /// Ends the alarm where a person accepted the chain since: only that, never a pin that merely moved.
    async fn forgive(&mut self) -> Result<(), End> {
        let accepted = self.last_accepted();
        if accepted.is_none() || accepted == self.accepted {
            return Ok(());
        }
        (self.trust, self.known, self.kept) = (Trust::Unknown, None, 0);
        self.tell(Followed::Accepted).await?;
        Err(End::Anew)
    }

    fn last_accepted(&self) -> Option<Accepted> {
        self.pins.as_ref()?.accepted(self.client.base_url()).ok().flatten()
    }

    async fn alarm(&mut self, at: Break) -> Result<(), End> {
        if self.trust != Trust::Broken {
            self.accepted = self.last_accepted();
        }
        self.trust = Trust::Broken;
        self.tell(Followed::Broken(at)).await
    }

    async fn tell(&self, what: Followed) -> Result<(), End> {
        self.sender.send(what).await.map_err(|_| End::Dropped)
    }
}

/// The wait before attempt number `attempt`: 250 ms doubled each time up to [`LONGEST_WAIT`], of which a random half is cut
/// off, so that many clients do not come back at once. `random` is in [0, 1).
fn wait(attempt: u32, random: f64) -> Duration {
    let full = Duration::from_millis(250).saturating_mul(1 << attempt.min(6)).min(LONGEST_WAIT);
    full.mul_f64(0.5 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_ten_seconds_and_differ() {
        assert_eq!(wait(1, 0.0), Duration::from_millis(250));
        assert!(wait(1, 0.9) > wait(1, 0.1));
        assert!(wait(3, 0.0) > wait(1, 0.999));
        assert!((0..100).all(|attempt| wait(attempt, 0.999) <= LONGEST_WAIT));
    }
}
