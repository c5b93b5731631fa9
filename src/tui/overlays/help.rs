//! Help, made from the catalogue: every action with its keys; a filter on top; entries run with enter.

use super::{Frame, Look, Outcome, Rect, State, centred};
use crate::rules::hidden::visible;
use crate::tui::action::{Action, Scope};
use crate::tui::field::{Field, Lines};
use crate::tui::keymap::{Key, KeyCode, Keymap};
use crate::tui::msg::Msg;
use crate::tui::theme::Role;
use crate::tui::update::tell;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::scroll::{Cursor, Move, first};
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr as _;

/// Columns before the sentence of an action.
const SENTENCE: usize = 35;

/// What is listed, and where it stands.
#[derive(Debug)]
pub(crate) struct Help {
    scope: Scope,
    filter: Field,
    cursor: Cursor,
}

impl Help {
    /// Help that begins with the actions of the room in front.
    pub(crate) fn about(scope: Scope) -> Self {
        Self { scope, filter: Field::new(Lines::One), cursor: Cursor::default() }
    }

    /// The actions that the filter leaves, the room's own first.
    fn listed(&self, keymap: &Keymap) -> Vec<Action> {
        let filter = self.filter.text().to_lowercase();
        let mut scopes = vec![self.scope, Scope::Danger, Scope::Global];
        scopes.extend(Scope::ALL.iter().copied().filter(|s| ![self.scope, Scope::Danger, Scope::Global].contains(s)));
        let all = scopes.into_iter().flat_map(|s| Action::ALL.iter().copied().filter(move |a| a.scope() == s));
        all.filter(|a| {
            let keys = keymap.texts(*a).join(" ");
            filter.is_empty()
                || [a.title(), a.help(), a.id(), a.scope().title()].iter().any(|t| t.to_lowercase().contains(&filter))
                || keys.to_lowercase() == filter
        })
        .collect()
    }

    /// A key: text for the filter, movement, enter to run, esc to leave.
    pub(crate) fn pressed(&mut self, key: Key, state: &State) -> Outcome {
        let listed = self.listed(&state.keymap);
        match key.code {
            KeyCode::Esc => return Outcome { close: true, ..Outcome::default() },
            KeyCode::Enter => {
                let run = listed.get(self.cursor.at).map(|a| tell(Msg::Chosen(*a)));
                return Outcome::close(run.into_iter().collect());
            }
            KeyCode::Down => self.cursor.go(Move::By(1), listed.len()),
            KeyCode::Up => self.cursor.go(Move::By(-1), listed.len()),
            KeyCode::PageDown => self.cursor.go(Move::By(10), listed.len()),
            KeyCode::PageUp => self.cursor.go(Move::By(-10), listed.len()),
            KeyCode::Char('?' | 'q') if self.filter.text().is_empty() => {
                return Outcome { close: true, ..Outcome::default() };
            }
            _ => {
                if self.filter.key(&key) {
                    self.cursor = Cursor::default();
                }
            }
        }
        Outcome::default()
    }

    /// A paste for the filter.
    pub(crate) fn pasted(&mut self, text: &str) {
        self.filter.paste(text);
    }

    /// The whole sentence of the action under the cursor, where its row has no room for it.
    fn sentence(&self, listed: &[Action], width: u16, look: &Look) -> Vec<Line<'static>> {
        let Some(action) = listed.get(self.cursor.at) else { return Vec::new() };
        if action.help().width() + SENTENCE <= usize::from(width) {
            return Vec::new();
        }
        let room = usize::from(width).saturating_sub(2).max(8);
        let wrapped = visible(action.help()).wrap(room);
        wrapped.iter().map(|line| Row::new(width, look).pad(1).shown(line, room, Role::Text).line()).collect()
    }

    /// Draws the list: headings by scope, keys, titles, sentences.
    pub(crate) fn draw(&self, frame: &mut Frame, area: Rect, look: &Look) {
        // A narrow window is covered to its edges, since half a frame at each side would only confuse; who and where, and how
        // the chain stands, is always seen.
        let area = if area.width < 100 {
            Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
        } else {
            centred(area, 110, area.height.saturating_sub(2))
        };
        let listed = self.listed(look.keymap);
        let foot = format!("{} actions  enter runs  esc leaves", listed.len());
        let inside = Pane::new("help").foot(foot).focused(true).draw_over(frame, area, look);
        if inside.height < 2 {
            return;
        }
        let field = Rect { height: 1, x: inside.x + 2, width: inside.width.saturating_sub(2), ..inside };
        frame.put(Line::styled("/ ", look.style(Role::Key)), Rect { height: 1, ..inside });
        self.filter.draw(frame, field, true, look);
        let sentence = self.sentence(&listed, inside.width, look);
        let below = u16::try_from(sentence.len()).unwrap_or(0).min(inside.height.saturating_sub(4));
        let body = Rect { y: inside.y + 1, height: inside.height - 1 - below, ..inside };
        for (line, y) in sentence.into_iter().take(usize::from(below)).zip(body.bottom()..) {
            frame.put(line, Rect { y, height: 1, ..inside });
        }
        let mut lines: Vec<(bool, Line)> = Vec::new();
        let mut heading = None;
        for (n, action) in listed.iter().enumerate() {
            if heading != Some(action.scope()) {
                heading = Some(action.scope());
                lines.push((false, Row::new(body.width, look).word(action.scope().title(), Role::Title).line()));
            }
            lines.push((n == self.cursor.at, entry(*action, n == self.cursor.at, body.width, look)));
        }
        let at = lines.iter().position(|(here, _)| *here).unwrap_or(0);
        let first = first(at, lines.len(), usize::from(body.height));
        for (n, (_, line)) in lines.into_iter().skip(first).take(usize::from(body.height)).enumerate() {
            let y = body.y + u16::try_from(n).unwrap_or(0);
            frame.put(line, Rect { y, height: 1, ..body });
        }
    }
}

fn entry(action: Action, here: bool, width: u16, look: &Look) -> Line<'static> {
    let prefix = match action.scope() {
        Scope::Danger => look.keymap.text(Action::Danger).unwrap_or_default(),
        Scope::Copy => look.keymap.text(Action::Copy).unwrap_or_default(),
        _ => String::new(),
    };
    let keys: Vec<String> = look.keymap.texts(action).iter().map(|k| format!("{prefix}{k}")).collect();
    let keys = if keys.is_empty() { "-".to_owned() } else { keys.join(" ") };
    let mut row = Row::new(width, look);
    if here {
        row = row.on(Role::Selected);
    }
    let row = row.word(if here { ">" } else { " " }, Role::Text).own(keys, 14, Role::Key).own(action.title(), 19, Role::Strong);
    row.word(" ", Role::Text).word(action.help(), Role::Text).line()
}
