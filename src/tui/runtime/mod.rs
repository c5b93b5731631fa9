//! The loop: input, effects, stream and timer become messages; messages change the state; the state is drawn. The only place
//! that awaits.

mod hangup;
mod requests;

use super::canvas::{Bytes, Canvas};
use super::drafts::Drafts;
use super::effect::{Effect, Slot};
use super::link;
use super::msg::{Followed, Msg};
use super::state::{Modal, Now, Room, State};
use super::term;
use super::theme::Theme;
use super::update;
use super::{TuiError, TuiOptions};
use crate::client::{Client, Pins};
use crate::clock::Clock;
use crate::model::Timestamp;
use crossterm::event::EventStream;
use futures_util::StreamExt as _;
use ratatui::Terminal;
use ratatui::layout::Size;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Two frames are at least so far apart.
const FRAME: Duration = Duration::from_millis(8);
/// Messages that are taken in one go before drawing is considered.
const BATCH: usize = 512;

/// How the terminal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The person left.
    Quit,
    /// A signal asked for it.
    Signal(i32),
}

/// Runs until the person leaves or a signal comes. The terminal is entered already.
///
/// Requests and background work run on `net`, so that the loop never waits for an answer to be read.
pub(super) async fn run(
    options: TuiOptions,
    mut state: State,
    drafts: Drafts,
    own: Option<Theme>,
    facts: &term::Facts,
    net: Handle,
) -> Result<End, TuiError> {
    let (width, height) = crossterm::terminal::size()?;
    (state.screen.width, state.screen.height) = (width, height);
    let (sender, receiver) = mpsc::unbounded_channel();
    let painted = sender.clone();
    let painter = term::Painter::start(move || {
        let _ = painted.send(Msg::Painted);
    })?;
    let bytes = Bytes::default();
    let terminal = Terminal::new(Canvas::new(bytes.clone(), Size::new(width, height)))?;
    let theme = theme_of(&state.screen.theme, own.as_ref());
    let mut looper = Loop {
        net,
        client: options.client,
        pins: options.pins,
        clock: options.clock,
        started: Instant::now(),
        state,
        theme,
        own,
        facts: facts.clone(),
        terminal,
        bytes,
        painter,
        drafts,
        sender,
        running: HashMap::new(),
        wakes: BTreeSet::new(),
        later: Vec::new(),
        dirty: true,
        urgent: false,
        shows: 0,
        drawn_at: None,
        end: None,
    };
    looper.turn(receiver).await
}

/// The theme of a name: the person's own, or a built-in one.
fn theme_of(name: &str, own: Option<&Theme>) -> Theme {
    own.filter(|own| own.name == name).cloned().unwrap_or_else(|| Theme::built_in(name))
}

struct Loop {
    net: Handle,
    client: Client,
    pins: Option<Pins>,
    clock: Clock,
    started: Instant,
    state: State,
    theme: Theme,
    /// The person's own theme.
    own: Option<Theme>,
    facts: term::Facts,
    terminal: Terminal<Canvas>,
    bytes: Bytes,
    painter: term::Painter,
    drafts: Drafts,
    sender: mpsc::UnboundedSender<Msg>,
    running: HashMap<Slot, JoinHandle<()>>,
    wakes: BTreeSet<Timestamp>,
    /// Requests that go out once the frame is on its way.
    later: Vec<Effect>,
    dirty: bool,
    /// Whether a key waits for its frame: it need not keep its distance.
    urgent: bool,
    /// How many dialogs had been opened when the frame in flight was drawn.
    shows: u64,
    drawn_at: Option<Instant>,
    end: Option<End>,
}

impl Loop {
    async fn turn(&mut self, mut receiver: mpsc::UnboundedReceiver<Msg>) -> Result<End, TuiError> {
        let now = self.now();
        let effects = update::start(&mut self.state, now);
        self.follow();
        let mut input = Some(EventStream::new());
        let mut signals = Signals::new()?;
        let line = hangup::Line::watch();
        self.perform(effects, &mut input)?;
        // Nothing is known yet: the first frame can wait for the questions, not they for it.
        self.ask();
        loop {
            if self.end.is_none() {
                self.draw()?;
            }
            self.ask();
            if let Some(end) = self.end {
                return Ok(end);
            }
            let pause = self.pause();
            tokio::select! {
                () = term::fault() => return Err(TuiError::Panicked),
                event = next_event(&mut input) => match event {
                    Some(Ok(event)) => if let Some(msg) = term::message(event) { self.feed(msg, &mut input)?; },
                    // The terminal is gone: a hang-up without its signal.
                    Some(Err(_)) | None => self.end = Some(End::Signal(1)),
                },
                Some(msg) = receiver.recv() => {
                    self.feed(msg, &mut input)?;
                    for _ in 0..BATCH {
                        let Ok(msg) = receiver.try_recv() else { break };
                        self.feed(msg, &mut input)?;
                    }
                }
                signal = signals.next() => self.signal(signal, &mut input)?,
                () = line.broken() => self.end = Some(End::Signal(signal_hook::consts::SIGHUP)),
                () = tokio::time::sleep(pause) => self.tick(&mut input)?,
            }
        }
    }

    fn now(&self) -> Now {
        Now { wall: self.clock.now(), steady: self.started.elapsed() }
    }

    /// A message through `update`, and what it asks for.
    fn feed(&mut self, msg: Msg, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        // A frame that was drawn before the dialog opened says nothing about the dialog.
        if msg == Msg::Painted && self.shows != self.state.screen.dialogs {
            return Ok(());
        }
        #[cfg(debug_assertions)]
        fault(&msg);
        let now = self.now();
        // A heartbeat that changes nothing and the end of a frame are no reason to draw.
        let quiet = matches!(msg, Msg::Painted | Msg::Followed(Followed::Heartbeat(_)));
        if let Msg::Resized { width, height } = msg {
            self.terminal.backend_mut().resize(Size::new(width, height));
        }
        let before = self.state.link.face();
        let modal = self.state.modal.is_some();
        self.state.screen.settled = !self.dirty;
        self.urgent |= matches!(msg, Msg::Pressed(_));
        let effects = update::update(&mut self.state, msg, now);
        self.dirty |= !quiet || before != self.state.link.face() || modal != self.state.modal.is_some() || !effects.is_empty();
        self.perform(effects, input)
    }

    fn tick(&mut self, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        let now = self.clock.now();
        let due = self.wakes.first().is_some_and(|at| *at <= now) || link::next_tick(&self.state, now) <= now;
        let minute = now.0.rem_euclid(60_000_000) < 1_000_000;
        self.wakes.retain(|at| *at > now);
        if due || minute { self.feed(Msg::Ticked, input) } else { Ok(()) }
    }

    /// How long nothing happens by itself.
    fn pause(&mut self) -> Duration {
        let now = self.clock.now();
        let next = link::next_tick(&self.state, now);
        let next = self.wakes.first().map_or(next, |at| next.min(*at));
        let quiet = Duration::from_micros(u64::try_from(next.0.saturating_sub(now.0)).unwrap_or(0));
        let frame = self.drawn_at.map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()));
        // While a frame is in flight, its arrival wakes the loop.
        if self.dirty && !self.painter.is_busy() { quiet.min(frame) } else { quiet.max(Duration::from_millis(1)) }
    }

    fn draw(&mut self) -> Result<(), TuiError> {
        let early = !self.urgent && self.drawn_at.is_some_and(|at| at.elapsed() < FRAME);
        if !self.dirty || early || self.painter.is_busy() {
            return Ok(());
        }
        if self.theme.name != self.state.screen.theme {
            self.theme = theme_of(&self.state.screen.theme, self.own.as_ref());
        }
        let (state, theme, now) = (&self.state, &self.theme, self.clock.now());
        self.terminal.draw(|frame| super::frame::draw(frame, state, theme, now))?;
        (self.dirty, self.urgent) = (false, false);
        self.shows = self.state.screen.dialogs;
        self.drawn_at = Some(Instant::now());
        let bytes = self.bytes.take();
        if bytes.is_empty() {
            // Nothing to wait for: what the screen shows is this state.
            if matches!(self.state.modal, Some(Modal::Dialog(_))) || matches!(self.state.room, Room::Review(_)) {
                let _ = self.sender.send(Msg::Painted);
            }
        } else {
            self.painter.paint(bytes);
        }
        Ok(())
    }

    fn perform(&mut self, effects: Vec<Effect>, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                Effect::Load { .. } | Effect::Cancel(_) | Effect::Send { .. } | Effect::Work { .. } => self.later.push(effect),
                Effect::WakeAt(at) => {
                    self.wakes.insert(at);
                }
                Effect::Copy(text) => self.copy(&text)?,
                Effect::Edit(text) => self.edit(&text, input)?,
                Effect::Draft { name, text } => self.drafts.keep(&name, text),
                Effect::Redraw => self.forget_screen()?,
                Effect::Suspend => self.suspend(input)?,
                Effect::Quit => self.end = self.end.or(Some(End::Quit)),
                // `update` feeds these back itself.
                Effect::Tell(_) => {}
            }
        }
        Ok(())
    }

    /// Sends out the requests that waited for the frame.
    fn ask(&mut self) {
        for effect in std::mem::take(&mut self.later) {
            match effect {
                Effect::Load { slot, generation, query } => {
                    let (client, pins, sender) = (self.client.clone(), self.pins.clone(), self.sender.clone());
                    let task = self.net.spawn(async move {
                        let answer = requests::read(&client, pins.as_ref(), query).await;
                        let _ = sender.send(Msg::Loaded { slot, generation, answer });
                    });
                    self.occupy(slot, Some(task));
                }
                Effect::Cancel(slot) => self.occupy(slot, None),
                Effect::Send { ticket, call } => {
                    let (client, sender) = (self.client.clone(), self.sender.clone());
                    self.net.spawn(async move {
                        let receipt = requests::send(&client, ticket, *call).await;
                        let _ = sender.send(Msg::Sent { ticket, receipt });
                    });
                }
                Effect::Work { generation, work } => {
                    let sender = self.sender.clone();
                    let task = self.net.spawn_blocking(move || {
                        let result = Box::new(super::rooms::review::perform(*work));
                        let _ = sender.send(Msg::Worked { generation, result });
                    });
                    self.occupy(Slot::Work, Some(task));
                }
                // Done at once, by `perform`.
                _ => {}
            }
        }
    }

    /// The newest request of a slot takes it over; the one before is given up.
    fn occupy(&mut self, slot: Slot, task: Option<JoinHandle<()>>) {
        let before = match task {
            Some(task) => self.running.insert(slot, task),
            None => self.running.remove(&slot),
        };
        if let Some(before) = before {
            before.abort();
        }
    }

    fn follow(&self) {
        // It starts tasks of its own.
        let _net = self.net.enter();
        let mut stream = crate::client::follow(self.client.clone(), self.pins.clone());
        let sender = self.sender.clone();
        self.net.spawn(async move {
            let mut attempt = 0;
            while let Some(event) = stream.next().await {
                if sender.send(Msg::Followed(requests::followed(event, &mut attempt))).is_err() {
                    return;
                }
            }
        });
    }

    fn copy(&mut self, text: &str) -> Result<(), TuiError> {
        self.painter.settle();
        crossterm::execute!(std::io::stdout(), crossterm::clipboard::CopyToClipboard::to_clipboard_from(text))?;
        Ok(())
    }

    fn forget_screen(&mut self) -> Result<(), TuiError> {
        self.painter.settle();
        self.terminal.backend_mut().forget();
        self.terminal.clear()?;
        self.dirty = true;
        self.drawn_at = None;
        Ok(())
    }

    /// Gives the terminal to somebody else for as long as `run` takes.
    fn lend(&mut self, input: &mut Option<EventStream>, run: impl FnOnce()) -> Result<(), TuiError> {
        self.painter.settle();
        // A reader that is left alive would take the other's keys.
        *input = None;
        term::leave();
        run();
        term::enter(&self.facts)?;
        *input = Some(EventStream::new());
        let (width, height) = crossterm::terminal::size()?;
        self.terminal.backend_mut().resize(Size::new(width, height));
        let _ = self.sender.send(Msg::Resized { width, height });
        self.forget_screen()
    }

    fn suspend(&mut self, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        self.lend(input, || {
            // Stops here until `fg`.
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP);
        })
    }

    fn edit(&mut self, text: &str, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        let mut edited = None;
        self.lend(input, || edited = super::editor::edit(text))?;
        let _ = self.sender.send(Msg::Edited(edited));
        Ok(())
    }

    fn signal(&mut self, signal: i32, input: &mut Option<EventStream>) -> Result<(), TuiError> {
        match signal {
            signal_hook::consts::SIGTSTP => self.suspend(input),
            signal_hook::consts::SIGCONT => {
                // Stopped by force and continued: the shell may have changed everything.
                self.lend(input, || {})
            }
            other => {
                self.end = Some(End::Signal(other));
                Ok(())
            }
        }
    }
}

/// The next event of the terminal; never, while it is somebody else's.
async fn next_event(input: &mut Option<EventStream>) -> Option<std::io::Result<crossterm::event::Event>> {
    let Some(input) = input else { return std::future::pending().await };
    std::future::poll_fn(|cx| {
        // Asked before each read: crossterm reads a line that has broken again and again, in whoever asks it.
        if hangup::is_broken() { std::task::Poll::Ready(None) } else { input.poll_next_unpin(cx) }
    })
    .await
}

/// In a debug build F12 breaks the terminal on purpose where `COUNTERSIGN_FAULT=panic` says so: to see it restored.
#[cfg(debug_assertions)]
fn fault(msg: &Msg) {
    let asked = matches!(msg, Msg::Pressed(key) if key.code == super::keymap::KeyCode::F(12));
    assert!(!(asked && std::env::var("COUNTERSIGN_FAULT").is_ok_and(|fault| fault == "panic")), "a fault on purpose");
}

/// The signals that end or stop a terminal program.
struct Signals {
    kinds: Vec<(i32, tokio::signal::unix::Signal)>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT]
            .into_iter()
            .map(|n| Ok((n, signal(SignalKind::from_raw(n))?)))
            .collect::<std::io::Result<_>>()?;
        Ok(Self { kinds })
    }

    async fn next(&mut self) -> i32 {
        std::future::poll_fn(|cx| {
            for (number, signal) in &mut self.kinds {
                if signal.poll_recv(cx).is_ready() {
                    return std::task::Poll::Ready(*number);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}
