//! "Did you mean": the known names that are near a misspelt one.

/// `; did you mean `a` or `b`?`, or nothing where no name is near.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut near: Vec<(usize, &str)> = known.map(|name| (distance(wrong, name), name)).collect();
    near.sort_unstable();
    let allowed = (wrong.chars().count() / 3).max(1);
    let names: Vec<String> = near.iter().take_while(|(d, _)| *d <= allowed).take(3).map(|(_, n)| format!("`{n}`")).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

/// Edit distance (Levenshtein): insertions, deletions and replacements.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let known = ["approve", "reject", "comment"];
        assert_eq!(nearest("aprove", known.into_iter()), "; did you mean `approve`?");
        assert_eq!(nearest("zzzzzz", known.into_iter()), "");
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
