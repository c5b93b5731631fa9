//! `relay`: a registry's answers to applications from a place near them, also while the registry is away.

mod follow;
mod shelf;

use super::context::Context;
use super::descriptors::room_of_this_process;
use super::directory::{self, DATABASE, PEPPER};
use super::exit::{Done, Exit, Failure};
use super::proof::public_key;
use super::serve::{Running, log_to_stderr, until_signalled};
use super::tls::TlsFiles;
use crate::client::{self, Client, ClientOptions, Pin, Pins, accept};
use crate::clock::Clock;
use crate::model::mirror::Mirror;
use crate::model::{Digest, Timestamp};
use crate::rules::hidden::is_blank;
use crate::rules::note::PublicKey;
use crate::server::cors::Origin;
use crate::server::limits::Limits;
use crate::server::relay::{self as over_http, Standing};
use crate::server::{Listening, Reading};
use crate::snapshot::{Pepper, Snapshot, SnapshotCell};
use follow::Follower;
use shelf::{Kept, Shelf, Withheld};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// How long the first state may take; an empty relay is of no use to anybody.
const FIRST: Duration = Duration::from_mins(1);

/// Answers resolve and OFREP near the applications, also while the registry is away
///
/// It follows the registry, verifies what it gets, keeps the last good state on disk and never goes back to an older one.
/// Confidential keys are not in it. Applications use the tokens that the registry gave them (scope service or public).
#[derive(Debug, clap::Args)]
pub struct Relay {
    /// The registry to follow
    #[arg(long, value_name = "URL")]
    pub upstream: String,
    /// Where the state is kept; a directory of its own, made where it is missing
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Where to listen; port 0 picks a free one
    #[arg(long, default_value = "127.0.0.1:7401", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// What it shows over TLS
    #[command(flatten)]
    pub tls: TlsFiles,
    /// A file of the relay's own token at the registry: scope read, roles service and auditor; --token unless given
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The registry's unit pepper, which never crosses the network; DIR/unit-pepper unless given
    #[arg(long, value_name = "FILE")]
    pub pepper_file: Option<PathBuf>,
    /// The registry's public key, or a file of it; without, the first key that is seen is kept to
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Origins whose pages may resolve in browsers, like https://app.example; with tokens of scope public
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<Origin>,
    /// Take the registry as it is now, once, after its database was put back rightfully; why is kept beside the state
    #[arg(long, value_name = "RATIONALE")]
    pub accept_head: Option<String>,
}

/// What following stands on.
pub struct Post {
    /// The registry.
    pub client: Client,
    /// The last heads that were verified.
    pub pins: Pins,
    /// Who must have signed.
    pub key: Option<PublicKey>,
    /// Under which units become pseudonyms.
    pub pepper: Pepper,
    /// The disk.
    pub shelf: Shelf,
    /// What is served.
    pub reading: Arc<Reading>,
    /// What is said of the registry.
    pub standing: Arc<Standing>,
}

/// Runs the command until a signal ends it.
pub async fn run(context: &Context, args: Relay) -> Done {
    super::demo_marker(&args.data)?;
    log_to_stderr();
    let token = match &args.token_file {
        Some(file) => {
            let text = std::fs::read_to_string(file);
            Some(text.map_err(|why| Failure::usage(format!("--token-file {}: {why}", file.display())))?.trim().to_owned())
        }
        None => context.token(&args.upstream)?,
    };
    let options = ClientOptions { token, ..context.client_options(&args.upstream)? };
    until_signalled(async |stop| start(&args, options, stop).await).await
}

/// Starts a relay inside this process, ready when this returns.
///
/// # Errors
/// A directory that another relay holds, a state on disk that was changed, another pepper; where there is no state on disk yet, a
/// registry that cannot be reached, is not trusted, or does not give one.
pub async fn start(args: &Relay, options: ClientOptions, stop: CancellationToken) -> Result<Running, Failure> {
    let (dir, listen) = (&args.data, args.listen);
    if dir.join(DATABASE).exists() {
        let text = format!("--data {}: a registry is kept there", dir.display());
        return Err(Failure::usage(text).hint("give the relay a directory of its own"));
    }
    let tls = args.tls.read()?;
    directory::make_private(dir)?;
    let lock = directory::alone(dir)?;
    let pepper = directory::read_pepper(args.pepper_file.as_deref().unwrap_or(&dir.join(PEPPER)))?;
    let (client, pins, clock) = (Client::with(options)?, Pins::under(dir), Clock::System);
    let Begun { key, withheld, snapshot, heard } = begin(args, &client, &pins, pepper, clock.now()).await?;
    let taken = |why: std::io::Error| Failure::failed(format!("failed to listen on {listen}: {why}"));
    let listener = TcpListener::bind(listen).await.map_err(taken)?;
    let address = listener.local_addr().map_err(taken)?;
    let cell = Arc::new(SnapshotCell::new(snapshot, heard));
    let limits = Limits::default().within(room_of_this_process());
    let (reading, standing) =
        (Arc::new(Reading::over(cell, clock, limits, args.cors_origin.clone(), stop.clone())), Arc::<Standing>::default());
    let (shelf, writer) = shelf::open(dir);
    let (reads, stands) = (reading.clone(), standing.clone());
    let post = Post { client, pins, key, pepper, shelf, reading: reads, standing: stands };
    let follower = tokio::spawn(Follower::new(post, withheld).run());
    first_state(&reading, &standing).await.inspect_err(|_| stop.cancel())?;
    let relay = over_http::Relay { reading, standing };
    let secure = tls.is_some();
    let listening = Listening::new(listener, tls);
    let task = tokio::spawn(async move {
        over_http::serve(relay, listening).await;
        // The follower holds the only way to the writer, which ends when what was said last is on the disk.
        let _ = follower.await;
        let _ = tokio::task::spawn_blocking(move || writer.join()).await;
        drop(lock);
        Ok(())
    });
    Ok(Running { address, secure, task })
}

/// What a relay begins with.
struct Begun {
    key: Option<PublicKey>,
    withheld: Vec<Withheld>,
    snapshot: Snapshot,
    heard: Timestamp,
}

/// What the disk has; where it has no state, nothing yet, of a registry that would give one.
async fn begin(args: &Relay, client: &Client, pins: &Pins, pepper: Pepper, now: Timestamp) -> Result<Begun, Failure> {
    let named = args.key.as_deref().map(public_key).transpose()?;
    let Kept { mut signed, withheld, heard } = shelf::read(&args.data, named.as_ref())?;
    if let Some(why) = &args.accept_head {
        take_as_it_is(client, pins, why, now).await?;
        signed = None;
    }
    let Some(signed) = signed else {
        client::contact(client, Some(pins)).await?;
        same_pepper(client.mirror(named.as_ref()).await?.mirror.pepper, pepper)?;
        return Ok(Begun { key: named, withheld, snapshot: Snapshot::empty(pepper), heard: Timestamp(0) });
    };
    same_pepper(signed.mirror.pepper, pepper)?;
    remember(client, pins, &signed.mirror)?;
    let key = named.or_else(|| signed.key.parse().ok());
    Ok(Begun { key, withheld, snapshot: Snapshot::of_mirror(&signed.mirror, pepper, None), heard: heard.min(now) })
}

/// Waits until there is something to serve.
async fn first_state(reading: &Reading, standing: &Standing) -> Done {
    let mut wake = reading.wake.subscribe();
    let came = tokio::time::timeout(FIRST, wake.wait_for(|seq| *seq > 0)).await;
    if matches!(came, Ok(Ok(_))) {
        return Ok(());
    }
    let (_, why) = standing.get();
    Err(Failure::new(Exit::Unreachable, format!("the registry gave no state within {} s: {why}", FIRST.as_secs())))
}

fn same_pepper(fingerprint: Digest, pepper: Pepper) -> Done {
    if fingerprint == pepper.fingerprint() {
        return Ok(());
    }
    let text = "this is not the unit pepper of the registry; every unit would be drawn anew";
    Err(Failure::failed(text).hint("copy the registry's `unit-pepper` by hand, and name the file with --pepper-file"))
}

/// The state's own head is the least that is taken, also where the registry is reached under another address.
fn remember(client: &Client, pins: &Pins, mirror: &Mirror) -> Done {
    let (registry, head) = (mirror.registry, mirror.head);
    let server = client.base_url().to_owned();
    // Another registry's head stays where it is: the state that is held contradicts it, and that is said.
    if pins.get(&server)?.is_some_and(|pin| pin.genesis != registry) {
        return Ok(());
    }
    Ok(pins.put(&Pin { server, genesis: registry, from: head.seq, head })?)
}

/// Takes the registry's present chain for the true one, and keeps why.
async fn take_as_it_is(client: &Client, pins: &Pins, why: &str, now: Timestamp) -> Done {
    if is_blank(why) {
        return Err(Failure::usage("--accept-head is blank").hint("say why, for those who read it later"));
    }
    let change = accept::look(client, pins).await?;
    accept::accept(pins, &change, why, now)?;
    tracing::warn!(seq = change.now.head.seq, "the registry is taken as it is now");
    Ok(())
}
