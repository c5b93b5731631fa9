//! The demo's accounts: the server's address and a token for each, kept in the demo's directory, mode 0600.

use crate::cli::exit::Failure;
use crate::client::Client;
use crate::config::{self, Secret};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The accounts of a demo.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct People {
    /// The registry's base URL.
    pub server: String,
    /// Tokens by actor: `person:ana`, `service:ci`.
    pub tokens: BTreeMap<String, Secret>,
}

impl People {
    /// Where the tokens are kept.
    pub fn file(dir: &Path) -> PathBuf {
        dir.join("people.json")
    }

    /// The accounts kept in a demo's directory.
    pub fn read(dir: &Path) -> Result<Self, Failure> {
        let path = Self::file(dir);
        let text = std::fs::read(&path).map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
        serde_json::from_slice(&text).map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
    }

    /// Keeps the accounts.
    pub fn write(&self, dir: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| Failure::failed(e.to_string()))?;
        Ok(config::write_private(&Self::file(dir), &text)?)
    }

    /// A client that acts as `actor` (`person:ana`).
    ///
    /// # Errors
    /// An account that the demo does not have; its names are listed.
    pub fn client(&self, actor: &str) -> Result<Client, Failure> {
        let token = self.tokens.get(actor).ok_or_else(|| {
            let known: Vec<&str> = self.tokens.keys().map(String::as_str).collect();
            Failure::usage(format!("the demo has no account {actor:?}")).hint(format!("it has {}", known.join(", ")))
        })?;
        Ok(Client::new(&self.server, Some(token.reveal()))?)
    }
}
