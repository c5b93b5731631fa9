//! What is verified without trusting the server: checkpoints, exports, bundles; and taking a restored trail for the true one.

use crate::support::program::Program;
use crate::support::registry::{POLICY, Served};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

fn path(p: &Program, name: &str) -> String {
    p.home.path().join(name).to_str().unwrap().to_owned()
}

#[test]
fn an_export_is_verified_offline_and_the_first_bad_event_is_named() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "Hello.\n");
    let key = p.words("ana", "audit checkpoint --key").good().out.trim().to_owned();
    let note = p.words("ana", "audit checkpoint").good().out.clone();
    let (export, signed, public) = (path(&p, "trail.ndjson"), path(&p, "head.checkpoint"), path(&p, "registry.pub"));
    fs::write(&signed, &note).unwrap();
    fs::write(&public, &key).unwrap();
    p.words("ana", &format!("audit export --out {export}")).good();
    p.words("ana", &format!("audit export --out {export}")).fails(1, "exists");
    let lines: Vec<String> = fs::read_to_string(&export).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(p.words("ana", "audit export").good().out.lines().count(), lines.len());
    p.stop();
    let verify = |what: &str| p.words("nobody", &format!("audit verify --export {what}"));
    let whole = verify(&format!("{export} --key {public} --checkpoint {signed}"));
    assert!(whole.good().out.contains("agrees with the checkpoint"), "{}", whole.out);
    assert!(verify(&export).good().out.contains("no checkpoint was given"));
    let changed = path(&p, "changed.ndjson");
    let forged = lines[3].replace("person:", "person:not-");
    fs::write(&changed, [&lines[..3], &[forged], &lines[4..]].concat().join("\n")).unwrap();
    verify(&changed).fails(8, "broken at #4:");
    fs::write(&changed, lines[..lines.len() - 2].join("\n")).unwrap();
    verify(&changed).good();
    verify(&format!("{changed} --key {key} --checkpoint {signed}")).fails(8, &format!("broken at #{}:", lines.len() - 1));
    fs::write(&signed, note.replacen("at 20", "at 19", 1)).unwrap();
    verify(&format!("{export} --key {key} --checkpoint {signed}")).fails(8, "does not fit the text");
    verify(&format!("{export} --checkpoint {signed}")).fails(2, "--key");
}

#[test]
fn checkpoints_are_put_where_their_operator_cannot_rewrite_them() {
    let mut p = Program::start();
    let folder = path(&p, "elsewhere");
    p.stop();
    p.serve_again(&["--checkpoint-dir", &folder]).fails(2, "no such directory");
    fs::create_dir(&folder).unwrap();
    p.restart_with(&["--checkpoint-dir", &folder]);
    let files = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let began = Instant::now();
    while files().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing was put there");
        std::thread::yield_now();
    }
    let key = p.words("ana", "audit checkpoint --key").good().out.trim().to_owned();
    let checked = p.words("ana", &format!("audit verify --key {key} --checkpoint {folder}"));
    checked.good();
    // Somebody takes the newest events away, and with them what the checkpoint says.
    let export = path(&p, "trail.ndjson");
    p.words("ana", &format!("audit export --out {export}")).good();
    let whole = fs::read_to_string(&export).unwrap();
    let short: Vec<&str> = whole.lines().take(2).collect();
    fs::write(&export, short.join("\n")).unwrap();
    p.words("nobody", &format!("audit verify --export {export} --key {key} --checkpoint {folder}")).fails(8, "broken at #3:");
}

#[test]
fn a_server_from_before_there_was_a_key_makes_one_and_keeps_it() {
    let mut p = Program::start();
    let file = p.dir().join("signing-key");
    p.stop();
    fs::remove_file(&file).unwrap();
    p.restart();
    let key = p.words("ana", "audit checkpoint --key").good().out.clone();
    assert_eq!(fs::read_to_string(&file).unwrap().trim().len(), 64);
    p.restart();
    assert_eq!(p.words("ana", "audit checkpoint --key").good().out, key);
}

#[test]
fn a_bundle_answers_without_the_registry_and_a_changed_one_is_refused() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "Hello.\n");
    p.served_in_dev("search.rank", "Rank.\n");
    p.words("carol", "kill search.rank --env dev --reason test --yes").good();
    let key = p.words("ana", "audit checkpoint --key").good().out.trim().to_owned();
    let file = path(&p, "dev.bundle");
    let said = p.words("web", &format!("export --env dev --bundle {file} --key {key}"));
    assert!(said.good().out.starts_with("2 keys of dev as of #"), "{}", said.out);
    p.stop();
    let ask =
        |what: &str| p.words("nobody", &format!("resolve {what} --env dev --bundle {file} --signed-by {key} --output json"));
    let answer = ask("support.greeting").json();
    assert_eq!((&answer["content"]["body"], &answer["reason"]), (&json!("Hello.\n"), &json!("static")));
    assert_eq!((&ask("search.rank").json()["digest"], &ask("search.rank").json()["killed"]), (&Value::Null, &json!(true)));
    ask("support.nothing").fails(3, "no key");
    p.words("nobody", &format!("resolve support.greeting --env production --bundle {file}")).fails(3, "the bundle is of dev");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replace("Hello.", "Jello.")).unwrap();
    ask("support.greeting").fails(8, "hashes to");
    let stranger = Program::start();
    let other = stranger.words("ana", "audit checkpoint --key").good().out.trim().to_owned();
    fs::write(&file, whole).unwrap();
    p.words("nobody", &format!("resolve support.greeting --env dev --bundle {file} --signed-by {other}"))
        .fails(8, "not signed by");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_holds_what_the_caller_may_resolve_and_nothing_confidential() {
    let trusted = "[[role]]\nwho = \"person:carol\"\nrole = \"releaser\"\nnamespace = \"support.**\"\n";
    let served = Served::with_policy(&format!("{POLICY}\n{trusted}")).await;
    for (key, confidential) in [("support.greeting", false), ("support.secret", true)] {
        let made = json!({ "key_id": key, "owning_group": "owners", "confidential": confidential });
        served.post("dee", "/v1/keys", made).await.good();
        let digest = served.version(key, &format!("Text of {key}.")).await;
        served.into_dev(key, &digest).await;
    }
    for (who, keys) in [("web", 1), ("ana", 1), ("eve", 0)] {
        let signed = served.get(who, "/v1/environments/dev/bundle").await.good();
        assert_eq!(signed["bundle"]["keys"].as_object().unwrap().len(), keys, "{who}");
        assert!(!signed.to_string().contains("secret"), "{who}");
    }
    assert_eq!(served.get("web", "/v1/environments/nowhere/bundle").await.refused().0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_withholds_what_its_reader_may_not_know_and_still_verifies() {
    use countersign::rules::chain;
    let served = Served::start().await;
    served
        .post("dee", "/v1/keys", json!({ "key_id": "support.secret", "owning_group": "owners", "confidential": true }))
        .await
        .good();
    for who in ["rita", "ana"] {
        let lines = served.get(who, "/v1/audit/export").await.text;
        let mut head = chain::EMPTY;
        for line in lines.lines() {
            head = chain::verify(&head, &serde_json::from_str(line).unwrap()).unwrap();
        }
        assert_eq!(head.seq, served.head().await);
        assert_eq!(lines.contains("support.secret"), who == "ana", "{who}");
    }
    let after = served.get("ana", "/v1/audit/export?after=1").await.text;
    assert!(after.lines().count() as u64 == served.head().await - 1);
    assert_eq!(served.get("ana", "/v1/audit/export?limit=1").await.refused().0, 422);
}

#[test]
fn each_command_that_acts_or_reads_the_trail_remembers_the_head_that_it_saw() {
    let p = Program::start();
    p.served_in_dev("support.seen", "x");
    let folder = p.home.path().join("data/pins");
    let forget = || fs::remove_dir_all(&folder).unwrap();
    let remembered = || -> Option<u64> {
        let file = fs::read_dir(&folder)
            .ok()?
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension() == Some("json".as_ref()))?;
        serde_json::from_slice::<Value>(&fs::read(file).unwrap()).unwrap()["head"]["seq"].as_u64()
    };
    let head = p.json("ana", "audit verify")["events"].as_u64().unwrap();
    for reads in
        ["audit tail", "changes --env dev --since 1h", "audit checkpoint", "audit report --from 2000-01-01 --to 2100-01-01"]
    {
        forget();
        p.words("ana", reads).good();
        assert_eq!(remembered(), Some(head), "{reads}");
    }
    p.words("root", "key create support.greeting --group owners").good();
    assert_eq!(remembered(), Some(head + 1));
    p.draft("support.greeting", "Hello.\n");
    assert_eq!(remembered(), Some(head + 2));
    p.words("dee", "submit support.greeting@v1").good();
    assert_eq!(remembered(), Some(head + 3));
    forget();
    p.words("dee", "show support.greeting").good();
    assert_eq!(remembered(), None, "what tells of no event asks for none");
}

#[test]
fn another_trail_is_an_alarm_until_somebody_says_why_it_is_right() {
    let mut p = Program::start();
    p.words("ana", "audit verify").good();
    let copy = p.dir().join("older.db");
    p.stop();
    fs::copy(p.dir().join("registry.db"), &copy).unwrap();
    let wal = p.dir().join("registry.db-wal");
    let wal_copy = p.dir().join("older.db-wal");
    if wal.exists() {
        fs::copy(&wal, &wal_copy).unwrap();
    }
    p.restart();
    p.words("root", "key create support.greeting --group owners").good();
    p.words("ana", "audit verify").good();
    p.stop();
    let back = |from: &Path, to: &str| {
        let to = p.dir().join(to);
        let _ = fs::remove_file(&to);
        if from.exists() {
            fs::rename(from, to).unwrap();
        }
    };
    back(&copy, "registry.db");
    back(&wal_copy, "registry.db-wal");
    let _ = fs::remove_file(p.dir().join("registry.db-shm"));
    p.restart();
    p.words("ana", "audit verify").fails(8, "seen before");
    let tail = p.words("ana", "audit tail");
    tail.fails(8, "seen before");
    assert!(tail.out.contains("token.create") && tail.err.contains("audit accept-head"), "{} {}", tail.out, tail.err);
    // The alarm keeps nobody from acting, least of all from a kill.
    p.words("root", "key create support.farewell --group owners").fails(8, "the command was carried out");
    p.words("dee", "show support.farewell").good();
    p.words("ana", "audit accept-head").fails(2, "--rationale");
    let said =
        p.run("ana", ["audit", "accept-head", "--yes", "--rationale", "the disk died; carol restored last night's backup"]);
    assert!(said.good().out.starts_with("accepted #"), "{}", said.out);
    p.words("ana", "audit verify").good();
    let kept = fs::read_to_string(p.home.path().join("data/pins/accepted.ndjson")).unwrap();
    assert!(kept.contains("the disk died") && kept.contains("\"before\""), "{kept}");
}

#[test]
fn the_report_says_of_each_change_in_production_who_let_it_and_runs_nothing() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "Hello.\n");
    p.words("ci", "verdict support.greeting@v1 --gate accuracy --score 0.95").good();
    let id = p.json("dee", "promote support.greeting@v1 --env production --rationale =HYPERLINK(1)")["promotion_id"].clone();
    let id = id.as_str().unwrap();
    p.run("ana", ["approve", id, "--yes", "--rationale", "read it, \"all\""]).good();
    p.words("carol", &format!("apply {id} --yes")).good();
    p.words("carol", "kill support.greeting --env production --reason quality --yes").good();
    let report = p.words("ana", "audit report --from 2000-01-01 --to 2100-01-01");
    let lines: Vec<&str> = report.good().out.split("\r\n").filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 3, "{}", report.out);
    for words in [
        "\"promotion.apply\",\"person:carol\"",
        "\"v1\",\"25\",\"false\",\"person:dee\",\"person:dee\"",
        "\"'=HYPERLINK(1)\"",
        "person:ana approve review as owners at ",
        ": read it, \"\"all\"\"\"",
        "accuracy pass 0.95 against 0.9 by service:ci at ",
    ] {
        assert!(lines[1].contains(words), "{words}: {}", lines[1]);
    }
    assert!(lines[2].contains("\"pointer.kill\"") && lines[2].contains("\"quality\""), "{}", lines[2]);
    let dev = p.words("ana", "audit report --from 2000-01-01 --to 2100-01-01 --env dev");
    assert_eq!(dev.good().out.matches("\r\n").count(), 2);
    assert_eq!(p.words("ana", "audit report --from 2000-01-01 --to 2001-01-01").good().out.matches("\r\n").count(), 1);
    p.words("ana", "audit report --from 2001-01-01 --to 2000-01-01").fails(1, "is not after");
    p.words("ana", "audit report --from yesterday --to 2000-01-01").fails(2, "2026-10-01");
}
