//! HTTP, thin: it authenticates, reads what was sent, calls a verb or a read, and writes the answer.

mod accept;
mod apart;
mod auth;
pub mod cors;
pub mod error;
mod extract;
mod handlers;
mod held;
mod jobs;
pub mod limits;
pub mod metrics;
mod middleware;
pub mod openapi;
mod outside;
mod pages;
mod reading;
pub mod relay;
mod respond;
pub mod room;
pub mod router;
mod seat;
mod shares;
pub mod tls;

pub use accept::Listening;
pub use outside::Outside;
pub use reading::Reading;

use crate::outward::Issuers;
use crate::workflow::Registry;
use limits::Limits;
use metrics::Metrics;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What handlers share.
#[derive(Debug, Clone)]
pub struct App {
    /// The registry.
    pub registry: Arc<Registry>,
    /// What of it answers from memory.
    pub reading: Arc<Reading>,
    /// What it proves itself with.
    pub outside: Arc<Outside>,
    /// Whose tokens prove who somebody is.
    pub issuers: Arc<Issuers>,
    /// What one caller may take.
    pub limits: Arc<Limits>,
    /// What it counts of itself.
    pub metrics: Arc<Metrics>,
    /// Ends streams and jobs. Shared, since what handlers share is cloned for each request, and cloning the token itself
    /// takes a lock.
    pub shutdown: Arc<CancellationToken>,
}

impl axum::extract::FromRef<App> for Arc<Registry> {
    fn from_ref(app: &App) -> Self {
        app.registry.clone()
    }
}

impl axum::extract::FromRef<App> for Arc<Reading> {
    fn from_ref(app: &App) -> Self {
        app.reading.clone()
    }
}

/// Serves `registry` on `listener`, its jobs included, until `shutdown`; then lets running requests end (10 s at most). It signs
/// with a key that ends with it.
pub async fn serve(registry: Arc<Registry>, listener: TcpListener, shutdown: CancellationToken) {
    let outside = Outside::passing(&registry.clock);
    serve_with(registry, outside, Limits::default(), listener, shutdown).await;
}

/// The same with what it proves itself with, and other limits.
pub async fn serve_with(
    registry: Arc<Registry>,
    outside: Outside,
    limits: Limits,
    listener: impl Into<Listening> + Send,
    shutdown: CancellationToken,
) {
    let (outside, issuers, limits, metrics) = (Arc::new(outside), Arc::default(), Arc::new(limits), Arc::default());
    let room = limits.room.clone();
    let reading = Arc::new(Reading::of(&registry, &outside, (&metrics, &limits), &shutdown));
    let app = App { registry, reading, outside, issuers, limits, metrics, shutdown: Arc::new(shutdown.clone()) };
    let jobs = jobs::start(&app, &shutdown);
    accept::accept(listener.into(), router::router(app), room, shutdown).await;
    jobs.wait().await;
}
