//! `demo` as a process: it seeds once, keeps its state, lets others attach, starts over, and leaves nobody behind.

use crate::support::program::{Said, program, said};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A demo that serves. Dropping it kills the process, as a crash would.
struct Demo {
    child: Child,
    server: String,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Demo {
    fn start(home: &Path, more: &[&str]) -> Self {
        let mut command = program(home);
        let mut child =
            command.args(["demo", "--no-tui"]).args(more).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut server = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut server).unwrap();
        assert!(server.starts_with("http://127.0.0.1:"), "{server}");
        Self { child, server: server.trim().to_owned() }
    }

    /// Ends it as a person does, and gives its exit code.
    fn ends(mut self) -> Option<i32> {
        let told = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
        self.child.wait().unwrap().code()
    }
}

fn people(home: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(home.join("data/demo/people.json")).unwrap()).unwrap()
}

/// A command by one of the demo's people.
fn by(home: &Path, who: &str, line: &str) -> Said {
    let people = people(home);
    let mut command = program(home);
    command.args(line.split(' ')).env("COUNTERSIGN_SERVER", people["server"].as_str().unwrap());
    said(command.env("COUNTERSIGN_TOKEN", people["tokens"][who].as_str().unwrap()))
}

fn first_event(home: &Path) -> String {
    let event = by(home, "person:ana", "audit tail -n 1000 --output json").json();
    event["items"].to_string()
}

/// Processes whose arguments name the demo's directory.
fn colleagues(home: &Path) -> usize {
    let dir = home.join("data/demo");
    let named = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    let is_one = |line: &[u8]| {
        let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
        words.get(1) == Some(&&b"demo-colleague"[..]) && words.get(2) == Some(&dir.as_os_str().as_encoded_bytes())
    };
    std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(named).filter(|line| is_one(line)).count()
}

#[cfg(target_os = "linux")]
#[test]
fn a_demo_is_seeded_once_shared_kept_and_started_over() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let demo = Demo::start(home, &[]);
    // A second one attaches to the first and ends at once.
    let second = said(program(home).args(["demo", "--no-tui", "--as", "carol"]));
    assert!(second.good().out.starts_with(&demo.server), "{}", second.out);
    said(program(home).args(["demo", "--no-tui", "--as", "nobody"])).fails(2, "person:carol");
    said(program(home).args(["demo", "--no-tui", "--fresh"])).fails(5, "another process");
    said(program(home).arg("serve").arg(home.join("data/demo"))).fails(2, "belongs to the demo");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(home.join("data/demo/people.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(by(home, "person:ana", "whoami --output json").json()["actor"], "person:ana");
    assert!(!by(home, "person:ana", "inbox --output json").json()["items"].as_array().unwrap().is_empty());
    by(home, "person:ana", "audit verify").good();
    let before = first_event(home);
    let server = demo.server.clone();
    assert_eq!(demo.ends(), Some(0));

    // What it held is there after a restart, on the same address, so that the pinned head still counts.
    let demo = Demo::start(home, &[]);
    assert_eq!(demo.server, server);
    let first = serde_json::from_str::<Value>(&before).unwrap()[0].clone();
    assert!(first_event(home).contains(first["event_id"].as_str().unwrap()));
    let verified = by(home, "person:ana", "audit verify --output json").json();
    assert!(verified["seen_before"].is_u64(), "{verified}");

    // However it ends, its colleague goes too.
    assert_eq!(colleagues(home), 1);
    drop(demo);
    let until = Instant::now() + Duration::from_secs(10);
    while colleagues(home) > 0 {
        assert!(Instant::now() < until, "the colleague works on");
        std::thread::yield_now();
    }

    let demo = Demo::start(home, &["--fresh"]);
    assert!(!first_event(home).contains(first["event_id"].as_str().unwrap()), "another chain");
    assert_eq!(demo.ends(), Some(0));
}

#[test]
fn a_demo_that_was_cut_short_while_it_was_made_is_made_again() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("data/demo");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("registry.db"), "half").unwrap();
    std::fs::write(dir.join("people.json"), "{").unwrap();
    let demo = Demo::start(home.path(), &[]);
    by(home.path(), "person:ana", "audit verify").good();
    assert_eq!(demo.ends(), Some(0));
}
