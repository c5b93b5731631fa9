//! Shown text as spans: the only way by which text from outside reaches a cell.

use crate::rules::hidden::{Ink, Shown, visible};
use crate::tui::look::Look;
use crate::tui::theme::Role;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The spans of a shown text; tokens and look-alikes keep their own style over `base`.
pub(crate) fn spans<'a>(shown: &'a Shown, base: Style, look: &Look) -> impl Iterator<Item = Span<'a>> {
    let (token, lookalike, ascii) = (look.style(Role::Token), look.style(Role::Lookalike), look.screen.ascii);
    shown.pieces().iter().map(move |piece| {
        let style = match piece.ink() {
            Ink::Plain => base,
            Ink::Token => base.patch(token),
            Ink::Lookalike => base.patch(lookalike),
        };
        let text = piece.text();
        if ascii && !text.is_ascii() { Span::styled(plain_signs(text), style) } else { Span::styled(text, style) }
    })
}

/// Our own marks in ASCII; letters of the text itself stay what they are.
fn plain_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '‹' => out.push('<'),
            '›' | '→' => out.push('>'),
            '…' => out.push('~'),
            '␍' => out.push_str("<CR>"),
            '␊' => out.push_str("<LF>"),
            other => out.push(other),
        }
    }
    out
}

/// A shown text as a line of its own.
pub(crate) fn line(shown: &Shown, base: Style, look: &Look) -> Line<'static> {
    Line::from(spans(shown, base, look).map(|s| Span::styled(s.content.into_owned(), s.style)).collect::<Vec<_>>())
}

/// Columns of a label: `policy_digest` and a blank.
const LABEL: usize = 14;

/// A text behind its label, wrapped within a width.
pub(crate) fn labelled(label: &str, text: &str, role: Role, width: u16, look: &Look) -> Vec<Line<'static>> {
    let room = usize::from(width).saturating_sub(LABEL).max(8);
    let mut lines: Vec<Line> = visible(text).wrap(room).iter().map(|l| self::line(l, look.style(role), look)).collect();
    for (n, line) in lines.iter_mut().enumerate() {
        let label = if n == 0 { format!("{:<LABEL$}", visible(label).cut(LABEL - 1).plain()) } else { " ".repeat(LABEL) };
        line.spans.insert(0, Span::styled(label, look.style(Role::Dim)));
    }
    lines
}
