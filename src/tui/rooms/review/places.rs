//! How the room divides its area, in plain numbers: `update` scrolls by what `view` draws.

use crate::tui::frame::{FOOT_ROWS, head_rows};
use crate::tui::state::Cx;

/// Side by side takes two columns of text that can be read.
pub(crate) const SPLIT_FROM: u16 = 140;
/// Prose is not drawn wider than this, margin included.
const WIDEST: u16 = 110;

/// Rows of each pane, frames included, from top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    /// Structured changes and what is needed.
    pub(crate) above: u16,
    /// The text.
    pub(crate) text: u16,
    /// Rationale and discussion; 0 where there is no room.
    pub(crate) talk: u16,
}

impl Places {
    /// Rows of text inside the frame.
    pub(crate) fn lines(self) -> usize {
        usize::from(self.text.saturating_sub(2))
    }
}

/// Width and height of the area that the frame leaves to the room.
pub(crate) fn body(cx: &Cx) -> (u16, u16) {
    (cx.screen.width, cx.screen.height.saturating_sub(head_rows(cx.link, cx.session) + FOOT_ROWS))
}

/// Rows that structured changes may have above the text in an area of `height`: never more than [`divide`] gives them.
pub(crate) fn rows_above(height: u16) -> u16 {
    (if height < 26 { 2 } else { 6 }).min((height / 2).saturating_sub(2))
}

/// Columns above the text in an area of `width`.
pub(crate) fn across(width: u16) -> u16 {
    width.saturating_sub(2)
}

/// Columns of text inside the frame in an area of `width`.
pub(crate) fn columns(width: u16, split: bool) -> u16 {
    let inside = width.saturating_sub(2);
    if split { inside } else { inside.min(WIDEST) }
}

/// Divides `height` rows when `above` rows stand above the text.
pub(crate) fn divide(height: u16, above: usize, zoom: bool) -> Places {
    if zoom {
        return Places { above: 0, text: height, talk: 0 };
    }
    let above = u16::try_from(above).unwrap_or(u16::MAX).saturating_add(2).min(height / 2);
    let talk = if height < 26 { 0 } else { 6 };
    Places { above, text: height.saturating_sub(above + talk), talk }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_panes_fill_the_area_and_the_text_has_most_of_it() {
        for height in 0..200 {
            for above in [0, 1, 3, 8, 400] {
                for zoom in [false, true] {
                    let places = divide(height, above, zoom);
                    assert_eq!(places.above + places.text + places.talk, height);
                }
            }
        }
        assert_eq!(divide(20, 3, false), Places { above: 5, text: 15, talk: 0 });
        assert_eq!(divide(32, 3, false), Places { above: 5, text: 21, talk: 6 });
    }
}
