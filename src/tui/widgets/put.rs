//! Puts lines on the screen: as ratatui does, but without cutting plain ASCII into graphemes, which is most of what a frame holds.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::text::Line;
use std::borrow::Borrow;

/// Draws single lines.
pub(crate) trait Put {
    /// Draws a line into the first row of an area, cut where the area ends.
    fn put<'l>(&mut self, line: impl Borrow<Line<'l>>, area: Rect);
}

impl Put for Frame<'_> {
    fn put<'l>(&mut self, line: impl Borrow<Line<'l>>, area: Rect) {
        let line = line.borrow();
        let area = Rect { height: area.height.min(1), ..area }.intersection(self.area());
        let plain = |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let left = matches!(line.alignment, None | Some(Alignment::Left));
        if area.is_empty() || !left || !line.spans.iter().all(|span| plain(&span.content)) {
            return self.render_widget(line, area);
        }
        let buffer = self.buffer_mut();
        buffer.set_style(area, line.style);
        let from = buffer.index_of(area.x, area.y);
        let cells = buffer.content[from..from + usize::from(area.width)].iter_mut();
        let signs = line.spans.iter().flat_map(|span| span.content.bytes().map(|byte| (char::from(byte), span.style)));
        for (cell, (sign, style)) in cells.zip(signs) {
            cell.set_char(sign).set_style(style);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Buffer;
    use ratatui::style::{Color, Modifier, Style};
    use ratatui::text::Span;

    fn drawn(draw: impl FnOnce(&mut Frame)) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(12, 3)).unwrap();
        terminal.draw(draw).unwrap().buffer.clone()
    }

    #[test]
    fn a_line_stands_as_ratatui_would_draw_it() {
        let bold = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
        let lines = [
            Line::from(vec![Span::raw("plain "), Span::styled("bold", bold)]).style(Style::new().bg(Color::Blue)),
            Line::from("longer than the area is wide"),
            Line::from(""),
            Line::from("über ▌ 日本語 wide"),
            Line::from("tab\there"),
            Line::from("right").right_aligned(),
        ];
        for line in lines {
            for area in [Rect::new(0, 0, 12, 1), Rect::new(3, 1, 7, 2), Rect::new(10, 2, 9, 4), Rect::new(0, 0, 0, 0)] {
                let ours = drawn(|frame| frame.put(line.clone(), area));
                let theirs = drawn(|frame| frame.render_widget(line.clone(), area.intersection(frame.area())));
                assert_eq!(ours, theirs, "{line:?} in {area:?}");
            }
        }
    }
}
