//! The difference of prose on a real prompt collection: what is shown is what changed, byte for byte.

use countersign::model::diff::{BlockKind, Change};
use countersign::rules::prose::{Unit, diff, side};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The real prompts lie beside the checkout where they lie at all.
fn bundle() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.ancestors().skip(1).take(2).map(|up| up.join("shared/data/prompts.bundle")).find(|path| path.exists())
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The distinct contents of a file through its history, oldest first.
fn history(bundle: &Path, file: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["clone", "-q", bundle.to_str().unwrap(), "prompts"]);
    let clone = folder.path().join("prompts");
    let commits = git(&clone, &["log", "--reverse", "--format=%H", "--", file]);
    let mut texts: Vec<String> = commits.lines().map(|commit| git(&clone, &["show", &format!("{commit}:{file}")])).collect();
    texts.dedup();
    texts
}

#[test]
fn on_fifty_pairs_of_a_real_prompt_the_diff_leads_from_old_to_new_byte_for_byte() {
    let Some(bundle) = bundle() else {
        println!("skipped: ../shared/data/prompts.bundle is not here");
        return;
    };
    let texts = history(&bundle, "analyze_prose.md");
    assert!(texts.len() > 50, "only {} versions", texts.len());
    for pair in texts.windows(2).take(50) {
        for unit in [Unit::Word, Unit::Sentence, Unit::Line, Unit::Character] {
            let found = diff(&pair[0], &pair[1], unit, Duration::from_secs(60));
            assert_eq!(side(&found, Change::Delete), pair[0]);
            assert_eq!(side(&found, Change::Insert), pair[1]);
            assert!(!found.approximate);
            assert!(found.blocks.iter().any(|b| b.kind != BlockKind::Equal));
        }
    }
}
