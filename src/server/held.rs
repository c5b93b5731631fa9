//! Long answers on their way out: sent in pieces, and counted until the peer has taken them.

use super::error::Rejection;
use super::limits::{ALL_OPEN, Limits};
use super::seat::Visit;
use super::shares::Share;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What is longer is sent in pieces of this many bytes: the next when the peer has taken the one before.
const PIECE: usize = 64 * 1024;

/// Under which name the bytes of an answer count.
#[derive(Debug, Clone)]
pub struct Account(pub Arc<str>);

/// Whether an answer is long enough to be counted; what is made while it is sent counts where it is made.
pub fn is_long(response: &Response) -> bool {
    response.body().size_hint().exact().is_some_and(|bytes| bytes > PIECE as u64)
}

/// The answer as it is sent: a short one as it is, and the visit ends; another keeps the visit until it is sent.
pub fn hold(limits: &Limits, response: Response, visit: Option<Visit>) -> Response {
    let size = response.body().size_hint().exact();
    if size.is_some_and(|bytes| bytes <= PIECE as u64) {
        return response;
    }
    let who = response.extensions().get::<Account>().map(|account| account.0.clone());
    let share = size.map(|bytes| limits.sending(who.as_deref().unwrap_or(ALL_OPEN), bytes)).transpose();
    match share {
        Ok(share) => response.map(|body| Body::new(Held { body, rest: Bytes::new(), _kept: (visit, share) })),
        Err(refusal) => Rejection(refusal).into_response(),
    }
}

/// A body with what is kept until it is sent.
struct Held {
    body: Body,
    /// What of the last frame was not handed over yet.
    rest: Bytes,
    _kept: (Option<Visit>, Option<Share>),
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.rest = bytes,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                other => return Poll::Ready(other),
            }
        }
        let most = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(most);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, inner) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use std::future::poll_fn;

    fn held(bytes: usize, share: Option<Share>) -> Held {
        Held { body: Body::from(vec![b'x'; bytes]), rest: Bytes::new(), _kept: (None, share) }
    }

    #[tokio::test]
    async fn a_long_answer_leaves_in_pieces_and_is_counted_until_its_last() {
        let limits = Limits::off();
        let share = limits.sending("ana", 3 * PIECE as u64).unwrap();
        let mut body = held(2 * PIECE + 5, Some(share));
        assert_eq!(body.size_hint().exact(), Some(2 * PIECE as u64 + 5));
        let piece = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
        assert_eq!(piece.into_data().unwrap().len(), PIECE);
        assert_eq!(body.size_hint().exact(), Some(PIECE as u64 + 5));
        assert_eq!(limits.answers.held(), 3 * PIECE as u64);
        assert_eq!(to_bytes(Body::new(body), usize::MAX).await.unwrap().len(), PIECE + 5);
        assert_eq!(limits.answers.held(), 0);
    }

    #[tokio::test]
    async fn a_short_answer_counts_nothing_and_one_too_many_is_refused() {
        let limits = Limits::off();
        let answer = |bytes: usize| Response::new(Body::from(vec![b'x'; bytes]));
        let _short = hold(&limits, answer(PIECE), None);
        assert_eq!(limits.answers.held(), 0);
        let mut kept = Vec::new();
        let refused = loop {
            let response = hold(&limits, answer(16 << 20), None);
            if response.status() != 200 {
                break response;
            }
            kept.push(response);
        };
        assert_eq!((refused.status().as_u16(), kept.len()), (429, 4));
    }
}
