//! The terminal as a guest: it leaves everything as it found it, writes nothing foreign, and says why where it cannot run.

use crate::pty_danger::registry;
use crate::support::program::{program, said};
use crate::support::pty::{Pty, ends_with_its_line, environment, foreign, program_of, signal, stopped, terminal, watched};

const KEY: &str = "support.refund.system";

/// Runs the terminal under a shell that looks at the terminal's settings before and after; `end` ends it.
fn leaves_as_it_came(what: &str, fault: bool, code: u32, end: impl Fn(&mut Pty, &std::path::Path)) {
    let p = registry();
    let folder = tempfile::tempdir().unwrap();
    let mut command = watched(&[program_of()], folder.path());
    environment(&mut command, &p, "ana");
    if fault {
        command.env("COUNTERSIGN_FAULT", "panic");
    }
    let mut pty = Pty::start(command, 80, 24);
    pty.shows("live").shows(" 1 of ").idle();
    assert!(pty.is_alternate() && pty.is_altered(), "{what}");
    end(&mut pty, folder.path());
    pty.shows("shell: code").idle();
    let ended = format!("shell: code {code}");
    assert!(pty.screen().lines().any(|line| line.trim() == ended), "{what}: {}", pty.screen());
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "{what}: stty -a");
    assert!(!pty.is_alternate(), "{what}: the main screen is back");
    assert!(!pty.is_altered(), "{what}: cursor and pastes are as before");
}

#[test]
fn every_signal_and_every_way_out_restores_the_terminal() {
    for (name, code) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        leaves_as_it_came(name, false, code, |_, folder| signal(folder, name));
    }
    leaves_as_it_came("q", false, 0, |pty, _| {
        pty.type_keys("q");
    });
}

#[test]
fn a_line_that_breaks_without_a_signal_ends_it_too() {
    let p = registry();
    let mut command = portable_pty::CommandBuilder::new(program_of());
    environment(&mut command, &p, "ana");
    command.set_controlling_tty(false);
    assert!(ends_with_its_line(command), "it goes on without a terminal");
}

#[test]
fn a_panic_restores_the_terminal() {
    leaves_as_it_came("panic", true, 1, |pty, _| {
        pty.send("\x1b[24~");
    });
}

#[test]
fn suspended_and_continued_it_draws_itself_again() {
    let p = registry();
    let folder = tempfile::tempdir().unwrap();
    let mut command = watched(&[program_of()], folder.path());
    environment(&mut command, &p, "ana");
    let mut pty = Pty::start(command, 80, 24);
    pty.shows("live").shows(" 1 of ").idle();
    signal(folder.path(), "TSTP");
    stopped(folder.path(), &mut pty);
    pty.alternates(false);
    signal(folder.path(), "CONT");
    pty.alternates(true).shows("live").shows(" 1 of ");
}

#[test]
fn a_storm_of_sizes_breaks_nothing() {
    let p = registry();
    let mut pty = terminal(&p, "ana", 80, 24, &[]);
    pty.shows("live").shows(" 1 of ").idle();
    let mut seed: u32 = 20_261_130;
    println!("seed {seed}");
    for round in 0..60 {
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u16::try_from((seed >> 8) % below).unwrap() + 1
        };
        pty.resize(random(300), random(100));
        match round {
            10 => drop(pty.send("\r").idle()),
            20 => drop(pty.send("\x1b").idle()),
            30 => drop(pty.send("!k").idle()),
            _ => {}
        }
    }
    pty.idle().resize(80, 24).idle();
    // A key and a new size that come at once: crossterm lets the key lie until the next one.
    pty.send("\x1b").idle().send("!k").shows("KILL in").send("\x1b").shows("live");
}

#[test]
fn where_no_screen_can_be_drawn_it_says_so_and_what_to_do_instead() {
    let p = registry();
    let piped = said(program(p.home.path()).env("COUNTERSIGN_SERVER", &p.server).env("COUNTERSIGN_TOKEN", p.token("ana")));
    assert_eq!(piped.code, 1, "{}", piped.err);
    assert!(piped.err.contains("not a terminal") && piped.err.contains("countersign inbox"), "{}", piped.err);
    let mut command = portable_pty::CommandBuilder::new(program_of());
    environment(&mut command, &p, "ana");
    command.env("TERM", "dumb");
    let mut pty = Pty::start(command, 80, 24);
    assert_eq!(pty.ends(), 1);
    assert!(pty.screen().contains("TERM=dumb"), "{}", pty.screen());
    assert!(!pty.raw().contains(&0x1b), "not one escape sequence");
}

#[test]
fn a_locale_without_utf_8_gets_ascii_alone() {
    let p = registry();
    let mut command = portable_pty::CommandBuilder::new(program_of());
    environment(&mut command, &p, "ana");
    command.env("LC_ALL", "C");
    let mut pty = Pty::start(command, 80, 24);
    pty.shows("live").shows(" 1 of ").idle().type_keys("\r").shows("hunk 1/1").idle().type_keys("!k").shows("KILL in").idle();
    let foreign: Vec<char> = pty.screen().chars().filter(|c| !c.is_ascii()).collect();
    assert!(foreign.is_empty(), "{foreign:?}\n{}", pty.screen());
}

#[test]
fn hostile_text_reaches_the_terminal_as_tokens_alone() {
    let hostile = "\u{1b}]0;OWNED\u{7}\u{1b}[31mRED\u{9b}5n\u{202e}evil\u{8}\u{200b}";
    let p = registry();
    let why = |text: &str| format!("--rationale={text}");
    p.run("root", ["key", "edit", KEY, "--description", hostile]);
    p.run("dee", ["key", "edit", KEY, "--description", hostile]);
    let body = format!("Dear customer,\n\n{hostile}\n");
    let file = p.home.path().join("hostile.txt");
    std::fs::write(&file, &body).unwrap();
    p.run("dee", ["draft", KEY, "--file", file.to_str().unwrap(), &why(hostile)]).good();
    p.run("dee", ["submit", &format!("{KEY}@v3")]).good();
    p.run("ci", ["verdict", &format!("{KEY}@v3"), "--gate", "accuracy", "--score", "0.99", "--summary", file.to_str().unwrap()])
        .good();
    let id = p.run("dee", ["promote", &format!("{KEY}@v3"), "--env", "production", &why(hostile), "--output", "json"]).json();
    p.run("ana", ["comment", id["promotion_id"].as_str().unwrap(), &why(hostile)]);
    let mut pty = terminal(&p, "ana", 120, 36, &[]);
    pty.shows("live").shows(" 1 of ").idle();
    // Through every room and pane, and the dialogs that show the text.
    for keys in [
        "\r", "v", "f", "d", "i", "a", "\x1b", "c", "\x1b", "x", "\x1b", "q", "2", "\r", "\r", "d", "\x1b", "3", "4", "\r",
        "\x1b", "1", "?", "\x1b",
    ] {
        pty.send(keys).idle();
    }
    pty.send("j").idle().send("\r").idle().send("a").idle().send("\x1b").idle();
    let raw = pty.raw();
    assert_eq!(foreign(&raw), None);
    let text = String::from_utf8_lossy(&raw);
    assert!(text.contains("OWNED"), "the hostile text was on screen at all");
    for bad in ["\u{1b}]0;OWNED", "\u{1b}[31mRED", "\u{202e}", "\u{200b}", "\u{9b}"] {
        assert!(!text.contains(bad), "{bad:?} reached the terminal");
    }
}
