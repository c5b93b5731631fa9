//! Framed panes: content is drawn inside them only, so that it cannot fake our own furniture.

use crate::tui::look::Look;
use crate::tui::theme::Role;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Clear};

/// The lines of a frame; double ones say that it matters.
pub(crate) fn frame_lines(look: &Look, double: bool) -> border::Set<'static> {
    match (double, look.screen.ascii) {
        (false, false) => border::PLAIN,
        (true, false) => border::DOUBLE,
        (false, true) => ASCII,
        (true, true) => ASCII_DOUBLE,
    }
}

/// Frames where only ASCII can be shown.
const ASCII: border::Set = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};
const ASCII_DOUBLE: border::Set = border::Set {
    top_left: "#",
    top_right: "#",
    bottom_left: "#",
    bottom_right: "#",
    vertical_left: "#",
    vertical_right: "#",
    horizontal_top: "=",
    horizontal_bottom: "=",
};

/// A pane's frame.
#[derive(Debug, Default)]
pub(crate) struct Pane<'t> {
    title: Line<'t>,
    foot: Line<'t>,
    focused: bool,
    double: bool,
}

impl<'t> Pane<'t> {
    /// A pane with a title.
    pub(crate) fn new(title: impl Into<Line<'t>>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
    /// The same with words in the lower frame, on the right.
    pub(crate) fn foot(mut self, foot: impl Into<Line<'t>>) -> Self {
        self.foot = foot.into();
        self
    }
    /// The same, with the keys or without.
    pub(crate) fn focused(mut self, focused: bool) -> Self {
        self.focused = focused;
        self
    }
    /// The same with a double frame: it concerns a protected environment.
    pub(crate) fn double(mut self, double: bool) -> Self {
        self.double = double;
        self
    }
    /// Draws the frame over whatever is there; gives back the inside.
    pub(crate) fn draw_over(self, frame: &mut Frame, area: Rect, look: &Look) -> Rect {
        frame.render_widget(Clear, area);
        self.draw(frame, area, look)
    }
    /// Draws the frame where nothing is yet; gives back the inside.
    pub(crate) fn draw(self, frame: &mut Frame, area: Rect, look: &Look) -> Rect {
        let set = frame_lines(look, self.double);
        let role = if self.focused { Role::Focus } else { Role::Border };
        let mut block = Block::new().borders(Borders::ALL).border_set(set).border_style(look.style(role));
        if self.title.width() > 0 {
            let mut title = self.title;
            title.spans.insert(0, " ".into());
            title.spans.push(" ".into());
            block = block.title_top(title.style(look.style(Role::Title)));
        }
        if self.foot.width() > 0 {
            let mut foot = self.foot;
            foot.spans.insert(0, " ".into());
            foot.spans.push(" ".into());
            block = block.title_bottom(foot.style(look.style(Role::Dim)).right_aligned());
        }
        let inside = block.inner(area);
        frame.render_widget(block, area);
        inside
    }
}
