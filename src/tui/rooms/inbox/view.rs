//! Draws Inbox.
//!
//! ```text
//! ┌ Inbox · for you 4 ───────────────────────────────────────────────────────────┐
//! │ AGE  KEY                      CHANGE      ENV     GATES   OK                 │
//! │>12m  support.refund.system    v8→v9       [PROD]  5+ 1!   1/2                │
//! │── waiting for others ──                                                      │
//! └──────────────────────────────────────────────────────────────────── 1 of 6 ──┘
//! ```

use super::state::{Entry, Section, State};
use super::{preview, words};
use crate::tui::look::Look;
use crate::tui::rooms::marks;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use crate::tui::widgets::{age, environment, scroll};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the room into `area`: list and preview, side by side where there is room.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let wide = area.width >= 100;
    let preview_height = if area.height >= 14 { (area.height / 3).clamp(5, 9) } else { 0 };
    let shown = look.screen.preview && (wide || preview_height > 0);
    if look.screen.zoom && state.in_preview {
        preview::draw(frame, area, state, look);
        return;
    }
    if look.screen.zoom || !shown {
        list(frame, area, state, look);
        return;
    }
    let (left, right) = if wide {
        let width = area.width * 60 / 100;
        (Rect { width, ..area }, Rect { x: area.x + width, width: area.width - width, ..area })
    } else {
        let height = area.height - preview_height;
        (Rect { height, ..area }, Rect { y: area.y + height, height: preview_height, ..area })
    };
    list(frame, left, state, look);
    preview::draw(frame, right, state, look);
}

fn list(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let mine = state.entries.iter().filter(|e| e.due.is_mine() && !e.ghost).count();
    let dot = look.sign("·", "-");
    let rows = state.visible();
    let at = state.current().map_or(0, |(at, _)| at);
    // Until the rest is here the number may grow.
    let more = if state.loaded && !state.whole { "+" } else { "" };
    let mut title = format!("Inbox {dot} for you {mine}{more}");
    if rows.len() != state.entries.len() {
        title = format!("{title} {dot} filtered {} of {}", rows.len(), state.entries.len());
    }
    if state.marks.len() > 0 {
        title = format!("{title} {dot} {} marked", state.marks.len());
    }
    let foot = if rows.is_empty() { String::new() } else { format!("{} of {}", at + 1, rows.len()) };
    let inside = Pane::new(title).foot(foot).focused(!state.in_preview).draw(frame, area, look);
    let filtering = state.typing || !state.filter.text().is_empty();
    let top = u16::from(filtering);
    if filtering {
        let line = Rect { height: 1.min(inside.height), ..inside };
        frame.put(Line::styled("/ ", look.style(Role::Key)), line);
        let field = Rect { x: line.x + 2, width: line.width.saturating_sub(2), ..line };
        state.filter.draw(frame, field, state.typing, look);
    }
    let columns = Columns::of(&rows, inside.width, look);
    let mut lines = Vec::new();
    if state.whole && mine == 0 && !state.entries.is_empty() {
        let text = format!(" {} nothing waits for you", look.sign("✓", "ok"));
        lines.push(Place::Note(Line::styled(text, look.style(Role::Ok))));
    }
    let mut section = None;
    for (n, entry) in rows.iter().enumerate() {
        if section != Some(entry.section) {
            if section.is_some() || entry.section != Section::Approve {
                lines.push(Place::Heading(entry.section));
            }
            section = Some(entry.section);
        }
        lines.push(Place::Row(n));
    }
    if rows.is_empty() {
        let text = match (state.loaded, state.entries.is_empty()) {
            (false, _) => look.awaited(" fetching what waits for you"),
            (true, true) => " nothing waits for you, and nothing for others",
            (true, false) => " no row matches the filter; esc clears it",
        };
        lines.push(Place::Note(Line::styled(text, look.style(Role::Dim))));
    }
    let newer = (state.waiting() > 0).then(|| {
        let text = format!(" {} newer {} press . to insert", state.waiting(), look.sign("—", "-"));
        Line::styled(text, look.style(Role::Warning))
    });
    let height = inside.height.saturating_sub(top + u16::from(newer.is_some()));
    // The header stays; the rest scrolls under it. Only what is seen is laid out.
    let here = lines.iter().position(|place| matches!(place, Place::Row(n) if *n == at)).unwrap_or(0);
    let first = scroll::first(here, lines.len(), usize::from(height.saturating_sub(1)));
    let body = lines.into_iter().skip(first).map(|place| match place {
        Place::Note(line) => line,
        Place::Heading(section) => heading(section, inside.width, look),
        Place::Row(n) => {
            let sign = marks::sign(n == at, state.marks.has(&rows[n].id()), look);
            row(rows[n], n == at, sign, columns, look)
        }
    });
    let shown = std::iter::once(header(columns, look)).chain(body).take(usize::from(height));
    for (n, line) in shown.enumerate() {
        let y = inside.y + top + u16::try_from(n).unwrap_or(0);
        frame.put(line, Rect { y, height: 1, ..inside });
    }
    if let Some(line) = newer.filter(|_| inside.height > 0) {
        frame.put(line, Rect { y: inside.bottom() - 1, height: 1, ..inside });
    }
}

/// What stands in a line of the list.
enum Place {
    Note(Line<'static>),
    Heading(Section),
    /// Which of the visible rows.
    Row(usize),
}

/// Widths of the columns after the key: change, environment, gates, approvals.
const CHANGE: usize = 11;
const ENVIRONMENT: usize = 13;
const GATES: usize = 8;
const OK: usize = 6;
/// With the time at which the registry applies it: `1/2 in 12m`.
const OK_AND_WHEN: usize = 10;

/// Widths that depend on the window and on the rows.
#[derive(Clone, Copy)]
struct Columns {
    width: u16,
    key: usize,
    ok: usize,
}

impl Columns {
    fn of(rows: &[&Entry], width: u16, look: &Look) -> Self {
        let timed = rows.iter().any(|entry| words::schedule(&entry.view.promotion, look.now).is_some());
        let ok = if timed { OK_AND_WHEN } else { OK };
        let key = usize::from(width).saturating_sub(1 + 4 + CHANGE + ENVIRONMENT + GATES + ok).clamp(12, 60);
        Self { width, key, ok }
    }
}

fn header(columns: Columns, look: &Look) -> Line<'static> {
    Row::new(columns.width, look)
        .own(" AGE", 5, Role::Dim)
        .own("KEY", columns.key, Role::Dim)
        .own("CHANGE", CHANGE, Role::Dim)
        .own("ENV", ENVIRONMENT, Role::Dim)
        .own("GATES", GATES, Role::Dim)
        .own("OK", columns.ok, Role::Dim)
        .line()
}

fn heading(section: Section, width: u16, look: &Look) -> Line<'static> {
    let dash = look.sign("──", "--");
    Row::new(width, look).word(format!("{dash} {} {dash}", section.heading()), Role::Dim).line()
}

fn row(entry: &Entry, here: bool, sign: &'static str, columns: Columns, look: &Look) -> Line<'static> {
    let (view, promotion) = (&entry.view, &entry.view.promotion);
    let mut row = Row::new(columns.width, look);
    if here {
        row = row.on(Role::Selected);
    }
    let plain = if entry.ghost { Role::Dim } else { Role::Text };
    row = row.own(sign, 1, Role::Key);
    row = row.right(age::age(look.now, promotion.at), 3, plain).pad(1);
    let protected = view.rule.is_protected();
    let (given, asked) = words::approvals(view);
    let ok = match (entry.due, entry.ghost) {
        (_, true) => "gone".to_owned(),
        (Section::Apply, _) => "ready".to_owned(),
        (Section::Owed, _) if view.mine.owes_note => "note".to_owned(),
        (Section::Owed, _) if promotion.missed && view.mine.opened => "missed".to_owned(),
        (Section::Owed, _) => "review".to_owned(),
        _ if words::rejections(view).next().is_some() => look.sign("✗ no", "x no").to_owned(),
        _ => {
            let given = (asked > 0).then(|| format!("{given}/{asked}"));
            let words: Vec<String> = given.into_iter().chain(words::schedule(promotion, look.now)).collect();
            if words.is_empty() { "-".to_owned() } else { words.join(" ") }
        }
    };
    let gates = words::gates(view);
    let gates_role = if gates.contains('x') {
        Role::Danger
    } else if gates.contains(['?', '!']) {
        Role::Warning
    } else {
        Role::Ok
    };
    row.outside(promotion.key_id.as_str(), columns.key.saturating_sub(1), plain)
        .pad(1)
        .own(words::change(view, look.sign("→", ">")), CHANGE - 1, plain)
        .pad(1)
        .outside(
            &environment(promotion.environment.as_str(), protected),
            ENVIRONMENT - 1,
            if protected { Role::Protected } else { plain },
        )
        .pad(1)
        .own(gates, GATES - 1, gates_role)
        .pad(1)
        .own(ok, columns.ok, if entry.due == Section::Apply { Role::Ok } else { plain })
        .line()
}
