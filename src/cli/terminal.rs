//! `countersign` alone: the terminal against the configured registry.

use super::context::Context;
use super::exit::{Done, Failure};
use crate::client::{Client, Pins};
use crate::tui::{self, End, TuiError, TuiOptions};
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
    pub async fn run(self, context: &Context, client: Client, data_dir: &Path) -> Done {
        let mut options = TuiOptions::new(client);
        options.pins = Some(Pins::under(data_dir));
        options.data_dir = Some(data_dir.to_owned());
        options.read_only = self.read_only;
        options.record = self.record;
        options.theme.clone_from(&context.config.theme);
        options.keymaps = keymaps(context)?;
        options.clock = context.clock.clone();
        let ended = tokio::task::spawn_blocking(move || tui::run(options)).await;
        match ended.unwrap_or(Err(TuiError::Panicked)) {
            Ok(End::Quit) => Ok(()),
            Ok(End::Signal(number)) => Err(Failure::failed(format!("ended by signal {number}; drafts are kept"))),
            Err(error @ TuiError::Keymap { .. }) => {
                Err(Failure::usage(error.to_string()).hint("`countersign keymap check FILE` names every fault"))
            }
            Err(error) => Err(Failure::failed(error.to_string())),
        }
    }
}

/// The configured keymap: `vim`, or a file that is merged over the default one.
fn keymaps(context: &Context) -> Result<Vec<(String, String)>, Failure> {
    match context.config.keymap.as_deref() {
        None | Some("default") => Ok(Vec::new()),
        Some("vim") => Ok(vec![("vim".into(), tui::keymap::VIM.into())]),
        Some(file) => {
            let path = context.paths.config_dir.join(file);
            let source = std::fs::read_to_string(&path)
                .map_err(|error| Failure::usage(format!("failed to read the keymap {}: {error}", path.display())))?;
            Ok(vec![(file.into(), source)])
        }
    }
}
