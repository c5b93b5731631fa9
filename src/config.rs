//! Settings from file, environment and flags; paths by `directories`; tokens of this machine's user.

use crate::model::oidc::Session;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// Why settings cannot be used; names the file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system names no home for this user.
    #[error("this system names no home directory; set COUNTERSIGN_CONFIG_DIR and COUNTERSIGN_DATA_DIR")]
    NoHome,
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not say what it should.
    #[error("{}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Line and reason.
        why: String,
    },
}

/// A text that is never shown: tokens.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a token.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
    /// The token itself, for the wire.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where this program keeps its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// `config.toml`, `tokens.json`, the user's keymaps and themes.
    pub config_dir: PathBuf,
    /// Pinned chain heads, drafts of the terminal, the demo.
    pub data_dir: PathBuf,
}

impl Paths {
    /// The given directories, else the system's (XDG on Linux).
    pub fn find(config_dir: Option<PathBuf>, data_dir: Option<PathBuf>) -> Result<Self, ConfigError> {
        if let (Some(config_dir), Some(data_dir)) = (&config_dir, &data_dir) {
            return Ok(Self { config_dir: config_dir.clone(), data_dir: data_dir.clone() });
        }
        let system = directories::ProjectDirs::from("", "", "countersign").ok_or(ConfigError::NoHome)?;
        Ok(Self {
            config_dir: config_dir.unwrap_or_else(|| system.config_dir().to_owned()),
            data_dir: data_dir.unwrap_or_else(|| system.data_dir().to_owned()),
        })
    }

    /// The settings' file.
    pub fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// The tokens' file, mode 0600.
    pub fn tokens_file(&self) -> PathBuf {
        self.config_dir.join("tokens.json")
    }

    /// The demo's directory.
    pub fn demo_dir(&self) -> PathBuf {
        self.data_dir.join("demo")
    }
}

/// `config.toml`: what is not given by flag or environment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The registry's base URL.
    pub server: Option<String>,
    /// Send the token over plain http beyond loopback.
    #[serde(default)]
    pub insecure_http: bool,
    /// A PEM file of the authorities that alone are trusted for https, beside this one; the system's unless named.
    pub ca: Option<PathBuf>,
    /// A theme's name or file.
    pub theme: Option<String>,
    /// A keymap's name or file.
    pub keymap: Option<String>,
}

impl Config {
    /// The settings of a file; all unset where there is none.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let Some(text) = read_if_there(path)? else { return Ok(Self::default()) };
        toml::from_str(&text).map_err(|e| ConfigError::Content { path: path.to_owned(), why: e.to_string() })
    }

    /// Names the registry in a file that names none; the rest of it stays, letter for letter.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn keep_server(path: &Path, server: &str) -> Result<(), ConfigError> {
        let rest = read_if_there(path)?.unwrap_or_default();
        let text = format!("server = {}\n{rest}", toml::Value::from(server));
        // Where the file is a link, what it leads to is written.
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = real.parent().map_or(Ok(()), make_private);
        folder.and_then(|()| write_private(&real, text.as_bytes())).map_err(|e| at(path, e))
    }
}

/// `tokens.json`: what proves who one is, by server, kept by `login`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens(BTreeMap<String, Held>);

/// A token of a registry, or a login with an issuer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Held {
    Token(Secret),
    Session(Box<Session>),
}

impl Tokens {
    /// The tokens of a file; none where there is no file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let Some(text) = read_if_there(path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|e| ConfigError::Content { path: path.to_owned(), why: e.to_string() })
    }

    /// The token for a server.
    pub fn get(&self, server: &str) -> Option<&Secret> {
        match self.0.get(server.trim_end_matches('/')) {
            Some(Held::Token(token)) => Some(token),
            _ => None,
        }
    }

    /// The login with an issuer for a server.
    pub fn session(&self, server: &str) -> Option<&Session> {
        match self.0.get(server.trim_end_matches('/')) {
            Some(Held::Session(session)) => Some(session),
            _ => None,
        }
    }

    /// Keeps a login for a server.
    pub fn set_session(&mut self, server: &str, session: Session) {
        self.0.insert(server.trim_end_matches('/').to_owned(), Held::Session(Box::new(session)));
    }

    /// Keeps a token for a server.
    pub fn set(&mut self, server: &str, token: Secret) {
        self.0.insert(server.trim_end_matches('/').to_owned(), Held::Token(token));
    }

    /// Forgets the token of a server; whether there was one.
    pub fn forget(&mut self, server: &str) -> bool {
        self.0.remove(server.trim_end_matches('/')).is_some()
    }

    /// Writes the file for its owner alone.
    pub fn write(&self, path: &Path) -> Result<(), ConfigError> {
        let text = serde_json::to_vec_pretty(self).map_err(|e| at(path, e.into()))?;
        path.parent().map_or(Ok(()), make_private).and_then(|()| write_private(path, &text)).map_err(|e| at(path, e))
    }
}

/// Makes a folder, and those above it, that only its owner may enter; one that is there is left alone.
///
/// # Errors
/// It cannot be made.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Replaces a file by another with mode 0600, down to the disk: a reader sees the old text or the new one, never half of one.
///
/// # Errors
/// It cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

fn read_if_there(path: &Path) -> Result<Option<String>, ConfigError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(at(path, e)),
    }
}

fn at(path: &Path, source: io::Error) -> ConfigError {
    ConfigError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_kept_for_its_owner_alone_and_never_printed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sub/tokens.json");
        let mut tokens = Tokens::read(&file).unwrap();
        tokens.set("http://127.0.0.1:1/", Secret::new("cs_hidden"));
        tokens.write(&file).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
        let mut again = Tokens::read(&file).unwrap();
        assert_eq!(again.get("http://127.0.0.1:1").unwrap().reveal(), "cs_hidden");
        assert!(!format!("{again:?}").contains("hidden"));
        assert!(again.forget("http://127.0.0.1:1") && !again.forget("http://127.0.0.1:1"));
    }

    #[test]
    fn a_login_is_kept_beside_tokens_and_never_printed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tokens.json");
        let text = |text: &str| text.to_owned();
        let issuer = crate::model::oidc::LoginOffer {
            name: text("corp"),
            url: text("https://id.example"),
            client: text("cli"),
            scopes: text("openid"),
        };
        let until = crate::model::Timestamp(7);
        let session = Session { issuer, token: text("a.hidden.b"), refresh: Some(text("also hidden")), until };
        let mut tokens = Tokens::default();
        tokens.set("http://127.0.0.1:1", Secret::new("cs_one"));
        tokens.set_session("http://127.0.0.1:2/", session.clone());
        tokens.write(&file).unwrap();
        let again = Tokens::read(&file).unwrap();
        assert_eq!(again.session("http://127.0.0.1:2"), Some(&session));
        assert_eq!((again.get("http://127.0.0.1:2"), again.session("http://127.0.0.1:1")), (None, None));
        assert_eq!(again.get("http://127.0.0.1:1").unwrap().reveal(), "cs_one");
        assert!(!format!("{again:?}").contains("hidden"));
    }

    #[test]
    fn an_unknown_setting_is_refused_with_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        fs::write(&file, "server = \"http://127.0.0.1:1\"\nsurver = 1\n").unwrap();
        let error = Config::read(&file).unwrap_err().to_string();
        assert!(error.contains("config.toml") && error.contains("surver") && error.contains("line 2"), "{error}");
        assert_eq!(Config::read(&dir.path().join("none")).unwrap(), Config::default());
    }
}
