//! Where a list stands: the selected row and the first one that is drawn.

/// A cursor over rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cursor {
    /// The selected row.
    pub(crate) at: usize,
}

/// How a cursor moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    /// So many rows down (or up).
    By(isize),
    /// To a row.
    To(usize),
    /// To the last row.
    Last,
}

impl Move {
    /// The movement that an action asks for on a list that shows `page` rows.
    pub(crate) fn of(action: crate::tui::action::Action, page: u16) -> Option<Self> {
        use crate::tui::action::Action as A;
        let page = isize::try_from(page.max(2)).unwrap_or(2);
        Some(match action {
            A::Down => Self::By(1),
            A::Up => Self::By(-1),
            A::HalfDown => Self::By(page / 2),
            A::HalfUp => Self::By(-(page / 2)),
            A::PageDown => Self::By(page - 1),
            A::PageUp => Self::By(1 - page),
            A::Top => Self::To(0),
            A::Bottom => Self::Last,
            _ => return None,
        })
    }
}

impl Cursor {
    /// Moves over `rows` rows; stops at both ends.
    pub(crate) fn go(&mut self, how: Move, rows: usize) {
        let last = rows.saturating_sub(1);
        self.at = match how {
            Move::By(by) => self.at.saturating_add_signed(by).min(last),
            Move::To(to) => to.min(last),
            Move::Last => last,
        };
    }
}

/// The first row to draw so that row `at` of `rows` is among `height` and the list does not jump: the cursor stays off the
/// edges by a third where it can.
pub(crate) fn first(at: usize, rows: usize, height: usize) -> usize {
    if rows <= height || height == 0 {
        return 0;
    }
    at.saturating_sub(height * 2 / 3).min(rows - height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_stops_at_both_ends_and_stays_in_sight() {
        let mut cursor = Cursor::default();
        cursor.go(Move::By(-3), 5);
        assert_eq!(cursor.at, 0);
        cursor.go(Move::By(99), 5);
        assert_eq!(cursor.at, 4);
        cursor.go(Move::Last, 0);
        assert_eq!(cursor.at, 0);
        for rows in 0..30 {
            for height in 0..12 {
                for at in 0..rows {
                    let first = first(at, rows, height);
                    assert!(height == 0 || (first <= at && at < first + height), "{at} of {rows} in {height}: {first}");
                }
            }
        }
    }
}
