//! What is scarce, and how much of it each caller may take, and all together: live streams, long reads, answers under way. Kills
//! take none of it.

use crate::model::{Code, Refusal};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// That the same is scarce is not logged again within this time.
const SAID_AGAIN: Duration = Duration::from_mins(1);

/// One scarce thing.
#[derive(Debug)]
pub struct Shares {
    /// What it is, in the plural.
    what: &'static str,
    /// What to do about it.
    hint: &'static str,
    /// How much there is.
    all: u64,
    held: Mutex<Held>,
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct Held {
    of: HashMap<Box<str>, u64>,
    all: u64,
    said: Option<Instant>,
}

impl Shares {
    /// So much of it.
    pub fn of(what: &'static str, hint: &'static str, all: u64) -> Arc<Self> {
        Arc::new(Self { what, hint, all, held: Mutex::default(), refused: AtomicU64::new(0) })
    }

    /// How much is held.
    pub fn held(&self) -> u64 {
        self.lock().all
    }

    /// How much there is.
    pub fn all(&self) -> u64 {
        self.all
    }

    /// How often it was refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Takes `amount` for a caller that may hold `each`. Whoever holds nothing gets what it asks for where nobody holds anything,
    /// so that nothing is too large for ever.
    ///
    /// # Errors
    /// `rate_limited`: the caller holds its share, or all is taken.
    pub fn take(self: &Arc<Self>, who: &str, each: u64, amount: u64) -> Result<Share, Refusal> {
        let mut held = self.lock();
        let own = held.of.get(who).copied().unwrap_or(0);
        if own > 0 && own + amount > each {
            let text = format!("{} are open under this token already, as many as it may have", self.what);
            return Err(self.refuse(&mut held, who, &text));
        }
        if held.all > 0 && held.all + amount > self.all {
            let text = format!("{} are open in all already, as many as there may be", self.what);
            return Err(self.refuse(&mut held, who, &text));
        }
        held.all += amount;
        *held.of.entry(who.into()).or_default() += amount;
        Ok(Share { shares: self.clone(), who: who.into(), amount })
    }

    fn refuse(&self, held: &mut Held, who: &str, text: &str) -> Refusal {
        self.refused.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        if held.said.is_none_or(|said| now.duration_since(said) >= SAID_AGAIN) {
            held.said = Some(now);
            tracing::warn!(what = self.what, held = held.all, most = self.all, token = who, "refused: {text}");
        }
        Refusal::new(Code::RateLimited, text).hint(self.hint)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a caller took: given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    shares: Arc<Shares>,
    who: Box<str>,
    amount: u64,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = self.shares.lock();
        held.all -= self.amount;
        if let Some(own) = held.of.get_mut(&self.who) {
            *own -= self.amount;
            if *own == 0 {
                held.of.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_share_and_all_have_theirs_and_what_is_given_back_can_be_taken() {
        let shares = Shares::of("streams", "close one", 5);
        let take = |who: &str| shares.take(who, 3, 1);
        let mut ana: Vec<Share> = (0..3).map(|_| take("ana").unwrap()).collect();
        let refused = take("ana").unwrap_err();
        assert_eq!((refused.code, refused.hint.as_deref()), (Code::RateLimited, Some("close one")));
        let _bob = [take("bob").unwrap(), take("bob").unwrap()];
        take("bob").unwrap_err();
        assert_eq!((shares.held(), shares.refused()), (5, 2));
        ana.pop();
        take("bob").unwrap();
        ana.clear();
        assert_eq!(shares.held(), 2);
        assert_eq!(shares.lock().of.len(), 1, "who holds nothing is forgotten");
    }

    #[test]
    fn what_is_larger_than_its_share_is_had_alone() {
        let shares = Shares::of("answers", "wait", 10);
        let large = shares.take("ana", 5, 100).unwrap();
        shares.take("bob", 5, 1).unwrap_err();
        drop(large);
        let _small = shares.take("ana", 5, 1).unwrap();
        shares.take("ana", 5, 5).unwrap_err();
        shares.take("bob", 5, 100).unwrap_err();
    }
}
