//! How long a digest was served to everybody somewhere, without a break.

use super::promotion::is_undo;
use crate::model::{Act, BasisPoints, Digest, Promotion, Timestamp};

/// A stretch of time in which a pointer held a digest at 100 %, not killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// From when on.
    pub since: Timestamp,
    /// Until when; none while it lasts.
    pub until: Option<Timestamp>,
}

impl Stretch {
    /// Whether it lasted `seconds` at `now`, and is then as good as ever.
    pub fn lasted(&self, seconds: i64, now: Timestamp) -> bool {
        self.until.unwrap_or(now).0 >= self.since.plus_seconds(seconds).0
    }
}

/// The stretches in which a pointer held `digest` at 100 %, oldest first. `history`: what was applied to the pointer, oldest first.
pub fn stretches(history: &[Promotion], digest: &Digest) -> Vec<Stretch> {
    let (mut holds, mut killed) = (false, false);
    let mut found: Vec<Stretch> = Vec::new();
    for row in history {
        let Some(at) = row.applied_at else { continue };
        match row.act {
            Act::Kill => killed = true,
            // A kill that was taken back leaves digest and share as they were.
            Act::Revive if is_undo(row) => killed = false,
            act => {
                killed &= act != Act::Revive;
                holds = row.to_digest == Some(*digest) && row.rollout_pct == BasisPoints::ALL;
            }
        }
        let lasting = found.last_mut().filter(|last| last.until.is_none());
        match (holds && !killed, lasting) {
            (true, None) => found.push(Stretch { since: at, until: None }),
            (false, Some(last)) => last.until = Some(at),
            _ => {}
        }
    }
    found
}
