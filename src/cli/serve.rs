//! `serve DIR`: the server on a directory that `init` made.

use super::context::Context;
use super::exit::{Done, Failure};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Serves a registry
#[derive(Debug, clap::Args)]
pub struct Serve {
    /// The directory that `init` made
    pub dir: PathBuf,
    /// Where to listen; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:7400", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// sqlite:PATH or postgres://…, instead of the directory's own SQLite file
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database: Option<String>,
}

/// A server that runs inside this process.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Ends after the cancellation, when the last answer is out.
    pub task: tokio::task::JoinHandle<Done>,
}

/// Starts the server of a directory inside this process, ready when this returns.
///
/// # Errors
/// A directory without a registry, a database that cannot be opened, an address that is taken.
pub async fn start(
    _dir: &Path,
    _database: Option<&str>,
    _listen: SocketAddr,
    _stop: CancellationToken,
) -> Result<Running, Failure> {
    Err(Failure::failed("not there yet"))
}

/// Runs the command until a signal ends it. A demo's directory is refused.
pub async fn run(_context: &Context, args: Serve) -> Done {
    super::demo_marker(&args.dir)?;
    Err(Failure::failed("not there yet"))
}
