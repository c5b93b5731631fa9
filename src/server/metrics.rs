//! What the server counts of itself while it answers: requests and how long they took, checkpoints that were put.

use super::router::{TABLE, place};
use crate::model::Timestamp;
use axum::http::{Method, StatusCode};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the histogram's buckets, in microseconds; one more holds what took longer.
pub const BOUNDS: [u32; 9] = [500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 5_000_000];
/// Statuses are told apart by their hundreds.
pub const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// The counts of one route.
#[derive(Debug, Default)]
pub struct RouteCounts {
    /// Answers by [`CLASSES`].
    pub answers: [AtomicU64; CLASSES.len()],
    /// Answers by how long they took, each in the first of [`BOUNDS`] that it does not exceed.
    pub took: [AtomicU64; BOUNDS.len() + 1],
    /// Microseconds of all of them.
    pub micros: AtomicU64,
}

/// The counts of one server.
#[derive(Debug)]
pub struct Metrics {
    /// One for each row of the route table, and one for all that is not there.
    routes: Vec<RouteCounts>,
    /// The newest event in a checkpoint that was put where its operator cannot rewrite it, and when (microseconds); 0 = none.
    checkpoint: (AtomicU64, AtomicI64),
}

impl Default for Metrics {
    fn default() -> Self {
        let routes = (0..=TABLE.len()).map(|_| RouteCounts::default()).collect();
        Self { routes, checkpoint: Default::default() }
    }
}

impl Metrics {
    /// Counts one answer.
    pub fn answered(&self, method: &Method, template: &str, status: StatusCode, took: Duration) {
        let counts = &self.routes[place(method, template).unwrap_or(TABLE.len())];
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        counts.answers[class].fetch_add(1, Ordering::Relaxed);
        counts.took[BOUNDS.partition_point(|bound| u64::from(*bound) < micros)].fetch_add(1, Ordering::Relaxed);
        counts.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Method, template and counts of each route that was asked for; `-` for what is not there.
    pub fn routes(&self) -> impl Iterator<Item = (&'static str, &'static str, &RouteCounts)> {
        let names = TABLE.iter().map(|route| (route.method, route.template)).chain([("-", "-")]);
        let counted = names.zip(&self.routes).map(|((method, template), counts)| (method, template, counts));
        counted.filter(|(.., counts)| counts.answers.iter().any(|count| count.load(Ordering::Relaxed) > 0))
    }

    /// Notes a checkpoint that was put.
    pub fn checkpoint_put(&self, seq: u64, at: Timestamp) {
        self.checkpoint.0.store(seq, Ordering::Relaxed);
        self.checkpoint.1.store(at.0, Ordering::Relaxed);
    }

    /// The newest checkpoint that was put since the server began: its event, and when.
    pub fn checkpoint(&self) -> Option<(u64, Timestamp)> {
        let at = Timestamp(self.checkpoint.1.load(Ordering::Relaxed));
        (at.0 > 0).then(|| (self.checkpoint.0.load(Ordering::Relaxed), at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::paths::template as t;

    #[test]
    fn answers_count_by_route_status_and_time_and_what_is_not_there_counts_too() {
        let metrics = Metrics::default();
        let count = |method: Method, template, status, micros| {
            metrics.answered(&method, template, StatusCode::from_u16(status).unwrap(), Duration::from_micros(micros));
        };
        count(Method::GET, t::ME, 200, 500);
        count(Method::HEAD, t::ME, 304, 501);
        count(Method::GET, "", 404, u64::MAX);
        let seen: Vec<_> = metrics
            .routes()
            .map(|(method, template, counts)| {
                let numbers = |counts: &[AtomicU64]| counts.iter().map(|n| n.load(Ordering::Relaxed)).collect::<Vec<_>>();
                (method, template, numbers(&counts.answers), numbers(&counts.took))
            })
            .collect();
        assert_eq!(seen[0], ("get", t::ME, vec![0, 1, 1, 0, 0], vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(seen[1], ("-", "-", vec![0, 0, 0, 1, 0], vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 1]));
    }
}
