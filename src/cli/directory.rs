//! A registry's directory: its files by name, private ones readable by their owner only, and the registry opened from it.

use super::exit::Failure;
use crate::clock::Clock;
use crate::config;
use crate::rules::note::Signer;
use crate::snapshot::Pepper;
use crate::storage::{Db, StorageError, meta};
use crate::workflow::Registry;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// The policy that `init` began with.
pub const POLICY: &str = "policy.toml";
/// The database, unless `--database` names another.
pub const DATABASE: &str = "registry.db";
/// 64 hex digits: the secret under which units become pseudonyms.
pub const PEPPER: &str = "unit-pepper";
/// 64 hex digits: the secret that signs checkpoints and bundles.
pub const SIGNING_KEY: &str = "signing-key";
/// Kills, revocations and the like, noted beside the database.
pub const JOURNAL: &str = "registry.journal";
/// Held while a registry is served, so that no restore goes on under it and no other server beside it.
const LOCK: &str = "lock";
/// The first admin's token.
pub const ADMIN_TOKEN: &str = "admin-token";

/// Writes a file that must not exist yet, mode 0600, down to the disk.
///
/// # Errors
/// It exists, or the disk does not write.
pub fn write_private(path: &Path, text: &str) -> Result<(), Failure> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|why| Failure::failed(format!("failed to write {}: {why}", path.display())))
}

/// Makes a directory, mode 0700, where it is missing.
///
/// # Errors
/// It cannot be made.
pub fn make_private(dir: &Path) -> Result<(), Failure> {
    config::make_private(dir).map_err(|why| Failure::failed(format!("failed to make {}: {why}", dir.display())))
}

/// The URL of the directory's own SQLite file.
pub fn own_database(dir: &Path) -> String {
    format!("sqlite:{}", dir.join(DATABASE).display())
}

/// Opens the database of a directory that `init` made.
///
/// # Errors
/// There is no registry, or its database cannot be opened.
pub async fn open_database(dir: &Path, database: Option<&str>) -> Result<Db, Failure> {
    let nothing = |what: &str| {
        Failure::usage(format!("{} holds no registry: {what}", dir.display()))
            .hint(format!("`countersign init {}` makes one", dir.display()))
    };
    if !dir.is_dir() {
        return Err(nothing("there is no such directory"));
    }
    if database.is_none() && !dir.join(DATABASE).is_file() {
        return Err(nothing(&format!("{DATABASE} is missing")));
    }
    let own = own_database(dir);
    let url = database.unwrap_or(&own);
    Db::open(url).await.map_err(|why| Failure::failed(format!("failed to open the database: {why}")))
}

/// Opens the registry of a directory: schema and pepper must be its own.
///
/// # Errors
/// No registry, an older or newer schema, another pepper.
pub async fn open_registry(dir: &Path, database: Option<&str>, pepper_file: Option<&Path>) -> Result<Registry, Failure> {
    let db = open_database(dir, database).await?;
    let failed = |why: StorageError| Failure::failed(format!("failed to read the database: {why}"));
    if !db.is_migrated().await.map_err(failed)? {
        return Err(Failure::failed("the database has another schema than this program")
            .hint(format!("`countersign migrate {}` brings it up to date", dir.display())));
    }
    let pepper = read_pepper(pepper_file.unwrap_or(&dir.join(PEPPER)))?;
    let mut tx = db.read().await.map_err(failed)?;
    let known = tx.conn().meta_get(meta::PEPPER_FINGERPRINT).await.map_err(failed)?;
    drop(tx);
    match known {
        None => {
            return Err(
                Failure::failed("the database holds no registry yet").hint("`countersign init DIR --database URL` makes one")
            );
        }
        Some(known) if known != pepper.fingerprint().to_string() => {
            return Err(Failure::failed(
                "this is not the unit pepper with which the registry was made; every unit would be drawn anew",
            )
            .hint("put the right file in place, or name it with --pepper-file"));
        }
        Some(_) => {}
    }
    Registry::load(db, pepper, Clock::System).await.map_err(failed)
}

/// A lock on a file, held until it is dropped.
///
/// It is given up by name and not by closing the file: a process that another thread is just starting has a copy of the file
/// until it runs its own program, and would hold the lock on.
#[derive(Debug)]
pub struct Held(fs::File);

impl Held {
    /// The lock that `name` in the directory stands for, for this process alone; none while another has it.
    ///
    /// # Errors
    /// The file cannot be made or locked.
    pub fn alone(dir: &Path, name: &str) -> io::Result<Option<Self>> {
        let mut options = fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(dir.join(name))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(e)) => Err(e),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Where this fails, the end of the file's last copy does it.
        let _ = self.0.unlock();
    }
}

/// Says that this process serves the directory, and the SQLite file that it is told to use instead of the directory's own: a kill
/// on one server would not hold on another for seconds. What cannot be written or locked is not held.
///
/// # Errors
/// Another process serves it, or puts it back.
pub fn serving(dir: &Path, database: Option<&str>) -> Result<Vec<Held>, Failure> {
    let hold = |dir: &Path, name: &str, what: &Path| match Held::alone(dir, name) {
        Ok(None) => Err(Failure::failed(format!("{} is being served, or put back by another process", what.display()))
            .hint("one server per database: end the other one first; `countersign backup` works beside it")),
        Ok(held) => Ok(held),
        Err(_) => Ok(None),
    };
    let mut held: Vec<Held> = hold(dir, LOCK, dir)?.into_iter().collect();
    if let Some(file) = database.and_then(|url| url.strip_prefix("sqlite:")) {
        let file = Path::new(file.strip_prefix("//").unwrap_or(file));
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            // The directory's own file, named again, is held already.
            let own = fs::canonicalize(dir.join(DATABASE)).is_ok_and(|own| own == file);
            // The name of the lock of a directory, so that its own server holds the same.
            let lock = if name == DATABASE { LOCK.to_owned() } else { format!("{}.{LOCK}", name.to_string_lossy()) };
            if !own {
                held.extend(hold(folder, &lock, &file)?);
            }
        }
    }
    Ok(held)
}

/// Holds a directory for this process alone.
///
/// # Errors
/// It is being served.
pub fn alone(dir: &Path) -> Result<Held, Failure> {
    let held = Held::alone(dir, LOCK).map_err(|e| Failure::failed(format!("{}: {e}", dir.display())))?;
    held.ok_or_else(|| {
        Failure::failed(format!("{} is being served, or put back by another process", dir.display())).hint("end the server first")
    })
}

/// Reads a unit pepper: 64 hex digits.
///
/// # Errors
/// It is not there, or is none.
pub fn read_pepper(path: &Path) -> Result<Pepper, Failure> {
    read_secret(path, "unit pepper", "--pepper-file").map(Pepper)
}

/// The key that signs checkpoints, and whether it was made now: a directory from before there were any gets one. A file that is
/// named must be there.
///
/// # Errors
/// It cannot be read or made.
pub fn signing_key(dir: &Path, file: Option<&Path>, clock: &Clock) -> Result<(Signer, bool), Failure> {
    let own = dir.join(SIGNING_KEY);
    let made = file.is_none() && !own.exists();
    if made {
        write_private(&own, &format!("{}\n", hex::encode(clock.bytes::<32>())))?;
    }
    let seed = read_secret(file.unwrap_or(&own), "signing key", "--signing-key-file")?;
    Ok((Signer::new(&seed), made))
}

/// Reads 64 hex digits.
fn read_secret(path: &Path, what: &str, flag: &str) -> Result<[u8; 32], Failure> {
    let text = fs::read_to_string(path).map_err(|why| {
        let missing = why.kind() == io::ErrorKind::NotFound;
        let failure = Failure::failed(format!("failed to read the {what} {}: {why}", path.display()));
        if missing { failure.hint(format!("name the file with {flag}")) } else { failure }
    })?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.trim(), &mut bytes)
        .map_err(|_| Failure::failed(format!("{} does not hold 64 hex digits", path.display())))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{DATABASE, Held, LOCK, alone, serving};

    #[test]
    fn a_database_is_served_once_from_whichever_directory() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in [DATABASE, "else.db"] {
            let file = one.path().join(name);
            std::fs::write(&file, "").unwrap();
            let named = format!("sqlite:{}", file.display());
            let served = serving(one.path(), Some(&named)).unwrap();
            assert!(serving(other.path(), Some(&named)).is_err(), "{name} is served from its own directory");
            drop(served);
            assert_eq!(serving(other.path(), Some(&named)).unwrap().len(), 2, "{name}");
        }
        serving(other.path(), Some("postgres://localhost/registry")).unwrap();
    }

    #[test]
    fn a_lock_ends_with_its_holder_whoever_else_has_the_file_open() {
        let dir = tempfile::tempdir().unwrap();
        let held = alone(dir.path()).unwrap();
        assert!(Held::alone(dir.path(), LOCK).unwrap().is_none());
        assert!(serving(dir.path(), None).is_err());
        let copy = held.0.try_clone().unwrap();
        drop(held);
        let served = serving(dir.path(), None).unwrap();
        assert_eq!(served.len(), 1);
        assert!(alone(dir.path()).is_err(), "what is served cannot be held");
        assert!(serving(dir.path(), None).is_err(), "nor served by another");
        drop((served, copy));
        alone(dir.path()).unwrap();
    }
}
