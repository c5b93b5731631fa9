//! A line made of cells of fixed widths: our own words and shown text, cut and padded.

use super::ink;
use crate::rules::hidden::{Shown, visible};
use crate::tui::look::Look;
use crate::tui::theme::Role;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr as _;

/// A line under construction; never wider than its room.
pub(crate) struct Row<'l> {
    spans: Vec<Span<'static>>,
    left: usize,
    base: Style,
    look: &'l Look<'l>,
}

impl<'l> Row<'l> {
    /// An empty line of at most `width` columns.
    pub(crate) fn new(width: u16, look: &'l Look<'l>) -> Self {
        Self { spans: Vec::new(), left: usize::from(width), base: look.style(Role::Text), look }
    }

    /// The same with every cell on this style: the selected row.
    pub(crate) fn on(mut self, role: Role) -> Self {
        self.base = self.base.patch(self.look.style(role));
        self
    }

    fn style(&self, role: Role) -> Style {
        let style = self.look.style(role);
        // On a selected row its own colours win: a dim word must stay readable there.
        if self.base.bg.is_some() || self.base.add_modifier.contains(ratatui::style::Modifier::REVERSED) {
            return Style { add_modifier: style.add_modifier | self.base.add_modifier, ..self.base };
        }
        self.base.patch(style)
    }

    /// Our own words, cut and padded to `width`.
    pub(crate) fn own(self, text: impl Into<Cow<'static, str>>, width: usize, role: Role) -> Self {
        let text = text.into();
        let width = width.min(self.left);
        let cut = cut(&text, width, self.look.sign("…", "~")).into_owned();
        let pad = width.saturating_sub(cut.width());
        let style = self.style(role);
        self.push(Span::styled(cut, style)).pad(pad)
    }

    /// Our own words as they are, as far as there is room.
    pub(crate) fn word(self, text: impl Into<Cow<'static, str>>, role: Role) -> Self {
        let text = text.into();
        let width = text.width();
        self.own(text, width, role)
    }

    /// Our own words at the right end of a cell of `width`.
    pub(crate) fn right(self, text: impl Into<Cow<'static, str>>, width: usize, role: Role) -> Self {
        let text = text.into();
        let pad = width.saturating_sub(text.width()).min(self.left);
        let rest = width.saturating_sub(pad);
        self.pad(pad).own(text, rest, role)
    }

    /// Text from outside, made visible, cut and padded to `width`.
    pub(crate) fn outside(self, text: &str, width: usize, role: Role) -> Self {
        self.shown(&visible(text), width, role)
    }

    /// Shown text, cut and padded to `width`.
    pub(crate) fn shown(mut self, shown: &Shown, width: usize, role: Role) -> Self {
        let width = width.min(self.left);
        let style = self.style(role);
        let cut = if shown.width() > width { shown.cut(width) } else { shown.clone() };
        let used = cut.width().min(width);
        for span in ink::spans(&cut, style, self.look) {
            self.spans.push(Span::styled(span.content.into_owned(), span.style));
        }
        self.left -= used;
        self.pad(width - used)
    }

    /// Text from outside as wide as it is, as far as there is room.
    pub(crate) fn outside_word(self, text: &str, role: Role) -> Self {
        let shown = visible(text);
        let width = shown.width();
        self.shown(&shown, width, role)
    }

    /// Columns that are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Nothing, `width` wide.
    pub(crate) fn pad(self, width: usize) -> Self {
        let width = width.min(self.left);
        if width == 0 {
            return self;
        }
        let base = self.base;
        self.push(Span::styled(" ".repeat(width), base))
    }

    /// The words without padding at the end.
    pub(crate) fn words(self) -> Line<'static> {
        Line::from(self.spans)
    }

    fn push(mut self, span: Span<'static>) -> Self {
        self.left = self.left.saturating_sub(span.content.width());
        self.spans.push(span);
        self
    }

    /// The line, padded to its whole room.
    pub(crate) fn line(self) -> Line<'static> {
        let left = self.left;
        let row = self.pad(left);
        Line::from(row.spans)
    }
}

/// Our own text cut to `width` columns, with a sign at the end where something is missing.
pub(crate) fn cut<'t>(text: &'t str, width: usize, sign: &str) -> Cow<'t, str> {
    if text.width() <= width {
        return Cow::Borrowed(text);
    }
    let room = width.saturating_sub(sign.width());
    let mut out = String::new();
    for c in text.chars() {
        if out.width() + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) > room {
            break;
        }
        out.push(c);
    }
    if width >= sign.width() {
        out.push_str(sign);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_never_exceeds_the_width() {
        for width in 0..12 {
            for text in ["abcdefghij", "日本語テキスト", "a日b本c語"] {
                assert!(cut(text, width, "…").width() <= width, "{text} {width}");
            }
        }
        assert_eq!(cut("abcdef", 4, "…"), "abc…");
        assert_eq!(cut("abc", 3, "…"), "abc");
    }
}
