//! Fuzzy search over names.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// The names that match `query`, best first, at most `limit`: indices into `names`. An empty query matches all, in order.
pub(crate) fn best<'a>(query: &str, names: impl Iterator<Item = &'a str>, limit: usize) -> Vec<usize> {
    if query.trim().is_empty() {
        return names.take(limit).enumerate().map(|(n, _)| n).collect();
    }
    let pattern = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, usize, usize)> = names
        .enumerate()
        .filter_map(|(n, name)| {
            let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher)?;
            Some((score, name.len(), n))
        })
        .collect();
    // Better first, then shorter, then in order.
    found.sort_unstable_by_key(|(score, length, n)| (std::cmp::Reverse(*score), *length, *n));
    found.truncate(limit);
    found.into_iter().map(|(_, _, n)| n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_strangers_not_at_all() {
        let names = ["search.rerank.query", "support.refund.system", "support.refunds.tone", "billing.dunning.user"];
        let found = best("refund", names.into_iter(), 10);
        assert_eq!(found, [2, 1], "equally good: the shorter name first");
        assert_eq!(best("supref", names.into_iter(), 1), [2]);
        assert_eq!(best("", names.into_iter(), 10), [0, 1, 2, 3]);
        assert!(best("zzz", names.into_iter(), 10).is_empty());
    }
}
