//! What one connection is doing: whether the registry works for it, or waits for its peer, and since when.

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// One connection.
#[derive(Debug)]
pub struct Seat {
    /// The network that it comes from.
    pub peer: IpAddr,
    began: Instant,
    /// Requests that came whole and are not answered.
    working: AtomicIsize,
    /// Whether it has sent a head.
    used: AtomicBool,
    /// Since when it does what it does (microseconds since the beginning).
    since: AtomicU64,
    /// Since when its peer takes nothing of what is sent (the same; 0 = it takes it).
    stuck: AtomicU64,
    asked: AtomicBool,
    leave: Notify,
}

impl Seat {
    /// A connection that begins now.
    pub fn new(peer: IpAddr, began: Instant) -> Self {
        let seat = Self {
            peer,
            began,
            working: AtomicIsize::new(0),
            used: AtomicBool::new(false),
            since: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            leave: Notify::new(),
        };
        seat.since.store(seat.now(), Ordering::Relaxed);
        seat
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    /// Whether the registry has something to do for it.
    pub fn works(&self) -> bool {
        self.working.load(Ordering::Acquire) > 0
    }

    /// Whether it has not sent a head yet.
    pub fn is_fresh(&self) -> bool {
        !self.used.load(Ordering::Relaxed)
    }

    /// Since when its peer is waited for (microseconds since the beginning); not while the registry works.
    pub fn waits_since(&self) -> Option<u64> {
        (!self.works()).then(|| self.since.load(Ordering::Relaxed))
    }

    /// Since when its peer takes nothing of what is sent.
    pub fn stuck_since(&self) -> Option<u64> {
        Some(self.stuck.load(Ordering::Relaxed)).filter(|since| *since > 0)
    }

    /// How long ago a moment was.
    pub fn past(&self, since: u64) -> Duration {
        Duration::from_micros(self.now().saturating_sub(since))
    }

    /// Notes that bytes were taken, or were not.
    pub fn wrote(&self, taken: bool) {
        if taken {
            self.stuck.store(0, Ordering::Relaxed);
        } else if self.stuck.load(Ordering::Relaxed) == 0 {
            self.stuck.store(self.now(), Ordering::Relaxed);
        }
    }

    /// A request begins; it lasts until the value is dropped.
    pub fn visit(self: &Arc<Self>) -> Visit {
        self.used.store(true, Ordering::Relaxed);
        self.working.fetch_add(1, Ordering::AcqRel);
        Visit(self.clone())
    }

    fn rest(&self) {
        self.since.store(self.now(), Ordering::Relaxed);
        self.working.fetch_sub(1, Ordering::AcqRel);
    }

    /// Asks it to leave; whether it was not asked before.
    pub fn ask_to_leave(&self) -> bool {
        let news = !self.asked.swap(true, Ordering::AcqRel);
        if news {
            self.leave.notify_one();
        }
        news
    }

    /// Whether it was asked to leave.
    pub fn asked_to_leave(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Takes that back; whether it had been asked.
    pub fn stay(&self) -> bool {
        self.asked.swap(false, Ordering::AcqRel)
    }

    /// Waits until it is asked to leave.
    pub async fn told(&self) {
        self.leave.notified().await;
    }
}

/// A request that the registry works on.
#[derive(Debug)]
pub struct Visit(Arc<Seat>);

impl Visit {
    /// The request's body: until the rest of it has come, the registry does not work, but waits for the peer.
    pub fn receives(&self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        self.0.rest();
        Body::new(Coming { body, seat: Some(self.0.clone()) })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// A body that comes in.
struct Coming {
    body: Body,
    /// None when all has come.
    seat: Option<Arc<Seat>>,
}

impl Coming {
    fn whole(&mut self) {
        if let Some(seat) = self.seat.take() {
            seat.working.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl HttpBody for Coming {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if self.body.is_end_stream() || !matches!(frame, Some(Ok(_))) {
            self.whole();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        self.whole();
    }
}

/// A connection's bytes: notes whether its peer takes what is sent.
#[derive(Debug)]
pub struct Line<S> {
    stream: S,
    seat: Arc<Seat>,
}

impl<S> Line<S> {
    /// Of a connection.
    pub fn new(stream: S, seat: Arc<Seat>) -> Self {
        Self { stream, seat }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Line<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Line<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.seat.wrote(wrote.is_ready());
        wrote
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.seat.wrote(wrote.is_ready());
        wrote
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use futures_util::stream;

    fn seat() -> Arc<Seat> {
        Arc::new(Seat::new(IpAddr::from([127, 0, 0, 1]), Instant::now()))
    }

    #[tokio::test]
    async fn the_registry_works_from_a_requests_last_byte_to_its_answer() {
        let seat = seat();
        assert!(!seat.works() && seat.is_fresh());
        let visit = seat.visit();
        assert!(seat.works() && !seat.is_fresh());
        let body = visit.receives(Body::from_stream(stream::iter(["half", "whole"].map(Ok::<_, std::io::Error>))));
        assert!(!seat.works(), "the rest of its body is waited for");
        assert_eq!(to_bytes(body, 100).await.unwrap(), "halfwhole");
        assert!(seat.works());
        drop(visit);
        assert!(!seat.works());
    }

    #[test]
    fn a_body_that_nobody_reads_is_not_waited_for() {
        let seat = seat();
        let visit = seat.visit();
        drop(visit.receives(Body::from("text")));
        assert!(seat.works());
        let _empty = visit.receives(Body::empty());
        assert!(seat.works());
        drop(visit);
        assert!(!seat.works());
    }
}
