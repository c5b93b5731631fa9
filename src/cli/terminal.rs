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
    /// Print the Inbox and each change that waits, as plain text from top to bottom, for screen readers and logs
    #[arg(long, help_heading = "Terminal options")]
    pub linear: bool,
    /// ansi, dark, light, mono, auto to ask the terminal, or a theme file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Terminal options")]
    pub theme: Option<String>,
    /// default, vim, or a keymap file
    #[arg(long, value_name = "NAME|FILE", help_heading = "Terminal options")]
    pub keymap: Option<String>,
}

impl Terminal {
    /// Whether there is no registry to open, and a person who can be offered the demo instead.
    pub fn offers_demo(context: &Context) -> bool {
        cfg!(feature = "server") && context.server().is_none() && context.can_ask()
    }

    /// Opens the terminal on the configured registry until the person leaves it.
    pub fn open(self, context: &Context) -> Done {
        // The terminal brings its own threads: none but this one until then.
        let before = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        before.block_on(super::login::before_terminal(context))?;
        let client = context.client()?;
        if self.linear {
            return before.block_on(super::review::linear(context, &client));
        }
        drop(before);
        let data_dir = context.paths.data_dir.clone();
        ended(tui::run(self.options(context, client, &data_dir)?))
    }

    /// Without a registry, the demo shows what one is.
    #[cfg(feature = "server")]
    pub async fn offer_demo(self, context: &Context) -> Done {
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
        if self.linear {
            return super::review::linear(context, &client).await;
        }
        let options = self.options(context, client, data_dir)?;
        let end = tokio::task::spawn_blocking(move || tui::run(options)).await;
        ended(end.unwrap_or(Err(TuiError::Panicked)))
    }

    fn options(self, context: &Context, client: Client, data_dir: &Path) -> Result<TuiOptions, Failure> {
        let mut options = TuiOptions::new(client);
        options.pins = Some(Pins::under(data_dir));
        options.data_dir = Some(data_dir.to_owned());
        options.read_only = self.read_only;
        (options.theme, options.own_theme) = theme_options(context, self.theme.as_deref())?;
        options.keymaps = keymaps(context, self.keymap.as_deref())?;
        options.clock = context.clock.clone();
        Ok(options)
    }
}

fn ended(end: Result<End, TuiError>) -> Done {
    match end {
        Ok(End::Quit) => Ok(()),
        Ok(End::Signal(number)) => {
            let exit = Exit::Signal(u8::try_from(number).unwrap_or(0));
            Err(Failure::new(exit, format!("ended by signal {number}; drafts are kept")))
        }
        Err(error @ TuiError::Keymap { .. }) => {
            Err(Failure::usage(error.to_string()).hint("`countersign keymap check FILE` names every fault"))
        }
        Err(error @ TuiError::Theme { .. }) => {
            Err(Failure::usage(error.to_string()).hint("`countersign theme check FILE` names every fault"))
        }
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}

/// The name of a theme, and the file of one that is not built in, with its text.
type Themes = (Option<String>, Option<(String, String)>);

/// The theme: a built-in one, `auto`, or a file.
fn theme_options(context: &Context, flag: Option<&str>) -> Result<Themes, Failure> {
    let Some(name) = flag.or(context.config.theme.as_deref()) else { return Ok((None, None)) };
    if name == "auto" || theme::names().any(|known| known == name) {
        return Ok((Some(name.to_owned()), None));
    }
    let known: Vec<&str> = theme::names().collect();
    let found = file(context, flag.is_some(), name, "themes")
        .map_err(|failure| failure.hint(format!("there are {}, auto, and files", known.join(", "))))?;
    Ok((None, Some(found)))
}

/// A file that a flag names, or that the settings name: that one stands beside them, or in `folder` there, where `.toml` may be
/// left out. Its name and text.
fn file(context: &Context, given: bool, name: &str, folder: &str) -> Result<(String, String), Failure> {
    let beside = &context.paths.config_dir;
    let inside = [beside.join(name), beside.join(folder).join(name), beside.join(folder).join(format!("{name}.toml"))];
    let given = given.then(|| PathBuf::from(name));
    let path = given
        .into_iter()
        .chain(inside.clone())
        .find(|path| path.is_file())
        .unwrap_or_else(|| if name.contains('/') { PathBuf::from(name) } else { inside[0].clone() });
    let source =
        std::fs::read_to_string(&path).map_err(|error| Failure::usage(format!("failed to read {}: {error}", path.display())))?;
    Ok((name.to_owned(), source))
}

/// The keymap that is merged over the default one: `vim`, or a file.
fn keymaps(context: &Context, flag: Option<&str>) -> Result<Vec<(String, String)>, Failure> {
    let configured = context.config.keymap.as_deref();
    match flag.or(configured) {
        None | Some("default") => Ok(Vec::new()),
        Some("vim") => Ok(vec![("vim".into(), keymap::VIM.into())]),
        Some(name) => {
            let found = file(context, flag.is_some(), name, "keymaps");
            Ok(vec![found.map_err(|failure| failure.hint("there are default, vim, and files"))?])
        }
    }
}
