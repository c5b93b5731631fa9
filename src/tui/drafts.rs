//! Drafts: texts that were not sent, one file each under the data directory, mode 0600, written off the loop.
//!
//! Every edit is handed over at once, so that a text survives esc, a hang-up, a panic, a refusal and a restart.

use crate::config::{make_private, write_private};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// The longest text that is kept, in bytes.
const LONGEST: usize = 1 << 20;

/// A folder of texts by name, and the thread that writes them.
#[derive(Debug)]
pub(crate) struct Drafts {
    texts: BTreeMap<String, String>,
    to_disk: Option<mpsc::Sender<(String, Option<String>)>>,
    writer: Option<JoinHandle<()>>,
}

impl Drafts {
    /// Opens the folder (making it, mode 0700) and reads what was kept.
    ///
    /// # Errors
    /// The folder cannot be made or read; the terminal then works without drafts on disk: [`Self::in_memory`].
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        let mut texts = BTreeMap::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let fits = is_name(&name) && entry.metadata().is_ok_and(|m| m.is_file() && m.len() <= LONGEST as u64);
            if let (true, Ok(text)) = (fits, fs::read_to_string(entry.path())) {
                texts.insert(name, text);
            }
        }
        let (to_disk, orders) = mpsc::channel::<(String, Option<String>)>();
        let folder = folder.to_owned();
        let writer = std::thread::Builder::new().name("drafts".into()).spawn(move || write_all(&folder, &orders))?;
        Ok(Self { texts, to_disk: Some(to_disk), writer: Some(writer) })
    }

    /// Drafts that last as long as the process.
    pub(crate) fn in_memory() -> Self {
        Self { texts: BTreeMap::new(), to_disk: None, writer: None }
    }

    /// The text kept under `name`.
    #[cfg(test)]
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.texts.get(name).map(String::as_str)
    }

    /// Names and texts, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Keeps `text` under `name` (letters, digits, dots, dashes, underscores, `@`; 240 at most), or forgets it.
    pub(crate) fn keep(&mut self, name: &str, text: Option<String>) {
        if !is_name(name) || self.texts.get(name) == text.as_ref() || text.as_ref().is_some_and(|t| t.len() > LONGEST) {
            return;
        }
        match &text {
            Some(text) => self.texts.insert(name.to_owned(), text.clone()),
            None => self.texts.remove(name),
        };
        if let Some(to_disk) = &self.to_disk {
            // A writer that is gone (disk lost) leaves the text in memory.
            let _ = to_disk.send((name.to_owned(), text));
        }
    }
}

impl Drop for Drafts {
    /// Waits until everything is on disk: leaving, hang-up and panic all come by here.
    fn drop(&mut self) {
        self.to_disk = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=240).contains(&name.len())
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b'@'))
}

/// Writes what is ordered; of several orders for one name that wait, only the newest.
fn write_all(folder: &Path, orders: &mpsc::Receiver<(String, Option<String>)>) {
    while let Ok(first) = orders.recv() {
        let waiting: BTreeMap<String, Option<String>> = std::iter::once(first).chain(orders.try_iter()).collect();
        for (name, text) in waiting {
            // There is nobody to tell from here: the text is still in memory, and the next edit tries again.
            let _ = match text {
                Some(text) => write_private(&folder.join(&name), text.as_bytes()),
                None => fs::remove_file(folder.join(&name)),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_there_again_after_a_restart_and_gone_when_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("drafts");
        let mut drafts = Drafts::open(&at).unwrap();
        drafts.keep("approve.1", Some("tone o".into()));
        drafts.keep("approve.1", Some("tone ok\nbut ‹x›".into()));
        drafts.keep("kill.a.b.prod", Some("INC-1".into()));
        drop(drafts);
        let mut drafts = Drafts::open(&at).unwrap();
        assert_eq!(drafts.get("approve.1"), Some("tone ok\nbut ‹x›"));
        drafts.keep("kill.a.b.prod", None);
        drop(drafts);
        let drafts = Drafts::open(&at).unwrap();
        assert_eq!(drafts.iter().collect::<Vec<_>>(), [("approve.1", "tone ok\nbut ‹x›")]);
    }

    #[test]
    #[cfg(unix)]
    fn nobody_else_can_read_them() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("drafts");
        let mut drafts = Drafts::open(&at).unwrap();
        drafts.keep("a", Some("x".into()));
        drop(drafts);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&at), mode(&at.join("a"))), (0o700, 0o600));
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let mut drafts = Drafts::open(&folder.path().join("drafts")).unwrap();
        for bad in ["", "..", "../x", "a/b", ".hidden", "a b", &"x".repeat(241)] {
            drafts.keep(bad, Some("x".into()));
            assert_eq!(drafts.get(bad), None, "{bad}");
        }
        drop(drafts);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn they_survive_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().to_owned();
        let died = std::thread::spawn(move || {
            let mut drafts = Drafts::open(&at).unwrap();
            drafts.keep("a", Some("half a sen".into()));
            panic!("on purpose");
        })
        .join();
        assert!(died.is_err());
        assert_eq!(Drafts::open(folder.path()).unwrap().get("a"), Some("half a sen"));
    }
}
