//! The dangerous part of the terminal, in a pseudo-terminal against a real server: only a person's own keys kill.

use crate::support::program::Program;
use crate::support::pty::{Pty, terminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const KEY: &str = "support.refund.system";
const CTRL_S: &str = "\x13";

/// A key that serves in production, with another version that waits there for approval and release.
pub fn registry() -> Program {
    let p = Program::start();
    p.served_in_dev(KEY, "Refunds take five days.\n");
    p.words("ci", &format!("verdict {KEY}@v1 --gate accuracy --score 0.95")).good();
    let first = p.open(&format!("{KEY}@v1 --env production --percent 100"));
    p.words("ana", &format!("approve {first} --rationale read --yes")).good();
    p.words("carol", &format!("apply {first} --yes")).good();
    p.draft(KEY, "Refunds take three days.\n");
    p.words("dee", &format!("submit {KEY}@v2")).good();
    let id = p.open(&format!("{KEY}@v2 --env dev"));
    p.words("carol", &format!("apply {id}")).good();
    p.words("ci", &format!("verdict {KEY}@v2 --gate accuracy --score 0.97")).good();
    p.open(&format!("{KEY}@v2 --env production"));
    p
}

pub fn is_killed(p: &Program) -> bool {
    p.json("carol", &format!("rollout status {KEY} --env production"))["killed"] == true
}

fn kills(p: &Program) -> usize {
    p.words("carol", "audit tail --action pointer.kill").good().out.lines().filter(|line| line.contains("pointer.kill")).count()
}

/// carol's terminal with the cursor on the promotion.
fn carol(p: &Program) -> Pty {
    let mut pty = terminal(p, "carol", 80, 24, &[]);
    pty.shows("live").shows(" 1 of ").idle();
    pty
}

/// The kill dialog, opened by keys and ready for more.
fn kill_dialog(p: &Program) -> Pty {
    let mut pty = carol(p);
    pty.type_keys("!k").shows("KILL in").shows("as of").idle();
    pty
}

#[test]
fn a_kill_takes_five_keys_and_the_token_from_the_inbox_of_a_fresh_terminal() {
    let p = registry();
    let mut pty = carol(&p);
    let keys = ["!", "k", "o", "\t", "production", CTRL_S];
    assert!(keys.len() - 1 <= 10, "five keys and the token");
    pty.type_keys("!k").shows("KILL in [PRODUCTION]").idle();
    pty.type_keys("o\tproduction").shows("ARMED").type_keys(CTRL_S);
    pty.shows("killed support.refund.system in production");
    assert!(is_killed(&p));
    let answer = p.json("dee", &format!("resolve {KEY} --env production --unit u1"));
    assert_eq!(answer["digest"], serde_json::Value::Null, "{answer}");
}

#[test]
fn the_same_keys_before_the_dialog_is_painted_kill_nothing() {
    let p = registry();
    let mut pty = carol(&p);
    pty.send("!ko\tproduction\x13").shows("KILL in").shows("keys before this dialog were dropped").idle();
    pty.send(CTRL_S).idle();
    assert!(!is_killed(&p));
    assert!(!pty.screen().contains("got: production"), "{}", pty.screen());
}

#[test]
fn the_same_keys_as_a_paste_kill_nothing() {
    let p = registry();
    let mut pty = carol(&p);
    pty.paste("!ko\tproduction\x13").idle();
    assert!(!pty.screen().contains("KILL in"), "a paste opens nothing:\n{}", pty.screen());
    pty.type_keys("!k").shows("KILL in").idle();
    pty.paste("o\tproduction\x13").idle();
    pty.type_keys("o\t").paste("production").type_keys(CTRL_S).shows("a paste does not count").idle();
    assert!(!is_killed(&p));
}

#[test]
fn the_same_keys_held_down_kill_nothing() {
    let p = registry();
    // Where the terminal tells repeats apart: pressed, repeated, let go.
    let mut pty = kill_dialog(&p);
    let held = |c: char| {
        let code = u32::from(c);
        format!("\x1b[{code};1:1u\x1b[{code};1:2u\x1b[{code};1:2u\x1b[{code};1:3u")
    };
    for c in "o".chars() {
        pty.send(&held(c)).idle();
    }
    pty.type_keys("\t");
    for c in "production".chars() {
        pty.send(&held(c)).idle();
    }
    pty.shows("held keys do not count").send("\x1b[115;5:1u\x1b[115;5:2u\x1b[115;5:3u").idle();
    assert!(!is_killed(&p));
    drop(pty);
    // Where it cannot: every key many times in a rush.
    let mut pty = carol(&p);
    for c in "!ko\tproduction\x13".chars() {
        pty.send(&c.to_string().repeat(4)).idle();
    }
    assert!(!is_killed(&p), "{}", pty.screen());
}

/// So many updates of pointers at the least while the kill is typed.
const STORM: u64 = 200;

#[test]
fn a_kill_is_not_disturbed_by_a_storm_of_pointer_updates() {
    let p = registry();
    let mut keys = vec![(KEY.to_owned(), "production")];
    for number in 0..3 {
        let key = format!("support.storm{number}");
        p.served_in_dev(&key, "one");
        p.draft(&key, "two");
        p.words("dee", &format!("submit {key}@v2")).good();
        rolls_out(&p, "dev", &key);
        keys.push((key, "dev"));
    }
    rolls_out(&p, "production", KEY);
    let mut pty = terminal(&p, "carol", 80, 24, &[]);
    pty.shows("live").shows("Inbox").idle();
    let stop = Arc::new(AtomicBool::new(false));
    let storms: Vec<_> = keys
        .into_iter()
        .map(|(key, place)| {
            let (stop, url) = (Arc::clone(&stop), format!("{}/v1/keys/{key}/pointers/{place}", p.server));
            let token = p.token("carol").to_owned();
            std::thread::spawn(move || storm(&url, &token, &stop))
        })
        .collect();
    // A rush of the same keys kills nothing in a storm either.
    pty.type_keys("3").shows("[3 Rollouts").shows(KEY).idle();
    pty.send("!ko\tproduction\x13").shows("KILL in [PRODUCTION]").shows("keys before this dialog were dropped").idle();
    assert_eq!(kills(&p), 0, "{}", pty.screen());
    let trail = Trail::of(&p);
    let (first, begun) = (trail.head(), std::time::Instant::now());
    let mut due = first;
    for key in "o\tproduction".chars() {
        due += STORM / 12;
        while trail.head() < due {
            assert!(!storms.iter().any(std::thread::JoinHandle::is_finished), "the storm calmed down");
            pty.idle();
        }
        pty.type_keys(key.encode_utf8(&mut [0; 4]));
    }
    pty.shows("ARMED");
    let (happened, seconds) = (trail.head() - first, begun.elapsed().as_secs_f64());
    assert_eq!(kills(&p), 0, "nothing is killed before ctrl-s");
    pty.type_keys(CTRL_S).shows("killed support.refund.system in production");
    stop.store(true, Ordering::SeqCst);
    let moved: u64 = storms.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!(
        "{happened} pointer updates in {seconds:.1} s while the kill was typed: {:.0} a second",
        f64::from(u32::try_from(happened).unwrap()) / seconds
    );
    assert!(happened >= STORM && moved >= happened, "{happened} events, {moved} of them moved a pointer");
    assert!(is_killed(&p));
    assert_eq!(kills(&p), 1, "the deliberate one alone");
}

/// A registry's own database, read beside its server.
struct Trail {
    runtime: tokio::runtime::Runtime,
    db: countersign::storage::Db,
}

impl Trail {
    fn of(p: &Program) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("sqlite:{}", p.dir().join("registry.db").display());
        let db = runtime.block_on(countersign::storage::Db::open(&url)).unwrap();
        Self { runtime, db }
    }

    /// The number of the newest audit event.
    fn head(&self) -> u64 {
        self.runtime.block_on(async { self.db.read().await.unwrap().conn().audit_head().await.unwrap().seq })
    }
}

/// Begins a rollout of the key's second version that can be held and resumed.
fn rolls_out(p: &Program, place: &str, key: &str) {
    let id = p.open(&format!("{key}@v2 --env {place} --plan 25:1h,100"));
    if place == "production" {
        p.words("ana", &format!("approve {id} --rationale read --yes")).good();
    }
    p.words("carol", &format!("apply {id} --yes")).good();
}

/// Holds and resumes a pointer as fast as the registry takes it, until it is killed; how often that moved it.
fn storm(url: &str, token: &str, stop: &AtomicBool) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    countersign::client::init_tls();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = serde_json::json!({ "rationale": "storm" });
    let mut moved = 0;
    for act in ["hold", "resume"].into_iter().cycle() {
        let request = client.post(format!("{url}/{act}")).bearer_auth(token).json(&body);
        let answer: serde_json::Value = runtime.block_on(async { request.send().await?.json().await }).unwrap();
        if answer["code"] == "killed" || stop.load(Ordering::SeqCst) {
            break;
        }
        assert!(answer["seq"].is_u64(), "{answer}");
        moved += 1;
    }
    moved
}

#[test]
fn a_kill_while_the_registry_is_away_takes_effect_once_when_it_is_back() {
    let mut p = registry();
    let mut pty = carol(&p);
    let begun = std::time::Instant::now();
    p.stop();
    pty.until("a stale banner", |screen| ["stale", "reconnecting", "offline"].iter().any(|word| screen.contains(word)));
    let seconds = begun.elapsed().as_secs_f32();
    println!("stale after {seconds:.1} s");
    assert!(seconds < 3.5, "the banner came after {seconds} s");
    pty.type_keys("2").shows("[2 Keys]").type_keys("1").shows("[1 Inbox").idle();
    pty.type_keys("!k").shows("KILL in").idle().type_keys("o\tproduction").shows("ARMED").type_keys(CTRL_S);
    pty.shows("NOT YET IN EFFECT");
    p.restart();
    pty.shows("killed support.refund.system in production").shows("live");
    assert!(is_killed(&p));
    assert_eq!(kills(&p), 1, "exactly once");
}

#[test]
fn a_kill_that_a_hanging_registry_does_not_answer_says_so_within_seconds_and_takes_effect_once() {
    let p = registry();
    let mut pty = kill_dialog(&p);
    let signal = |name: &str| {
        let done = std::process::Command::new("kill").args([name, &p.pid().to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()), "{name}");
    };
    signal("-STOP");
    pty.type_keys("o\tproduction").shows("ARMED").type_keys(CTRL_S).shows("sent");
    let begun = std::time::Instant::now();
    pty.shows("NOT YET IN EFFECT").shows("by hand: countersign kill");
    let seconds = begun.elapsed().as_secs_f32();
    signal("-CONT");
    assert!(seconds < 10.0, "it was said after {seconds} s");
    pty.shows("killed support.refund.system in production");
    assert_eq!(kills(&p), 1, "exactly once");
}

#[test]
fn a_kill_left_behind_by_a_terminal_that_ended_is_not_sent_unasked() {
    let mut p = registry();
    let mut pty = kill_dialog(&p);
    p.stop();
    pty.type_keys("o\tproduction").shows("ARMED").type_keys(CTRL_S).shows("NOT YET IN EFFECT").idle();
    drop(pty);
    p.restart();
    let mut pty = terminal(&p, "carol", 80, 24, &[]);
    pty.shows("NOT ANSWERED").shows("kill support.refund.system in production").idle();
    assert!(!is_killed(&p));
    pty.type_keys("production").type_keys(CTRL_S).shows("killed support.refund.system in production");
    assert_eq!(kills(&p), 1);
}

#[test]
fn a_text_survives_esc_a_hang_up_and_a_restart_of_the_terminal() {
    let p = registry();
    let mut pty = terminal(&p, "ana", 80, 24, &[]);
    pty.shows("live").shows(" 1 of ").idle().type_keys("c").shows("COMMENT on").idle().type_keys("half a sen");
    pty.send("\x1b").loses("COMMENT on").idle();
    pty.type_keys("c").shows("draft restored").shows("half a sen").idle().type_keys("tence");
    pty.hang_up();
    let mut pty = terminal(&p, "ana", 80, 24, &[]);
    pty.shows("live").shows(" 1 of ").idle().type_keys("c").shows("half a sentence").idle().type_keys(CTRL_S);
    pty.shows("commented on support.refund.system").idle().type_keys("c").shows("COMMENT on");
    assert!(!pty.screen().contains("half a sentence"), "what was sent is no draft:\n{}", pty.screen());
}

#[test]
fn read_only_says_so_and_kills_nothing() {
    let p = registry();
    let mut pty = terminal(&p, "carol", 80, 24, &["--read-only"]);
    pty.shows("live")
        .shows(" 1 of ")
        .idle()
        .type_keys("!k")
        .idle()
        .type_keys("o\tproduction")
        .type_keys(CTRL_S)
        .shows("read-only");
    assert!(!is_killed(&p));
}
