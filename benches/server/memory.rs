//! The memory of a server with 100,000 keys of 2 kB, beside the bytes themselves. Measured in a process of its own.

use super::pages::{Sizes, fill};
use super::setup::{PEPPER, registry};
use countersign::clock::Clock;
use countersign::storage::Db;
use countersign::workflow::Registry;

/// The word by which the process of its own is told what it is.
pub const CHILD: &str = "memory-child";
const KEYS: u32 = 100_000;
const BODY: usize = 2_000;

pub async fn run() {
    println!("memory of a server with {KEYS} keys of {BODY} bytes beside the bytes themselves (bar: 2 at most)");
    let dir = tempfile::tempdir().unwrap();
    let made = registry(dir.path()).await;
    fill(&made, &Sizes { keys: KEYS as usize, body: BODY, ..Sizes::default() }).await;
    made.db.close().await;
    let child = std::process::Command::new(std::env::current_exe().unwrap()).arg(CHILD).arg(dir.path()).output().unwrap();
    let said = String::from_utf8(child.stdout).unwrap();
    let resident: f64 = said.trim().parse().unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&child.stderr)));
    let bytes = f64::from(KEYS) * 2e3;
    println!("  resident {:.0} MB, bytes {:.0} MB: {:.2}", resident / 1e6, bytes / 1e6, resident / bytes);
}

/// Loads the registry in `place` as a server does, and prints what the process then holds resident, in bytes.
pub fn child(place: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let db = Db::open(&format!("sqlite:{place}/registry.db")).await.unwrap();
        let registry = Registry::load(db, PEPPER, Clock::System).await.unwrap();
        assert!(registry.snapshot.get().keys().count() >= KEYS as usize);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().unwrap();
        println!("{}", kilobytes * 1024);
    });
}
