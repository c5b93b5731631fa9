//! The demo's directory and what runs on it: one process at a time serves it, its state stays.

use super::people::People;
use super::{colleague_program, seed};
use crate::cli::directory::Held;
use crate::cli::exit::{Done, Exit, Failure};
use crate::cli::output::note;
use crate::cli::serve::{self, Running};
use crate::cli::{DEMO_MARKER, init};
use crate::config::{Secret, make_private};
use crate::wire::people::CreateToken;
use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

/// The file whose lock says that a demo runs in the directory; not the one that whoever serves a directory locks.
const LOCK: &str = "demo-lock";
/// The file that says that seeding came to its end.
const SEEDED: &str = "seeded";

/// The demo's directory, held by this process.
#[derive(Debug)]
pub struct House {
    dir: PathBuf,
    /// Held as long as this process serves; the system lets go of it whatever happens to the process.
    lock: Held,
}

/// A demo that is served by this process.
#[derive(Debug)]
pub struct Open {
    /// Everybody who has a token.
    pub people: People,
    running: Running,
    stop: CancellationToken,
    colleague: Child,
    _lock: Held,
}

impl House {
    /// Takes the directory; none when another process serves it.
    ///
    /// # Errors
    /// `fresh` while another process serves it; a directory that cannot be made.
    pub fn enter(dir: &Path, fresh: bool) -> Result<Option<Self>, Failure> {
        let named = |e: std::io::Error| Failure::failed(format!("{}: {e}", dir.display()));
        make_private(dir).map_err(named)?;
        let Some(lock) = Held::alone(dir, LOCK).map_err(named)? else {
            if fresh {
                return Err(Failure::new(Exit::Conflict, "the demo runs in another process, so it cannot start over")
                    .hint("end that one first"));
            }
            return Ok(None);
        };
        let house = Self { dir: dir.to_owned(), lock };
        // A seeding that was cut short leaves nothing that is worth keeping.
        if fresh || !dir.join(SEEDED).exists() {
            house.empty().map_err(named)?;
        }
        Ok(Some(house))
    }

    /// Deletes everything but the lock, only in a directory that the demo made.
    fn empty(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            if entry.file_name() == LOCK {
                continue;
            }
            if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
        }
        Ok(())
    }

    /// Makes what is missing, serves it, and lets the colleague in.
    pub async fn open(self, port: Option<u16>) -> Result<Open, Failure> {
        let stop = CancellationToken::new();
        let first = !self.dir.join(SEEDED).exists();
        let mut people = People { server: String::new(), tokens: BTreeMap::new() };
        let mut admin = String::new();
        if first {
            note("making the demo's registry …");
            admin = init::create(&self.dir, seed::POLICY, seed::ADMIN).await?.admin_token;
            fs::write(self.dir.join(DEMO_MARKER), "made by `countersign demo`; `countersign serve` refuses this directory\n")?;
        } else {
            people = People::read(&self.dir)?;
        }
        let running = self.serve(port, &people.server, &stop).await?;
        people.server = format!("http://{}", running.address);
        if first {
            make_tokens(&mut people, admin).await?;
            seed::seed(&people, &|line| note(line)).await?;
        }
        people.write(&self.dir)?;
        if first {
            fs::write(self.dir.join(SEEDED), "")?;
        }
        let colleague = colleague_program(&self.dir)?;
        Ok(Open { people, running, stop, colleague, _lock: self.lock })
    }

    /// On the port that was asked for, else the one of the last time, else a free one.
    async fn serve(&self, port: Option<u16>, last: &str, stop: &CancellationToken) -> Result<Running, Failure> {
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if let Some(port) = port {
            return serve::start(&self.dir, None, loopback(port), stop.clone()).await;
        }
        if let Some(address) = last.strip_prefix("http://").and_then(|a| a.parse::<SocketAddr>().ok()) {
            // Somebody else may have it by now.
            if let Ok(running) = serve::start(&self.dir, None, address, stop.clone()).await {
                return Ok(running);
            }
        }
        serve::start(&self.dir, None, loopback(0), stop.clone()).await
    }
}

impl Open {
    /// Waits until the server ends by itself, which it should not.
    pub async fn broke(&self) {
        while !self.running.task.is_finished() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Sends the colleague home and ends the server; its state stays.
    pub async fn close(mut self) -> Done {
        let _ = self.colleague.kill().await;
        self.stop.cancel();
        match tokio::time::timeout(Duration::from_secs(5), self.running.task).await {
            Ok(Ok(done)) => done,
            // A stream that does not end must not hold the terminal; what was acknowledged is on disk.
            Ok(Err(_)) | Err(_) => Ok(()),
        }
    }
}

/// A token for everybody; the admin's makes them all.
async fn make_tokens(people: &mut People, admin: String) -> Done {
    let actor = format!("person:{}", seed::ADMIN);
    people.tokens.insert(actor.clone(), Secret::new(admin));
    let client = people.client(&actor)?;
    for account in seed::ACCOUNTS.iter().filter(|account| **account != actor) {
        let body = CreateToken { expires_days: Some(3650), note: "demo".into(), ..CreateToken::of(account.parse()?) };
        let made = client.create_token(&body, &format!("demo-token-{account}")).await?;
        people.tokens.insert((*account).to_owned(), Secret::new(made.secret));
    }
    Ok(())
}

/// The accounts of a demo that another process serves; waits while that one is still being made.
pub async fn of_the_running(dir: &Path) -> Result<People, Failure> {
    for _ in 0..600 {
        if dir.join(SEEDED).exists()
            && let Ok(people) = People::read(dir)
            && people.client(&format!("person:{}", seed::ADMIN))?.world().await.is_ok()
        {
            return Ok(people);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(Failure::new(Exit::Unreachable, "another process holds the demo and does not answer")
        .hint(format!("look at {}", People::file(dir).display())))
}
