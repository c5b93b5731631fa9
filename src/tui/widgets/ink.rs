//! Shown text as spans: the only way by which text from outside reaches a cell.

use crate::rules::hidden::{Ink, Shown};
use crate::tui::look::Look;
use crate::tui::theme::Role;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The spans of a shown text; tokens and look-alikes keep their own style over `base`.
pub(crate) fn spans<'a>(shown: &'a Shown, base: Style, look: &Look) -> impl Iterator<Item = Span<'a>> {
    let (token, lookalike) = (look.style(Role::Token), look.style(Role::Lookalike));
    shown.pieces().iter().map(move |piece| {
        let style = match piece.ink() {
            Ink::Plain => base,
            Ink::Token => base.patch(token),
            Ink::Lookalike => base.patch(lookalike),
        };
        Span::styled(piece.text(), style)
    })
}

/// A shown text as a line of its own.
pub(crate) fn line(shown: &Shown, base: Style, look: &Look) -> Line<'static> {
    Line::from(spans(shown, base, look).map(|s| Span::styled(s.content.into_owned(), s.style)).collect::<Vec<_>>())
}
