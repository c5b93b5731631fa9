//! The palette: one input, twelve results. `:` speaks the command line's grammar; ctrl-p goes to keys, screens, events.

use super::{Frame, Look, Outcome, Rect, State, centred, commands};
use crate::model::KeyId;
use crate::tui::field::{Field, Lines};
use crate::tui::fuzzy;
use crate::tui::keymap::{Key, KeyCode};
use crate::tui::msg::{Msg, Place};
use crate::tui::rooms;
use crate::tui::state::Subject;
use crate::tui::theme::Role;
use crate::tui::update::{subject, tell};
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::scroll::{Cursor, Move};
use ratatui::text::Line;

/// How many results are shown.
const RESULTS: usize = 12;

/// What is typed and found.
#[derive(Debug)]
pub(crate) struct Palette {
    commands: bool,
    field: Field,
    cursor: Cursor,
    found: Vec<Found>,
    error: Option<String>,
    subject: Subject,
}

/// One result.
#[derive(Debug, Clone)]
enum Found {
    Command { word: &'static str, arguments: &'static str, help: &'static str },
    Screen(&'static str, Place),
    Key(KeyId),
    Event(u64),
}

impl Palette {
    /// Commands about the row under the cursor.
    pub(crate) fn commands(state: &State) -> Self {
        Self::new(true, state)
    }
    /// Keys, screens, events.
    pub(crate) fn places(state: &State) -> Self {
        Self::new(false, state)
    }

    fn new(commands: bool, state: &State) -> Self {
        let mut palette = Self {
            commands,
            field: Field::new(Lines::One),
            cursor: Cursor::default(),
            found: Vec::new(),
            error: None,
            subject: subject(state),
        };
        palette.search(state);
        palette
    }

    fn search(&mut self, state: &State) {
        let text = self.field.text();
        self.cursor = Cursor::default();
        self.error = None;
        if self.commands {
            let found = commands::matching(&text).map(|(word, arguments, help)| Found::Command { word, arguments, help });
            self.found = found.take(RESULTS).collect();
            return;
        }
        if let Some(seq) = text.strip_prefix('#') {
            self.found = seq.parse().map(Found::Event).into_iter().collect();
            return;
        }
        let screens =
            [("Inbox", Place::Inbox), ("Keys", Place::Keys(None)), ("Rollouts", Place::Rollouts), ("Audit", Place::Audit(None))];
        let names = screens.iter().map(|(name, _)| *name);
        self.found =
            fuzzy::best(&text, names, 4).into_iter().map(|n| Found::Screen(screens[n].0, screens[n].1.clone())).collect();
        let keys = rooms::keys::all(&state.keys);
        let best = fuzzy::best(&text, keys.iter().map(KeyId::as_str), RESULTS - self.found.len());
        self.found.extend(best.into_iter().map(|n| Found::Key(keys[n].clone())));
    }

    /// A key: text, movement, tab to complete, enter to go.
    pub(crate) fn pressed(&mut self, key: Key, state: &State) -> Outcome {
        match key.code {
            KeyCode::Esc => return Outcome { close: true, ..Outcome::default() },
            KeyCode::Backspace if self.field.text().is_empty() => return Outcome { close: true, ..Outcome::default() },
            KeyCode::Enter => return self.enter(),
            KeyCode::Down => self.cursor.go(Move::By(1), self.found.len()),
            KeyCode::Up => self.cursor.go(Move::By(-1), self.found.len()),
            KeyCode::Char('n') if key.ctrl => self.cursor.go(Move::By(1), self.found.len()),
            KeyCode::Char('p') if key.ctrl => self.cursor.go(Move::By(-1), self.found.len()),
            KeyCode::Tab => {
                if let Some(Found::Command { word, .. }) = self.found.get(self.cursor.at) {
                    self.field = Field::new(Lines::One).with(&format!("{word} "));
                    self.search(state);
                }
            }
            _ => {
                if self.field.key(&key) {
                    self.search(state);
                }
            }
        }
        Outcome::default()
    }

    /// A paste for the input; what it finds is seen with the next key.
    pub(crate) fn pasted(&mut self, text: &str) {
        self.field.paste(text);
    }

    fn enter(&mut self) -> Outcome {
        let text = self.field.text();
        let msg = match self.found.get(self.cursor.at) {
            Some(Found::Command { word, .. }) => {
                // A line that is whole is read as it stands; a beginning takes the command under the cursor.
                let line = if text.split_whitespace().next() == Some(word) { text } else { (*word).to_owned() };
                commands::read(&line, &self.subject)
            }
            Some(Found::Screen(_, place)) => Ok(Msg::Went(place.clone())),
            Some(Found::Key(key)) => Ok(Msg::Went(Place::Keys(Some(key.clone())))),
            Some(Found::Event(seq)) => Ok(Msg::Went(Place::Audit(Some(*seq)))),
            None if self.commands => commands::read(&text, &self.subject),
            None => Err("nothing by that name".into()),
        };
        match msg {
            Ok(msg) => Outcome::close(vec![tell(msg)]),
            Err(error) => {
                self.error = Some(error);
                Outcome::default()
            }
        }
    }

    /// Draws the input and what it found.
    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, look: &Look) {
        let height = u16::try_from(RESULTS).unwrap_or(12) + 4;
        let area = centred(area, area.width.saturating_sub(4).min(90), height);
        let (title, sign) = if self.commands { ("command", ": ") } else { ("go to a key, a screen, or #event", "> ") };
        let foot = if self.commands { "tab completes  enter opens, never acts  esc leaves" } else { "enter goes  esc leaves" };
        let inside = Pane::new(title).foot(foot).focused(true).draw_over(frame, area, look);
        if inside.height < 2 {
            return;
        }
        frame.put(Line::styled(sign, look.style(Role::Key)), Rect { height: 1, ..inside });
        let field = Rect { height: 1, x: inside.x + 2, width: inside.width.saturating_sub(2), ..inside };
        self.field.draw(frame, field, true, look);
        let mut lines = Vec::new();
        if let Some(error) = &self.error {
            lines.push(Row::new(inside.width, look).word(" ", Role::Text).outside_word(error, Role::Danger).line());
        }
        lines.extend(self.found.iter().enumerate().map(|(n, found)| entry(found, n == self.cursor.at, inside.width, look)));
        if self.found.is_empty() && self.error.is_none() {
            lines.push(Line::styled(" nothing by that name", look.style(Role::Dim)));
        }
        for (n, line) in lines.into_iter().take(usize::from(inside.height - 1)).enumerate() {
            let y = inside.y + 1 + u16::try_from(n).unwrap_or(0);
            frame.put(line, Rect { y, height: 1, ..inside });
        }
    }
}

fn entry(found: &Found, here: bool, width: u16, look: &Look) -> Line<'static> {
    let mut row = Row::new(width, look);
    if here {
        row = row.on(Role::Selected);
    }
    let row = row.word(if here { ">" } else { " " }, Role::Text);
    match found {
        Found::Command { word, arguments, help } => {
            let words = format!("{word} {arguments}");
            row.own(words, 44, Role::Strong).word(" ", Role::Text).word(*help, Role::Dim)
        }
        Found::Screen(name, _) => row.own(*name, 44, Role::Strong).word(" screen", Role::Dim),
        Found::Key(key) => row.outside(key.as_str(), 44, Role::Text).word(" key", Role::Dim),
        Found::Event(seq) => row.own(format!("#{seq}"), 44, Role::Text).word(" audit event", Role::Dim),
    }
    .line()
}
