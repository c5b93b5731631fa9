//! The terminal's own state: entered once, left in reverse order on every way out; frames go out without ever waiting.

use super::keymap::{Key, KeyCode, Press};
use super::msg::Msg;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind, KeyModifiers, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use std::fs::File;
use std::io;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Whether the terminal is entered: there is one terminal per process, and a panic hook cannot own it.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// Whether the terminal was asked to tell keys apart.
static ENHANCED: AtomicBool = AtomicBool::new(false);

/// What the environment says about the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    /// `TERM`
    pub(crate) term: String,
    /// Whether `NO_COLOR` is set and not empty.
    pub(crate) no_color: bool,
    /// Whether the locale is UTF-8.
    pub(crate) utf8: bool,
}

impl Facts {
    /// Reads the environment through `get`.
    pub(crate) fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| get(name).filter(|value| !value.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default().to_lowercase();
        Self {
            term: get("TERM").unwrap_or_default(),
            no_color: set("NO_COLOR").is_some(),
            utf8: locale.contains("utf-8") || locale.contains("utf8"),
        }
    }
    /// Whether only ASCII signs can be relied on.
    pub(crate) fn ascii(&self) -> bool {
        !self.utf8 || self.term == "linux"
    }
    /// Why a full screen cannot be drawn here, if so.
    pub(crate) fn unfit(&self) -> Option<String> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            return Some("standard input and output are not a terminal".into());
        }
        matches!(self.term.as_str(), "" | "dumb").then(|| format!("TERM={} cannot place the cursor", self.term))
    }
    /// Whether the terminal may be asked to tell presses, repeats and releases apart.
    fn enhances(&self) -> bool {
        self.term != "linux"
    }
}

/// Enters: raw mode, the other screen, pastes in one piece, keys told apart, no cursor.
pub(crate) fn enter(facts: &Facts) -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, EnableBracketedPaste)?;
    if facts.enhances() {
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES | KeyboardEnhancementFlags::REPORT_EVENT_TYPES;
        execute!(out, PushKeyboardEnhancementFlags(flags))?;
        ENHANCED.store(true, Ordering::SeqCst);
    }
    execute!(out, cursor::Hide)
}

/// Leaves, in reverse order; does nothing when the terminal is not entered. Every step is tried, whatever became of the
/// others: half a terminal is worse than none.
pub(crate) fn leave() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, cursor::Show);
    if ENHANCED.swap(false, Ordering::SeqCst) {
        let _ = execute!(out, PopKeyboardEnhancementFlags);
    }
    let _ = execute!(out, DisableBracketedPaste, LeaveAlternateScreen);
    let _ = disable_raw_mode();
    let _ = out.flush();
}

/// Leaves the terminal when it goes out of scope, however that comes about.
pub(crate) struct Entered;

impl Drop for Entered {
    fn drop(&mut self) {
        leave();
    }
}

/// The name of the threads whose panic is the terminal's own.
pub(crate) const THREAD: &str = "countersign-tui";

/// Told when a thread of the terminal panicked: a worker's panic would else leave the loop on a screen that is gone.
static FAULT: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Comes back when a thread of the terminal panicked.
pub(crate) async fn fault() {
    FAULT.notified().await;
}

/// Restores the terminal before a panic of its own threads is printed; other threads (a registry in the same process) are
/// silenced while it is entered, since their words would tear the screen.
pub(crate) fn hook_panics() {
    static HOOKED: AtomicBool = AtomicBool::new(false);
    if HOOKED.swap(true, Ordering::SeqCst) {
        return;
    }
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() == Some(THREAD) {
            leave();
            FAULT.notify_one();
        }
        if !ENTERED.load(Ordering::SeqCst) {
            before(info);
        }
    }));
}

/// Writes frames, one at a time. What the terminal does not take at once goes to a thread of its own: a slow or stopped
/// terminal never stops the loop.
pub(crate) struct Painter {
    /// The terminal, opened once more so that not waiting is no matter of whoever shares standard output.
    direct: Option<File>,
    painted: Arc<dyn Fn() + Send + Sync>,
    frames: Option<mpsc::SyncSender<Vec<u8>>>,
    drained: mpsc::Receiver<()>,
    in_flight: bool,
}

impl Painter {
    /// A painter that calls `painted` after each frame that the terminal took whole.
    pub(crate) fn start(painted: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let painted: Arc<dyn Fn() + Send + Sync> = Arc::new(painted);
        let told = painted.clone();
        let (frames, orders) = mpsc::sync_channel::<Vec<u8>>(1);
        let (done, drained) = mpsc::channel();
        std::thread::Builder::new().name("countersign-paint".into()).spawn(move || {
            let mut out = io::stdout();
            while let Ok(bytes) = orders.recv() {
                // A terminal that is gone ends the process by its hang-up, not by this error.
                let _ = out.write_all(&bytes).and_then(|()| out.flush());
                let _ = done.send(());
                told();
            }
        })?;
        Ok(Self { direct: without_waiting(), painted, frames: Some(frames), drained, in_flight: false })
    }

    /// Sends a frame; only when none is in flight.
    pub(crate) fn paint(&mut self, mut bytes: Vec<u8>) {
        let taken = self.direct.as_mut().map_or(0, |out| write_now(out, &bytes));
        if taken == bytes.len() {
            (self.painted)();
            return;
        }
        bytes.drain(..taken);
        if let Some(frames) = &self.frames {
            self.in_flight = frames.try_send(bytes).is_ok();
        }
    }

    /// Whether a frame is on its way.
    pub(crate) fn is_busy(&mut self) -> bool {
        if self.in_flight && self.drained.try_recv().is_ok() {
            self.in_flight = false;
        }
        self.in_flight
    }

    /// Waits a moment for the frame in flight, so that nothing is written after the terminal was left.
    pub(crate) fn settle(&mut self) {
        // One that is late stays in flight: a frame given to a painter that is not free would be lost.
        if self.in_flight && self.drained.recv_timeout(Duration::from_millis(30)).is_ok() {
            self.in_flight = false;
        }
    }
}

/// The terminal behind standard output, for writing what it takes at once; none where it cannot be opened again.
#[cfg(target_os = "linux")]
fn without_waiting() -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    File::options().write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open("/proc/self/fd/1").ok()
}

/// Elsewhere opening it again would share what is set.
#[cfg(not(target_os = "linux"))]
fn without_waiting() -> Option<File> {
    None
}

/// How many bytes the terminal took.
fn write_now(out: &mut impl io::Write, bytes: &[u8]) -> usize {
    let mut taken = 0;
    while taken < bytes.len() {
        match out.write(&bytes[taken..]) {
            Ok(0) => break,
            Ok(more) => taken += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    taken
}

/// A message of a terminal event, where it means something.
pub(crate) fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => {
            let press = match key.kind {
                KeyEventKind::Press => Press::Down,
                KeyEventKind::Repeat => Press::Repeat,
                KeyEventKind::Release => Press::Up,
            };
            let shift = key.modifiers.contains(KeyModifiers::SHIFT);
            let code = code(key.code, shift);
            let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
            let alt = key.modifiers.contains(KeyModifiers::ALT);
            Some(Msg::Pressed(Key { code, ctrl, alt, press }))
        }
        Event::Paste(text) => Some(Msg::Pasted(text)),
        Event::Resize(width, height) => Some(Msg::Resized { width, height }),
        Event::FocusGained | Event::FocusLost | Event::Mouse(_) => None,
    }
}

fn code(code: crossterm::event::KeyCode, shift: bool) -> KeyCode {
    use crossterm::event::KeyCode as C;
    match code {
        C::Char(c) if shift && c.is_lowercase() => KeyCode::Char(c.to_uppercase().next().unwrap_or(c)),
        C::Char(c) => KeyCode::Char(c),
        C::Enter => KeyCode::Enter,
        C::Tab if shift => KeyCode::BackTab,
        C::Tab => KeyCode::Tab,
        C::BackTab => KeyCode::BackTab,
        C::Esc => KeyCode::Esc,
        C::Backspace => KeyCode::Backspace,
        C::Delete => KeyCode::Delete,
        C::Left => KeyCode::Left,
        C::Right => KeyCode::Right,
        C::Up => KeyCode::Up,
        C::Down => KeyCode::Down,
        C::Home => KeyCode::Home,
        C::End => KeyCode::End,
        C::PageUp => KeyCode::PageUp,
        C::PageDown => KeyCode::PageDown,
        C::F(n) => KeyCode::F(n),
        _ => KeyCode::Other,
    }
}

/// Asks the terminal for its background, before the reader starts: `dark` or `light`; `ansi` where it does not answer.
pub(crate) fn background(get: impl Fn(&str) -> Option<String>) -> &'static str {
    if let Some(last) = get("COLORFGBG").and_then(|v| v.rsplit(';').next().and_then(|n| n.parse::<u8>().ok())) {
        return if matches!(last, 7 | 15) { "light" } else { "dark" };
    }
    let mut options = terminal_colorsaurus::QueryOptions::default();
    options.timeout = Duration::from_millis(80);
    match terminal_colorsaurus::theme_mode(options) {
        Ok(terminal_colorsaurus::ThemeMode::Dark) => "dark",
        Ok(terminal_colorsaurus::ThemeMode::Light) => "light",
        Err(_) => "ansi",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(vars: &[(&str, &str)]) -> Facts {
        let vars: std::collections::BTreeMap<String, String> =
            vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Facts::of(|name| vars.get(name).cloned())
    }

    #[test]
    fn signs_are_ascii_where_the_locale_or_the_console_cannot_do_more() {
        for (vars, ascii) in [
            (&[("LANG", "en_US.UTF-8"), ("TERM", "xterm")][..], false),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C"), ("TERM", "xterm")][..], true),
            (&[("LANG", "C.utf8"), ("TERM", "screen")][..], false),
            (&[("LANG", "en_US.UTF-8"), ("TERM", "linux")][..], true),
            (&[("TERM", "xterm")][..], true),
        ] {
            assert_eq!(facts(vars).ascii(), ascii, "{vars:?}");
        }
    }

    #[test]
    fn what_a_terminal_does_not_take_at_once_is_left() {
        struct Narrow(Vec<u8>);
        impl io::Write for Narrow {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let room = 5usize.saturating_sub(self.0.len()).min(3).min(bytes.len());
                if room == 0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.0.extend_from_slice(&bytes[..room]);
                Ok(room)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (frame, taken) in [("", 0), ("abcd", 4), ("abcdefgh", 5)] {
            let mut out = Narrow(Vec::new());
            assert_eq!(write_now(&mut out, frame.as_bytes()), taken);
            assert_eq!(out.0, &frame.as_bytes()[..taken]);
        }
    }

    #[test]
    fn an_empty_no_color_is_none() {
        assert!(!facts(&[("NO_COLOR", "")]).no_color);
        assert!(facts(&[("NO_COLOR", "0")]).no_color);
    }

    #[test]
    fn shift_is_in_the_letter_and_releases_are_told() {
        use crossterm::event::{KeyCode as C, KeyEvent};
        let mut event = KeyEvent::new(C::Char('g'), KeyModifiers::SHIFT);
        event.kind = KeyEventKind::Release;
        let expected = Key { press: Press::Up, ..Key::char('G') };
        assert_eq!(message(Event::Key(event)), Some(Msg::Pressed(expected)));
    }

    #[test]
    fn the_background_is_read_from_the_environment_without_asking() {
        for (value, wanted) in [("15;0", "dark"), ("0;15", "light"), ("0;default;7", "light")] {
            assert_eq!(background(|_| Some(value.to_owned())), wanted);
        }
    }
}
