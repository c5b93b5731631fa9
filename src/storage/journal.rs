//! A small file beside the database that is only added to: kills, revocations and the like, each on the disk before it is
//! acknowledged, so that an older copy of the database that is put back can be told of them.

use super::db::make_private;
use crate::model::restraint::JournalEntry;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// An open journal: one JSON object a line.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
}

impl Journal {
    /// Opens a journal, made with mode 0600 where missing. A line that a crash left half is ended, and is then skipped.
    ///
    /// # Errors
    /// It cannot be opened or written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fresh = !path.exists();
        make_private(path)?;
        if fresh && let Some(folder) = path.parent() {
            // The name itself must be on the disk too.
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            File::open(folder)?.sync_all()?;
        }
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file) })
    }

    /// Adds lines; they are on the disk when this returns.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn append(&self, entries: &[JournalEntry]) -> io::Result<()> {
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&lines)?;
        file.sync_data()
    }

    /// All lines, and how many could not be read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self) -> io::Result<(Vec<JournalEntry>, usize)> {
        read_journal(&self.path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The lines of a journal's file, and how many could not be read.
///
/// # Errors
/// The file cannot be read.
pub fn read_journal(path: &Path) -> io::Result<(Vec<JournalEntry>, usize)> {
    let bytes = std::fs::read(path)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (mut entries, mut damaged) = (Vec::new(), 0);
    for line in lines {
        match serde_json::from_slice(line) {
            Ok(entry) => entries.push(entry),
            Err(_) => damaged += 1,
        }
    }
    Ok((entries, damaged))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::restraint::Restraint;
    use crate::model::{Digest, Timestamp};

    fn line(seq: u64) -> JournalEntry {
        let restraint = Restraint::Revoke { token_id: format!("cs_{seq}") };
        JournalEntry { registry: Digest([1; 32]), seq, event_id: Digest([2; 32]), at: Timestamp(3), restraint }
    }

    #[test]
    fn lines_stay_and_one_that_a_crash_left_half_costs_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("registry.journal");
        Journal::open(&path).unwrap().append(&[line(1), line(2)]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let journal = Journal::open(&path).unwrap();
        journal.append(&[line(3)]).unwrap();
        assert_eq!(journal.entries().unwrap(), (vec![line(1), line(3)], 1));
        assert_eq!(Journal::open(&path).unwrap().entries().unwrap().0.len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::open(&dir.path().join("registry.journal")).unwrap();
        assert_eq!(std::fs::metadata(journal.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
