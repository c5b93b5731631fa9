//! What this machine remembers of each registry's chain: the last head that it hashed itself, by server URL.

use crate::model::{ChainHead, Digest, Timestamp};
use crate::rules::canonical;
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The last verified head of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The server's base URL.
    pub server: String,
    /// `event_id` of the first event: which registry this is.
    pub genesis: Digest,
    /// The first event of the unbroken run that ends at `head` and that was hashed here.
    pub from: u64,
    /// The last event that was hashed here.
    pub head: ChainHead,
}

/// Another chain that was taken for the true one, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub rationale: String,
    /// What was remembered.
    pub before: Option<Pin>,
    /// What is remembered now.
    pub now: Pin,
}

/// The folder of pins: one file a server, mode 0600.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

impl Pins {
    /// The pins under a data directory.
    pub fn under(data_dir: &Path) -> Self {
        Self { folder: data_dir.join("pins") }
    }

    /// The pin of a server, if there is one.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged: that is never taken for a first contact.
    pub fn get(&self, server: &str) -> io::Result<Option<Pin>> {
        let path = self.path(server);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(named(&path, &e)),
        };
        serde_json::from_slice(&text).map(Some).map_err(|e| named(&path, &io::Error::new(io::ErrorKind::InvalidData, e)))
    }

    /// Remembers a pin, unless a later head of the same registry is remembered already.
    pub fn put(&self, pin: &Pin) -> io::Result<()> {
        let mut pin = pin.clone();
        if let Some(old) = self.get(&pin.server)?.filter(|old| old.genesis == pin.genesis) {
            if old.head.seq > pin.head.seq {
                return Ok(());
            }
            pin.from = pin.from.min(old.from);
        }
        self.write(&pin)
    }

    /// Remembers a pin in place of whatever was remembered of its server; why stands in `accepted.ndjson` beside it.
    pub fn replace(&self, pin: &Pin, why: &Accepted) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| named(&self.folder, &e))?;
        let path = self.folder.join("accepted.ndjson");
        let mut line = serde_json::to_vec(why)?;
        line.push(b'\n');
        let mut log = private().append(true).open(&path).map_err(|e| named(&path, &e))?;
        log.write_all(&line).and_then(|()| log.sync_all()).map_err(|e| named(&path, &e))?;
        self.write(pin)
    }

    /// What was last taken for the true chain of a server, if ever.
    ///
    /// # Errors
    /// The file beside the pins cannot be read. A line of it that is damaged counts as none.
    pub fn accepted(&self, server: &str) -> io::Result<Option<Accepted>> {
        let path = self.folder.join("accepted.ndjson");
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(named(&path, &e)),
        };
        let lines = text.split(|byte| *byte == b'\n').rev();
        let read = |line: &[u8]| serde_json::from_slice::<Accepted>(line).ok();
        Ok(lines.filter_map(read).find(|accepted| accepted.now.server == server))
    }

    fn write(&self, pin: &Pin) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder).map_err(|e| named(&self.folder, &e))?;
        let path = self.path(&pin.server);
        let fresh = path.with_extension(format!("{}.new", std::process::id()));
        write_private(&fresh, &serde_json::to_vec_pretty(pin)?).map_err(|e| named(&fresh, &e))?;
        std::fs::rename(&fresh, &path).map_err(|e| named(&path, &e))
    }

    fn path(&self, server: &str) -> PathBuf {
        self.folder.join(format!("{}.json", canonical::sha256(server.as_bytes()).short()))
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn private() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private().write(true).truncate(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(seq: u64, from: u64) -> Pin {
        let head = ChainHead { seq, event_id: Digest([u8::try_from(seq).unwrap(); 32]), at: Timestamp(1) };
        Pin { server: "http://127.0.0.1:1".into(), genesis: Digest([9; 32]), from, head }
    }

    #[test]
    fn a_pin_only_moves_forward_and_keeps_its_first_event() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::under(dir.path());
        assert_eq!(pins.get("http://127.0.0.1:1").unwrap(), None);
        pins.put(&pin(5, 1)).unwrap();
        pins.put(&pin(3, 3)).unwrap();
        assert_eq!(pins.get("http://127.0.0.1:1").unwrap(), Some(pin(5, 1)));
        pins.put(&pin(8, 6)).unwrap();
        assert_eq!(pins.get("http://127.0.0.1:1").unwrap(), Some(pin(8, 1)));
        assert_eq!(pins.get("http://127.0.0.1:2").unwrap(), None);
    }

    #[test]
    fn a_damaged_pin_is_an_error_and_not_a_first_contact() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::under(dir.path());
        pins.put(&pin(5, 1)).unwrap();
        let file = std::fs::read_dir(dir.path().join("pins")).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&file, "{").unwrap();
        let error = pins.get("http://127.0.0.1:1").unwrap_err();
        assert!(error.to_string().contains(file.to_str().unwrap()), "{error}");
    }

    #[test]
    fn what_was_accepted_last_is_found_by_server_whatever_stands_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let pins = Pins::under(dir.path());
        assert_eq!(pins.accepted("http://127.0.0.1:1").unwrap(), None);
        let accept = |seq, rationale: &str| {
            let now = pin(seq, 1);
            let why = Accepted { at: Timestamp(1), rationale: rationale.into(), before: None, now: now.clone() };
            pins.replace(&now, &why).unwrap();
            why
        };
        accept(5, "first");
        let last = accept(3, "second");
        assert_eq!(pins.accepted("http://127.0.0.1:1").unwrap(), Some(last));
        assert_eq!(pins.accepted("http://127.0.0.1:2").unwrap(), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_pin_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        Pins::under(dir.path()).put(&pin(5, 1)).unwrap();
        let file = std::fs::read_dir(dir.path().join("pins")).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
