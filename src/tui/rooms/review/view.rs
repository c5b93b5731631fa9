//! Draws Review.
//!
//! ```text
//! ╔ refund.system  v2 91c2f0aa1234 → v3 e07a19c41234  [PROD] ═══════════════════╗
//! ║fragment    tone.core  [-@44100b-]{+@88127c+}  see below                     ║
//! ║! 1 invisible character: i lists, A acknowledges                             ║
//! ║needs ? approval safety 1 of 2                                               ║
//! ╚═════════════════════════════════════════════════════════════════════════════╝
//! ┌ text · unified · word · wrap ───────────────────────────────────────────────┐
//! │  15   You are the refund assistant for Acme.                                │
//! │▌ 17 - Refunds are [-never possible-] after 90 days.                         │
//! │▌ 17 + Refunds are {+not automatic+} after 90 days.                          │
//! └──────────────────────────────────────────────────── hunk 1/3 · seen 0/3 · 58% ┘
//! ```

use super::lines::{Cells, Half, Mark, Pieces, Sign, decorated};
use super::page::{Line as Drawn, Page};
use super::state::{Base, Face, State};
use super::{faces, places};
use crate::model::{ReadinessStatus, Version};
use crate::rules::hidden::{Ink, Piece, visible};
use crate::tui::look::Look;
use crate::tui::msg::ReviewTarget;
use crate::tui::theme::Role;
use crate::tui::widgets::age::age;
use crate::tui::widgets::environment;
use crate::tui::widgets::pane::Pane;
use crate::tui::widgets::put::Put as _;
use crate::tui::widgets::row::Row;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Draws the room into `area`.
pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let places = places::divide(area.height, state.rows_above(), state.zoom);
    let above = Rect { height: places.above, ..area };
    let text = Rect { y: area.y + places.above, height: places.text, ..area };
    let talk = Rect { y: text.bottom(), height: places.talk, ..area };
    if places.above > 0 {
        draw_above(frame, above, state, look);
    }
    draw_text(frame, text, state, look);
    if places.talk > 0 {
        let inside = Pane::new("Rationale & discussion").draw(frame, talk, look);
        put(frame, inside, &faces::talk(state, inside.width, look.now), 0, look);
    }
}

// --- what stands above the text ---

fn draw_above(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let protected = state.promotion.as_ref().is_some_and(|p| p.rule.is_protected());
    let title = title(area.width.saturating_sub(4), state, look);
    let inside = Pane::new(title).double(protected).draw(frame, area, look);
    let mut rows = structure(state, inside.width, look);
    if state.warns_of_hidden() {
        rows.push(hidden_row(state, inside.width, look));
    }
    rows.extend(of_me(state, inside.width, look));
    if state.promotion.is_some() {
        rows.push(needs(state, inside.width, look));
    }
    for (row, y) in rows.into_iter().zip(inside.y..inside.bottom()) {
        frame.put(row, Rect { y, height: 1, ..inside });
    }
}

/// The key, which is cut before anything else is: not what is compared, nor where it goes.
fn title(width: u16, state: &State, look: &Look) -> Line<'static> {
    let key = match (&state.promotion, &state.target) {
        (Some(p), _) => Some(p.promotion.key_id.clone()),
        (None, Some(ReviewTarget::Pair { key, .. } | ReviewTarget::Version { key, .. })) => Some(key.clone()),
        _ => None,
    };
    let room = |wide| compared(Row::new(width, look), state, wide, look).left();
    let wide = width >= 100 && room(true) > 12;
    let mut row = Row::new(width, look);
    if let Some(key) = key {
        let segments: Vec<&str> = key.as_str().split('.').collect();
        let short = segments[segments.len().saturating_sub(2)..].join(".");
        let name = visible(if wide { key.as_str() } else { &short });
        row = row.shown(&name, name.width().min(room(wide).saturating_sub(2)), Role::Strong).word("  ", Role::Text);
    }
    row = compared(row, state, wide, look);
    if let Some(view) = &state.promotion {
        row = row.word(format!("  {}", view.promotion.state), Role::Dim);
    }
    row.words()
}

/// `v2 91c2f0aa1234 → v3 e07a19c41234  [PROD]`
fn compared<'l>(mut row: Row<'l>, state: &State, wide: bool, look: &Look) -> Row<'l> {
    let promotion = state.promotion.as_ref();
    let served = promotion.filter(|_| state.current_base() == Base::Given).and_then(|p| p.from.as_ref());
    let from = state.compared.from.as_deref().map(|v| &v.version).or(served);
    let to = state.compared.to.as_deref().map(|v| &v.version).or(promotion.and_then(|p| p.to.as_ref()));
    row = match from {
        Some(version) => named(row, version, wide, look),
        None => row.word("(nothing)", Role::Dim),
    };
    row = row.word(look.sign(" → ", " > ").to_owned(), Role::Text);
    if let Some(version) = to {
        row = named(row, version, wide, look);
    }
    if let Some(view) = promotion {
        let name = environment(view.promotion.environment.as_str(), view.rule.is_protected());
        row = row.word("  ", Role::Text).outside_word(&name, if view.rule.is_protected() { Role::Protected } else { Role::Text });
    }
    row
}

/// `v3 e07a19c41234 (review, dee 12m)`
fn named<'l>(row: Row<'l>, version: &Version, wide: bool, look: &Look) -> Row<'l> {
    let row = row.word(format!("v{} {}", version.number, version.digest.short()), Role::Strong);
    if !wide {
        return row;
    }
    let row = row.word(format!(" ({}, ", version.state), Role::Dim).outside_word(&version.author.name, Role::Dim);
    row.word(format!(" {})", age(look.now, version.created_at)), Role::Dim)
}

fn structure(state: &State, width: u16, look: &Look) -> Vec<Line<'static>> {
    let Some(page) = state.reading().and_then(super::reading::Reading::page) else {
        return vec![Row::new(width, look).word("reading both versions…", Role::Dim).line()];
    };
    if page.structure.is_empty() {
        let row = Row::new(width, look).word("model_pin   ", Role::Dim);
        let pin = state.compared.to.as_deref().and_then(|v| v.content.as_ref()).and_then(|c| c.model_pin.clone());
        let row = match pin {
            Some(pin) => row.outside_word(&pin, Role::Text),
            None => row.word("none", Role::Text),
        };
        return vec![row.word(" (unchanged) · parameters, fragments, variables unchanged", Role::Dim).line()];
    }
    if !page.structure_is_above() {
        let words = match page.structure.len() {
            1 => "1 structured change: it stands first in the text below".to_owned(),
            n => format!("{n} structured changes: they stand first in the text below"),
        };
        return vec![Row::new(width, look).word(words, Role::Warning).line()];
    }
    let row = |pieces: &Pieces| {
        let (line, _) = super::lines::cut(pieces, usize::from(width));
        Line::from(spans(&line, look.style(Role::Text), look))
    };
    page.structure.iter().map(row).collect()
}

fn hidden_row(state: &State, width: u16, look: &Look) -> Line<'static> {
    let (count, alike) = (state.compared.hidden.len(), state.lookalikes());
    let mut row = Row::new(width, look).word("! ", Role::Warning);
    if count > 0 {
        let words =
            if count == 1 { "1 invisible character".to_owned() } else { format!("{count} places with invisible characters") };
        row = row.word(words, Role::Warning);
        let rest = match (state.acknowledged.is_empty(), state.unacknowledged() > 0) {
            (false, false) => ", acknowledged",
            (_, true) => ": i lists, A there acknowledges, before you can approve",
            (true, false) => ": i lists",
        };
        row = row.word(rest, Role::Warning);
    }
    if alike > 0 {
        let parted = if count > 0 { " · " } else { "" };
        let words = if alike == 1 { "1 look-alike".to_owned() } else { format!("{alike} look-alikes") };
        row = row.word(format!("{parted}{words}"), Role::Lookalike);
    }
    row.line()
}

/// Why this person cannot approve, or where they approved the same digest before.
fn of_me(state: &State, width: u16, look: &Look) -> Option<Line<'static>> {
    let mine = &state.promotion.as_ref()?.mine;
    let row = Row::new(width, look);
    if let Some(why) = &mine.approve_refused {
        return Some(row.word("you cannot approve this: ", Role::Warning).outside_word(why, Role::Warning).line());
    }
    let (place, at) = mine.approved_before.as_ref()?;
    let words = format!(" {} ago", age(look.now, *at)).replace(" now ago", " just now");
    Some(row.word("you approved this digest in ", Role::Ok).outside_word(place, Role::Ok).word(words, Role::Ok).line())
}

/// What stands between the promotion and its effect, in one row.
fn needs(state: &State, width: u16, look: &Look) -> Line<'static> {
    let row = Row::new(width, look);
    let Some(view) = &state.promotion else { return row.line() };
    if view.promotion.state != crate::model::PromotionState::Open {
        let row = row.word(format!("{} ", view.promotion.state), Role::Strong);
        return row.outside_word(view.promotion.closed_reason.as_deref().unwrap_or_default(), Role::Dim).line();
    }
    if view.readiness.is_ready() {
        return row.word("ready: every requirement is met, it can be applied", Role::Ok).line();
    }
    let mut row = row.word("needs", Role::Strong);
    for item in view.readiness.unmet() {
        let (sign, role) = if item.status == ReadinessStatus::Pending { ("?", Role::Pending) } else { ("x", Role::Danger) };
        let name = if item.name == item.kind.as_str() { item.kind.to_string() } else { format!("{} {}", item.kind, item.name) };
        row = row.word(format!(" {sign} "), role).outside_word(&name, Role::Text);
        row = row.word(": ", Role::Dim).outside_word(&item.reason, Role::Dim);
    }
    row.line()
}

// --- the text pane ---

fn draw_text(frame: &mut Frame, area: Rect, state: &State, look: &Look) {
    let inside_height = usize::from(area.height.saturating_sub(2));
    let pane = Pane::new(Line::from(text_title(state))).foot(Line::from(foot(state, inside_height))).focused(true);
    let inside = pane.draw(frame, area, look);
    if let Some(failure) = &state.failure {
        let row = |text: &str, role| Row::new(inside.width, look).outside_word(text, role).line();
        let lines = [
            row(&format!("failed to read this change: {}", failure.text), Role::Danger),
            row(failure.hint.as_deref().unwrap_or("ctrl-r tries again"), Role::Dim),
        ];
        for (line, y) in lines.into_iter().zip(inside.y..inside.bottom()) {
            frame.put(line, Rect { y, height: 1, ..inside });
        }
        return;
    }
    if state.closed && state.compared.to.is_none() {
        let text = " confidential: R shows the change until you leave; each reading is recorded";
        let line = Row::new(inside.width, look).word(text, Role::Warning).line();
        frame.put(line, Rect { height: 1.min(inside.height), ..inside });
        return;
    }
    if state.face != Face::Diff {
        return put(frame, inside, &faces::lines(state, look.now), state.scroll, look);
    }
    let Some((reading, page)) = state.reading().and_then(|r| Some((r, r.page()?))) else {
        frame.render_widget(
            Line::styled("reading both versions…", look.style(Role::Dim)),
            Rect { height: inside.height.min(1), ..inside },
        );
        return;
    };
    for (&index, y) in reading.window(usize::from(inside.height)).iter().zip(inside.y..inside.bottom()) {
        let line = &page.lines[index];
        let bar = line.hunk.map(|hunk| Bar { current: hunk == reading.hunk(), seen: reading.has_seen(hunk) });
        let row = Rect { y, height: 1, ..inside };
        frame.put(drawn(line, bar, page, look), row);
        if reading.found() == Some(index) {
            frame.buffer_mut().set_style(row, look.style(Role::Marked));
        }
    }
}

fn text_title(state: &State) -> String {
    let face = match state.face {
        Face::Diff => "text",
        Face::Gates => "gates, votes and discussion · v or esc leads back",
        Face::Fragments => "fragments · f or esc leads back",
        Face::Hidden => "invisible characters · A acknowledges · i or esc leads back",
    };
    if state.face != Face::Diff {
        return face.to_owned();
    }
    let options = state.reading().and_then(super::reading::Reading::page).map_or_else(|| state.options(), |page| page.options);
    let mut parts = vec![
        face,
        if options.split { "side by side" } else { "unified" },
        options.unit.name(),
        if options.wrap { "wrap" } else { "cut" },
    ];
    if options.effective {
        parts.push("fragments expanded");
    }
    match state.current_base() {
        Base::Given => {}
        Base::LastReviewed(_) => parts.push("against what you last reviewed"),
        Base::Previous(_) => parts.push("against the previous attempt"),
    }
    let find = visible(&state.find.text()).cut(24).plain();
    let find = match (state.finding, find.is_empty()) {
        (true, _) => format!(" · /{find}_ enter finds"),
        (false, true) => String::new(),
        (false, false) => format!(" · /{find}"),
    };
    parts.join(" · ") + &find
}

fn foot(state: &State, height: usize) -> String {
    match (state.face, state.reading()) {
        (Face::Diff, Some(reading)) if reading.page().is_some() => {
            let (total, seen) = (reading.total(), reading.seen());
            let hunk = if total == 0 { 0 } else { reading.hunk() + 1 };
            format!("hunk {hunk}/{total} · seen {seen}/{total} · {}%", reading.percent(height))
        }
        _ => String::new(),
    }
}

/// The bar before a line of a change.
struct Bar {
    current: bool,
    seen: bool,
}

fn drawn(line: &Drawn, bar: Option<Bar>, page: &Page, look: &Look) -> Line<'static> {
    let mut spans = vec![match bar {
        None => Span::raw(" "),
        Some(bar) => {
            let sign = if bar.seen { look.sign("▏", "|") } else { look.sign("▌", "#") };
            let role = if bar.current {
                Role::Focus
            } else if bar.seen {
                Role::Dim
            } else {
                Role::Warning
            };
            Span::styled(sign.to_owned(), look.style(role))
        }
    }];
    match &line.cells {
        Cells::Whole(half) => spans.extend(half_spans(half, page.gutter, look)),
        Cells::Split(old, new) => {
            let columns = usize::from(page.options.width.saturating_sub(2)) / 2;
            let empty = Half::of(Pieces::new());
            let left = half_spans(old.as_ref().unwrap_or(&empty), page.gutter, look);
            let used: usize = 1 + left.iter().map(Span::width).sum::<usize>();
            spans.extend(left);
            spans.push(Span::raw(" ".repeat(columns.saturating_sub(used))));
            spans.push(Span::styled(look.sign("│", "|").to_owned(), look.style(Role::Border)));
            spans.push(Span::raw(" "));
            spans.extend(half_spans(new.as_ref().unwrap_or(&empty), page.gutter, look));
        }
    }
    Line::from(spans)
}

fn half_spans(half: &Half, gutter: usize, look: &Look) -> Vec<Span<'static>> {
    let number = match half.number {
        Some(number) => number.to_string(),
        None if half.continued => look.sign("↪", ">").to_owned(),
        None => String::new(),
    };
    let (sign, role, base) = match half.sign {
        Sign::Same => (" ", Role::Text, Role::Text),
        Sign::Edited => ("~", Role::Warning, Role::Text),
        Sign::Removed => ("-", Role::Removed, Role::RemovedLine),
        Sign::Added => ("+", Role::Added, Role::AddedLine),
        Sign::Moved => (look.sign("⇅", "^"), Role::Moved, Role::Text),
    };
    let mut all = vec![
        Span::styled(format!("{number:>gutter$} "), look.style(Role::Dim)),
        Span::styled(format!("{sign} "), look.style(role)),
    ];
    all.extend(spans(&half.pieces, look.style(base), look));
    all
}

/// Pieces as spans; tokens and look-alikes keep their own style over their meaning's.
fn spans(pieces: &[(Piece, Mark)], base: Style, look: &Look) -> Vec<Span<'static>> {
    let style = |piece: &Piece, mark: Mark| {
        let style = role(mark).map_or(base, |role| base.patch(look.style(role)));
        match piece.ink() {
            Ink::Plain => style,
            Ink::Token => style.patch(look.style(Role::Token)),
            Ink::Lookalike => style.patch(look.style(Role::Lookalike)),
        }
    };
    pieces.iter().map(|(piece, mark)| Span::styled(piece.text().to_owned(), style(piece, *mark))).collect()
}

fn role(mark: Mark) -> Option<Role> {
    Some(match mark {
        Mark::Plain => return None,
        Mark::Removed => Role::Removed,
        Mark::Added => Role::Added,
        Mark::Dim => Role::Dim,
        Mark::Head => Role::Strong,
        Mark::Note => Role::Comment,
        Mark::Warn => Role::Warning,
        Mark::Good => Role::Ok,
        Mark::Bad => Role::Danger,
        Mark::Wait => Role::Pending,
        Mark::Source(sense) => sense.role(),
    })
}

/// Lines of a face, from `top` on.
fn put(frame: &mut Frame, area: Rect, lines: &[Pieces], top: usize, look: &Look) {
    for (pieces, y) in lines.iter().skip(top).zip(area.y..area.bottom()) {
        let line = Line::from(spans(&decorated(pieces.clone()), look.style(Role::Text), look));
        frame.put(line, Rect { y, height: 1, ..area });
    }
}
