//! What answers from memory need: the same for a registry's server and for a relay.

use super::cors::Origin;
use super::limits::Limits;
use super::metrics::Metrics;
use super::outside::Outside;
use crate::clock::Clock;
use crate::snapshot::{Meter, SnapshotCell};
use crate::workflow::Registry;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What resolving reads.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The newest state.
    pub snapshot: Arc<SnapshotCell>,
    /// The newest sequence number; a hint for followers.
    pub wake: watch::Sender<u64>,
    /// Time and randomness.
    pub clock: Clock,
    /// How much pointers are used.
    pub meter: Arc<Meter>,
    /// What the server counts of itself.
    pub metrics: Arc<Metrics>,
    /// What one caller may take.
    pub limits: Arc<Limits>,
    /// Browsers of these origins may read.
    pub origins: Vec<Origin>,
    /// Ends channels.
    pub shutdown: CancellationToken,
}

impl Reading {
    /// What a registry's server reads.
    pub fn of(
        registry: &Registry,
        outside: &Outside,
        (metrics, limits): (&Arc<Metrics>, &Arc<Limits>),
        shutdown: &CancellationToken,
    ) -> Self {
        Self {
            snapshot: registry.snapshot.clone(),
            wake: registry.wake.clone(),
            clock: registry.clock.clone(),
            meter: registry.meter.clone(),
            metrics: metrics.clone(),
            limits: limits.clone(),
            origins: outside.origins.clone(),
            shutdown: shutdown.clone(),
        }
    }

    /// The same over a state that comes from elsewhere.
    pub fn over(
        snapshot: Arc<SnapshotCell>,
        clock: Clock,
        limits: Limits,
        origins: Vec<Origin>,
        shutdown: CancellationToken,
    ) -> Self {
        let wake = watch::Sender::new(snapshot.get().head().seq);
        Self {
            snapshot,
            wake,
            clock,
            meter: Arc::default(),
            metrics: Arc::default(),
            limits: Arc::new(limits),
            origins,
            shutdown,
        }
    }
}
