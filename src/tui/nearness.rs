//! "Did you mean": the known names that are near a misspelt one.

/// `; did you mean `a` or `b`?`, or nothing where no name is near.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut near: Vec<(usize, &str)> = known.map(|name| (distance(wrong, name), name)).collect();
    near.sort_unstable();
    let allowed = (wrong.chars().count() / 3).max(1);
    let names: Vec<String> = near.iter().take_while(|(d, _)| *d <= allowed).take(3).map(|(_, n)| format!("`{n}`")).collect();
    if names.is_empty() { String::new() } else { format!("; did you mean {}?", names.join(" or ")) }
}

/// Edit distance (optimal string alignment): insertions, deletions, replacements, and neighbours that changed places.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
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
        assert_eq!(distance("drak", "dark"), 1);
    }
}
