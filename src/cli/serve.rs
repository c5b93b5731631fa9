//! `serve DIR`: the server on a directory that `init` made.

use super::context::Context;
use super::directory::{self, POLICY};
use super::exit::{Done, Failure};
use crate::rules::canonical;
use crate::server;
use crate::workflow::Registry;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

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
    /// The unit pepper, instead of the directory's own
    #[arg(long, value_name = "FILE")]
    pub pepper_file: Option<PathBuf>,
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
pub async fn start(dir: &Path, database: Option<&str>, listen: SocketAddr, stop: CancellationToken) -> Result<Running, Failure> {
    start_with(dir, database, None, listen, stop).await
}

async fn start_with(
    dir: &Path,
    database: Option<&str>,
    pepper_file: Option<&Path>,
    listen: SocketAddr,
    stop: CancellationToken,
) -> Result<Running, Failure> {
    let registry = directory::open_registry(dir, database, pepper_file).await?;
    compare_policy(dir, &registry);
    let taken = |why: std::io::Error| Failure::failed(format!("failed to listen on {listen}: {why}"));
    let listener = TcpListener::bind(listen).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    let db = registry.db.clone();
    let task = tokio::spawn(async move {
        server::serve(Arc::new(registry), listener, stop).await;
        db.close().await;
        Ok(())
    });
    Ok(Running { address, task })
}

/// A file that differs from the policy in force is said, and changes nothing.
fn compare_policy(dir: &Path, registry: &Registry) {
    let in_force = registry.snapshot.get().policy_digest();
    match std::fs::read(dir.join(POLICY)) {
        Ok(bytes) if canonical::sha256(&bytes) != in_force => tracing::warn!(
            file = %dir.join(POLICY).display(),
            %in_force,
            "the policy file is not the policy in force, which stays; `countersign policy apply` changes it"
        ),
        _ => {}
    }
}

/// Runs the command until a signal ends it. A demo's directory is refused.
pub async fn run(_context: &Context, args: Serve) -> Done {
    super::demo_marker(&args.dir)?;
    log_to_stderr();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let Running { address, mut task } =
        start_with(&args.dir, args.database.as_deref(), args.pepper_file.as_deref(), args.listen, stop.clone()).await?;
    if !address.ip().is_loopback() {
        tracing::warn!("{address} is reachable from elsewhere, and tokens travel in clear: put TLS in front of it");
    }
    tracing::info!("listening on http://{address}");
    let done = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        done = &mut task => Some(done),
    };
    tracing::info!("shutting down");
    stop.cancel();
    let done = match done {
        Some(done) => done,
        None => task.await,
    };
    done.unwrap_or_else(|why| Err(Failure::failed(format!("the server broke: {why}"))))
}

/// `COUNTERSIGN_LOG` says what is logged (`debug`, `countersign=debug,sqlx=warn` …).
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    // A logger that is there already stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).try_init();
}
