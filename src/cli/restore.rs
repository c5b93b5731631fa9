//! `restore DIR`: a registry from a backup, or after its database was put back by other means; and its release.

use super::backup::{COPY, Manifest, flawed, sync_folder};
use super::context::Context;
use super::directory::{self, DATABASE, JOURNAL, PEPPER, POLICY, SIGNING_KEY};
use super::exit::{Done, Failure};
use super::output::note;
use crate::config;
use crate::rules::hidden::is_blank;
use crate::storage::{Db, Journal, read_journal};
use crate::workflow::{ReleaseRegistry, Settled, inspect, restore::operator};
use std::fs;
use std::path::{Path, PathBuf};

/// Puts a registry back from a backup, read-only until it is released
///
/// Without --from: the database of DIR was put back by other means (pg_restore, a volume's snapshot). Either way it is verified,
/// the kills, revocations and quarantines that it does not know are done again from the journal, and only such acts are possible
/// until `restore DIR --release`.
#[derive(Debug, clap::Args)]
pub struct Restore {
    /// The registry's directory; made where missing
    pub dir: PathBuf,
    /// A backup that `countersign backup` made, or a SQLite file
    #[arg(long, value_name = "BACKUP")]
    pub from: Option<PathBuf>,
    /// Another copy of the journal, kept elsewhere; that of DIR and of the backup are always read
    #[arg(long, value_name = "FILE")]
    pub journal: Vec<PathBuf>,
    /// Why; kept in the audit trail
    #[arg(long, default_value = "")]
    pub rationale: String,
    /// Let the registry be changed again
    #[arg(long, conflicts_with_all = ["from", "journal"], requires = "rationale")]
    pub release: bool,
    /// The database, where it is not the directory's own
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL", conflicts_with = "from")]
    pub database: Option<String>,
}

/// Runs the command.
pub async fn run(context: &Context, args: Restore) -> Done {
    if args.release {
        return release(&args).await;
    }
    config::make_private(&args.dir)?;
    let _alone = directory::alone(&args.dir)?;
    if let Some(from) = &args.from {
        put_back(context, &args.dir, from).await?;
    }
    let mut kept = args.journal.clone();
    kept.extend(args.from.as_ref().map(|from| from.join(JOURNAL)).filter(|journal| journal.exists()));
    gather(&args.dir.join(JOURNAL), &kept)?;
    let settled = settle(&args).await?;
    tell(&settled);
    let body = serde_json::json!({
        "had": settled.had, "killed": settled.killed, "revoked": settled.revoked, "quarantined": settled.quarantined,
        "left": settled.left, "policies": settled.policies,
    });
    context.out.answer(&body, |_, _| {
        format!(
            "put back as of #{}; read-only until: countersign restore {} --release --rationale …",
            settled.had,
            args.dir.display()
        )
    })
}

async fn release(args: &Restore) -> Done {
    let registry = directory::open_registry(&args.dir, args.database.as_deref(), None).await?;
    let done = registry.run(&operator(), None, ReleaseRegistry { rationale: args.rationale.clone() }).await;
    registry.db.close().await;
    done?;
    note("released: it may be changed again, by a running server within seconds");
    note(
        "every client that saw more than the restored trail alarms until its person runs: countersign audit accept-head --rationale …",
    );
    Ok(())
}

/// Puts a backup's database, and what else is missing, into the directory; what was there is kept beside.
async fn put_back(context: &Context, dir: &Path, from: &Path) -> Done {
    let file = if from.is_dir() {
        let manifest = Manifest::read(from)?;
        note(&format!("the backup is of #{} at {}, made {}", manifest.head.seq, manifest.head.at, manifest.made_at));
        for file in [POLICY, PEPPER, SIGNING_KEY] {
            let (source, target) = (from.join(file), dir.join(file));
            if source.exists() && !target.exists() {
                config::write_private(&target, &fs::read(source)?)?;
            }
        }
        from.join(COPY)
    } else {
        from.to_owned()
    };
    if !dir.join(PEPPER).exists() {
        return Err(Failure::usage(format!("{} has no {PEPPER}, and neither has the backup", dir.display()))
            .hint("put it in place first: with another one every unit would be drawn anew"));
    }
    let coming = dir.join("registry.db.coming");
    remove(&coming)?;
    let looked = Db::look(&file);
    let copied = looked.copy_to(&coming).await;
    looked.close().await;
    copied.map_err(|why| Failure::failed(format!("failed to copy {}: {why}", file.display())))?;
    let checked = check(&coming).await;
    if checked.is_err() {
        remove(&coming)?;
    }
    checked?;
    keep_old(context, dir)?;
    fs::rename(&coming, dir.join(DATABASE))?;
    remove(&coming)?;
    sync_folder(Some(dir))
}

/// Brings a copy to this program's tables and verifies it.
async fn check(file: &Path) -> Done {
    let failed = |why| Failure::failed(format!("failed to read the backup: {why}"));
    let db = Db::open(&format!("sqlite:{}", file.display())).await.map_err(failed)?;
    db.migrate().await.map_err(failed)?;
    let found = inspect(&db).await;
    db.close().await;
    found.map(drop).map_err(|why| flawed("the backup", &why))?;
    let rest = file.with_file_name("registry.db.coming-wal");
    if fs::metadata(&rest).is_ok_and(|rest| rest.len() > 0) {
        return Err(Failure::failed("the copy was not written out whole; try again"));
    }
    Ok(())
}

/// Removes a file of ours and what the engine keeps beside it.
fn remove(database: &Path) -> Done {
    for beside in ["", "-wal", "-shm", "-journal", "-reserve"] {
        let mut name = database.as_os_str().to_owned();
        name.push(beside);
        match fs::remove_file(PathBuf::from(name)) {
            Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(why.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Moves the database that is there aside.
fn keep_old(context: &Context, dir: &Path) -> Done {
    if !dir.join(DATABASE).exists() {
        return Ok(());
    }
    let aside = dir.join(format!("replaced-{}", context.clock.now().0));
    config::make_private(&aside)?;
    for beside in ["", "-wal", "-shm"] {
        let name = format!("{DATABASE}{beside}");
        if dir.join(&name).exists() {
            fs::rename(dir.join(&name), aside.join(&name))?;
        }
    }
    note(&format!("what was there is kept in {}", aside.display()));
    Ok(())
}

/// Adds what other copies of the journal know to the directory's own.
fn gather(own: &Path, others: &[PathBuf]) -> Done {
    let journal = Journal::open(own)?;
    let (mut known, _) = journal.entries()?;
    for other in others {
        let (entries, damaged) = read_journal(other).map_err(|why| Failure::failed(format!("{}: {why}", other.display())))?;
        if damaged > 0 {
            note(&format!("{damaged} lines of {} cannot be read", other.display()));
        }
        let fresh: Vec<_> = entries.into_iter().filter(|entry| !known.contains(entry)).collect();
        journal.append(&fresh)?;
        known.extend(fresh);
    }
    Ok(())
}

/// Opens what was put back, and does again what it forgot.
async fn settle(args: &Restore) -> Result<Settled, Failure> {
    let database = args.database.as_deref();
    if args.from.is_none() {
        let db = directory::open_database(&args.dir, database).await?;
        db.migrate().await.map_err(|why| Failure::failed(format!("failed to migrate: {why}")))?;
        let found = inspect(&db).await;
        db.close().await;
        found.map_err(|why| flawed("the database", &why))?;
    }
    let registry = directory::open_registry(&args.dir, database, None).await?;
    let registry = registry.with_journal(Journal::open(&args.dir.join(JOURNAL))?);
    let failed = |why| Failure::failed(format!("failed to read the journal: {why}"));
    let forgotten = registry.forgotten().await.map_err(failed)?;
    let rationale = if is_blank(&args.rationale) { "put back by an operator" } else { &args.rationale };
    let settled = registry.settle(&forgotten, rationale).await;
    registry.catch_journal_up().await.map_err(failed)?;
    registry.db.close().await;
    Ok(settled?)
}

/// Says what was done again, and what people must look at.
fn tell(settled: &Settled) {
    for (what, done) in [("killed", &settled.killed), ("revoked", &settled.revoked), ("quarantined", &settled.quarantined)] {
        for one in done {
            note(&format!("{what} again: {one}"));
        }
    }
    for left in &settled.left {
        note(&format!("not done again: {left}"));
    }
    if settled.policies > 0 {
        note("the policy was changed after this state: compare it before the release, it may give rights back that were taken");
    }
}
