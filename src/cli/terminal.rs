//! `countersign` alone: the terminal against the configured registry.

use super::context::Context;
use super::exit::{Done, Failure};
use crate::client::Client;
use std::path::{Path, PathBuf};

/// Options of the terminal.
#[derive(Debug, Clone, clap::Args)]
pub struct Terminal {
    /// Look only: nothing can be sent
    #[arg(long, help_heading = "Terminal options")]
    pub read_only: bool,
    /// Print review and inbox as plain text that only grows, for screen readers and logs
    #[arg(long, help_heading = "Terminal options")]
    pub linear: bool,
    /// Record the session into a file
    #[arg(long, value_name = "FILE", help_heading = "Terminal options")]
    pub record: Option<PathBuf>,
}

impl Terminal {
    /// Opens the terminal on the configured registry until the person leaves it.
    pub async fn open(self, context: &Context) -> Done {
        #[cfg(feature = "server")]
        if context.server().is_none() && context.can_ask() {
            return self.offer_demo(context).await;
        }
        let client = context.client()?;
        let data_dir = context.paths.data_dir.clone();
        self.run(context, client, &data_dir).await
    }

    /// Without a registry, the demo shows what one is.
    #[cfg(feature = "server")]
    async fn offer_demo(self, context: &Context) -> Done {
        let answer = super::context::ask("no registry is named; start the demo? [Y/n] ")?;
        if !matches!(answer.to_lowercase().as_str(), "" | "y" | "yes") {
            context.server_or_hint()?;
            return Ok(());
        }
        let demo = super::demo::Demo { no_tui: false, port: None, person: "ana".into(), fresh: false, terminal: self };
        super::demo::run(context, demo).await
    }

    /// Opens the terminal on a registry; what it remembers goes under `data_dir`.
    pub async fn run(self, _context: &Context, _client: Client, _data_dir: &Path) -> Done {
        Err(Failure::failed("not there yet"))
    }
}
