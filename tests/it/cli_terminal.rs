//! Commands at a terminal: a token that is not shown, confirmations, and commands that go on telling.

use crate::pty_danger::registry;
use crate::support::program::Program;
use crate::support::pty::{Pty, environment, program_of, signal, terminal, watched};
use portable_pty::CommandBuilder;

const KEY: &str = "support.refund.system";

fn login(p: &Program, folder: &std::path::Path) -> Pty {
    let mut command = watched(&[program_of(), "login"], folder);
    environment(&mut command, p, "dee");
    command.env_remove("COUNTERSIGN_TOKEN");
    Pty::start(command, 100, 24)
}

#[test]
fn a_token_that_is_typed_at_login_is_never_shown() {
    let p = Program::start();
    let folder = tempfile::tempdir().unwrap();
    let mut pty = login(&p, folder.path());
    pty.shows("token (it is not shown): ").idle().send(p.token("dee")).send("\r").shows("person:dee").shows("shell: code 0");
    let seen = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert!(!seen.contains(&p.token("dee")[14..30]), "{seen}");
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "stty -a");
    assert_eq!(p.json("nobody", "whoami")["actor"], "person:dee", "and it was kept");
}

#[test]
fn a_login_that_is_left_gives_the_echo_back_and_keeps_nothing() {
    let p = Program::start();
    let folder = tempfile::tempdir().unwrap();
    let mut pty = login(&p, folder.path());
    pty.shows("token (it is not shown): ").idle().send("cs_abc\x03").shows("shell: code 130");
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "stty -a");
    p.words("nobody", "whoami").fails(4, "login");
}

#[test]
fn a_kill_at_a_terminal_asks_for_the_environment_and_anything_else_kills_nothing() {
    let p = registry();
    let kill = ["kill", KEY, "--env", "production", "--reason", "test", "--note", "drill"];
    let killed = || p.json("carol", &format!("rollout status {KEY} --env production"))["killed"].clone();
    for (answer, code, after) in [("\r", 1, false), ("yes\r", 1, false), ("dev\r", 1, false), ("production\r", 0, true)] {
        let mut pty = terminal(&p, "carol", 100, 24, &kill);
        pty.shows("everybody gets the safe default at once").shows("type production to go on: ").send(answer);
        assert_eq!(pty.ends(), code, "{answer:?}: {}", pty.screen());
        assert_eq!(pty.screen().contains("not confirmed; nothing was changed"), code != 0, "{}", pty.screen());
        assert_eq!(killed(), after, "{answer:?}");
    }
    let mut refused = terminal(&p, "carol", 100, 24, &["--no-input", "resume", KEY, "--env", "production", "--rationale", "x"]);
    assert_eq!(refused.ends(), 2);
    assert!(refused.screen().contains("add --yes"), "{}", refused.screen());
}

#[test]
fn a_watched_rollout_tells_each_step_and_ends_with_it() {
    let p = registry();
    let waiting = p.json("ana", "inbox")["items"][0]["promotion_id"].as_str().unwrap().to_owned();
    p.words("ana", &format!("approve {waiting} --rationale read --yes")).good();
    p.words("carol", &format!("apply {waiting} --yes")).good();
    let mut pty = terminal(&p, "carol", 100, 24, &["rollout", "status", KEY, "--env", "production", "--watch"]);
    pty.shows("25 %").shows("watching");
    p.words("carol", &format!("step {KEY} --env production --to 50 --rationale x --yes")).good();
    pty.shows("50 %");
    p.words("carol", &format!("hold {KEY} --env production --rationale wait")).good();
    pty.shows("held");
    p.words("carol", &format!("resume {KEY} --env production --rationale on --yes")).good();
    p.words("carol", &format!("step {KEY} --env production --to 100 --rationale x --yes")).good();
    pty.shows("100 %");
    assert_eq!(pty.ends(), 0, "{}", pty.screen());
    let mut late = terminal(&p, "carol", 100, 24, &["rollout", "status", KEY, "--env", "production", "--watch"]);
    assert_eq!(late.ends(), 0, "it is over already");
}

#[test]
fn a_followed_trail_tells_events_as_they_happen_until_it_is_left() {
    let p = registry();
    let folder = tempfile::tempdir().unwrap();
    let mut command: CommandBuilder = watched(&[program_of(), "audit", "tail", "-n", "2", "--follow"], folder.path());
    environment(&mut command, &p, "ana");
    let mut pty = Pty::start(command, 160, 24);
    pty.shows("promotion.open").shows("following");
    p.words("carol", &format!("kill {KEY} --env production --reason outage --note drill --yes")).good();
    pty.shows("pointer.kill").shows("carol");
    signal(folder.path(), "INT");
    pty.shows("shell: code 130");
}

#[test]
fn what_waits_is_printed_from_top_to_bottom_for_screen_readers() {
    let p = registry();
    let said = p.words("ana", "--linear");
    for words in [KEY, "1 of 1: promote", "[-five-]{+three+}", "to approve: countersign approve "] {
        assert!(said.good().out.contains(words), "{words}: {}", said.out);
    }
    assert!(!said.out.contains('\u{1b}'));
    assert!(p.words("dee", "--linear").good().out.contains("nothing waits for you"));
}

#[test]
fn a_theme_of_ones_own_is_taken_from_its_file_and_its_faults_are_named() {
    let p = registry();
    let config = p.home.path().join("config");
    std::fs::create_dir_all(config.join("themes")).unwrap();
    std::fs::write(config.join("config.toml"), "theme = \"mine\"\n").unwrap();
    std::fs::write(config.join("themes/mine.toml"), "inherits = \"dark\"\nwarning = \"bright-yellow bold\"\n").unwrap();
    let mut pty = terminal(&p, "ana", 80, 24, &[]);
    pty.shows("live").idle();
    for theme in ["ansi", "dark", "light", "mono", "mine"] {
        pty.send("T").shows(&format!("theme {theme}"));
    }
    let bad = p.home.path().join("bad.toml");
    std::fs::write(&bad, "warnig = \"red\"\n").unwrap();
    let mut pty = terminal(&p, "ana", 120, 24, &["--theme", bad.to_str().unwrap()]);
    assert_eq!(pty.ends(), 2);
    assert!(pty.screen().contains("did you mean `warning`"), "{}", pty.screen());
}
