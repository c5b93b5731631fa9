//! Shown text as spans: the only way by which text from outside reaches a cell.

use crate::rules::hidden::{Ink, Shown};
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
