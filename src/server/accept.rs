//! The accept loop: one task a connection, limits on headers and connections, an end without broken answers.

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
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

/// A request's head must be whole within this time; an idle connection ends after it.
const HEAD_TIME: Duration = Duration::from_mins(1);
/// A request's head may have this many bytes.
const MOST_HEAD: usize = 64 * 1024;
/// More connections wait.
const MOST_CONNECTIONS: usize = 4096;
/// How long running requests may take to end after a shutdown.
const FAREWELL: Duration = Duration::from_secs(10);

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

/// Serves `router` until `shutdown`; then lets running requests end.
pub async fn accept(Listening { tcp: listener, tls }: Listening, router: Router, shutdown: CancellationToken) {
    let entry = Arc::new(Entry { builder: builder(), router, tls });
    let tracker = TaskTracker::new();
    let permits = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    while let Some((stream, peer, permit)) = next(&listener, &permits, &shutdown).await {
        tracker.spawn(connection(entry.clone(), stream, peer, shutdown.clone(), permit));
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

/// The address that a request comes from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

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
        request.extensions_mut().insert(self.peer);
        self.router.call(request)
    }
}

/// The next connection; none when the server shuts down.
async fn next(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let taken = async {
        let permit = permits.clone().acquire_owned().await.ok()?;
        loop {
            match listener.accept().await {
                Ok((stream, address)) => return Some((stream, Peer(address.ip()), permit)),
                Err(error) => {
                    // Out of file descriptors, or a connection that broke before it was taken: go on, but not hot.
                    tracing::warn!(%error, "failed to take a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => None,
        taken = taken => taken,
    }
}

async fn connection(
    entry: Arc<Entry>,
    stream: TcpStream,
    peer: Peer,
    shutdown: CancellationToken,
    _permit: OwnedSemaphorePermit,
) {
    // Without it small answers wait for the peer's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let door = Door { router: entry.router.clone(), peer };
    let Some(tls) = &entry.tls else { return talk(&entry.builder, stream, door, shutdown).await };
    let begun = tokio::select! {
        begun = tls.begin(stream) => begun,
        () = shutdown.cancelled() => None,
    };
    match begun {
        Some(Begun::Secure(stream)) => talk(&entry.builder, stream, door, shutdown).await,
        Some(Begun::Clear(stream)) => talk(&entry.builder, stream, Door { router: in_clear(), peer }, shutdown).await,
        None => {}
    }
}

async fn talk<S>(builder: &auto::Builder<TokioExecutor>, stream: S, door: Door, shutdown: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(door));
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
