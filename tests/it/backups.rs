//! Backups under load, what a restore must not forget, and the alarm of those who saw more.

use crate::support::engines::on_each_engine;
use crate::support::program::{Program, program, said};
use crate::support::registry::{Served, token_of};
use crate::support::world::{World, caller, env, key, kill};
use countersign::model::restraint::{JournalEntry, Restraint};
use countersign::model::{Code, Digest};
use countersign::storage::{Journal, read_journal};
use countersign::wire::versions::Submit;
use countersign::workflow::{KillPointer, ReleaseRegistry, SubmitVersion, inspect, restore};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const KEY: &str = "support.greeting";

/// A registry with one key that serves in dev.
fn serving() -> Program {
    let p = Program::start();
    p.served_in_dev(KEY, "Hello.\n");
    p
}

fn backup(p: &Program, name: &str) -> PathBuf {
    let to = p.home.path().join(name);
    let made = said(program(p.home.path()).arg("backup").arg(p.dir()).arg(&to));
    assert!(made.good().out.contains("backed up and verified #"), "{}", made.out);
    to
}

fn restore(p: &Program, more: &[&str]) -> crate::support::program::Said {
    said(program(p.home.path()).arg("restore").arg(p.dir()).args(more))
}

fn killed(p: &Program) -> Value {
    p.json("dee", &format!("resolve {KEY} --env dev"))["killed"].clone()
}

#[test]
fn an_older_backup_does_not_bring_a_killed_prompt_back() {
    let mut p = serving();
    p.words("ana", "audit verify").good();
    let old = backup(&p, "monday");
    let old = old.to_str().unwrap();
    p.words("carol", &format!("kill {KEY} --env dev --reason safety --yes")).good();
    let token = p.token("web")[..13].to_owned();
    p.words("root", &format!("token revoke {token}")).good();
    p.words("ana", &format!("quarantine {KEY}@v1 --rationale leaks")).good();
    p.words("ana", "audit verify").good();
    restore(&p, &["--from", old]).fails(1, "is being served");
    p.stop();
    let back = restore(&p, &["--from", old, "--rationale", "the disk died"]);
    for words in [&format!("killed again: {KEY} in dev"), "revoked again: token cs_", "quarantined again: sha256:", "replaced-"] {
        assert!(back.good().err.contains(words), "{words}: {}", back.err);
    }
    p.restart();
    assert_eq!(killed(&p), true, "a kill swallowed by a restore");
    p.words("web", "whoami").fails(4, "revoked");
    assert!(p.json("ana", &format!("versions {KEY}"))["items"][0].to_string().contains("leaks (marked by person:ana"));
    // Nothing that gives is done before somebody has looked; what holds back works.
    p.words("root", "key create support.other --group owners").fails(5, "put back from an older state");
    p.words("dee", &format!("promote {KEY}@v1 --env production --rationale why")).fails(5, "put back");
    p.words("carol", &format!("kill {KEY} --env dev --reason safety --yes")).good();
    // Whoever saw more is told, and says why it is right.
    p.words("ana", "audit verify").fails(8, "seen before");
    p.run("ana", ["audit", "accept-head", "--yes", "--rationale", "carol restored it"]).good();
    said(program(p.home.path()).arg("restore").arg(p.dir()).arg("--release")).fails(2, "--rationale");
    restore(&p, &["--release", "--rationale", "looked: the kill stands"]).good();
    let began = Instant::now();
    while p.words("root", "key create support.other --group owners").code != 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "a running server goes on after the release");
    }
    p.words("ana", "audit verify").good();
    let actions = p.json("ana", "audit tail -n 50")["items"].to_string();
    assert!(actions.contains("registry.restore") && actions.contains("registry.release"), "{actions}");
    restore(&p, &["--release", "--rationale", "again"]).fails(5, "is not read-only");
}

#[test]
fn a_copy_of_the_database_that_is_put_back_by_hand_is_found_out_when_it_is_served() {
    let mut p = serving();
    let old = backup(&p, "monday");
    p.words("carol", &format!("kill {KEY} --env dev --reason safety --yes")).good();
    p.stop();
    by_hand(&p, &old);
    p.restart();
    assert_eq!(killed(&p), true, "a kill swallowed by a copied file");
    p.words("root", "key create support.other --group owners").fails(5, "put back from an older state");
    p.restart();
    assert_eq!(killed(&p), true);
    let tail = p.words("ana", "audit tail -n 50");
    tail.fails(8, "seen before");
    assert_eq!(tail.out.matches("registry.restore").count(), 1, "what was settled is settled");
    // The same old copy once more: what was settled in the database that is gone is not settled in this one.
    p.stop();
    by_hand(&p, &old);
    p.restart();
    assert_eq!(killed(&p), true, "a kill swallowed by the second copy");
}

fn by_hand(p: &Program, old: &Path) {
    for beside in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(p.dir().join(format!("registry.db{beside}")));
    }
    fs::copy(old.join("registry.db"), p.dir().join("registry.db")).unwrap();
}

#[test]
fn a_kill_that_was_taken_back_is_not_done_again_and_a_revived_one_is() {
    let mut p = serving();
    let old = backup(&p, "monday");
    p.words("carol", &format!("kill {KEY} --env dev --reason test --yes")).good();
    p.words("carol", &format!("undo-kill {KEY} --env dev --rationale wrong --yes")).good();
    p.stop();
    by_hand(&p, &old);
    p.restart();
    assert_eq!(killed(&p), false, "it was taken back");
    restore(&p, &["--release", "--rationale", "nothing was lost"]).good();
    p.restart();
    p.run("ana", ["audit", "accept-head", "--yes", "--rationale", "put back by hand"]).good();
    p.words("carol", &format!("kill {KEY} --env dev --reason test --yes")).good();
    let revive = p.json("carol", &format!("revive {KEY}@v1 --env dev --percent 100 --rationale fixed --yes"));
    p.words("carol", &format!("apply {} --yes", revive["promotion_id"].as_str().unwrap())).good();
    assert_eq!(killed(&p), false);
    p.stop();
    by_hand(&p, &old);
    p.restart();
    assert_eq!(killed(&p), true, "the backup serves what was killed, and the approvals of the revive are lost with it");
}

#[test]
fn a_whole_machine_is_restored_from_a_backup_and_a_journal_that_was_kept_elsewhere() {
    let p = serving();
    let old = backup(&p, "monday");
    p.words("carol", &format!("kill {KEY} --env dev --reason safety --yes")).good();
    let elsewhere = p.home.path().join("elsewhere.journal");
    fs::copy(p.dir().join("registry.journal"), &elsewhere).unwrap();
    let fresh = p.home.path().join("fresh");
    let back = said(program(p.home.path()).arg("restore").arg(&fresh).arg("--from").arg(&old).arg("--journal").arg(&elsewhere));
    assert!(back.good().err.contains(&format!("killed again: {KEY} in dev")), "{}", back.err);
    for file in ["policy.toml", "unit-pepper", "signing-key", "registry.db", "registry.journal"] {
        assert!(fresh.join(file).exists(), "{file}");
    }
}

#[test]
fn a_backup_that_was_changed_is_refused_and_the_registry_stays() {
    let mut p = serving();
    let old = backup(&p, "monday");
    let to = old.to_str().unwrap().to_owned();
    said(program(p.home.path()).arg("backup").arg(p.dir()).arg(&old)).fails(2, "never replaces");
    p.stop();
    let file = old.join("registry.db");
    let whole = fs::read(&file).unwrap();
    let at = whole.windows(6).position(|w| w == b"Hello.").unwrap();
    let mut changed = whole.clone();
    changed[at] = b'J';
    fs::write(&file, &changed).unwrap();
    restore(&p, &["--from", &to]).fails(8, "hashes to");
    // Without its manifest it still is not what its digests say.
    restore(&p, &["--from", file.to_str().unwrap()]).fails(8, "is not what its digest says");
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert_ne!(restore(&p, &["--from", file.to_str().unwrap()]).code, 0);
    p.restart();
    assert_eq!(killed(&p), false, "it serves on as it was");
}

#[test]
fn every_backup_that_is_made_under_load_verifies() {
    let p = serving();
    let done = AtomicBool::new(false);
    let rounds = if std::env::var("PROVE").is_ok_and(|how| how == "full") { 20 } else { 4 };
    std::thread::scope(|scope| {
        let load = |who: &'static str, n: usize| {
            let (p, done) = (&p, &done);
            scope.spawn(move || {
                countersign::client::init_tls();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let http = reqwest::Client::builder().no_proxy().build().unwrap();
                    for at in 0.. {
                        if done.load(Ordering::Relaxed) {
                            return at;
                        }
                        let content = json!({ "key": KEY, "format": "text", "body": format!("{n}/{at}") });
                        let url = format!("{}/v1/keys/{KEY}/versions", p.server);
                        let body = json!({ "content": content, "rationale": "load" });
                        let answer = http.post(url).bearer_auth(p.token(who)).json(&body).send().await.unwrap();
                        assert_eq!(answer.status(), 201);
                    }
                    0
                })
            })
        };
        let writers = [load("dee", 0), load("ines", 1)];
        let mut heads = Vec::new();
        for round in 0..rounds {
            let to = backup(&p, &format!("round-{round}"));
            let manifest: Value = serde_json::from_slice(&fs::read(to.join("manifest.json")).unwrap()).unwrap();
            heads.push(manifest["head"]["seq"].as_u64().unwrap());
        }
        done.store(true, Ordering::Relaxed);
        let writes: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        println!("{rounds} backups while {writes} versions were saved; heads {heads:?}");
        assert!(heads.is_sorted() && heads.last() > heads.first(), "{heads:?}");
    });
}

#[test]
fn what_a_database_forgot_is_done_again_on_either_engine() {
    on_each_engine(async |place| {
        let world = World::new(place).await;
        let one = world.version("one").await;
        world.promote("dev", one, 100.0).await;
        let path = place.dir.path().join("kept.journal");
        let registry = world.registry.clone().with_journal(Journal::open(&path).unwrap());
        assert_eq!(registry.catch_journal_up().await.unwrap(), 0, "nothing was held back yet");
        let verb = KillPointer { key: key(), environment: env("dev"), body: kill() };
        registry.run(&caller("person:olga"), None, verb).await.unwrap();
        let (kept, _) = read_journal(&path).unwrap();
        assert!(matches!(&kept[..], [one] if matches!(one.restraint, Restraint::Kill { .. })), "{kept:?}");
        assert_eq!(registry.forgotten().await.unwrap(), []);
        // A line of an event that this database does not have.
        let lost = JournalEntry { event_id: Digest([7; 32]), ..kept[0].clone() };
        Journal::open(&path).unwrap().append(std::slice::from_ref(&lost)).unwrap();
        assert_eq!(registry.forgotten().await.unwrap(), std::slice::from_ref(&lost));
        world.undo_kill("person:olga", "dev").await.unwrap();
        let settled = registry.settle(&[lost], "tried").await.unwrap();
        assert_eq!(settled.killed, [format!("{} in dev", key())]);
        assert!(world.pointer("dev").await.unwrap().killed);
        assert_eq!(registry.forgotten().await.unwrap(), [], "what was settled is settled");
        let refused = world.run("person:fay", SubmitVersion { digest: one, body: Submit::default() }).await.unwrap_err();
        assert_eq!(refused.code, Code::ReadOnly);
        registry.run(&restore::operator(), None, ReleaseRegistry { rationale: "looked".into() }).await.unwrap();
        world.draft("two").await;
        world.check_chain().await;
        let found = inspect(&place.db).await.unwrap();
        assert_eq!((found.versions, found.pointers), (2, 1));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_put_back_under_a_running_server_does_not_bring_a_killed_prompt_back() {
    use sqlx::Connection as _;
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "Hello.").await;
    served.into_dev(KEY, &digest).await;
    let before = served.head().await;
    // The same registry, with a journal, served by this one server alone.
    served.shutdown.cancel();
    let journal = Journal::open(&served.dir.path().join("registry.journal")).unwrap();
    let registry = std::sync::Arc::new((*served.registry).clone().with_journal(journal));
    let (listener, stop) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), CancellationToken::new());
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(countersign::server::serve(registry.clone(), listener, stop.clone()));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let kill = http.post(format!("{base}/v1/keys/{KEY}/pointers/dev/kill")).bearer_auth(token_of("olga"));
    assert_eq!(kill.json(&json!({ "reason": "safety" })).send().await.unwrap().status(), 200);
    // An older state of the tables, as a restore of the database alone would leave it.
    let file = served.dir.path().join("registry.db");
    let mut conn = sqlx::SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let back = format!(
        "BEGIN IMMEDIATE; DROP TRIGGER audit_event_no_delete; DELETE FROM audit_event WHERE seq > {before};
         UPDATE audit_head SET seq = {before}, event_id = (SELECT event_id FROM audit_event WHERE seq = {before}),
           at = (SELECT at FROM audit_event WHERE seq = {before});
         UPDATE environment_pointer SET killed = 0, revision = revision - 1; DELETE FROM promotion WHERE act = 'kill'; COMMIT;"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(back)).execute(&mut conn).await.unwrap();
    let began = Instant::now();
    let restored = loop {
        let events = registry.db.read().await.unwrap().conn().audit_after(before, 10).await.unwrap();
        let actions: Vec<String> =
            events.iter().filter_map(|event| event.body.as_ref()).map(|body| body.action.to_string()).collect();
        if actions.iter().any(|action| action == "pointer.kill") {
            break actions;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "a kill swallowed by a restore under a running server: {actions:?}");
        tokio::task::yield_now().await;
    };
    assert_eq!(restored[..2], ["registry.restore", "pointer.kill"]);
    let answer = http.get(format!("{base}/v1/environments/dev/resolve/{KEY}")).bearer_auth(token_of("web")).send().await.unwrap();
    assert_eq!(answer.json::<Value>().await.unwrap()["killed"], true);
    stop.cancel();
}
