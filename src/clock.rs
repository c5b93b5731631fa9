//! The only reader of wall time and randomness: `System` in the product, `Fixed` in tests.

use crate::model::Timestamp;
use rand::Rng as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use uuid::Uuid;

/// Where time and randomness come from.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's clock and random numbers.
    #[default]
    System,
    /// A clock that only moves when told; ids and nonces count up.
    Fixed(Arc<Fixed>),
}

/// State of a fixed clock.
#[derive(Debug, Default)]
pub struct Fixed {
    now: AtomicI64,
    drawn: AtomicU64,
}

impl Clock {
    /// A fixed clock that starts at `now`.
    pub fn fixed(now: Timestamp) -> Self {
        Self::Fixed(Arc::new(Fixed { now: AtomicI64::new(now.0), drawn: AtomicU64::new(0) }))
    }

    /// This moment.
    #[expect(clippy::disallowed_methods, reason = "this is where wall time is read")]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => Timestamp(jiff::Timestamp::now().as_microsecond()),
            Self::Fixed(fixed) => Timestamp(fixed.now.load(Ordering::SeqCst)),
        }
    }

    /// Sets a fixed clock, forward or back; the system's clock is left alone.
    pub fn set(&self, now: Timestamp) {
        if let Self::Fixed(fixed) = self {
            fixed.now.store(now.0, Ordering::SeqCst);
        }
    }

    /// A fresh UUID v7.
    #[expect(clippy::disallowed_methods, reason = "this is where ids are made")]
    pub fn uuid(&self) -> Uuid {
        match self {
            Self::System => Uuid::now_v7(),
            Self::Fixed(fixed) => {
                let drawn = fixed.drawn.fetch_add(1, Ordering::SeqCst);
                let millis = u64::try_from(self.now().0 / 1000).unwrap_or(0);
                uuid::Builder::from_unix_timestamp_millis(millis, &counted(drawn)).into_uuid()
            }
        }
    }

    /// `N` random bytes: secrets, nonces, salts.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        match self {
            Self::System => rand::rng().fill_bytes(&mut out),
            Self::Fixed(fixed) => {
                let drawn = fixed.drawn.fetch_add(1, Ordering::SeqCst).to_be_bytes();
                out.iter_mut().rev().zip(drawn.iter().rev()).for_each(|(to, from)| *to = *from);
            }
        }
        out
    }
}

fn counted(drawn: u64) -> [u8; 10] {
    let mut bytes = [0; 10];
    bytes[2..].copy_from_slice(&drawn.to_be_bytes());
    bytes
}
