//! `countersign` alone: the terminal against the configured registry.

use super::context::Context;
use super::exit::{Done, Failure};
use std::path::PathBuf;

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
    /// Opens the terminal until the person leaves it.
    pub fn open(self, context: &Context, _runtime: &tokio::runtime::Runtime) -> Done {
        let _client = context.client()?;
        Err(Failure::failed("not there yet"))
    }
}
