//! `demo`: an embedded registry on loopback with content worth reading, people, and traffic.

mod colleague;
mod people;
mod seed;

use super::context::Context;
use super::exit::{Done, Failure};

pub use people::People;

/// Starts (or attaches to) a registry with content to play with
#[derive(Debug, clap::Args)]
pub struct Demo {
    /// Only the registry: print its address and where the tokens are
    #[arg(long)]
    pub no_tui: bool,
    /// The port to listen on; a free one unless given
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,
    /// Whose terminal to open: ana, bob, carol or dee
    #[arg(long = "as", value_name = "NAME", default_value = "ana")]
    pub person: String,
    /// Start over: what the demo held is deleted
    #[arg(long)]
    pub fresh: bool,
}

/// The colleague's process (started by `demo`)
#[derive(Debug, clap::Args)]
pub struct Colleague {
    /// The demo's directory
    pub dir: std::path::PathBuf,
}

/// Runs the command.
pub async fn run(_context: &Context, _args: Demo) -> Done {
    Err(Failure::failed("not there yet"))
}

/// Runs the colleague until its parent is gone.
pub async fn colleague(_context: &Context, args: Colleague) -> Done {
    colleague::work(&People::read(&args.dir)?).await
}
