//! Where the reader is in a page, and what was seen: a change is seen once it was painted whole and passed.

use super::page::Page;
use crate::model::Digest;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Lines kept above a change that is gone to.
const ABOVE: usize = 2;

/// How the reader moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scroll {
    /// So many lines down (or up).
    By(isize),
    /// To the first line.
    Top,
    /// To the last line.
    Bottom,
}

/// Where the reader is, and what was seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    page: Option<Arc<Page>>,
    /// Indexes of the lines that are not folded away.
    visible: Vec<usize>,
    open: BTreeSet<usize>,
    /// The first row that is drawn, as an index into `visible`.
    top: usize,
    hunk: usize,
    painted: Vec<bool>,
    /// Whether the structured changes above the text were painted.
    painted_above: bool,
    seen: BTreeSet<Digest>,
    /// The line in which a search stands.
    found: Option<usize>,
}

impl Reading {
    /// Another layout of the same difference (a width, a unit), or the first: keeps what was seen and where the reader is.
    pub(crate) fn lay(&mut self, page: Arc<Page>, height: usize) {
        let same = |before: &Page| {
            let options = super::page::Options { colour: page.options.colour, ..before.options };
            options == page.options && before.lines.len() == page.lines.len()
        };
        if page.options.colour && self.page.as_deref().is_some_and(same) {
            // The same lines with their colours: nothing was moved, and what was seen was seen.
            self.page = Some(page);
            return;
        }
        let first = self.page.is_none();
        let offset = self.hunk_row().map(|row| row.saturating_sub(self.top));
        if let Some(before) = self.page.clone() {
            let here = before.changes.get(self.hunk);
            self.hunk = page.changes.iter().position(|change| Some(change) == here).unwrap_or(self.hunk);
            if before.folds != page.folds {
                self.open.clear();
            }
        }
        self.painted = vec![false; page.lines.len()];
        self.painted_above = false;
        self.hunk = self.hunk.min(page.hunks.len().saturating_sub(1));
        self.page = Some(page);
        self.unfold();
        if first {
            let hunk = self.unseen().next().unwrap_or(0);
            self.go_to(hunk, height);
        } else {
            self.top = self.hunk_row().unwrap_or(0).saturating_sub(offset.unwrap_or(0)).min(self.last_top(height));
        }
    }

    fn unfold(&mut self) {
        let Some(page) = &self.page else { return };
        let shows = |line: &super::page::Line| {
            line.fold.is_none_or(|fold| self.open.contains(&fold))
                && line.stands_for.is_none_or(|fold| !self.open.contains(&fold))
        };
        self.visible = page.lines.iter().enumerate().filter(|(_, line)| shows(line)).map(|(i, _)| i).collect();
    }

    /// The page, once there is one.
    pub(crate) fn page(&self) -> Option<&Arc<Page>> {
        self.page.as_ref()
    }
    /// Indexes of the lines that `height` rows show.
    pub(crate) fn window(&self, height: usize) -> &[usize] {
        let top = self.top.min(self.visible.len());
        &self.visible[top..self.visible.len().min(top + height)]
    }
    /// The change under the cursor, from 0.
    pub(crate) fn hunk(&self) -> usize {
        self.hunk
    }
    /// How many changes there are.
    pub(crate) fn total(&self) -> usize {
        self.page.as_ref().map_or(0, |page| page.hunks.len())
    }
    /// How many of these were seen.
    pub(crate) fn seen(&self) -> usize {
        (0..self.total()).filter(|hunk| self.has_seen(*hunk)).count()
    }
    /// Whether a change was seen.
    pub(crate) fn has_seen(&self, hunk: usize) -> bool {
        self.page.as_ref().and_then(|page| page.changes.get(hunk)).is_some_and(|change| self.seen.contains(change))
    }
    /// How many structured changes stand above the text and have not been painted there.
    pub(crate) fn unpainted_above(&self) -> usize {
        let above = self.page.iter().flat_map(|page| &page.above);
        if self.painted_above { 0 } else { above.filter(|change| !self.seen.contains(change)).count() }
    }
    /// How far down `height` rows reach, in percent.
    pub(crate) fn percent(&self, height: usize) -> usize {
        ((self.top + height).min(self.visible.len()) * 100).checked_div(self.visible.len()).unwrap_or(100)
    }
    /// Changes that were not seen, in order.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = usize> {
        (0..self.total()).filter(|hunk| !self.has_seen(*hunk))
    }
    /// The line in which a search stands.
    pub(crate) fn found(&self) -> Option<usize> {
        self.found
    }
    /// Ends a search; what was found stays in sight.
    pub(crate) fn lose(&mut self) {
        self.found = None;
    }
    /// To the next (or previous) line that holds `words`, letters of either case, round the end; folds open for it. Gives which
    /// of how many it is.
    pub(crate) fn find(&mut self, words: &str, forward: bool, height: usize) -> Option<(usize, usize)> {
        self.pass();
        let page = self.page.clone()?;
        let words = words.to_lowercase();
        let holds = |line: &super::page::Line| line.stands_for.is_none() && line.text().to_lowercase().contains(&words);
        let lines: Vec<usize> = page.lines.iter().enumerate().filter(|(_, line)| holds(line)).map(|(at, _)| at).collect();
        let here = self.found.or_else(|| self.visible.get(self.top).map(|line| line.saturating_sub(1))).unwrap_or(0);
        let first = self.found.is_none() && self.top == 0;
        let at = if forward {
            lines.iter().position(|line| *line > here || first).unwrap_or(0)
        } else {
            lines.iter().rposition(|line| *line < here).unwrap_or(lines.len().saturating_sub(1))
        };
        let line = *lines.get(at)?;
        self.found = Some(line);
        if let Some(fold) = page.lines[line].fold {
            self.open.insert(fold);
            self.unfold();
        }
        let row = self.row_of(line).unwrap_or(0);
        if !(self.top..self.top + height).contains(&row) {
            let top = row.saturating_sub(ABOVE);
            self.scroll(Scroll::By(isize::try_from(top).unwrap_or(0) - isize::try_from(self.top).unwrap_or(0)), height);
        }
        Some((at + 1, lines.len()))
    }
    /// The paragraph at the cursor: of the current change, else the first in sight.
    pub(crate) fn paragraph(&self) -> Option<&super::page::Paragraph> {
        let page = self.page.as_ref()?;
        let at = page.hunks.get(self.hunk).map_or_else(|| self.visible.get(self.top).copied().unwrap_or(0), |lines| lines.start);
        page.paragraphs.iter().find(|p| p.line >= at).or(page.paragraphs.last())
    }

    /// How many changes will have been seen once the reader goes on.
    pub(crate) fn seen_when_passed(&self) -> usize {
        let whole = |lines: &std::ops::Range<usize>| self.painted[lines.clone()].iter().all(|painted| *painted);
        let hunks = self.page.iter().flat_map(|page| page.hunks.iter().enumerate());
        hunks.filter(|(hunk, lines)| self.has_seen(*hunk) || whole(lines)).count()
    }

    /// What `height` rows show has reached the terminal, and what stands above them where that has room. A line that is cut
    /// was not painted whole.
    pub(crate) fn paint(&mut self, height: usize, above: bool) {
        let Some(page) = &self.page else { return };
        self.painted_above |= above;
        let top = self.top.min(self.visible.len());
        for &line in &self.visible[top..self.visible.len().min(top + height)] {
            self.painted[line] = !page.is_cut(line);
        }
    }

    /// The reader goes on: what was painted whole until now is seen.
    pub(crate) fn pass(&mut self) {
        let Some(page) = &self.page else { return };
        for (hunk, lines) in page.hunks.iter().enumerate() {
            if self.painted[lines.clone()].iter().all(|painted| *painted) {
                self.seen.extend(page.changes.get(hunk));
            }
        }
        if self.painted_above {
            self.seen.extend(&page.above);
        }
    }

    /// Moves by lines; the change under the cursor is then one that is in sight.
    pub(crate) fn scroll(&mut self, how: Scroll, height: usize) {
        self.pass();
        self.top = match how {
            Scroll::By(by) => self.top.saturating_add_signed(by),
            Scroll::Top => 0,
            Scroll::Bottom => usize::MAX,
        }
        .min(self.last_top(height));
        let in_sight: Vec<usize> = self.window(height).iter().filter_map(|line| self.page.as_ref()?.lines[*line].hunk).collect();
        match (in_sight.first(), in_sight.last(), how) {
            (Some(_), Some(last), Scroll::Bottom) => self.hunk = *last,
            (Some(first), _, _) if !in_sight.contains(&self.hunk) => self.hunk = *first,
            _ => {}
        }
    }

    /// To the next change; one that is longer than the screen is paged through first. False at the last.
    pub(crate) fn next(&mut self, height: usize) -> bool {
        self.pass();
        let (Some(end), Some(page)) = (self.hunk_end_row(), &self.page) else { return false };
        let total = page.hunks.len();
        if end >= self.top + height && self.hunk_row().is_some_and(|row| row < self.top + height) {
            self.top = (self.top + height.saturating_sub(1).max(1)).min(end + 1 - height.min(end + 1)).max(self.top + 1);
            return true;
        }
        if self.hunk + 1 >= total {
            return false;
        }
        self.go_to(self.hunk + 1, height);
        true
    }

    /// To the change before. False at the first.
    pub(crate) fn previous(&mut self, height: usize) -> bool {
        self.pass();
        let Some(before) = self.hunk.checked_sub(1) else { return false };
        self.go_to(before, height);
        true
    }

    /// To a change that was not seen, after or before the one under the cursor, else from the other end. False: all were.
    pub(crate) fn go_to_unseen(&mut self, forward: bool, height: usize) -> bool {
        self.pass();
        let here = self.hunk;
        let found = if forward {
            self.unseen().find(|h| *h > here).or_else(|| self.unseen().next())
        } else {
            self.unseen().take_while(|h| *h < here).last().or_else(|| self.unseen().last())
        };
        let Some(hunk) = found else { return false };
        self.go_to(hunk, height);
        // The first line that was never painted: the rest of a long change.
        let lines = self.page.as_ref().and_then(|page| page.hunks.get(hunk).cloned()).unwrap_or_default();
        if let Some(row) = lines.clone().find(|line| !self.painted[*line]).and_then(|line| self.row_of(line))
            && row >= self.top + height
        {
            self.top = row.saturating_sub(ABOVE).min(self.last_top(height));
        }
        true
    }

    /// To the next or previous paragraph that is in sight or unfolded.
    pub(crate) fn go_to_paragraph(&mut self, forward: bool, height: usize) {
        self.pass();
        let Some(page) = &self.page else { return };
        let mut rows = page.paragraphs.iter().filter_map(|p| self.row_of(p.line));
        let found = if forward { rows.find(|row| *row > self.top) } else { rows.take_while(|row| *row < self.top).last() };
        if let Some(row) = found {
            self.scroll(Scroll::By(isize::try_from(row).unwrap_or(0) - isize::try_from(self.top).unwrap_or(0)), height);
        }
    }

    /// Says that the change under the cursor was seen; false if it was not painted whole yet.
    pub(crate) fn mark_seen(&mut self, height: usize) -> bool {
        self.pass();
        if !self.has_seen(self.hunk) {
            return false;
        }
        self.go_to_unseen(true, height);
        true
    }

    /// Opens or closes the fold that is nearest to the cursor.
    pub(crate) fn toggle_fold(&mut self, height: usize) {
        self.pass();
        let Some(page) = &self.page else { return };
        let here = self.hunk_row().filter(|row| (self.top..self.top + height).contains(row)).unwrap_or(self.top);
        let folds = |rows: std::ops::Range<usize>| {
            let fold = |row: usize| {
                self.visible.get(row).and_then(|line| page.lines[*line].stands_for.or(page.lines[*line].fold).map(|f| (row, f)))
            };
            rows.filter_map(fold).min_by_key(|(row, _)| row.abs_diff(here)).map(|(_, fold)| fold)
        };
        let in_sight = folds(self.top..self.top + height);
        let Some(fold) = in_sight.or_else(|| folds(0..self.visible.len())) else { return };
        let line = self.visible.get(self.top).copied().unwrap_or(0);
        if !self.open.remove(&fold) {
            self.open.insert(fold);
        }
        self.unfold();
        self.keep(line, height);
    }

    /// Opens all folds, or closes all when none is closed.
    pub(crate) fn toggle_folds(&mut self, height: usize) {
        self.pass();
        let Some(page) = &self.page else { return };
        let line = self.visible.get(self.top).copied().unwrap_or(0);
        self.open = if self.open.len() == page.folds { BTreeSet::new() } else { (0..page.folds).collect() };
        self.unfold();
        self.keep(line, height);
    }

    /// Puts a line, or what stands for it, back to the top.
    fn keep(&mut self, line: usize, height: usize) {
        self.top = self.visible.partition_point(|l| *l < line).min(self.last_top(height));
    }

    /// To a change: its first line near the top, a little of what stands above it.
    pub(crate) fn go_to(&mut self, hunk: usize, height: usize) {
        self.hunk = hunk;
        let (Some(row), Some(end)) = (self.hunk_row(), self.hunk_end_row()) else { return };
        if row >= self.top && end < self.top + height {
            return;
        }
        let above = if end - row + 1 + ABOVE <= height { ABOVE } else { 0 };
        self.top = row.saturating_sub(above).min(self.last_top(height));
    }

    fn row_of(&self, line: usize) -> Option<usize> {
        self.visible.binary_search(&line).ok()
    }
    fn hunk_row(&self) -> Option<usize> {
        self.row_of(self.page.as_ref()?.hunks.get(self.hunk)?.start)
    }
    fn hunk_end_row(&self) -> Option<usize> {
        self.row_of(self.page.as_ref()?.hunks.get(self.hunk)?.end.checked_sub(1)?)
    }
    fn last_top(&self, height: usize) -> usize {
        self.visible.len().saturating_sub(height.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{Options, page};
    use super::*;
    use crate::model::diff::ContentDiff;
    use crate::rules::prose::{Unit, diff};
    use proptest::prelude::*;
    use std::time::Duration;

    fn laid(old: &str, new: &str, width: u16) -> Arc<Page> {
        let options =
            Options { unit: Unit::Word, width, above: (3, width), split: false, wrap: true, effective: false, colour: false };
        let text = diff(old, new, Unit::Word, Duration::from_mins(1));
        let diff = ContentDiff { fields: vec![], texts: vec![("/body".into(), text)], hidden: vec![], lookalikes: vec![] };
        Arc::new(page(&diff, options))
    }

    fn paragraphs(count: usize) -> String {
        (0..count).map(|i| format!("paragraph number {i} says something\n\n")).collect::<Vec<_>>().concat()
    }

    /// Sixteen paragraphs of which every fourth gets a new word.
    fn reading(height: usize) -> Reading {
        let old = paragraphs(16);
        let mut new = old.clone();
        for i in [3, 7, 11, 15] {
            new = new.replace(&format!("number {i} "), &format!("number {i} also "));
        }
        let mut reading = Reading::default();
        reading.lay(laid(&old, &new, 78), height);
        reading
    }

    #[test]
    fn a_change_is_seen_once_painted_and_passed_and_not_before() {
        let mut reading = reading(5);
        assert_eq!((reading.seen(), reading.total()), (0, 4));
        reading.next(5);
        assert_eq!(reading.seen(), 0, "nothing was painted yet");
        reading.previous(5);
        reading.paint(5, true);
        assert_eq!(reading.seen(), 0, "painted, and not passed");
        reading.next(5);
        assert!(reading.seen() >= 1);
    }

    #[test]
    fn reading_to_the_end_with_next_sees_every_change() {
        for height in [1, 2, 3, 5, 40] {
            let mut reading = reading(height);
            for _ in 0..40 {
                reading.paint(height, true);
                if !reading.next(height) {
                    break;
                }
            }
            assert_eq!(reading.seen(), 4, "height {height}");
            assert!(!reading.go_to_unseen(true, height));
        }
    }

    #[test]
    fn a_change_longer_than_the_screen_is_paged_through() {
        let new = (0..30).map(|i| format!("line {i}\n")).collect::<Vec<_>>().concat();
        let mut reading = Reading::default();
        reading.lay(laid("", &new, 78), 7);
        let mut presses = 0;
        while reading.seen() == 0 && presses < 20 {
            reading.paint(7, true);
            reading.next(7);
            presses += 1;
        }
        assert!((4..=6).contains(&presses), "{presses} presses for 30 lines in 7 rows");
    }

    #[test]
    fn jumping_to_the_end_does_not_see_what_was_skipped() {
        let mut reading = reading(4);
        reading.paint(4, true);
        reading.scroll(Scroll::Bottom, 4);
        reading.paint(4, true);
        reading.scroll(Scroll::Top, 4);
        assert!(reading.seen() < 4);
        assert!(reading.go_to_unseen(true, 4));
    }

    #[test]
    fn space_is_refused_until_the_change_was_painted_whole() {
        let mut reading = reading(5);
        assert!(!reading.mark_seen(5));
        reading.paint(5, true);
        assert!(reading.mark_seen(5));
    }

    #[test]
    fn folds_open_and_close() {
        let mut reading = reading(30);
        let closed = reading.window(100).len();
        reading.toggle_fold(30);
        assert!(reading.window(100).len() > closed);
        reading.toggle_folds(30);
        let all = reading.window(1000).len();
        reading.toggle_folds(30);
        assert_eq!(reading.window(1000).len(), closed);
        assert!(all > closed + 3);
    }

    #[test]
    fn another_width_keeps_what_was_seen_and_the_change_under_the_cursor() {
        let old = paragraphs(12);
        let new = old.replace("something", "something else");
        let mut reading = Reading::default();
        reading.lay(laid(&old, &new, 78), 6);
        reading.paint(6, true);
        reading.next(6);
        let (seen, hunk) = (reading.seen(), reading.hunk());
        assert!(seen > 0);
        reading.lay(laid(&old, &new, 20), 6);
        assert_eq!((reading.seen(), reading.hunk()), (seen, hunk));
    }

    proptest! {
        #[test]
        fn no_order_of_moves_leaves_the_page(moves in prop::collection::vec((0usize..9, 0usize..12), 0..60)) {
            let mut reading = reading(5);
            for (which, height) in moves {
                match which {
                    0 => { reading.next(height); }
                    1 => { reading.previous(height); }
                    2 => reading.scroll(Scroll::By(3), height),
                    3 => reading.scroll(Scroll::By(-2), height),
                    4 => reading.toggle_fold(height),
                    5 => reading.toggle_folds(height),
                    6 => { reading.go_to_unseen(height % 2 == 0, height); }
                    7 => reading.go_to_paragraph(height % 2 == 0, height),
                    _ => reading.paint(height, true),
                }
                prop_assert!(reading.hunk() < reading.total());
                prop_assert!(reading.top < reading.visible.len());
                prop_assert!(reading.percent(height) <= 100);
            }
        }
    }
}
