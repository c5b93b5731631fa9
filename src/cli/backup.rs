//! `backup DIR TO`: a copy of a registry that is verified before it is called one.

use super::context::Context;
use super::directory::{self, JOURNAL, PEPPER, POLICY, SIGNING_KEY};
use super::exit::{Done, Exit, Failure};
use super::output::note;
use crate::config;
use crate::model::{ChainHead, Digest, Timestamp};
use crate::rules::canonical;
use crate::storage::{Db, Engine};
use crate::workflow::{Flaw, inspect};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The database of a backup.
pub const COPY: &str = "registry.db";
/// What a backup says of itself; written last.
pub const MANIFEST: &str = "manifest.json";
const FORMAT: &str = "countersign-backup/1";

/// Copies a registry, while it serves or not, and verifies the copy
#[derive(Debug, clap::Args)]
pub struct Backup {
    /// The directory that `init` made
    pub dir: PathBuf,
    /// The backup to make: a directory that does not exist yet
    pub to: PathBuf,
    /// Leave the unit pepper and the signing key out: they are kept elsewhere
    #[arg(long)]
    pub without_secrets: bool,
    /// The database, where it is not the directory's own
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database: Option<String>,
}

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `countersign-backup/1`.
    pub format: String,
    /// The program that made it.
    pub program: String,
    /// When.
    pub made_at: Timestamp,
    /// `event_id` of the first event: which registry it is.
    pub registry: Digest,
    /// The newest event in it.
    pub head: ChainHead,
    /// How many versions.
    pub versions: u64,
    /// How many fragment revisions.
    pub fragments: u64,
    /// How many pointers.
    pub pointers: u64,
    /// SHA-256 of the database's file.
    pub database: Digest,
}

impl Manifest {
    /// Reads what a backup says of itself, and compares its database with it.
    ///
    /// # Errors
    /// No backup, or one that was changed.
    pub fn read(backup: &Path) -> Result<Self, Failure> {
        let path = backup.join(MANIFEST);
        let text = fs::read(&path)
            .map_err(|why| Failure::usage(format!("{} is no whole backup: {MANIFEST}: {why}", backup.display())))?;
        let read: Self = serde_json::from_slice(&text).map_err(|why| integrity(&format!("{}: {why}", path.display())))?;
        if read.format != FORMAT {
            return Err(Failure::usage(format!(
                "{} has the format {:?}; this program reads {FORMAT}",
                path.display(),
                read.format
            )));
        }
        let computed = hash(&backup.join(COPY))?;
        if computed != read.database {
            return Err(integrity(&format!("{COPY} of the backup hashes to {computed}, not to {}", read.database)));
        }
        Ok(read)
    }
}

/// Runs the command.
pub async fn run(context: &Context, args: Backup) -> Done {
    if args.to.exists() {
        return Err(Failure::usage(format!("{} exists; a backup never replaces another", args.to.display())));
    }
    let db = directory::open_database(&args.dir, args.database.as_deref()).await?;
    if db.engine() == Engine::Postgres {
        return Err(Failure::usage("PostgreSQL is copied by its own tools: pg_dump, or a base backup with its WAL")
            .hint(format!("keep {} beside it; after putting it back: countersign restore {}", JOURNAL, args.dir.display())));
    }
    let name = args.to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = args.to.with_file_name(format!(".{name}.part"));
    let made = fill(context, &args, &db, &beside).await;
    db.close().await;
    let manifest = match made {
        Ok(manifest) => manifest,
        Err(failure) => {
            let _ = fs::remove_dir_all(&beside);
            return Err(failure);
        }
    };
    fs::rename(&beside, &args.to)?;
    sync_folder(args.to.parent())?;
    if args.without_secrets {
        note("the unit pepper and the signing key are not in it: a restore needs them from elsewhere");
    } else {
        note("it holds the unit pepper and the signing key: keep it as you keep them");
    }
    context.out.answer(&manifest, |_, m| {
        format!("backed up and verified #{} {}, {} versions, {} pointers", m.head.seq, m.head.event_id, m.versions, m.pointers)
    })
}

async fn fill(context: &Context, args: &Backup, db: &Db, to: &Path) -> Result<Manifest, Failure> {
    let _ = fs::remove_dir_all(to);
    config::make_private(to)?;
    let copy = to.join(COPY);
    db.copy_to(&copy).await.map_err(|why| Failure::failed(format!("failed to copy the database: {why}")))?;
    let looked = Db::look(&copy);
    let found = inspect(&looked).await;
    looked.close().await;
    let found = found.map_err(|why| flawed("the copy", &why))?;
    let secrets = [PEPPER, SIGNING_KEY];
    // The journal is copied after the database, so that it knows all that the copy knows.
    for file in [POLICY, JOURNAL].into_iter().chain(secrets.into_iter().filter(|_| !args.without_secrets)) {
        let from = args.dir.join(file);
        if from.exists() {
            config::write_private(&to.join(file), &fs::read(from)?)?;
        }
    }
    let manifest = Manifest {
        format: FORMAT.into(),
        program: env!("CARGO_PKG_VERSION").into(),
        made_at: context.clock.now(),
        registry: found.registry,
        head: found.head,
        versions: found.versions,
        fragments: found.fragments,
        pointers: found.pointers,
        database: hash(&copy)?,
    };
    let text = serde_json::to_vec_pretty(&manifest).map_err(|why| Failure::failed(why.to_string()))?;
    config::write_private(&to.join(MANIFEST), &text)?;
    sync_folder(Some(to))?;
    Ok(manifest)
}

/// Why a database is not used.
pub fn flawed(what: &str, why: &Flaw) -> Failure {
    match why {
        Flaw::Storage(_) => Failure::failed(format!("{what}: {why}")),
        Flaw::Integrity(_) => integrity(&format!("{what}: {why}")),
    }
}

fn integrity(message: &str) -> Failure {
    Failure::new(Exit::Integrity, message)
}

/// SHA-256 of a file, read piece by piece.
fn hash(path: &Path) -> Result<Digest, Failure> {
    let mut file = fs::File::open(path).map_err(|why| Failure::failed(format!("{}: {why}", path.display())))?;
    let (mut hashing, mut piece) = (canonical::Hashing::default(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hashing.end()),
            n => hashing.add(&piece[..n]),
        }
    }
}

/// Makes names in a folder durable.
pub fn sync_folder(folder: Option<&Path>) -> Done {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(fs::File::open(folder)?.sync_all()?)
}
