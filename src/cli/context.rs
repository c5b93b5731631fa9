//! What every command starts from: settings, paths, the clock, the client.

use super::exit::{Done, Failure};
use super::output::{Output, Shape, note};
use crate::clock::Clock;
use crate::config::{Config, Paths, Tokens};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;

/// Options of every command.
#[derive(Debug, Clone, clap::Args)]
pub struct Globals {
    /// The registry's address, like https://registry.example
    #[arg(long, global = true, env = "COUNTERSIGN_SERVER", value_name = "URL", help_heading = "Global options")]
    pub server: Option<String>,
    /// The token to act with; `countersign login` keeps one
    #[arg(
        long,
        global = true,
        env = "COUNTERSIGN_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        help_heading = "Global options"
    )]
    pub token: Option<String>,
    /// How answers are printed
    #[arg(long, global = true, value_enum, default_value_t, value_name = "SHAPE", help_heading = "Global options")]
    pub output: Shape,
    /// Never ask: at a terminal, fail where an answer would be needed. Without a terminal nothing is asked, and the command stands
    /// for the answer
    #[arg(long, global = true, help_heading = "Global options")]
    pub no_input: bool,
    /// Send the token over plain http beyond this machine
    #[arg(long, global = true, help_heading = "Global options")]
    pub insecure_http: bool,
    /// Trust only authorities of this PEM file for https, in place of the system's
    #[arg(long, global = true, env = "COUNTERSIGN_CA", value_name = "FILE", help_heading = "Global options")]
    pub ca: Option<PathBuf>,
    /// Where settings and tokens are kept
    #[arg(long, global = true, env = "COUNTERSIGN_CONFIG_DIR", value_name = "DIR", help_heading = "Global options", hide = true)]
    pub config_dir: Option<PathBuf>,
    /// Where chain heads and the demo are kept
    #[arg(long, global = true, env = "COUNTERSIGN_DATA_DIR", value_name = "DIR", help_heading = "Global options", hide = true)]
    pub data_dir: Option<PathBuf>,
}

/// Options of every act that changes something.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Acts {
    /// Only say what would happen
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask at a terminal, also where the environment is protected; a script is never asked
    #[arg(long)]
    pub yes: bool,
    /// Sent with the request: the same key and request act once, however often they are sent
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// What a command starts from.
#[derive(Debug, Clone)]
pub struct Context {
    /// Flags and environment.
    pub globals: Globals,
    /// The settings' file.
    pub config: Config,
    /// Where files are.
    pub paths: Paths,
    /// Wall time and randomness.
    pub clock: Clock,
    /// Where answers go.
    pub out: Output,
    /// The command's client, once it asked for one.
    #[cfg(feature = "tui")]
    client: std::sync::OnceLock<crate::client::Client>,
}

impl Context {
    /// Reads the settings.
    pub fn new(globals: Globals) -> Result<Self, Failure> {
        let paths = Paths::find(globals.config_dir.clone(), globals.data_dir.clone())?;
        let config = Config::read(&paths.config_file())?;
        let out = Output::new(globals.output);
        Ok(Self {
            globals,
            config,
            paths,
            clock: Clock::System,
            out,
            #[cfg(feature = "tui")]
            client: std::sync::OnceLock::new(),
        })
    }

    /// The registry's address: flag or environment, then the settings' file.
    pub fn server(&self) -> Option<&str> {
        self.globals.server.as_deref().or(self.config.server.as_deref()).filter(|s| !s.is_empty())
    }

    /// The address, or what to do about it.
    pub fn server_or_hint(&self) -> Result<&str, Failure> {
        self.server().ok_or_else(|| {
            Failure::usage("no registry is named").hint(
                "`countersign login --server URL` keeps one (`server = \"URL\"` in config.toml); or give --server URL, set \
                 COUNTERSIGN_SERVER, or try `countersign demo`",
            )
        })
    }

    /// The token: flag or environment, then what `login` kept for this server.
    pub fn token(&self, server: &str) -> Result<Option<String>, Failure> {
        if let Some(token) = self.globals.token.as_deref().filter(|t| !t.is_empty()) {
            return Ok(Some(token.trim().to_owned()));
        }
        Ok(Tokens::read(&self.paths.tokens_file())?.get(server).map(|t| t.reveal().to_owned()))
    }

    /// The idempotency key of an act: the given one, else a fresh one.
    pub fn idempotency(&self, acts: &Acts) -> String {
        acts.idempotency_key.clone().unwrap_or_else(|| self.clock.uuid().to_string())
    }

    /// Whether a person can be asked.
    pub fn can_ask(&self) -> bool {
        !self.globals.no_input && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Asks a person at a terminal to type `word` before something happens in a protected environment.
    ///
    /// Without a terminal the command itself is the person's word; `--no-input` at a terminal needs `--yes`.
    pub fn confirm(&self, protected: bool, what: &str, word: &str, acts: &Acts) -> Done {
        if !protected || acts.yes || acts.dry_run || !std::io::stdin().is_terminal() {
            return Ok(());
        }
        if !self.can_ask() {
            return Err(Failure::usage(format!("{what} needs a confirmation")).hint("add --yes"));
        }
        note(what);
        if ask(&format!("type {word} to go on: "))? == word {
            return Ok(());
        }
        Err(Failure::failed("not confirmed; nothing was changed"))
    }
}

/// Asks for one line on stderr.
pub fn ask(prompt: &str) -> Result<String, Failure> {
    let mut err = std::io::stderr().lock();
    let _ = write!(err, "{prompt}");
    let _ = err.flush();
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

#[cfg(feature = "tui")]
impl Context {
    /// A client of the named registry, with its token or login where there is one.
    pub fn client(&self) -> Result<crate::client::Client, Failure> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = self.new_client()?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// The client that the command used, if it used one.
    pub fn used_client(&self) -> Option<&crate::client::Client> {
        self.client.get()
    }

    fn new_client(&self) -> Result<crate::client::Client, Failure> {
        let server = self.server_or_hint()?;
        let options = crate::client::ClientOptions { token: self.token(server)?, ..self.client_options(server)? };
        if options.token.is_none()
            && let Some(session) = super::login::kept(self, server)?
        {
            return Ok(crate::client::Client::logged_in(session, options)?);
        }
        Ok(crate::client::Client::with(options)?)
    }

    /// How to reach a registry, without a token.
    pub fn client_options(&self, server: &str) -> Result<crate::client::ClientOptions, Failure> {
        Ok(crate::client::ClientOptions {
            base_url: server.to_owned(),
            token: None,
            insecure_http: self.globals.insecure_http || self.config.insecure_http,
            authority: self.authority()?,
            timeout: std::time::Duration::from_secs(30),
        })
    }

    /// Whose certificates are trusted: flag or environment, then the settings' file, which names a file beside itself.
    fn authority(&self) -> Result<Option<Vec<u8>>, Failure> {
        let beside = |file: &PathBuf| self.paths.config_dir.join(file);
        let Some(file) = self.globals.ca.clone().or_else(|| self.config.ca.as_ref().map(beside)) else { return Ok(None) };
        let unread = |why: std::io::Error| Failure::usage(format!("--ca {} cannot be read: {why}", file.display()));
        std::fs::read(&file).map(Some).map_err(unread)
    }

    /// Where verified chain heads are remembered.
    pub fn pins(&self) -> crate::client::Pins {
        crate::client::Pins::under(&self.paths.data_dir)
    }
}
