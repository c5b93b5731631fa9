//! A relay's disk: the last good state, what was withheld since, and when it was last known to be the newest. Written by a thread
//! of its own, in order, so that a slow disk never holds back a kill.

use crate::cli::exit::{Exit, Failure};
use crate::config;
use crate::model::mirror::SignedMirror;
use crate::model::{Environment, KeyId, Timestamp};
use crate::rules::mirror;
use crate::rules::note::PublicKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// The last good state, as the registry signed it.
const MIRROR: &str = "mirror.json";
/// Kills that came after it, or from a registry whose state is not taken.
const WITHHELD: &str = "withheld.json";
/// When the state was last known to be the newest.
const HEARD: &str = "heard.json";

/// A kill that the state does not include yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// The key.
    pub key_id: KeyId,
    /// Where.
    pub environment: Environment,
    /// Its audit event: a state that includes it knows better. None where the registry was not trusted: the next state that is
    /// taken knows better.
    pub seq: Option<u64>,
}

/// What was on the disk.
#[derive(Debug, Default)]
pub struct Kept {
    /// The last good state, checked.
    pub signed: Option<Box<SignedMirror>>,
    /// Kills that it does not include.
    pub withheld: Vec<Withheld>,
    /// When it was last known to be the newest.
    pub heard: Timestamp,
}

/// Reads what a relay left.
///
/// # Errors
/// Something was changed, or does not read: then nothing is served by it.
pub fn read(dir: &Path, key: Option<&PublicKey>) -> Result<Kept, Failure> {
    let mut withheld: Vec<Withheld> = from(dir, WITHHELD)?.unwrap_or_default();
    let Some(signed) = from::<Box<SignedMirror>>(dir, MIRROR)? else {
        return Ok(Kept { withheld, ..Kept::default() });
    };
    mirror::check(&signed, key).map_err(|why| damaged(dir, MIRROR, &why))?;
    let (seq, made_at) = (signed.mirror.head.seq, signed.mirror.made_at);
    withheld.retain(|one| one.seq.is_none_or(|at| at > seq));
    let heard = from::<Timestamp>(dir, HEARD)?.unwrap_or(made_at).max(made_at);
    Ok(Kept { signed: Some(signed), withheld, heard })
}

fn from<T: DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, Failure> {
    let bytes = match std::fs::read(dir.join(name)) {
        Ok(bytes) => bytes,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(Failure::failed(format!("{}: {why}", dir.join(name).display()))),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|why| damaged(dir, name, &why.to_string()))
}

fn damaged(dir: &Path, name: &str, why: &str) -> Failure {
    let path = dir.join(name);
    Failure::new(Exit::Integrity, format!("{} is not what the relay wrote: {why}", path.display()))
        .hint("find out who changed it; without the file, the state is fetched anew, and is no older than the head in `pins`")
}

/// What is to be written.
enum Job {
    Mirror(Arc<SignedMirror>),
    Withheld(Vec<Withheld>),
    Heard(Timestamp),
}

/// The way to the disk.
pub struct Shelf(Sender<Job>);

/// Opens the way to a directory, and the thread that writes there: it ends when the last that was said is written, after the
/// [`Shelf`] is dropped.
pub fn open(dir: &Path) -> (Shelf, JoinHandle<()>) {
    let (sender, jobs) = channel();
    let dir = dir.to_owned();
    (Shelf(sender), std::thread::spawn(move || write(&dir, &jobs)))
}

impl Shelf {
    /// Keeps a state.
    pub fn mirror(&self, signed: Arc<SignedMirror>) {
        self.put(Job::Mirror(signed));
    }

    /// Keeps all kills that the state does not include.
    pub fn withheld(&self, all: &[Withheld]) {
        self.put(Job::Withheld(all.to_vec()));
    }

    /// Keeps when the state was known to be the newest.
    pub fn heard(&self, at: Timestamp) {
        self.put(Job::Heard(at));
    }

    fn put(&self, job: Job) {
        // The writer ends after this does.
        let _ = self.0.send(job);
    }
}

/// A full disk must not stop the relay: it serves on, and says so.
fn write(dir: &Path, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        let (name, bytes) = match &job {
            Job::Mirror(signed) => (MIRROR, serde_json::to_vec(signed)),
            Job::Withheld(all) => (WITHHELD, serde_json::to_vec(all)),
            Job::Heard(at) => (HEARD, serde_json::to_vec(at)),
        };
        let written = bytes.map_err(io::Error::from).and_then(|bytes| config::write_private(&dir.join(name), &bytes));
        if let Err(error) = written {
            tracing::error!(%error, file = %dir.join(name).display(), "failed to keep the state: a restart would serve an older one");
        }
    }
}
