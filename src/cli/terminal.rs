//! `countersign` alone: the terminal against the configured registry.

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use crate::client::{Client, Pins};
use crate::tui::{self, End, TuiError, TuiOptions, keymap, theme};
use std::path::{Path, PathBuf};

/// Options of the terminal.
#[derive(Debug, Clone, clap::Args)]
pub struct Terminal {
    /// Look only: nothing can be sent
    #[arg(long, help_heading = "Terminal options")]
    pub read_only: bool,
    /// ansi, dark, light, mono, or auto to ask the terminal
    #[arg(long, value_name = "NAME", help_heading = "Terminal options")]
    pub theme: Option<String>,
    /// default, vim, or a keymap file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Terminal options")]
    pub keymap: Option<String>,
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
        super::login::before_terminal(context).await?;
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
        let theme = self.theme.or_else(|| context.config.theme.clone());
        known_theme(theme.as_deref())?;
        let mut options = TuiOptions::new(client);
        options.pins = Some(Pins::under(data_dir));
        options.data_dir = Some(data_dir.to_owned());
        options.read_only = self.read_only;
        options.record = self.record;
        options.theme = theme;
        options.keymaps = keymaps(context, self.keymap.as_deref())?;
        options.clock = context.clock.clone();
        let ended = tokio::task::spawn_blocking(move || tui::run(options)).await;
        match ended.unwrap_or(Err(TuiError::Panicked)) {
            Ok(End::Quit) => Ok(()),
            Ok(End::Signal(number)) => {
                let exit = Exit::Signal(u8::try_from(number).unwrap_or(0));
                Err(Failure::new(exit, format!("ended by signal {number}; drafts are kept")))
            }
            Err(error @ TuiError::Keymap { .. }) => {
                Err(Failure::usage(error.to_string()).hint("`countersign keymap check FILE` names every fault"))
            }
            Err(error) => Err(Failure::failed(error.to_string())),
        }
    }
}

fn known_theme(name: Option<&str>) -> Done {
    let Some(name) = name.filter(|name| *name != "auto" && theme::names().all(|known| known != *name)) else { return Ok(()) };
    let known: Vec<&str> = theme::names().collect();
    Err(Failure::usage(format!("there is no theme {name:?}")).hint(format!("there are {}, and auto", known.join(", "))))
}

/// The keymap that is merged over the default one: `vim`, or a file. A file that the settings name stands beside them.
fn keymaps(context: &Context, flag: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let configured = context.config.keymap.as_deref();
    let file = match flag.or(configured) {
        None | Some("default") => return Ok(Vec::new()),
        Some("vim") => return Ok(vec![("vim".into(), keymap::VIM.into())]),
        Some(file) => file,
    };
    let path = if flag.is_some() { PathBuf::from(file) } else { context.paths.config_dir.join(file) };
    let source = std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("failed to read the keymap {}: {error}", path.display())))?;
    Ok(vec![(file.into(), source)])
}
