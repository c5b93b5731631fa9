//! The harness of pseudo-terminals itself: what it sees, and that it can fail.

use crate::support::pty::{Pty, foreign, signal, watched};
use portable_pty::CommandBuilder;

fn shell(script: &str) -> CommandBuilder {
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn it_sees_what_a_program_writes_and_types_what_it_reads() {
    let mut pty = Pty::start(shell("printf 'name? '; read name; echo \"hello $name\"; read end"), 40, 5);
    pty.shows("name?").send("ana\r").shows("hello ana").send("\r");
    assert_eq!(pty.ends(), 0);
}

#[test]
fn it_notes_what_a_program_leaves_behind() {
    let folder = tempfile::tempdir().unwrap();
    let command = watched(&["sh", "-c", "stty raw -echo; printf '\\033[?1049hup'; sleep 1000"], folder.path());
    let mut pty = Pty::start(command, 40, 5);
    pty.shows("up");
    signal(folder.path(), "TERM");
    pty.shows("shell: code");
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_ne!(read("before"), read("after"), "this program leaves the terminal raw");
    assert!(pty.is_alternate(), "and the other screen up");
}

#[test]
fn our_own_grammar_passes_and_everything_else_is_named() {
    assert_eq!(foreign("\x1b[?1049h\x1b[2;3H\x1b[38;5;4mk\u{e9}y\x1b[0m\r\n\x1b[>1u\x1b]52;c;YQ==\x07".as_bytes()), None);
    for bad in ["\x1b]0;owned\x07", "\x07", "\x1b[5i", "\x1bc", "a\x00", "\x1bP1$r\x1b\\", "\t", "\x1b"] {
        assert!(foreign(bad.as_bytes()).is_some(), "{bad:?}");
    }
}
