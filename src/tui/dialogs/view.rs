//! Draws a dialog over the room: title, what is read, the form, how it stands, the command line that does the same.
//!
//! ```text
//! ╔═ KILL in [PROD]   support.refund.system ═══════════════════════════════╗
//! ║ now   v4 e07a19c4d2b1   5 %, the others v3 91c2f0aa7740                ║
//! ║                                                                        ║
//! ║ Reason  (o)utage (q)uality (s)afety (c)ost (t)est    ( o ) outage      ║
//! ║ Type the environment to arm:  prod                       got: pro▏     ║
//! ║   [ Cancel ]   [ Kill now ]  not armed: type the token                 ║
//! ║ as of 2 s ago · revision 41 · nothing that changes meanwhile disarms   ║
//! ║ cli: countersign kill support.refund.system --env prod --reason outage ║
//! ╚════════════════════════════════════════════════════════════════════════╝
//! ```

use super::dialog::Dialog;
use super::form::{Choice, Focus};
use super::known::said;
use super::sending::{NO_ANSWER, Stage};
use super::sheet::{Row, Words};
use super::spec::label;
use crate::rules::hidden::{Ink, Piece, Shown, visible, wrap};
use crate::tui::field::Field;
use crate::tui::look::Look;
use crate::tui::msg::DialogKind;
use crate::tui::theme::Role;
use crate::tui::widgets::pane::frame_lines;
use crate::tui::widgets::put::Put as _;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear};

/// Columns of the widest dialog, frame included.
const WIDEST: u16 = 88;
/// Columns of a share.
const SHARE: u16 = 8;
/// Columns of a moment with its zone: `2026-12-01T08:00[America/Argentina/Buenos_Aires]`.
const MOMENT: u16 = 49;
/// Columns of a row's name.
const NAME: usize = 6;

/// Draws the dialog over the body; `area` is the whole screen.
pub(crate) fn draw(frame: &mut Frame, area: Rect, dialog: &Dialog, look: &Look) {
    let width = area.width.min(WIDEST).saturating_sub(if area.width > 64 { 4 } else { 0 });
    let inner = usize::from(width.saturating_sub(4));
    if inner < 52 || area.height < 14 {
        return draw_small(frame, area, dialog, look);
    }
    let most = usize::from(area.height - 2) - usize::from(area.height > 20);
    let plan = Plan::of(dialog, look, inner, most.saturating_sub(2));
    let height = u16::try_from(plan.height() + 2).unwrap_or(area.height).min(area.height);
    let rect =
        Rect::new(area.x + (area.width - width) / 2, area.y + 1 + (area.height - 2).saturating_sub(height) / 2, width, height);
    frame.render_widget(Clear, rect);
    frame.render_widget(frame_of(dialog, look, usize::from(width)), rect);
    plan.draw(frame, rect, dialog, look);
}

/// A window in which nothing else fits still takes a kill: title, choice, token, buttons, how it stands.
fn draw_small(frame: &mut Frame, area: Rect, dialog: &Dialog, look: &Look) {
    frame.render_widget(Clear, area);
    let width = usize::from(area.width);
    let place = dialog.environment.as_ref().map(|e| format!(" [{}] ", e.as_str().to_uppercase())).unwrap_or_default();
    let mut title = vec![Span::styled(format!("{}{place}", dialog.shown.title), look.style(Role::Danger))];
    title.extend(spans(&visible(dialog.request.key.as_str()), Role::Strong, look));
    let mut lines = vec![Line::from(title)];
    if let Some(choice) = dialog.form.choice.as_ref().filter(|choice| choice.items.len() > 1) {
        lines.push(choice_line(choice, dialog.form.focus == Focus::Choice, look, width));
    }
    lines.extend(dialog.shown.token.as_ref().map(|token| token_line(dialog, token, look, width)));
    let why = dialog.form.why.as_ref().filter(|_| dialog.shown.why_required || dialog.form.focus == Focus::Why);
    lines.extend(why.map(|why| {
        let mut line =
            vec![Span::styled("why: ", look.style(if dialog.form.focus == Focus::Why { Role::Focus } else { Role::Dim }))];
        line.extend(spans(&visible(&why.text().replace('\n', " ")), Role::Text, look));
        Line::from(line)
    }));
    lines.push(buttons(dialog, look, width));
    lines.extend(trying(dialog).into_iter().flat_map(|words| wrapped(&words, width, look)));
    if is_overdue(dialog) {
        lines.extend(wrapped(&by_hand(dialog), width, look));
    }
    lines.extend(dialog.failure.iter().flat_map(|f| wrapped(&Words::of(Role::Danger, &f.text), width, look)));
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        put(frame, line, area.x, y, area.width, area.bottom());
    }
}

fn frame_of(dialog: &Dialog, look: &Look, width: usize) -> Block<'static> {
    let spec = &dialog.shown;
    let double = spec.grave || is_protected(dialog, look);
    let set = frame_lines(look, double);
    let mut title = title(dialog, look);
    let room = room_for_key(&title, width);
    if title.len() > 1 {
        title.push(Span::raw("   "));
    }
    if dialog.set.is_none() {
        title.extend(spans(&visible(&what(dialog)).cut(room), Role::Strong, look));
        title.push(Span::raw(" "));
    }
    let role = if spec.grave { Role::Danger } else { Role::Focus };
    Block::bordered().border_set(set).border_style(look.style(role)).title(Line::from(title)).style(look.style(Role::Text))
}

fn is_protected(dialog: &Dialog, look: &Look) -> bool {
    dialog.environment.as_ref().is_some_and(|e| e.is_safe_default() || look.session.is_protected(e))
}

/// `APPROVE for [PROD]`
fn title(dialog: &Dialog, look: &Look) -> Vec<Span<'static>> {
    let spec = &dialog.shown;
    let mut title = vec![Span::styled(format!(" {} ", spec.title), look.style(Role::Title))];
    let names = [" in", " to", " for", " from"].iter().any(|end| spec.title.ends_with(end)) || spec.title == "ROLL BACK";
    if let Some(environment) = dialog.environment.as_ref().filter(|_| names) {
        let name = environment.as_str();
        let (text, role) = if is_protected(dialog, look) {
            (format!("[{}]", name.to_uppercase()), Role::Protected)
        } else {
            (name.to_owned(), Role::Strong)
        };
        title.push(Span::styled(text, look.style(role)));
    }
    title
}

/// Columns of the title that are left for the key in a dialog of `width`.
fn room_for_key(title: &[Span], width: usize) -> usize {
    width.saturating_sub(title.iter().map(Span::width).sum::<usize>() + 8)
}

/// What it is about: the key, or how many.
fn what(dialog: &Dialog) -> String {
    let many = dialog.request.more.len();
    if many > 1 { super::words::plural(many, "key") } else { dialog.request.key.to_string() }
}

/// Key and environment as rows, each where the title does not hold it whole.
fn long_names(dialog: &Dialog, look: &Look, width: usize) -> Vec<Row> {
    let title = title(dialog, look);
    let room = room_for_key(&title, width + 4);
    if dialog.set.is_some() || visible(&what(dialog)).width() <= room {
        return Vec::new();
    }
    let place = dialog.environment.as_ref().filter(|_| room == 0).map(|environment| Row::named("in", environment.as_str()));
    [Row::named("key", &what(dialog))].into_iter().chain(place).collect()
}

/// What stands where: lines above the form, the form, lines below it.
struct Plan {
    top: Vec<Line<'static>>,
    scrolled: usize,
    hidden: usize,
    form: Vec<Part>,
    foot: Vec<Line<'static>>,
}

/// One part of the form.
enum Part {
    Blank,
    Line(Line<'static>),
    Field(Focus, Line<'static>),
    Text(Focus, u16),
}

impl Part {
    fn height(&self) -> usize {
        match self {
            Self::Text(_, rows) => usize::from(*rows) + 2,
            _ => 1,
        }
    }
}

impl Plan {
    fn of(dialog: &Dialog, look: &Look, width: usize, most: usize) -> Self {
        let foot = foot(dialog, look, width);
        let mut roomy = true;
        loop {
            let top = top(dialog, look, width, roomy);
            let mut form = form(dialog, look, width, roomy);
            let needed = |form: &[Part]| foot.len() + form.iter().map(Part::height).sum::<usize>();
            if roomy && top.len() + needed(&form) > most {
                roomy = false;
                continue;
            }
            // A tall terminal gives the rationale more lines.
            let spare = most.saturating_sub(top.len() + needed(&form));
            for part in &mut form {
                match part {
                    Part::Text(Focus::Body, rows) => *rows += u16::try_from(spare).unwrap_or(0),
                    Part::Text(_, rows) if most > 26 && dialog.form.body.is_none() => {
                        *rows += u16::try_from(spare.min(2)).unwrap_or(0);
                    }
                    _ => {}
                }
            }
            let room = most.saturating_sub(needed(&form)).max(1).min(top.len());
            let hidden = top.len() - room;
            let scrolled = usize::from(dialog.scroll).min(hidden);
            return Self { top, scrolled, hidden, form, foot };
        }
    }

    fn height(&self) -> usize {
        self.top.len() - self.hidden + self.form.iter().map(Part::height).sum::<usize>() + self.foot.len()
    }

    fn draw(&self, frame: &mut Frame, rect: Rect, dialog: &Dialog, look: &Look) {
        let (left, width) = (rect.x + 2, rect.width.saturating_sub(4));
        let bottom = rect.y + rect.height.saturating_sub(1);
        let mut y = rect.y + 1;
        let shown = self.top.len() - self.hidden;
        for line in self.top.iter().skip(self.scrolled).take(shown) {
            put(frame, line, left, y, width, bottom);
            y += 1;
        }
        if self.hidden > 0 {
            let more = format!(" {}-{} of {}, pgdn ", self.scrolled + 1, self.scrolled + shown, self.top.len());
            put(
                frame,
                &Line::styled(more.clone(), look.style(Role::Dim)),
                rect.right().saturating_sub(u16::try_from(more.len()).unwrap_or(0) + 2),
                y.saturating_sub(1),
                30,
                bottom,
            );
        }
        for part in &self.form {
            match part {
                Part::Blank => {}
                Part::Line(line) => put(frame, line, left, y, width, bottom),
                Part::Field(which, line) => {
                    put(frame, line, left, y, width, bottom);
                    let at = u16::try_from(line.width()).unwrap_or(0).min(width);
                    let (field, most) = if *which == Focus::At { (&dialog.form.at, MOMENT) } else { (&dialog.form.share, SHARE) };
                    if let (Some(field), true) = (field, y < bottom) {
                        let area = Rect::new(left + at, y, (width - at).min(most), 1);
                        field.draw(frame, area, dialog.form.focus == *which, look);
                    }
                }
                Part::Text(which, rows) => {
                    let area = Rect::new(left, y, width, rows + 2).intersection(frame.area());
                    draw_text(frame, area, *which, dialog, look);
                }
            }
            y += u16::try_from(part.height()).unwrap_or(1);
        }
        for line in &self.foot {
            put(frame, line, left, y, width, bottom);
            y += 1;
        }
    }
}

fn put(frame: &mut Frame, line: &Line<'static>, x: u16, y: u16, width: u16, bottom: u16) {
    if y < bottom {
        frame.put(line, Rect::new(x, y, width, 1).intersection(frame.area()));
    }
}

fn draw_text(frame: &mut Frame, area: Rect, which: Focus, dialog: &Dialog, look: &Look) {
    let focused = dialog.form.focus == which;
    let field = if which == Focus::Body { &dialog.form.body } else { &dialog.form.why };
    let set = frame_lines(look, false);
    let block = Block::bordered().border_set(set).border_style(look.style(if focused { Role::Focus } else { Role::Border }));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    if let Some(field) = field {
        field.draw(frame, inner, focused && !dialog.waiting, look);
    }
}

/// What is read: rows wrapped to `width`; blank ones only where there is room.
fn top(dialog: &Dialog, look: &Look, width: usize, roomy: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for row in long_names(dialog, look, width).iter().chain(&dialog.shown.rows) {
        match row {
            Row::Blank if roomy => lines.push(Line::default()),
            Row::Blank => {}
            Row::Heading(text) => lines.push(Line::styled(*text, look.style(Role::Strong))),
            Row::Line(words) => lines.extend(wrapped(words, width, look)),
            Row::Items(items) => lines.extend(packed(items, width, look)),
            Row::Item(words) => {
                for (n, line) in wrapped(words, width.saturating_sub(4), look).into_iter().enumerate() {
                    let mut spans = vec![Span::raw(if n == 0 { "  " } else { "    " })];
                    spans.extend(line.spans);
                    lines.push(Line::from(spans));
                }
            }
            Row::Named(name, words) => {
                for (n, line) in wrapped(words, width.saturating_sub(NAME), look).into_iter().enumerate() {
                    let label = if n == 0 { *name } else { "" };
                    let mut spans = vec![Span::styled(format!("{label:NAME$}"), look.style(Role::Dim))];
                    spans.extend(line.spans);
                    lines.push(Line::from(spans));
                }
            }
        }
    }
    let differences = dialog.arming.differences();
    if !differences.is_empty() {
        let words = Words::of(Role::Warning, "! ").and(Role::Warning, &format!("changed: {}", said(differences)));
        lines.extend(wrapped(&words, width, look));
    }
    lines
}

fn form(dialog: &Dialog, look: &Look, width: usize, roomy: bool) -> Vec<Part> {
    let (form, spec) = (&dialog.form, &dialog.shown);
    let mut parts = Vec::new();
    if dialog.results.is_some() {
        return vec![Part::Blank, Part::Line(Line::styled(" >[ Close ]", look.style(Role::ButtonFocus)))];
    }
    let gap = |parts: &mut Vec<Part>| {
        if roomy {
            parts.push(Part::Blank);
        }
    };
    gap(&mut parts);
    if let Some(choice) = form.choice.as_ref().filter(|choice| choice.items.len() > 1) {
        parts.push(Part::Line(choice_line(choice, form.focus == Focus::Choice, look, width)));
    }
    if form.share.is_some() {
        let role = if form.focus == Focus::Share { Role::Focus } else { Role::Text };
        let label = Line::styled("Share in %  (empty: the policy's plan)  ", look.style(role));
        parts.push(Part::Field(Focus::Share, label));
    }
    if let Some(timing) = &form.timing {
        let mut line = choice_line(timing, form.focus == Focus::Timing, look, width);
        parts.push(if form.at.is_some() {
            line.push_span(Span::raw("  "));
            Part::Field(Focus::At, line)
        } else {
            Part::Line(line)
        });
    }
    let token = spec.token.as_ref().map(|token| token_line(dialog, token, look, width));
    let why = form.why.as_ref().map(|_| {
        let role = if form.focus == Focus::Why { Role::Focus } else { Role::Text };
        let kept = if dialog.restored { "draft restored" } else { "" };
        let right = format!("{kept}{}ctrl-g editor", if kept.is_empty() { "" } else { " · " });
        let pad = width.saturating_sub(spec.why.chars().count() + right.chars().count());
        let spans = vec![
            Span::styled(spec.why, look.style(role)),
            Span::raw(" ".repeat(pad)),
            Span::styled(right, look.style(Role::Dim)),
        ];
        let unseen = form.why.as_ref().and_then(|field| unseen(field, look, width));
        [Part::Line(Line::from(spans)), Part::Text(Focus::Why, 1)].into_iter().chain(unseen)
    });
    if let Some(body) = &form.body {
        parts.push(Part::Text(Focus::Body, 3));
        parts.extend(unseen(body, look, width));
    }
    if form.token_first {
        parts.extend(token.map(Part::Line));
        gap(&mut parts);
        parts.extend(why.into_iter().flatten());
    } else {
        parts.extend(why.into_iter().flatten());
        parts.extend(token.map(Part::Line));
    }
    gap(&mut parts);
    parts.push(Part::Line(buttons(dialog, look, width)));
    parts
}

/// Says which characters of a text nobody would see: they are sent as they stand.
fn unseen(field: &Field, look: &Look, width: usize) -> Option<Part> {
    let mut found = field.invisible();
    let what = super::words::plural(found.len(), "invisible character");
    found.sort();
    found.dedup();
    let line = visible(&format!("! {what} in this text: {}", found.join(", "))).cut(width);
    (!found.is_empty()).then(|| Part::Line(Line::from(spans(&line, Role::Warning, look))))
}

fn choice_line(choice: &Choice, focused: bool, look: &Look, width: usize) -> Line<'static> {
    let role = if focused { Role::Focus } else { Role::Text };
    let mut spans = vec![Span::styled(format!("{}  ", choice.label), look.style(role))];
    let lettered = choice.items.iter().all(|item| item.0.is_some());
    if lettered {
        for (letter, word) in &choice.items {
            let rest: String = word.chars().skip(1).collect();
            spans.push(Span::styled(format!("({})", letter.unwrap_or(' ')), look.style(Role::Key)));
            spans.push(Span::styled(format!("{rest} "), look.style(Role::Text)));
        }
        let (mark, word) =
            choice.at.and_then(|at| choice.items.get(at)).map_or((' ', ""), |item| (item.0.unwrap_or(' '), item.1.as_str()));
        let style = look.style(if focused { Role::ButtonFocus } else { Role::Strong });
        spans.push(Span::raw("   "));
        spans.push(Span::styled(format!("( {mark} ) {word}"), style));
    } else {
        let at = choice.at.unwrap_or(0);
        let style = look.style(if focused { Role::ButtonFocus } else { Role::Strong });
        spans.push(Span::styled(look.sign("‹ ", "< "), look.style(Role::Dim)));
        spans.extend(
            self::spans(&visible(choice.chosen().unwrap_or("—")).cut(width / 2), Role::Strong, look)
                .into_iter()
                .map(|s| s.patch_style(style)),
        );
        spans.push(Span::styled(look.sign(" ›", " >"), look.style(Role::Dim)));
        spans.push(Span::styled(format!("  {} of {}", at + 1, choice.items.len()), look.style(Role::Dim)));
    }
    Line::from(spans)
}

fn token_line(dialog: &Dialog, token: &super::spec::Token, look: &Look, width: usize) -> Line<'static> {
    let focused = dialog.form.focus == Focus::Token;
    let style = look.style(if focused { Role::Focus } else { Role::Text });
    let mut spans = vec![Span::styled(format!("{}  ", token.asks), style)];
    spans.extend(self::spans(&visible(&token.text), Role::Strong, look));
    let cursor = if focused { look.sign("▏", "_") } else { "" };
    let (mark, role) = if dialog.arming.token_ok() { (" +", Role::Ok) } else { ("", Role::Text) };
    let got = visible(dialog.arming.typed()).cut(24);
    let right_width = 5 + got.width() + cursor.chars().count() + mark.len();
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(" ".repeat(width.saturating_sub(used + right_width).clamp(2, 28))));
    spans.push(Span::styled("got: ", look.style(Role::Dim)));
    spans.extend(self::spans(&got, role, look));
    spans.push(Span::styled(cursor, look.style(Role::FieldFocus)));
    spans.push(Span::styled(mark, look.style(role)));
    Line::from(spans)
}

fn buttons(dialog: &Dialog, look: &Look, width: usize) -> Line<'static> {
    let style = |focus| look.style(if dialog.form.focus == focus { Role::ButtonFocus } else { Role::Button });
    let mark = |focus| if dialog.form.focus == focus { ">" } else { " " };
    let mut spans = vec![
        Span::raw(format!(" {}", mark(Focus::Cancel))),
        Span::styled("[ Cancel ]", style(Focus::Cancel)),
        Span::raw(format!("  {}", mark(Focus::Act))),
        Span::styled(format!("[ {} ]", dialog.shown.button), style(Focus::Act)),
        Span::raw("  "),
    ];
    if dialog.waiting {
        let progress = dialog.set.as_ref().map_or_else(|| "sent".to_owned(), |set| format!("answered {}", set.progress()));
        spans.push(Span::styled(progress, look.style(Role::Pending)));
        return Line::from(spans);
    }
    let used: usize = spans.iter().map(Span::width).sum();
    if dialog.blocked.is_empty() {
        spans.push(Span::styled("ARMED: ctrl-s sends it", look.style(Role::Danger)));
    } else {
        let fits = |why: &&str| why.chars().count() + used + 11 <= width;
        let why = dialog.blocked.iter().map(String::as_str).find(fits).unwrap_or("see below");
        spans.extend(self::spans(&visible(&format!("not armed: {why}")), Role::Dim, look));
    }
    Line::from(spans)
}

/// How it stands, and the command line that does the same.
fn foot(dialog: &Dialog, look: &Look, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if dialog.results.is_some() {
        return lines;
    }
    if let Some(words) = trying(dialog) {
        lines.extend(wrapped(&words, width, look));
    } else {
        if let Some(failure) = &dialog.failure {
            let hint = failure.hint.as_ref().map(|hint| format!(" — {hint}")).unwrap_or_default();
            lines.extend(wrapped(&Words::of(Role::Danger, &format!("x {}{hint}", failure.text)), width, look));
            let unmet = failure.problem.iter().flat_map(|problem| &problem.unmet);
            lines.extend(unmet.take(4).flat_map(|item| {
                wrapped(&Words::of(Role::Danger, "  x ").then(&format!("{}: {}", label(item), item.reason)), width, look)
            }));
        }
        // Reasons that do not fit beside the button.
        let long = dialog.blocked.iter().filter(|b| b.chars().count() > 34).take(3);
        lines.extend(long.flat_map(|why| wrapped(&Words::of(Role::Warning, &format!("! {why}")), width, look)));
        lines.extend(wrapped(&as_of(dialog), width, look));
    }
    if is_overdue(dialog) {
        lines.extend(wrapped(&by_hand(dialog), width, look));
    } else if !dialog.shown.command.is_empty() {
        let cut = visible(&format!("cli: {}", dialog.shown.command)).cut(width);
        lines.push(Line::from(spans(&cut, Role::Dim, look)));
    }
    lines
}

/// Whether a kill is not known to be in effect: then what to do by hand stands there whole.
fn is_overdue(dialog: &Dialog) -> bool {
    let late = dialog
        .trying
        .is_some_and(|(stage, seconds, attempts)| stage == Stage::Asking || attempts > 1 || seconds >= NO_ANSWER.as_secs());
    dialog.waiting && dialog.insists && (late || dialog.failure.is_some()) && !dialog.shown.command.is_empty()
}

fn by_hand(dialog: &Dialog) -> Words {
    Words::of(Role::Warning, "by hand: ").then(&dialog.shown.command)
}

/// While it is sent and not answered.
fn trying(dialog: &Dialog) -> Option<Words> {
    if !dialog.waiting {
        return None;
    }
    let (stage, seconds, attempts) = dialog.trying?;
    let first = attempts < 2 && dialog.failure.is_none();
    let late = seconds >= NO_ANSWER.as_secs();
    let why = dialog.failure.as_ref().map(|f| format!(" · {}", f.text)).unwrap_or_default();
    Some(match stage {
        Stage::Asking => {
            Words::of(Role::Danger, "NOT YET IN EFFECT").then(" · tried for 10 minutes; ctrl-s goes on, esc leaves it")
        }
        _ if first && !late => Words::of(Role::Pending, "sent, waiting for the registry"),
        _ if first && dialog.insists => Words::of(Role::Danger, "NOT YET IN EFFECT")
            .then(&format!(" as far as is known: no answer for {seconds} s · it goes on waiting · esc leaves it")),
        _ if first => Words::of(Role::Warning, &format!("sent, no answer for {seconds} s: the request goes on waiting")),
        _ if dialog.insists => Words::of(Role::Danger, "NOT YET IN EFFECT").then(&format!(
            " · trying for {seconds} s, attempt {attempts}, one key: it takes effect once{why} · esc lets it go on behind"
        )),
        _ => Words::of(Role::Warning, "outcome unknown")
            .then(&format!(" · asking again with the same key, attempt {attempts} ({seconds} s){why}")),
    })
}

/// How old the facts are.
fn as_of(dialog: &Dialog) -> Words {
    let kill = dialog.request.kind == DialogKind::Kill;
    let age = dialog.arming.age(dialog.steady).map(|age| age.as_secs());
    let revision = dialog.arming.pin().map(|pin| pin.revision).filter(|revision| *revision > 0);
    let mut parts = Vec::new();
    match age {
        Some(seconds) if kill => parts.push(format!("as of {seconds} s ago")),
        Some(seconds) => parts.push(format!("read {seconds} s ago")),
        None if dialog.request.kind == DialogKind::Unanswered => {}
        None => parts.push("not read yet".into()),
    }
    parts.extend(revision.map(|revision| format!("revision {revision}")));
    if kill {
        parts.push("nothing that changes meanwhile disarms".into());
    }
    let mut words = Words::of(Role::Dim, &parts.join(" · "));
    if dialog.arming.dropped() > 0 {
        words = words
            .and(Role::Warning, if parts.is_empty() { "" } else { " · " })
            .and(Role::Warning, "keys before this dialog were dropped");
    }
    words
}

/// Short words side by side, as many as fit, none broken.
fn packed(items: &[Words], width: usize, look: &Look) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    for item in items {
        let line = wrapped(item, width, look).into_iter().next().unwrap_or_default();
        match lines.last_mut() {
            Some(last) if last.width() + 3 + line.width() <= width => {
                last.spans.push(Span::raw("   "));
                last.spans.extend(line.spans);
            }
            _ => lines.push(line),
        }
    }
    lines
}

/// Words wrapped at `width`, as styled lines.
fn wrapped(words: &Words, width: usize, look: &Look) -> Vec<Line<'static>> {
    let pieces: Vec<(Piece, Role)> =
        words.0.iter().flat_map(|(role, shown)| shown.clone().into_pieces().into_iter().map(|piece| (piece, *role))).collect();
    let line =
        |pieces: Vec<(Piece, Role)>| Line::from(pieces.iter().map(|(piece, role)| span(piece, *role, look)).collect::<Vec<_>>());
    wrap(&pieces, width.max(1), &|_| 0).into_iter().map(line).collect()
}

fn spans(shown: &Shown, role: Role, look: &Look) -> Vec<Span<'static>> {
    shown.pieces().iter().map(|piece| span(piece, role, look)).collect()
}

/// A piece in its meaning; what stands for something invisible has a style of its own.
fn span(piece: &Piece, role: Role, look: &Look) -> Span<'static> {
    let role = match piece.ink() {
        Ink::Plain => role,
        Ink::Token => Role::Token,
        Ink::Lookalike => Role::Lookalike,
    };
    Span::styled(piece.text().to_owned(), look.style(role))
}

#[cfg(test)]
mod tests;
