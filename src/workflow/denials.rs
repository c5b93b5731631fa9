//! How many denied attempts of an actor become audit events: enough to see them, too few to grow the chain at will.

use crate::model::{Actor, Timestamp};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Denied attempts of one actor that are recorded in an hour.
const MOST: u32 = 60;
const HOUR_SECONDS: i64 = 3600;

/// Counts of the hour, by actor.
#[derive(Debug, Default)]
pub struct Denials(Mutex<HashMap<Actor, Hour>>);

#[derive(Debug, Clone, Copy)]
struct Hour {
    began: Timestamp,
    recorded: u32,
    /// Those that were not; the next one that is says how many.
    left_out: u64,
}

impl Denials {
    /// Whether an attempt at `now` is recorded; then how many before it were not.
    pub fn admit(&self, actor: &Actor, now: Timestamp) -> Option<u64> {
        let mut hours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who was quiet for an hour, and owes no count, takes no room.
        hours.retain(|_, hour| hour.left_out > 0 || now.seconds_since(hour.began) < HOUR_SECONDS);
        let hour = hours.entry(actor.clone()).or_insert(Hour { began: now, recorded: 0, left_out: 0 });
        if now.seconds_since(hour.began) >= HOUR_SECONDS {
            (hour.began, hour.recorded) = (now, 0);
        }
        if hour.recorded == MOST {
            hour.left_out += 1;
            return None;
        }
        hour.recorded += 1;
        Some(std::mem::take(&mut hour.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_records_so_many_of_an_actor_and_the_next_one_says_how_many_were_left_out() {
        let (denials, rita, now) = (Denials::default(), Actor::person("rita"), Timestamp(0));
        for _ in 0..MOST {
            assert_eq!(denials.admit(&rita, now), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(denials.admit(&rita, now.plus_seconds(HOUR_SECONDS - 1)), None);
        }
        assert_eq!(denials.admit(&Actor::person("eve"), now), Some(0), "each has its own");
        assert_eq!(denials.admit(&rita, now.plus_seconds(HOUR_SECONDS)), Some(7));
        assert_eq!(denials.admit(&rita, now.plus_seconds(HOUR_SECONDS)), Some(0));
    }
}
