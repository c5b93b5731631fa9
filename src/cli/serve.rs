//! `serve DIR`: the server on a directory that `init` made.

use super::context::Context;
use super::descriptors::room_of_this_process;
use super::directory::{self, JOURNAL, POLICY};
use super::exit::{Done, Failure};
use super::tls::TlsFiles;
use crate::model::Digest;
use crate::rules::canonical;
use crate::rules::net::Range;
use crate::server::cors::Origin;
use crate::server::limits::{Limits, PER_SECOND};
use crate::server::{self, Listening, Outside};
use crate::storage::{Journal, ServedMark};
use crate::workflow::Registry;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// How often the policy file is compared with the policy in force.
const LOOK: Duration = Duration::from_secs(2);

/// Serves a registry
#[derive(Debug, clap::Args)]
pub struct Serve {
    /// The directory that `init` made
    pub dir: PathBuf,
    /// Where to listen; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:7400", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// What it shows over TLS
    #[command(flatten)]
    pub tls: TlsFiles,
    /// sqlite:PATH or postgres://…, instead of the directory's own SQLite file
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database: Option<String>,
    /// The unit pepper, instead of the directory's own
    #[arg(long, value_name = "FILE")]
    pub pepper_file: Option<PathBuf>,
    /// The key that signs checkpoints and bundles, instead of the directory's own
    #[arg(long, value_name = "FILE")]
    pub signing_key_file: Option<PathBuf>,
    /// Put signed checkpoints of the audit trail here, where whoever runs this server cannot rewrite them
    #[arg(long, value_name = "DIR")]
    pub checkpoint_dir: Option<PathBuf>,
    /// Addresses that receivers of notices may have beside public ones, like 10.1.0.0/16
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub webhook_allow: Vec<Range>,
    /// Origins whose pages may resolve in browsers, like https://app.example; with tokens of role public
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<Origin>,
    /// Where kills and revocations are noted, best on another disk than the database; DIR/registry.journal unless given
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Requests a second that one token may make; kills and resolves are never counted
    #[arg(long, value_name = "NUMBER", default_value_t = PER_SECOND, value_parser = clap::value_parser!(u32).range(1..))]
    pub requests_per_second: u32,
}

/// A server that runs inside this process.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    /// Whether it speaks https.
    pub secure: bool,
    /// Ends after the cancellation, when the last answer is out.
    pub task: JoinHandle<Done>,
}

/// Starts the server of a directory inside this process, ready when this returns.
///
/// # Errors
/// A directory without a registry, a database that cannot be opened, an address that is taken.
pub async fn start(dir: &Path, database: Option<&str>, listen: SocketAddr, stop: CancellationToken) -> Result<Running, Failure> {
    let args = Serve {
        dir: dir.to_owned(),
        listen,
        tls: TlsFiles::default(),
        database: database.map(str::to_owned),
        pepper_file: None,
        signing_key_file: None,
        checkpoint_dir: None,
        webhook_allow: Vec::new(),
        cors_origin: Vec::new(),
        journal: None,
        requests_per_second: PER_SECOND,
    };
    start_with(&args, stop).await
}

async fn start_with(args: &Serve, stop: CancellationToken) -> Result<Running, Failure> {
    let (dir, listen) = (&args.dir, args.listen);
    let tls = args.tls.read()?;
    let lock = directory::serving(dir, args.database.as_deref())?;
    let registry = directory::open_registry(dir, args.database.as_deref(), args.pepper_file.as_deref()).await?;
    let mark = mark_served(&registry).await;
    let registry = remember(registry, &args.journal.clone().unwrap_or_else(|| dir.join(JOURNAL))).await;
    let policy_file = PolicyFile { path: dir.join(POLICY), told: None };
    let outside = outside(args, &registry)?;
    let taken = |why: std::io::Error| Failure::failed(format!("failed to listen on {listen}: {why}"));
    let listener = TcpListener::bind(listen).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    let db = registry.db.clone();
    let limits = Limits::of(args.requests_per_second).within(room_of_this_process());
    let secure = tls.is_some();
    let listening = Listening::new(listener, tls);
    let registry = Arc::new(registry);
    let watching = policy_file.watch(registry.clone(), stop.clone());
    let task = tokio::spawn(async move {
        server::serve_with(registry, outside, limits, listening, stop).await;
        watching.abort();
        db.close().await;
        drop((lock, mark));
        Ok(())
    });
    Ok(Running { address, secure, task })
}

/// Marks a PostgreSQL database as served, for as long as the connection lives. That another server has the mark is a warning and no
/// more: it may be one whose machine is gone and whose connection nobody has ended yet, and its successor must be able to kill.
async fn mark_served(registry: &Registry) -> Option<ServedMark> {
    match registry.db.mark_served().await {
        Ok(Some(mark)) => Some(mark),
        Ok(None) => {
            tracing::warn!(
                "another server serves this database, or did a moment ago: one server per database; a kill on one holds on the other \
                 only seconds later"
            );
            None
        }
        Err(error) => {
            tracing::warn!(%error, "the database cannot be marked as served");
            None
        }
    }
}

/// Takes the journal up. A database that is older than it was put back by somebody's hand: what it forgot is done again at once, and
/// nothing else is changed until it is released. No fault of the journal's keeps a registry from serving.
async fn remember(registry: Registry, path: &Path) -> Registry {
    let journal = match Journal::open(path) {
        Ok(journal) => journal,
        Err(error) => {
            tracing::error!(%error, journal = %path.display(), "no journal is kept: an older backup would bring killed prompts back");
            return registry;
        }
    };
    let registry = registry.with_journal(journal);
    registry.recall("found older than its journal when it was served").await;
    if let Err(error) = registry.catch_journal_up().await {
        tracing::error!(%error, "the journal cannot be written");
    }
    registry
}

/// What the server proves itself with; a directory from before there were checkpoints gets a key.
fn outside(args: &Serve, registry: &Registry) -> Result<Outside, Failure> {
    let (signer, made) = directory::signing_key(&args.dir, args.signing_key_file.as_deref(), &registry.clock)?;
    if let Some(folder) = args.checkpoint_dir.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("--checkpoint-dir {}: there is no such directory", folder.display())));
    }
    let outside = Outside {
        signer,
        checkpoint_dir: args.checkpoint_dir.clone(),
        webhook_allow: args.webhook_allow.clone(),
        origins: args.cors_origin.clone(),
    };
    if made && let Ok(key) = outside.key(&registry.snapshot.get()) {
        tracing::info!("made a signing key; checkpoints are verified with {key}");
    }
    Ok(outside)
}

/// The directory's policy file: one that differs from the policy in force is an alarm, here, in `/readyz` and in every terminal,
/// and changes nothing. It is looked at as long as the server runs, since both may change.
struct PolicyFile {
    path: PathBuf,
    /// The file about which the alarm was told last.
    told: Option<Digest>,
}

impl PolicyFile {
    /// Looks once before this returns, then again and again.
    fn watch(mut self, registry: Arc<Registry>, stop: CancellationToken) -> JoinHandle<()> {
        self.look(&registry);
        tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LOOK);
            while stop.run_until_cancelled(ticks.tick()).await.is_some() {
                self.look(&registry);
            }
        })
    }

    /// Compares; says what changed since it was said last.
    fn look(&mut self, registry: &Registry) {
        registry.snapshot.note_policy_file(std::fs::read(&self.path).ok().map(|bytes| canonical::sha256(&bytes)));
        let found = registry.snapshot.foreign_policy_file();
        if found == self.told {
            return;
        }
        let (file, in_force) = (self.path.display(), registry.snapshot.get().policy_digest());
        if let Some(found) = found {
            tracing::error!(
                %file,
                %found,
                %in_force,
                "ALARM: the policy file is not the policy in force, which stays; `countersign policy apply` changes it"
            );
        } else {
            tracing::info!(%file, %in_force, "the policy file is no other than the policy in force any more");
        }
        self.told = found;
    }
}

/// Runs the command until a signal ends it. A demo's directory is refused.
pub async fn run(_context: &Context, args: Serve) -> Done {
    super::demo_marker(&args.dir)?;
    log_to_stderr();
    until_signalled(async |stop| start_with(&args, stop).await).await
}

/// Runs what starts in this process until a signal ends it.
pub async fn until_signalled(start: impl AsyncFnOnce(CancellationToken) -> Result<Running, Failure>) -> Done {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = CancellationToken::new();
    let Running { address, secure, mut task } = start(stop.clone()).await?;
    if !secure && !address.ip().is_loopback() {
        tracing::warn!(
            "{address} is reachable from elsewhere, and tokens travel in clear: give --tls-cert and --tls-key, or put TLS in front of it"
        );
    }
    tracing::info!("listening on {}://{address}", if secure { "https" } else { "http" });
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
pub fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new("info,sqlx=warn"));
    let ansi = std::io::IsTerminal::is_terminal(&std::io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    // A logger that is there already stays.
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(ansi).try_init();
}
