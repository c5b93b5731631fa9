//! The accept loop: one task a connection, limits on heads and connections, an end without broken answers.

use super::room::{Room, Taken};
use super::seat::{Line, Seat};
use super::tls::{Begun, Tls, in_clear};
use axum::Router;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

/// A request's head must be whole within this time after the answer before; an idle connection ends after it. The room's own
/// limits end what this one does not see: who never says which HTTP it speaks, and who takes nothing.
const HEAD_TIME: Duration = Duration::from_mins(1);
/// A request's head may have this many bytes.
const MOST_HEAD: usize = 64 * 1024;
/// How long running requests may take to end after a shutdown.
const FAREWELL: Duration = Duration::from_secs(10);
/// After a connection that could not be taken, the next is tried after this time.
const PAUSE: Duration = Duration::from_millis(50);

/// Where connections come in: over TLS where there is a certificate to show.
#[derive(Debug)]
pub struct Listening {
    tcp: TcpListener,
    tls: Option<Tls>,
}

impl Listening {
    /// The port, and the certificate.
    pub fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, tls }
    }
}

impl From<TcpListener> for Listening {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// What connections share.
struct Entry {
    builder: auto::Builder<TokioExecutor>,
    router: Router,
    tls: Option<Tls>,
}

/// Serves `router` until `shutdown`, to as many as `room` holds; then lets running requests end.
pub async fn accept(Listening { tcp: listener, tls }: Listening, router: Router, room: Arc<Room>, shutdown: CancellationToken) {
    let entry = Arc::new(Entry { builder: builder(), router, tls });
    let tracker = TaskTracker::new();
    let taking = async {
        loop {
            let (stream, address, taken) = next(&listener, &room).await;
            tracker.spawn(connection(entry.clone(), stream, address, shutdown.clone(), taken));
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        () = taking => {}
        () = room.sweeping() => {}
    }
    drop(listener);
    tracker.close();
    if tokio::time::timeout(FAREWELL, tracker.wait()).await.is_err() {
        tracing::warn!("{} connections did not end in time", tracker.len());
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(MOST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(MOST_HEAD).unwrap_or(u32::MAX))
        .keep_alive_interval(HEAD_TIME)
        .max_concurrent_streams(100);
    builder
}

/// Where a request comes from.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address.
    pub address: IpAddr,
    /// The connection.
    pub seat: Arc<Seat>,
}

/// The router for one connection: its requests carry where they come from.
#[derive(Debug, Clone)]
struct Door {
    router: Router,
    peer: Peer,
}

impl<B> Service<Request<B>> for Door
where
    Router: Service<Request<B>>,
{
    type Response = <Router as Service<Request<B>>>::Response;
    type Error = <Router as Service<Request<B>>>::Error;
    type Future = <Router as Service<Request<B>>>::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Service::<Request<B>>::poll_ready(&mut self.router, context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.peer.clone());
        self.router.call(request)
    }
}

/// The next connection, and its place.
async fn next(listener: &TcpListener, room: &Arc<Room>) -> (TcpStream, IpAddr, Taken) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => return (stream, address.ip(), room.enter(address.ip()).await),
            Err(error) => {
                // Out of file descriptors, or a connection that broke before it was taken: go on, but not hot.
                tracing::warn!(%error, "failed to take a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn connection(entry: Arc<Entry>, stream: TcpStream, address: IpAddr, shutdown: CancellationToken, taken: Taken) {
    // Without it small answers wait for the peer's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let door = Door { router: entry.router.clone(), peer: Peer { address, seat: taken.seat.clone() } };
    tokio::select! {
        // What has come is looked at before the connection is given up.
        biased;
        () = converse(&entry, stream, door, shutdown) => {}
        () = taken.until_it_must_go() => {}
    }
}

async fn converse(entry: &Entry, stream: TcpStream, door: Door, shutdown: CancellationToken) {
    let Some(tls) = &entry.tls else { return talk(&entry.builder, stream, door, shutdown).await };
    let begun = tokio::select! {
        begun = tls.begin(stream) => begun,
        () = shutdown.cancelled() => None,
    };
    match begun {
        Some(Begun::Secure(stream)) => talk(&entry.builder, stream, door, shutdown).await,
        Some(Begun::Clear(stream)) => talk(&entry.builder, stream, Door { router: in_clear(), ..door }, shutdown).await,
        None => {}
    }
}

async fn talk<S>(builder: &auto::Builder<TokioExecutor>, stream: S, door: Door, shutdown: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let line = TokioIo::new(Line::new(stream, door.peer.seat.clone()));
    let connection = builder.serve_connection(line, TowerToHyperService::new(door));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error = &*error, "a connection ended badly");
    }
}
