//! `demo`: an embedded registry on loopback with content worth reading, people, and traffic.

mod colleague;
mod house;
mod people;
mod seed;

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use super::output::note;
use super::terminal::Terminal;
use house::House;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

pub use people::People;

/// Starts (or attaches to) a registry with content to play with
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Only the registry: print its address and where the tokens are
    #[arg(long)]
    pub no_tui: bool,
    /// The port to listen on; the last one or a free one unless given
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Whose terminal to open: ana, bob, carol, dee, erin, or olga, the admin
    #[arg(long = "as", value_name = "NAME", default_value = "ana")]
    pub person: String,
    /// Start over: what the demo held is deleted
    #[arg(long)]
    pub fresh: bool,
    /// How the terminal opens.
    #[command(flatten)]
    pub terminal: Terminal,
}

/// The colleague's process (started by `demo`)
#[derive(Debug, clap::Args)]
pub struct Colleague {
    /// The demo's directory
    pub dir: std::path::PathBuf,
}

/// Runs the command: the first `demo` serves, a second one attaches to it.
pub async fn run(context: &Context, args: Demo) -> Done {
    let dir = context.paths.demo_dir();
    let (mut ends, mut interrupts) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    match House::enter(&dir, args.fresh)? {
        None => {
            let people = house::of_the_running(&dir).await?;
            note(&format!("attached to the demo at {}", people.server));
            show(context, &args, &people).await
        }
        Some(house) => {
            let open = house.open(args.port);
            let open = tokio::select! {
                open = open => open?,
                _ = ends.recv() => return Ok(()),
                _ = interrupts.recv() => return Ok(()),
            };
            let shown = show(context, &args, &open.people).await;
            // Whoever started it may have read the address and gone: the registry serves on.
            let told = shown.as_ref().map_or_else(|e| e.exit == Exit::Done, |()| true);
            if args.no_tui && told {
                tokio::select! {
                    _ = ends.recv() => {}
                    _ = interrupts.recv() => {}
                    () = open.broke() => {}
                }
            }
            let closed = open.close().await;
            shown.and(closed)
        }
    }
}

/// The terminal, or where things are.
async fn show(context: &Context, args: &Demo, people: &People) -> Done {
    let client = people.client(&format!("person:{}", args.person))?;
    let dir = context.paths.demo_dir();
    if args.no_tui {
        let file = People::file(&dir);
        let body = serde_json::json!({ "server": people.server, "tokens": file });
        return context.out.answer(&body, |_, _| format!("{}\ntokens {}", people.server, file.display()));
    }
    args.terminal.clone().run(context, client, &dir).await
}

/// Starts the colleague as a process of its own, which ends with this one.
fn colleague_program(dir: &Path) -> Result<Child, Failure> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.arg("demo-colleague").arg(dir).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    Ok(command.spawn()?)
}

/// Runs the colleague until its parent is gone: then standard input ends.
pub async fn colleague(_context: &Context, args: Colleague) -> Done {
    let people = People::read(&args.dir)?;
    // The parent holds the other end and never writes.
    let parent = tokio::task::spawn_blocking(|| std::io::stdin().lock().read(&mut [0; 1]));
    tokio::select! {
        done = colleague::work(&people) => done,
        _ = parent => Ok(()),
    }
}
