//! The rooms of the code and who may import whom; file lengths; every file says what it is for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Room, the rooms of ours it may use, the crates that it alone owns (with those that share the right).
const ROOMS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("rules", &["model"]),
    ("wire", &["model"]),
    ("clock", &["model"]),
    ("config", &["model"]),
    ("storage", &["model"]),
    ("snapshot", &["model", "rules", "storage"]),
    ("workflow", &["model", "rules", "wire", "storage", "snapshot", "clock"]),
    ("outward", &["model", "rules", "wire", "storage", "clock", "config"]),
    ("server", &["model", "rules", "wire", "storage", "snapshot", "workflow", "outward", "clock", "config"]),
    ("client", &["model", "rules", "wire"]),
    ("tui", &["model", "rules", "wire", "client", "config", "clock"]),
    (
        "cli",
        &["model", "rules", "wire", "storage", "snapshot", "workflow", "outward", "server", "client", "tui", "config", "clock"],
    ),
];

/// Crate, and the only rooms that may name it.
const CRATES: &[(&str, &[&str])] = &[
    ("sqlx", &["storage"]),
    ("axum", &["server"]),
    ("tower", &["server"]),
    ("tower_http", &["server"]),
    ("tokio_rustls", &["server"]),
    ("reqwest", &["client", "outward"]),
    ("ratatui", &["tui"]),
    ("crossterm", &["tui"]),
    ("syntect", &["tui"]),
    ("clap", &["cli"]),
    ("directories", &["config"]),
    ("minijinja", &["rules"]),
    ("similar", &["rules"]),
    ("sha2", &["rules"]),
    ("hmac", &["rules"]),
    ("ring", &["rules", "client", "outward"]),
    ("toml", &["rules", "config", "tui", "cli"]),
    ("schemars", &["model", "wire", "server"]),
];

fn sources() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let inside = path.strip_prefix(&root).unwrap().to_owned();
                let room = inside.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
                found.push((inside, room, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// Lines that are code: no comments, nothing from the test module on.
fn production(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).filter(|l| !l.trim_start().starts_with("//"))
}

fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '.' && c != '"');
        before && line[at + word.len()..].starts_with("::")
    })
}

/// Everything that `rooms` and `crates` forbid in the given files.
fn violations(files: &[(PathBuf, String, String)]) -> Vec<String> {
    let rooms: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let mut bad = Vec::new();
    for (path, room, text) in files {
        let Some(may) = rooms.get(room.as_str()) else { continue };
        for line in production(text) {
            for (other, _) in ROOMS {
                if other != room && names(line, &format!("crate::{other}")) && !may.contains(other) {
                    bad.push(format!("{}: {room} uses {other}: {}", path.display(), line.trim()));
                }
            }
            for (name, owners) in CRATES {
                if names(line, name) && !owners.contains(&room.as_str()) {
                    bad.push(format!("{}: {room} names the crate {name}: {}", path.display(), line.trim()));
                }
            }
        }
    }
    bad
}

#[test]
fn rooms_use_only_the_rooms_and_crates_that_they_may() {
    let bad = violations(&sources());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_forbidden_import_is_found() {
    let file = |room: &str, text: &str| vec![(PathBuf::from("x.rs"), room.to_owned(), text.to_owned())];
    assert_eq!(violations(&file("tui", "use crate::storage::Db;\n")).len(), 1);
    assert_eq!(violations(&file("rules", "let x = sqlx::query(q);\n")).len(), 1);
    assert!(violations(&file("workflow", "use crate::storage::Db;\n")).is_empty());
}

#[test]
fn every_room_stands_in_the_table() {
    let known: Vec<&str> = ROOMS.iter().map(|r| r.0).chain(["main", "lib"]).collect();
    for (path, room, _) in sources() {
        assert!(known.contains(&room.as_str()), "{} is in no known room", path.display());
    }
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    for (path, _, text) in sources() {
        assert!(text.starts_with("//! "), "{} does not begin with a //! line", path.display());
        // A file of unit tests beside its rule has no production lines.
        if path.ends_with("tests.rs") {
            continue;
        }
        let lines = text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).count();
        assert!(lines <= 600, "{} has {lines} production lines; 600 is the most", path.display());
    }
}
