//! Rows that are marked, by id: an act then works on all of them.

use crate::tui::action::Action;
use std::collections::BTreeSet;

/// The marked rows of a list.
#[derive(Debug, Clone)]
pub(crate) struct Marks<T> {
    rows: BTreeSet<T>,
    /// The row that was marked last: a range begins there.
    last: Option<T>,
}

impl<T> Default for Marks<T> {
    fn default() -> Self {
        Self { rows: BTreeSet::new(), last: None }
    }
}

impl<T: Ord + Clone> Marks<T> {
    /// Marks or unmarks: the row under the cursor, all from the last marked one to the cursor, or all that are listed (where
    /// all are marked: none). Whether the action was one of these.
    pub(crate) fn act(&mut self, action: Action, listed: &[T], at: Option<usize>) -> bool {
        let here = at.and_then(|at| listed.get(at));
        match (action, here) {
            (Action::SelectMark, Some(row)) => {
                if !self.rows.remove(row) {
                    self.rows.insert(row.clone());
                }
                self.last = Some(row.clone());
            }
            (Action::SelectRange, Some(row)) => {
                let to = at.unwrap_or(0);
                let from = self.last.as_ref().and_then(|last| listed.iter().position(|row| row == last)).unwrap_or(to);
                self.rows.extend(listed[from.min(to)..=from.max(to)].iter().cloned());
                self.last = Some(row.clone());
            }
            (Action::SelectAll, _) => {
                if listed.iter().all(|row| self.rows.contains(row)) {
                    self.rows.clear();
                } else {
                    self.rows.extend(listed.iter().cloned());
                }
            }
            (Action::SelectMark | Action::SelectRange, None) => {}
            _ => return false,
        }
        true
    }

    /// Whether a row is marked.
    pub(crate) fn has(&self, row: &T) -> bool {
        self.rows.contains(row)
    }

    /// How many are marked.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Unmarks all; whether any was marked.
    pub(crate) fn clear(&mut self) -> bool {
        let any = !self.rows.is_empty();
        *self = Self::default();
        any
    }

    /// Unmarks rows that are no longer there.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&T) -> bool) {
        self.rows.retain(|row| is_there(row));
    }
}

/// What stands in front of a row: under the cursor, marked, both.
pub(crate) fn sign(here: bool, marked: bool, look: &crate::tui::look::Look) -> &'static str {
    match (here, marked) {
        (true, true) => look.sign("»", "#"),
        (true, false) => ">",
        (false, true) => "*",
        (false, false) => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(acts: &[(Action, usize)]) -> Vec<u8> {
        let listed = [10, 20, 30, 40, 50];
        let mut marks = Marks::default();
        for (action, at) in acts {
            assert!(marks.act(*action, &listed, Some(*at)));
        }
        listed.into_iter().filter(|row| marks.has(row)).collect()
    }

    #[test]
    fn rows_are_marked_one_by_one_as_a_range_and_all() {
        use Action::{SelectAll as All, SelectMark as Mark, SelectRange as Range};
        for (acts, wanted) in [
            (vec![(Mark, 1)], vec![20]),
            (vec![(Mark, 1), (Mark, 1)], vec![]),
            (vec![(Mark, 3), (Range, 1)], vec![20, 30, 40]),
            (vec![(Range, 2)], vec![30]),
            (vec![(Mark, 0), (All, 0)], vec![10, 20, 30, 40, 50]),
            (vec![(All, 0), (All, 0)], vec![]),
            (vec![(Mark, 9)], vec![]),
        ] {
            assert_eq!(marked(&acts), wanted, "{acts:?}");
        }
        assert!(!Marks::<u8>::default().act(Action::Down, &[1], Some(0)), "other actions are not for marks");
    }

    #[test]
    fn rows_that_went_lose_their_mark() {
        let mut marks = Marks::default();
        marks.act(Action::SelectAll, &[1, 2, 3], None);
        marks.keep(|row| *row != 2);
        assert_eq!((marks.len(), marks.has(&2)), (2, false));
        assert!(marks.clear() && !marks.clear());
    }
}
