//! A registry's directory: its files by name, private ones readable by their owner only, and the registry opened from it.

use super::exit::Failure;
use crate::clock::Clock;
use crate::config;
use crate::snapshot::Pepper;
use crate::storage::{Db, StorageError, meta};
use crate::workflow::Registry;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The policy that `init` began with.
pub const POLICY: &str = "policy.toml";
/// The database, unless `--database` names another.
pub const DATABASE: &str = "registry.db";
/// 64 hex digits: the secret under which units become pseudonyms.
pub const PEPPER: &str = "unit-pepper";
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
    let pepper = read_pepper(&pepper_file.map_or_else(|| dir.join(PEPPER), Path::to_path_buf))?;
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

/// Reads 64 hex digits.
fn read_pepper(path: &PathBuf) -> Result<Pepper, Failure> {
    let text = fs::read_to_string(path).map_err(|why| {
        let missing = why.kind() == io::ErrorKind::NotFound;
        let failure = Failure::failed(format!("failed to read the unit pepper {}: {why}", path.display()));
        if missing { failure.hint("name the file with --pepper-file") } else { failure }
    })?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.trim(), &mut bytes)
        .map_err(|_| Failure::failed(format!("{} does not hold 64 hex digits", path.display())))?;
    Ok(Pepper(bytes))
}
