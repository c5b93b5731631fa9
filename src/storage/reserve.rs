//! Room on the disk that is kept beside a SQLite file, so that a kill still succeeds when the disk is full.

use super::db::make_private;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes that are kept: a kill writes some twenty pages of 4 KiB to the journal, twice while it is checkpointed.
const BYTES: usize = 1024 * 1024;

/// A file that only takes room.
#[derive(Debug, Clone)]
pub struct Reserve(Arc<PathBuf>);

impl Reserve {
    /// The reserve of a database file: `registry.db-reserve` beside `registry.db`.
    pub(super) fn beside(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push("-reserve");
        Self(Arc::new(name.into()))
    }

    /// Takes the room, where it is not taken; on a full disk nothing is taken.
    pub(super) fn keep(&self) {
        let whole = std::fs::metadata(&*self.0).is_ok_and(|there| there.len() == BYTES as u64);
        if whole {
            return;
        }
        // Bytes that no file system packs together.
        let mut state = 0x9e37_79b9_u32;
        let bytes: Vec<u8> = (0..BYTES)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0]
            })
            .collect();
        if make_private(&self.0).and_then(|()| std::fs::write(&*self.0, bytes)).is_err() {
            let _ = std::fs::remove_file(&*self.0);
        }
    }

    /// Gives the room up; whether there was any.
    pub(super) fn free(&self) -> bool {
        std::fs::remove_file(&*self.0).is_ok()
    }
}
