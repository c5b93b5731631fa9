//! The program itself: a registry made by `init` and served by `serve`, and commands run against it.

use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

pub use super::policy::PROGRAM as POLICY;

/// Everybody of [`POLICY`] but the admin `root`, who makes their tokens.
const PEOPLE: &[&str] =
    &["person:dee", "person:ana", "person:bob", "person:carol", "person:olga", "person:ines", "service:ci", "service:web"];

/// What a command said.
#[derive(Debug, Clone)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    /// The answer as JSON, of a command that worked.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{} {}", self.out, self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("no JSON: {}", self.out))
    }
    /// A command that worked.
    #[track_caller]
    pub fn good(&self) -> &Self {
        assert_eq!(self.code, 0, "{} {}", self.out, self.err);
        self
    }
    /// A command that failed with this code and said these words on stderr.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &str) {
        assert_eq!(self.code, code, "{} {}", self.out, self.err);
        assert!(self.err.contains(words), "{words:?} is not in: {}", self.err);
    }
}

/// The program with nothing of this machine's settings.
pub fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("COUNTERSIGN_") {
            command.env_remove(name);
        }
    }
    command
        .env("COUNTERSIGN_CONFIG_DIR", home.join("config"))
        .env("COUNTERSIGN_DATA_DIR", home.join("data"))
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    command
}

/// A file of `fixtures/tls`.
pub fn tls_file(name: &str) -> String {
    format!("{}/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A served registry with a token for everybody. Dropping it ends the server.
pub struct Program {
    pub home: TempDir,
    pub server: String,
    tokens: BTreeMap<String, String>,
    child: Child,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Makes and serves a registry with [`POLICY`].
    pub fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let policy = home.path().join("policy.toml");
        std::fs::write(&policy, POLICY).unwrap();
        let dir = home.path().join("registry");
        let made = said(program(home.path()).args(["init", "--admin", "root", "--policy"]).args([&policy, &dir]));
        let root = made.good().out.trim().to_owned();
        let (child, server) = serve(home.path(), &dir, "127.0.0.1:0", &[]);
        let mut all = Self { home, server, tokens: BTreeMap::from([("root".to_owned(), root)]), child };
        for actor in PEOPLE {
            let secret = all.run("root", ["token", "create", "--actor", actor]).good().out.trim().to_owned();
            all.tokens.insert(actor.split(':').nth(1).unwrap().to_owned(), secret);
        }
        all
    }

    /// The registry's directory.
    pub fn dir(&self) -> PathBuf {
        self.home.path().join("registry")
    }

    /// Ends the server and starts it again on the same address.
    pub fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with more options.
    pub fn restart_with(&mut self, options: &[&str]) {
        self.stop();
        let address = self.server.split_once("://").unwrap().1.to_owned();
        (self.child, self.server) = serve(self.home.path(), &self.dir(), &address, options);
    }

    /// The same over TLS, with a certificate of `fixtures/tls`.
    pub fn over_tls(&mut self, certificate: &str) {
        self.restart_with(&["--tls-cert", &tls_file(certificate), "--tls-key", &tls_file("server.key")]);
    }

    /// A start that fails.
    pub fn serve_again(&self, options: &[&str]) -> Said {
        said(program(self.home.path()).arg("serve").arg(self.dir()).args(["--listen", "127.0.0.1:0"]).args(options))
    }

    /// Ends the server.
    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// The server's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The token of somebody.
    pub fn token(&self, who: &str) -> &str {
        &self.tokens[who]
    }

    /// A command by somebody; `nobody` has no token.
    pub fn command<A: AsRef<OsStr>>(&self, who: &str, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = program(self.home.path());
        command.args(args).env("COUNTERSIGN_SERVER", &self.server);
        if who != "nobody" {
            command.env("COUNTERSIGN_TOKEN", self.token(who));
        }
        command
    }

    /// Runs a command by somebody.
    pub fn run<A: AsRef<OsStr>>(&self, who: &str, args: impl IntoIterator<Item = A>) -> Said {
        said(&mut self.command(who, args))
    }

    /// Runs a command line of words without spaces by somebody.
    pub fn words(&self, who: &str, line: &str) -> Said {
        self.run(who, line.split_whitespace())
    }

    /// The JSON answer of a command line of words without spaces.
    #[track_caller]
    pub fn json(&self, who: &str, line: &str) -> Value {
        self.words(who, &format!("{line} --output json")).json()
    }

    /// Runs a command by somebody with text on its standard input.
    pub fn feed(&self, who: &str, line: &str, input: &str) -> Said {
        let mut command = self.command(who, line.split_whitespace());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Said {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Saves a version by dee and gives its digest.
    #[track_caller]
    pub fn draft(&self, key: &str, text: &str) -> String {
        let said = self.feed("dee", &format!("draft {key} --file - --rationale why --output json"), text);
        said.json()["digest"].as_str().unwrap().to_owned()
    }

    /// A key of the owners with one version that serves in dev at 100 %; its digest.
    #[track_caller]
    pub fn served_in_dev(&self, key: &str, text: &str) -> String {
        self.words("root", &format!("key create {key} --group owners")).good();
        let digest = self.draft(key, text);
        self.words("dee", &format!("submit {key}@{digest}")).good();
        let id = self.open(&format!("{key}@{digest} --env dev"));
        self.words("carol", &format!("apply {id}")).good();
        digest
    }

    /// Opens a promotion by dee and gives its id.
    #[track_caller]
    pub fn open(&self, what: &str) -> String {
        self.json("dee", &format!("promote {what} --rationale why"))["promotion_id"].as_str().unwrap().to_owned()
    }
}

fn serve(home: &Path, dir: &Path, listen: &str, options: &[&str]) -> (Child, String) {
    let mut command = program(home);
    command.arg("serve").arg(dir).args(["--listen", listen]).args(options).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let (mut all, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "the server ended: {all}");
        all.push_str(&line);
        if let Some((_, address)) = line.split_once("listening on ") {
            let server = address.trim().to_owned();
            // Whatever else it says must not fill the pipe.
            std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
            return (child, server);
        }
    }
}
