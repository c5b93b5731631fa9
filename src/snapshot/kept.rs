//! What was written of one state of a key for those who read many: kept as long as the state stands, so that it is written once.

use crate::model::{Digest, ResolutionReason};
use crate::rules::canonical;
use std::sync::OnceLock;

/// Bytes of an answer, and their SHA-256.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The bytes.
    pub bytes: Box<[u8]>,
    /// Their SHA-256.
    pub digest: Digest,
}

impl Piece {
    /// A piece of these bytes.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { digest: canonical::sha256(&bytes), bytes: bytes.into() }
    }
}

/// Room for what one pointer can serve: its digest or what a kill leaves, the baseline, the baseline for want of a unit.
type Outcomes = [OnceLock<Piece>; 3];

/// Room for what is written of a state, by pointer and outcome. A clone is empty: a state is cloned to become another.
#[derive(Debug, Default)]
pub(crate) struct Kept(OnceLock<Box<[Outcomes]>>);

impl Clone for Kept {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Kept {
    /// The room for what the pointer at a place serves for a reason. `pointers` is how many the state has.
    pub(super) fn room(&self, pointers: usize, place: usize, reason: ResolutionReason) -> Option<&OnceLock<Piece>> {
        use ResolutionReason as Why;
        let outcome = match reason {
            // One pointer is either of these: never two while the state stands.
            Why::Static | Why::Rollout | Why::Killed | Why::KilledNoDefault => 0,
            Why::Baseline | Why::NoBaseline => 1,
            Why::UnitMissing => 2,
        };
        let rooms = self.0.get_or_init(|| (0..pointers).map(|_| Outcomes::default()).collect());
        rooms.get(place).map(|outcomes| &outcomes[outcome])
    }
}
