//! `migrate DIR`: brings a registry's database to this program's schema.

use super::context::Context;
use super::exit::{Done, Failure};
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
pub async fn run(_context: &Context, _args: Migrate) -> Done {
    Err(Failure::failed("not there yet"))
}
