//! A program in a pseudo-terminal: keys go in, a screen comes out. Waits for what is to be seen, never for a time.

use super::program::Program;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// After so long what a test waits for is not coming.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program's path.
pub fn program_of() -> &'static str {
    env!("CARGO_BIN_EXE_countersign")
}

/// The environment in which somebody's terminal runs against a registry: a usual terminal, nothing of this machine's.
pub fn environment(command: &mut CommandBuilder, p: &Program, who: &str) {
    for name in ["NO_COLOR", "LC_ALL", "LC_CTYPE", "COLORFGBG"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm-256color");
    command.env("LANG", "C.UTF-8");
    command.env("COUNTERSIGN_CONFIG_DIR", p.home.path().join("config"));
    command.env("COUNTERSIGN_DATA_DIR", p.home.path().join(format!("data-{who}")));
    command.env("COUNTERSIGN_SERVER", &p.server);
    command.env("COUNTERSIGN_TOKEN", p.token(who));
}

/// Somebody's terminal on a registry.
pub fn terminal(p: &Program, who: &str, columns: u16, rows: u16, arguments: &[&str]) -> Pty {
    let mut command = CommandBuilder::new(program_of());
    command.args(arguments);
    environment(&mut command, p, who);
    Pty::start(command, columns, rows)
}

/// What came out so far, and the screen that it makes.
struct Seen {
    parser: vt100::Parser,
    raw: Vec<u8>,
    closed: bool,
    at: Instant,
}

/// A program in a pseudo-terminal.
pub struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn std::io::Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Pty {
    /// Starts `command` in a terminal of `columns` by `rows`.
    pub fn start(command: CommandBuilder, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns, rows)).expect("a pseudo-terminal");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let mut output = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its input");
        let parser = vt100::Parser::new(nonzero(rows), nonzero(columns), 0);
        let seen = Arc::new((Mutex::new(Seen { parser, raw: Vec::new(), closed: false, at: Instant::now() }), Condvar::new()));
        let shared = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let read = output.read(&mut buffer).unwrap_or(0);
                let mut seen = shared.0.lock().unwrap();
                seen.at = Instant::now();
                seen.closed = read == 0;
                seen.raw.extend_from_slice(&buffer[..read]);
                seen.parser.process(&buffer[..read]);
                shared.1.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        Self { child, master: pair.master, keys, seen }
    }

    /// Keys, as bytes of the terminal.
    pub fn send(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).expect("keys go in");
        self.keys.flush().expect("keys go in");
        self
    }

    /// A bracketed paste.
    pub fn paste(&mut self, text: &str) -> &mut Self {
        self.send(&format!("\x1b[200~{text}\x1b[201~"))
    }

    /// Keys one at a time, each after the one before was drawn (or nothing was left to draw): as a person types.
    pub fn type_keys(&mut self, keys: &str) -> &mut Self {
        for key in keys.chars() {
            self.send(key.encode_utf8(&mut [0; 4]));
            self.idle();
        }
        self
    }

    /// Waits until `wanted` holds for the screen's text.
    ///
    /// # Panics
    /// With the screen, when it does not come to hold.
    pub fn until(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> &mut Self {
        let (lock, news) = &*self.seen;
        let seen = lock.lock().unwrap();
        let (seen, late) =
            news.wait_timeout_while(seen, PATIENCE, |seen| !wanted(&seen.parser.screen().contents()) && !seen.closed).unwrap();
        let screen = seen.parser.screen().contents();
        assert!(!late.timed_out() && wanted(&screen), "{what} does not come; the screen shows:\n{screen}");
        drop(seen);
        self
    }

    /// Waits until the screen shows `text`.
    pub fn shows(&mut self, text: &str) -> &mut Self {
        self.until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen no longer shows `text`.
    pub fn loses(&mut self, text: &str) -> &mut Self {
        self.until(&format!("an end of {text:?}"), |screen| !screen.contains(text))
    }

    /// Waits until nothing more comes out: no byte for a tenth of a second (a terminal with a live list may never be
    /// idle for long; then after a second).
    pub fn idle(&mut self) -> &mut Self {
        const QUIET: Duration = Duration::from_millis(100);
        let (lock, news) = &*self.seen;
        let begun = Instant::now();
        let mut seen = lock.lock().unwrap();
        seen.at = seen.at.max(begun);
        while !seen.closed && seen.at.elapsed() < QUIET && begun.elapsed() < Duration::from_secs(1) {
            let left = QUIET.saturating_sub(seen.at.elapsed());
            seen = news.wait_timeout(seen, left).unwrap().0;
        }
        drop(seen);
        self
    }

    /// Another size.
    pub fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.master.resize(size(columns, rows)).expect("a size");
        self.seen.0.lock().unwrap().parser.screen_mut().set_size(nonzero(rows), nonzero(columns));
        self
    }

    /// The screen's text.
    pub fn screen(&self) -> String {
        self.seen.0.lock().unwrap().parser.screen().contents()
    }

    /// Waits until the other screen is up, or gone.
    pub fn alternates(&mut self, wanted: bool) -> &mut Self {
        let (lock, news) = &*self.seen;
        let seen = lock.lock().unwrap();
        let other = |seen: &mut Seen| seen.parser.screen().alternate_screen() != wanted;
        let (seen, late) = news.wait_timeout_while(seen, PATIENCE, other).unwrap();
        assert!(!late.timed_out(), "the other screen is not {}", if wanted { "up" } else { "gone" });
        drop(seen);
        self
    }

    /// Whether the other screen is up.
    pub fn is_alternate(&self) -> bool {
        self.seen.0.lock().unwrap().parser.screen().alternate_screen()
    }

    /// Whether the cursor is hidden, or pastes come in brackets.
    pub fn is_altered(&self) -> bool {
        let seen = self.seen.0.lock().unwrap();
        seen.parser.screen().hide_cursor() || seen.parser.screen().bracketed_paste()
    }

    /// Every byte that came out.
    pub fn raw(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().raw.clone()
    }

    /// The line breaks: the program gets its hang-up, and is waited for.
    pub fn hang_up(mut self) {
        let pid = self.child.process_id().expect("its process id").to_string();
        let done = std::process::Command::new("kill").args(["-HUP", &pid]).status().expect("kill");
        assert!(done.success());
        self.ends();
    }

    /// Waits for the program's end; its exit code.
    pub fn ends(&mut self) -> u32 {
        let (lock, news) = &*self.seen;
        let seen = lock.lock().unwrap();
        let (seen, late) = news.wait_timeout_while(seen, PATIENCE, |seen| !seen.closed).unwrap();
        assert!(!late.timed_out(), "it does not end; the screen shows:\n{}", seen.parser.screen().contents());
        drop(seen);
        self.child.wait().expect("its end").exit_code()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program until its first frame, closes its terminal under it without a signal, and says whether it ends by itself.
pub fn ends_with_its_line(command: CommandBuilder) -> bool {
    let pair = native_pty_system().openpty(size(80, 24)).expect("a pseudo-terminal");
    let mut child = pair.slave.spawn_command(command).expect("the program starts");
    let mut killer = child.clone_killer();
    let mut output = pair.master.try_clone_reader().expect("its output");
    let (mut raw, mut buffer) = (Vec::new(), [0; 8192]);
    while !String::from_utf8_lossy(&raw).contains("Inbox") {
        let read = output.read(&mut buffer).expect("its output");
        assert!(read > 0, "it ended before its first frame");
        raw.extend_from_slice(&buffer[..read]);
    }
    drop((output, pair));
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    let by_itself = end.recv_timeout(PATIENCE).is_ok();
    let _ = killer.kill();
    by_itself
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }
}

fn nonzero(n: u16) -> std::num::NonZeroU16 {
    n.max(1).try_into().expect("at least 1")
}

/// Runs `program` under a shell that notes the terminal's settings before and after, and the program's process id.
pub fn watched(program: &[&str], folder: &Path) -> CommandBuilder {
    let quoted: Vec<String> = program.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let at = folder.display();
    let script = format!(
        "stty -a >'{at}/before'; sh -c 'echo $$ >\"$0/pid\"; exec \"$@\"' '{at}' {}; code=$?; stty -a >'{at}/after'; echo \"shell: code $code\"",
        quoted.join(" ")
    );
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", &script]);
    command
}

/// Sends a signal to the program that [`watched`] started.
pub fn signal(folder: &Path, name: &str) {
    let pid = std::fs::read_to_string(folder.join("pid")).expect("its process id");
    let done = std::process::Command::new("kill").args([&format!("-{name}"), pid.trim()]).status().expect("kill");
    assert!(done.success());
}

/// Waits until the program that [`watched`] started is stopped.
pub fn stopped(folder: &Path, pty: &mut Pty) {
    let pid = std::fs::read_to_string(folder.join("pid")).expect("its process id");
    let begun = Instant::now();
    let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    while !state().rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T')) {
        assert!(begun.elapsed() < PATIENCE, "it does not stop");
        pty.idle();
    }
}

/// What in `raw` a terminal program of ours never writes: control characters and escape sequences beyond styles, the
/// cursor, the screen, the title and the clipboard. Gives back the first such sequence.
pub fn foreign(raw: &[u8]) -> Option<String> {
    let mut at = 0;
    while at < raw.len() {
        match raw[at] {
            b'\r' | b'\n' | 0x08 | 0x20..=0x7e | 0x80.. => at += 1,
            0x1b => {
                let length = sequence(&raw[at..]);
                if length == 0 {
                    return Some(format!("{:?}", String::from_utf8_lossy(&raw[at..raw.len().min(at + 24)])));
                }
                at += length;
            }
            other => return Some(format!("byte {other:#04x} at {at}")),
        }
    }
    None
}

/// The length of one of our own escape sequences at the beginning of `raw`, or 0.
fn sequence(raw: &[u8]) -> usize {
    let whole = |last: Option<usize>| last.map_or(0, |last| last + 1);
    match raw.get(1) {
        Some(b'[') => {
            let end = raw.iter().skip(2).position(|b| (0x40..=0x7e).contains(b)).map(|at| at + 2);
            let fits = |at: &usize| {
                raw[2..*at].iter().all(|b| b.is_ascii_digit() || matches!(b, b';' | b':' | b'?' | b'>' | b'<' | b'='))
                    && b"mHJKhlABCDGdXruqcn".contains(&raw[*at])
            };
            whole(end.filter(fits))
        }
        // The title is ours; questions for the background, and the clipboard.
        Some(b']') => {
            let known = [&b"\x1b]11;?"[..], b"\x1b]10;?", b"\x1b]52;c;"].iter().any(|start| raw.starts_with(start));
            let end =
                raw.iter().position(|b| *b == 0x07).or_else(|| raw.windows(2).position(|w| w == b"\x1b\\").map(|at| at + 1));
            whole(end.filter(|_| known))
        }
        Some(b'7' | b'8' | b'=' | b'>') => 2,
        Some(b'(') => 3,
        _ => 0,
    }
}
