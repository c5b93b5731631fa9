//! `import git` and `import dir`: real repositories made by the `git` program, and the one that stands beside this project.

use crate::support::program::{Program, said};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository in a temporary directory.
struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path())
            .args(["-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"])
            .args(args)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs([("GIT_COMMITTER_NAME", "Committer"), ("GIT_COMMITTER_EMAIL", "c@example")])
            .envs([("GIT_AUTHOR_NAME", "Author"), ("GIT_AUTHOR_EMAIL", "a@example")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let file = self.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }

    /// Commits everything as it is.
    fn commit(&self, author: &str, message: &str) {
        self.git(&["add", "-A"]);
        let author = format!("{author} <a@example>");
        self.git(&[
            "commit",
            "-q",
            "--allow-empty",
            "--allow-empty-message",
            "--author",
            &author,
            "--date",
            "2024-05-01T12:00:00Z",
            "-m",
            message,
        ]);
    }
}

fn import(p: &Program, args: &[&str]) -> crate::support::program::Said {
    let all: Vec<&str> = ["import"].iter().chain(args).chain(&["--group", "owners", "--output", "json"]).copied().collect();
    p.run("ines", all)
}

fn counts(report: &Value) -> [u64; 4] {
    ["files", "keys", "versions", "new_versions"].map(|name| report[name].as_u64().unwrap())
}

#[test]
fn each_content_that_is_new_for_its_key_becomes_a_version_once() {
    let p = Program::start();
    let r = Repository::new();
    r.write("ask.md", "one");
    r.write("Deep Folder/Sys Prompt.v2.TXT", "Hi {{name}}, {{ name }} of {{team}}\n");
    r.commit("Ana \u{1b}[31mBell", "First words\n\nwith a body");
    r.write("ask.md", "two {% if x %}y{% endif %}");
    r.commit("Bob", "");
    r.write("ask.md", "one");
    r.commit("Bob", "Back again");
    std::fs::remove_file(r.path().join("ask.md")).unwrap();
    r.commit("Bob", "Gone");
    let repo = r.path().to_str().unwrap();
    let first = import(&p, &["git", repo, "--namespace", "team"]);
    assert_eq!(counts(&first.json()), [2, 2, 3, 3]);
    assert!(first.err.contains("ask.md") && first.err.contains("not as template"), "{}", first.err);
    assert_eq!(counts(&import(&p, &["git", repo, "--namespace", "team"]).json()), [2, 2, 3, 0]);
    let rows = p.json("ines", "versions team.ask")["items"].clone();
    let row = |n: usize, name: &str| rows[n][name].as_str().unwrap_or_default().to_owned();
    assert_eq!((row(1, "author"), row(1, "submitter")), ("git:Ana \u{1b}[31mBell".to_owned(), "person:ines".to_owned()));
    assert_eq!((row(1, "rationale"), row(1, "state")), ("First words\n\nwith a body".to_owned(), "review".to_owned()));
    assert_eq!(row(1, "created_at"), "2024-05-01T12:00:00.000000Z");
    assert!(row(0, "rationale").starts_with("imported from commit "));
    assert_eq!(row(0, "format"), "text");
    let template = p.json("ines", "cat team.deep-folder.sys-prompt-v2@v1");
    let names: Vec<&str> =
        template["content"]["variables"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
    assert_eq!((template["format"].as_str(), names), (Some("template"), vec!["name", "team"]));
    assert!(!p.words("ines", "versions team.ask").good().out.contains('\u{1b}'));
}

#[test]
fn only_first_parents_count_and_a_merge_counts_as_one_commit() {
    let p = Program::start();
    let r = Repository::new();
    r.write("a.md", "base");
    r.commit("Ana", "base");
    r.git(&["checkout", "-q", "-b", "side"]);
    for text in ["side one", "side two"] {
        r.write("a.md", text);
        r.commit("Bob", text);
    }
    r.git(&["checkout", "-q", "main"]);
    r.git(&["merge", "-q", "--no-ff", "-m", "Merge side", "side"]);
    let report = import(&p, &["git", r.path().to_str().unwrap(), "--namespace", "n"]).json();
    assert_eq!(counts(&report), [1, 1, 2, 2]);
    assert_eq!(p.json("ines", "versions n.a")["items"][0]["rationale"], "Merge side");
    let side = import(&p, &["git", r.path().to_str().unwrap(), "--namespace", "n", "--ref", "side"]).json();
    assert_eq!(counts(&side), [1, 1, 3, 1]);
}

#[test]
fn path_and_glob_choose_and_keys_stand_below_the_path() {
    let p = Program::start();
    let r = Repository::new();
    for path in ["prompts/a.md", "prompts/deep/b.md", "prompts/c.txt", "other/d.md"] {
        r.write(path, path);
    }
    r.commit("Ana", "all");
    let repo = r.path().to_str().unwrap();
    let report = import(&p, &["git", repo, "--namespace", "n", "--path", "prompts/", "--glob", "*.md"]).json();
    assert_eq!(counts(&report), [2, 2, 2, 2]);
    p.words("ines", "show n.a").good();
    p.words("ines", "show n.deep.b").good();
    assert_eq!(counts(&import(&p, &["git", repo, "--namespace", "m", "--path", "other/d.md"]).json()), [1, 1, 1, 1]);
    p.words("ines", "show m.d").good();
}

#[test]
fn what_cannot_be_imported_is_named_and_the_rest_stays_consistent() {
    let p = Program::start();
    let r = Repository::new();
    r.write("good.md", "good");
    r.write("bad.md", b"caf\xe9");
    r.commit("Ana", "two");
    let repo = r.path().to_str().unwrap();
    let said = import(&p, &["git", repo, "--namespace", "n"]);
    said.fails(1, "bad.md: is not UTF-8 at byte 3");
    p.words("ines", "cat n.good@v1").good();
    p.words("ines", "show n.bad").fails(3, "");
    for (args, words) in [
        (vec!["git", "/no/such/place", "--namespace", "n"], "/no/such/place does not exist"),
        (vec!["git", repo, "--namespace", "n", "--path", "no/such"], "no/such"),
        (vec!["git", repo, "--namespace", "n", "--ref", "nowhere"], "no commit named \"nowhere\""),
        (vec!["git", repo, "--namespace", "n", "--ref", "--output=x"], ""),
        (vec!["git", repo, "--namespace", "n", "--glob", "*.none"], "*.none"),
        (vec!["git", "/tmp", "--namespace", "n"], "/tmp cannot be read"),
        (vec!["dir", "/no/such/place", "--namespace", "n"], "/no/such/place"),
    ] {
        let said = import(&p, &args);
        assert!(said.code != 0 && said.err.contains(words), "{args:?} {}: {}", said.code, said.err);
    }
    p.words("ines", "audit verify").good();
}

#[test]
fn two_paths_with_one_key_are_refused_before_anything_is_saved() {
    let p = Program::start();
    let r = Repository::new();
    r.write("a b.md", "1");
    r.write("A-b.md", "2");
    r.commit("Ana", "both");
    let said = import(&p, &["git", r.path().to_str().unwrap(), "--namespace", "n"]);
    said.fails(1, "n.a-b");
    assert!(said.err.contains("\"a b.md\"") && said.err.contains("\"A-b.md\""), "{}", said.err);
    assert_eq!(p.json("ines", "keys n.**")["items"].as_array().unwrap().len(), 0);
}

#[test]
fn a_broken_repository_is_named_and_nothing_of_it_is_saved() {
    let p = Program::start();
    let r = Repository::new();
    r.write("a.md", "kept");
    r.commit("Ana", "one");
    let blob = r.git(&["rev-parse", "HEAD:a.md"]);
    let object = r.path().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    std::fs::remove_file(&object).unwrap();
    let said = import(&p, &["git", r.path().to_str().unwrap(), "--namespace", "n"]);
    said.fails(1, r.path().to_str().unwrap());
    assert!(said.err.contains("a.md") && said.err.contains(&blob), "{}", said.err);
    assert_eq!(p.json("ines", "keys n.**")["items"].as_array().unwrap().len(), 0);
}

#[test]
fn an_import_opens_promotions_and_never_applies_them() {
    let p = Program::start();
    let r = Repository::new();
    r.write("a.md", "1");
    r.commit("Ana", "one");
    r.write("a.md", "2");
    r.commit("Ana", "two");
    let repo = r.path().to_str().unwrap();
    let report = import(&p, &["git", repo, "--namespace", "n", "--env", "dev"]).json();
    assert_eq!(report["opened"], 1);
    let open = p.json("ines", "inbox --all")["items"].clone();
    assert_eq!((open.as_array().unwrap().len(), open[0]["to"]["number"].as_u64()), (1, Some(2)));
    p.words("ines", "rollout status n.a --env dev").fails(3, "");
    assert_eq!(import(&p, &["git", repo, "--namespace", "n", "--env", "dev"]).json()["opened"], 0);
}

#[test]
fn a_directory_is_imported_as_it_is_by_the_person_who_does_it() {
    let p = Program::start();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    for (path, text) in [("a.md", "A"), ("sub/b.md", "B"), (".hidden.md", "no")] {
        std::fs::write(dir.path().join(path), text).unwrap();
    }
    let path = dir.path().to_str().unwrap();
    assert_eq!(counts(&import(&p, &["dir", path, "--namespace", "n"]).json()), [2, 2, 2, 2]);
    assert_eq!(p.json("ines", "versions n.sub.b")["items"][0]["author"], "person:ines");
    std::fs::write(dir.path().join("a.md"), "A2").unwrap();
    assert_eq!(counts(&import(&p, &["dir", path, "--namespace", "n"]).json()), [2, 2, 2, 1]);
}

/// The public collection of prompts that may stand beside this project.
fn bundle() -> Option<PathBuf> {
    let found =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("shared/data/prompts.bundle")).find(|p| p.exists());
    if found.is_none() {
        println!("skipped: ../shared/data/prompts.bundle is not here");
    }
    found
}

#[test]
fn a_real_collection_has_twenty_keys_and_two_hundred_and_forty_nine_versions() {
    let Some(bundle) = bundle() else { return };
    let p = Program::start();
    let clone = p.home.path().join("prompts");
    let cloned = said(Command::new("git").arg("clone").arg("-q").arg(bundle).arg(&clone));
    cloned.good();
    let repo = clone.to_str().unwrap();
    let report = import(&p, &["git", repo, "--namespace", "fabric"]).json();
    assert_eq!((counts(&report), &report["skipped"]), ([20, 20, 249, 249], &Value::Array(Vec::new())));
    assert_eq!(counts(&import(&p, &["git", repo, "--namespace", "fabric"]).json()), [20, 20, 249, 0]);
    let versions: BTreeMap<String, i64> = p.json("ines", "keys fabric.**")["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["key_id"].as_str().unwrap().to_owned(), row["versions"].as_i64().unwrap()))
        .collect();
    assert_eq!((versions["fabric.analyze_prose"], versions["fabric.extract_wisdom"]), (58, 27));
    assert_eq!(versions.values().sum::<i64>(), 249);
}
