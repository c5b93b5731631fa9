//! The first screen of a difference with word marks, beside `git diff --word-diff`, and delta or diff-so-fancy where they are
//! found, on the same texts in the same run. Prints milliseconds (the best of many: the machine may be busy) and ratios. The
//! peers' times hold the start of a process, about two milliseconds, and writing all of their output; ours holds comparing
//! and laying out the whole text.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "prints figures")]

use countersign::model::{Content, Format};
use countersign::rules::hidden::Bodies;
use countersign::rules::structure::content_diff;
use countersign::tui::first_screen;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 15;
const WORDS: &str = "you are a careful assistant answer cite policy refund billing never reveal internal notes ask customer \
                     language plan tone brief steps because when where which format table json schema";

/// A small generator, the same on every machine (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
    fn words(&mut self, count: usize) -> String {
        let all: Vec<&str> = WORDS.split_whitespace().collect();
        (0..count).map(|_| all[self.below(all.len())]).collect::<Vec<_>>().join(" ")
    }
}

/// 5,000 lines of Markdown, 5 % of them changed, removed or added to.
fn markdown(random: &mut Random) -> (Value, Value) {
    let lines: Vec<String> = (0..5000)
        .map(|i| {
            let count = 6 + random.below(11);
            if i % 40 == 0 { format!("## section {i}") } else { format!("- {}", random.words(count)) }
        })
        .collect();
    let mut changed = lines.clone();
    for _ in 0..250 {
        let at = random.below(changed.len());
        match random.below(20) {
            0..=13 => changed[at] = changed[at].replacen(' ', " wholly other ", 1),
            14..=16 => drop(changed.remove(at)),
            _ => changed.insert(at, format!("- {}", random.words(10))),
        }
    }
    (json!(lines.join("\n") + "\n"), json!(changed.join("\n") + "\n"))
}

/// About 1 MB of JSON, 5 % of the values changed.
fn settings(random: &mut Random) -> (Value, Value) {
    let mut old = Map::new();
    for i in 0..205 {
        let mut group = Map::new();
        for j in 0..40 {
            let member = json!({"enabled": random.below(2) == 0, "value": random.below(1_000_000), "note": random.words(5)});
            group.insert(format!("key_{j}"), member);
        }
        old.insert(format!("group{i}"), Value::Object(group));
    }
    let mut new = old.clone();
    for member in new.values_mut().flat_map(|group| group.as_object_mut().unwrap().values_mut()) {
        if random.below(20) == 0 {
            member["value"] = json!(random.below(1_000_000));
        }
    }
    (Value::Object(old), Value::Object(new))
}

/// 400 lines of 2,000 characters, two words changed in each fifth.
fn prose(random: &mut Random) -> (Value, Value) {
    let lines: Vec<String> = (0..400).map(|_| random.words(320).chars().take(2000).collect()).collect();
    let mut changed = lines.clone();
    for line in changed.iter_mut().step_by(5) {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for _ in 0..2 {
            let at = random.below(words.len());
            words[at] = "CHANGED".into();
        }
        *line = words.join(" ");
    }
    (json!(lines.join("\n") + "\n"), json!(changed.join("\n") + "\n"))
}

fn best(mut run: impl FnMut()) -> Duration {
    let timed = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..ROUNDS).map(|_| timed(&mut run)).min().unwrap()
}

fn ours(format: Format, old: &Value, new: &Value) -> Duration {
    let content = |body: &Value| Content {
        key: "bench.text".parse().unwrap(),
        format,
        body: body.clone(),
        model_pin: None,
        parameters: Map::new(),
        fragments: std::collections::BTreeMap::new(),
        variables: Vec::new(),
        schema: 1,
    };
    let (old, new, none) = (content(old), content(new), Bodies::new());
    best(|| {
        let diff = content_diff(Some(&old), &new, &none, &none);
        assert!(diff.texts.iter().all(|text| !text.1.approximate) || cfg!(debug_assertions));
        assert!(first_screen(&diff, 120, 36).len() > 4);
    })
}

/// Runs a shell command over `a` and `b` in a folder.
fn peer(folder: &Path, command: &str) -> Duration {
    best(|| {
        let quiet = || Stdio::null();
        Command::new("sh").args(["-c", command]).current_dir(folder).stdout(quiet()).stderr(quiet()).status().unwrap();
    })
}

fn found(program: &str) -> bool {
    let answer = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    answer.is_ok()
}

fn main() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let inputs = [
        ("5,000 lines of Markdown", Format::Text, markdown(&mut random)),
        ("1 MB of JSON", Format::Json, settings(&mut random)),
        ("400 lines of 2,000 characters", Format::Text, prose(&mut random)),
    ];
    let mut peers = vec![("git diff --word-diff", "git diff --no-index --word-diff=color a b".to_owned())];
    for (program, arguments) in [("delta", "--no-gitconfig --paging=never"), ("diff-so-fancy", "")] {
        if found(program) {
            peers.push((program, format!("git diff --no-index --color a b | {program} {arguments}")));
        }
    }
    for (name, format, (old, new)) in inputs {
        let folder = tempfile::tempdir().unwrap();
        for (file, body) in [("a", &old), ("b", &new)] {
            let text = body.as_str().map_or_else(|| serde_json::to_string_pretty(body).unwrap(), str::to_owned);
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let mine = ours(format, &old, &new).as_secs_f64() * 1000.0;
        println!("{name}: {mine:.1} ms");
        for (peer_name, command) in &peers {
            let theirs = peer(folder.path(), command).as_secs_f64() * 1000.0;
            println!("  {peer_name}: {theirs:.1} ms, ratio {:.2}", mine / theirs);
        }
    }
}
