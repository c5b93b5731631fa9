//! From paths to keys, and which paths are meant.

use crate::model::KeyId;
use std::collections::BTreeMap;

/// The key of a path below a namespace: without extension, lower-cased, `/` to `.`, each run of other characters to `-`.
///
/// # Errors
/// Why the path cannot be a key.
pub fn key_of(namespace: &str, path: &str) -> Result<KeyId, String> {
    let (folder, file) = path.rsplit_once('/').map_or(("", path), |(folder, file)| (folder, file));
    let stem = match file.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => file,
    };
    let whole = if folder.is_empty() { stem.to_owned() } else { format!("{folder}/{stem}") };
    let segments: Vec<String> = whole.split('/').map(segment).collect();
    format!("{namespace}.{}", segments.join(".")).parse::<KeyId>().map_err(|e| e.to_string())
}

fn segment(text: &str) -> String {
    let mut out = String::new();
    let mut other = false;
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
            out.push(c);
            other = false;
        } else if !other {
            out.push('-');
            other = true;
        }
    }
    out
}

/// Keys by path.
pub type Keys = BTreeMap<String, KeyId>;
/// Paths that cannot be keys, each with the reason.
pub type Refused = Vec<(String, String)>;

/// Keys by path, and the paths that cannot be keys.
///
/// # Errors
/// Two paths with one key: both are named.
pub fn keys_of(namespace: &str, paths: impl IntoIterator<Item = String>) -> Result<(Keys, Refused), String> {
    let mut by_key: BTreeMap<KeyId, String> = BTreeMap::new();
    let (mut keys, mut refused) = (Keys::new(), Refused::new());
    for path in paths {
        if keys.contains_key(&path) {
            continue;
        }
        match key_of(namespace, &path) {
            Err(why) => refused.push((path, why)),
            Ok(key) => {
                if let Some(other) = by_key.insert(key.clone(), path.clone()) {
                    return Err(format!("{other:?} and {path:?} would both be the key {key}"));
                }
                keys.insert(path, key);
            }
        }
    }
    Ok((keys, refused))
}

/// Whether a pattern fits a path: `?` one character, `*` any but `/`, `**` any. A pattern without `/` is about the file's
/// name alone.
pub fn fits(pattern: &str, path: &str) -> bool {
    let subject = if pattern.contains('/') { path } else { path.rsplit('/').next().unwrap_or(path) };
    let (pattern, subject): (Vec<char>, Vec<char>) = (pattern.chars().collect(), subject.chars().collect());
    matches(&pattern, &subject)
}

/// Row by row over the pattern, so that no pattern takes more than pattern x path steps.
fn matches(pattern: &[char], text: &[char]) -> bool {
    // `reach[i]`: the pattern read so far fits the first `i` characters.
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let mut next = vec![false; text.len() + 1];
        if pattern[at] == '*' {
            let deep = pattern.get(at + 1) == Some(&'*');
            let mut open = false;
            for (i, slot) in next.iter_mut().enumerate() {
                open = reach[i] || (open && (deep || i == 0 || text[i - 1] != '/'));
                *slot = open;
            }
            at += if deep { 2 } else { 1 };
            // `**/` also fits no folder at all.
            if deep && pattern.get(at) == Some(&'/') {
                for i in 0..reach.len() {
                    next[i] = reach[i] || (i > 0 && text[i - 1] == '/' && next[i]);
                }
                at += 1;
            }
        } else {
            for i in 0..text.len() {
                let one = pattern[at] == text[i] || (pattern[at] == '?' && text[i] != '/');
                next[i + 1] = reach[i] && one;
            }
            at += 1;
        }
        reach = next;
    }
    reach[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_key() {
        for (path, key) in [
            ("extract_wisdom.md", "fabric.extract_wisdom"),
            ("Patterns/Extract Wisdom!/System.v2.MD", "fabric.patterns.extract-wisdom-.system-v2"),
            ("a//b", "none"),
            (".github/x.md", "none"),
            ("é.md", "none"),
            ("LICENSE", "fabric.license"),
            (".hidden", "none"),
        ] {
            let found = key_of("fabric", path).map_or("none".to_owned(), |k| k.to_string());
            assert_eq!(found, key, "{path}");
        }
    }

    #[test]
    fn two_paths_with_one_key_are_refused_and_named() {
        let error = keys_of("n", ["a b.md".to_owned(), "A-b.txt".to_owned()]).unwrap_err();
        assert!(error.contains("\"a b.md\"") && error.contains("\"A-b.txt\"") && error.contains("n.a-b"), "{error}");
        let (keys, refused) = keys_of("n", ["a.md".to_owned(), "a.md".to_owned(), ".x/y".to_owned()]).unwrap();
        assert_eq!((keys.len(), refused.len()), (1, 1));
    }

    #[test]
    fn globs_fit_as_they_do_in_a_shell() {
        for (pattern, path, fit) in [
            ("*.md", "a/b/c.md", true),
            ("*.md", "c.txt", false),
            ("a/*.md", "a/b/c.md", false),
            ("a/**/*.md", "a/c.md", true),
            ("a/**/*.md", "a/b/d/c.md", true),
            ("a/**/*.md", "b/c.md", false),
            ("**/x", "x", true),
            ("**/x", "yx", false),
            ("a?c", "abc", true),
            ("a/?c", "a//c", false),
            ("**", "a/b", true),
            ("", "", true),
        ] {
            assert_eq!(fits(pattern, path), fit, "{pattern} {path}");
        }
        assert!(!fits(&"*a".repeat(40), &"a".repeat(39)));
    }
}
