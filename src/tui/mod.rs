//! The terminal: one loop of input, effects, stream and timer; messages change the state; the state is drawn.
//!
//! A key goes `term` -> [`msg::Msg`] -> the focused text field, else the chord in the room's scope, else the global one ->
//! [`action::Action`] -> a room's `update` -> [`effect::Effect`] -> `runtime` -> `Msg` -> state -> view.

pub mod action;
pub(crate) mod canvas;
pub mod dialogs;
pub(crate) mod drafts;
pub(crate) mod editor;
pub(crate) mod effect;
pub(crate) mod field;
pub(crate) mod frame;
pub(crate) mod fuzzy;
pub(crate) mod highlight;
pub mod keymap;
mod link;
pub(crate) mod look;
pub(crate) mod msg;
pub(crate) mod nearness;
pub(crate) mod overlays;
pub(crate) mod rooms;
pub(crate) mod runtime;
pub mod secret;
pub(crate) mod state;
pub(crate) mod term;
pub mod theme;
pub(crate) mod update;
pub(crate) mod widgets;

pub use runtime::End;

use crate::client::{Client, Pins};
use crate::clock::Clock;
use keymap::Keymap;
use state::State;
use std::path::PathBuf;
use std::sync::Arc;

/// The first `height` rows of a difference, laid out for `width` columns as the Review room shows it, as text with its marks.
pub fn first_screen(diff: &crate::model::diff::ContentDiff, width: u16, height: u16) -> Vec<String> {
    rooms::review::first_screen(diff, width, height)
}

/// What `:explain` says of an answer, label and text, row by row.
pub fn explained(answer: &crate::model::Resolution) -> Vec<(String, String)> {
    overlays::explain::rows(answer)
}

/// How to open the terminal.
#[derive(Debug)]
pub struct TuiOptions {
    /// The registry, with the person's token.
    pub client: Client,
    /// Verified heads of earlier runs; none keeps them for this run only.
    pub pins: Option<Pins>,
    /// Where drafts and unanswered acts are kept; none keeps them for this run only.
    pub data_dir: Option<PathBuf>,
    /// Change nothing, whatever is pressed.
    pub read_only: bool,
    /// A theme's name, or `auto` to ask the terminal for its background; `ansi` unless given, `mono` under NO_COLOR.
    pub theme: Option<String>,
    /// A theme of the person's own as TOML, with its name; it is taken unless `theme` names another.
    pub own_theme: Option<(String, String)>,
    /// Keymaps as TOML, merged over the default one after the other, with the name that faults are reported under.
    pub keymaps: Vec<(String, String)>,
    /// Wall time and randomness.
    pub clock: Clock,
}

impl TuiOptions {
    /// The terminal on a registry, all else as it is by default.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            pins: None,
            data_dir: None,
            read_only: false,
            theme: None,
            own_theme: None,
            keymaps: Vec::new(),
            clock: Clock::System,
        }
    }
}

/// Why the terminal could not be opened, or broke off.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal that can show it.
    #[error("{0}; the commands work everywhere: `countersign inbox`, `countersign review ID`, `countersign kill KEY`")]
    Unfit(String),
    /// A keymap has faults.
    #[error("keymap {name}: {faults}")]
    Keymap {
        /// Which.
        name: String,
        /// Each with its line.
        faults: String,
    },
    /// A theme has faults.
    #[error("theme {name}: {faults}")]
    Theme {
        /// Which.
        name: String,
        /// Each with its line.
        faults: String,
    },
    /// Reading or writing failed.
    #[error("the terminal failed: {0}")]
    Io(#[from] std::io::Error),
    /// A fault of this program; it was printed.
    #[error("the terminal broke off by a fault of its own; the screen was restored and drafts are kept")]
    Panicked,
}

/// Opens the terminal and runs it until the person leaves. Blocks; may be called from anywhere, also within a runtime's
/// blocking thread. The terminal is restored on every way out: leaving, error, panic, TERM, HUP, INT, QUIT, TSTP.
///
/// # Errors
/// See [`TuiError`].
pub fn run(options: TuiOptions) -> Result<End, TuiError> {
    let facts = term::Facts::of(|name| std::env::var(name).ok());
    if let Some(why) = facts.unfit() {
        return Err(TuiError::Unfit(why));
    }
    let keymap = read_keymaps(&options.keymaps)?;
    let own = options.own_theme.as_ref().map(|(name, source)| read_theme(name, source)).transpose()?;
    term::hook_panics();
    let thread = std::thread::Builder::new().name(term::THREAD.into()).spawn(move || open(options, keymap, own, &facts))?;
    thread.join().unwrap_or(Err(TuiError::Panicked))
}

fn read_keymaps(sources: &[(String, String)]) -> Result<Keymap, TuiError> {
    let mut keymap = Keymap::standard();
    for (name, source) in sources {
        keymap.merge(source).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(keymap::Fault::to_string).collect();
            TuiError::Keymap { name: name.clone(), faults: faults.join("; ") }
        })?;
    }
    Ok(keymap)
}

fn read_theme(name: &str, source: &str) -> Result<theme::Theme, TuiError> {
    theme::Theme::read(name, source).map_err(|faults| {
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        TuiError::Theme { name: name.to_owned(), faults: faults.join("; ") }
    })
}

fn open(options: TuiOptions, keymap: Keymap, own: Option<theme::Theme>, facts: &term::Facts) -> Result<End, TuiError> {
    // The theme decides about colour; crossterm's own NO_COLOR would reset reverse video.
    crossterm::style::force_color_output(true);
    let theme = match options.theme.as_deref() {
        Some("auto") if !facts.no_color => term::background(|name| std::env::var(name).ok()).to_owned(),
        Some(theme) if theme != "auto" => theme.to_owned(),
        None if own.is_some() => own.as_ref().map(|own| own.name.clone()).unwrap_or_default(),
        _ if facts.no_color => "mono".to_owned(),
        _ => "ansi".to_owned(),
    };
    let drafts = match &options.data_dir {
        Some(folder) => drafts::Drafts::open(&folder.join("drafts")).unwrap_or_else(|_| drafts::Drafts::in_memory()),
        None => drafts::Drafts::in_memory(),
    };
    let texts = drafts.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    let mut state = State::new(Arc::new(keymap), options.clock.bytes());
    state.desk = dialogs::desk::Desk::new(texts, std::time::Duration::ZERO);
    options.client.base_url().clone_into(&mut state.session.server);
    state.session.read_only = options.read_only;
    state.screen.theme = theme;
    state.screen.own_theme = own.as_ref().map(|own| own.name.clone());
    state.screen.ascii = facts.ascii();
    state.screen.offset = local_offset(&options.clock);
    // The loop has a thread to itself, that keys and frames pass without waking another; one more reads the answers.
    let here = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let net = tokio::runtime::Builder::new_multi_thread().worker_threads(1).thread_name(term::THREAD).enable_all().build()?;
    term::enter(facts)?;
    let _entered = term::Entered;
    let end = here.block_on(runtime::run(options, state, drafts, own, facts, net.handle().clone()));
    // Requests that hang must not hold up the way out.
    net.shutdown_background();
    end
}

/// The time zone's offset now, in seconds.
fn local_offset(clock: &Clock) -> i32 {
    let now = jiff::Timestamp::from_microsecond(clock.now().0).unwrap_or_default();
    now.to_zoned_datetime(jiff::tz::TimeZone::system()).offset().seconds()
}

#[cfg(test)]
mod tests;
