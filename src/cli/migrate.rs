//! `migrate DIR`: brings a registry's database to this program's schema.

use super::context::Context;
use super::directory;
use super::exit::{Done, Failure};
use super::output::note;
use std::path::PathBuf;

/// Brings a registry's database up to date
#[derive(Debug, clap::Args)]
pub struct Migrate {
    /// The directory that `init` made
    pub dir: PathBuf,
    /// sqlite:PATH or postgres://…, instead of the directory's own SQLite file
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database: Option<String>,
}

/// Runs the command.
pub async fn run(_context: &Context, args: Migrate) -> Done {
    let db = directory::open_database(&args.dir, args.database.as_deref()).await?;
    let failed = |why| {
        Failure::failed(format!("failed to migrate: {why}")).hint("nothing was changed; the log of the database may say more")
    };
    let before = db.is_migrated().await.map_err(failed)?;
    db.migrate().await.map_err(failed)?;
    db.close().await;
    note(if before { "the database was up to date" } else { "the database is up to date now" });
    Ok(())
}
