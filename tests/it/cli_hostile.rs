//! Hostile text through every command that prints: nothing in it reaches a terminal as a control.

use crate::support::program::Program;

/// Clears the screen, moves the cursor, sets the title, turns text around, hides, and rings.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}gnp\u{200b}\u{8}\u{7f}\rx";

/// No byte below 0x20 but newline, no DEL, no C1 control, no bidirectional control.
#[track_caller]
fn is_safe(what: &str, text: &str) {
    let bad =
        text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    assert!(bad.is_none(), "{what} prints {bad:?}: {text:?}");
}

#[test]
fn no_command_lets_text_drive_a_terminal() {
    let p = Program::start();
    let run = |who: &str, args: &[&str]| {
        let said = p.run(who, args);
        is_safe(&args.join(" "), &said.out);
        is_safe(&args.join(" "), &said.err);
        said
    };
    let why = format!("because {HOSTILE}");
    run("root", &["key", "create", "support.greeting", "--group", "owners", "--description", &why]).good();
    let fragment = p.feed("dee", "fragment create tone --file - --group owners", &format!("Be {HOSTILE}"));
    is_safe("fragment create", &fragment.good().out);
    for n in 1..=2 {
        let file = p.home.path().join("draft.json");
        let body =
            serde_json::json!({"format": "text", "body": format!("{n} {HOSTILE}\nline\n"), "parameters": {"note": HOSTILE}});
        std::fs::write(&file, body.to_string()).unwrap();
        let saved = run("dee", &["draft", "support.greeting", "--file", file.to_str().unwrap(), "--rationale", &why]);
        saved.good();
        run("dee", &["submit", &format!("support.greeting@v{n}")]).good();
    }
    let summary = p.home.path().join("summary.txt");
    std::fs::write(&summary, HOSTILE).unwrap();
    let summary = summary.to_str().unwrap();
    run("ci", &["verdict", "support.greeting@v1", "--gate", "accuracy", "--score", "1", "--summary", summary]).good();
    let open = |env: &str| {
        let args = ["promote", "support.greeting@v1", "--env", env, "--rationale", &why, "--change", &why];
        run("dee", &args).good();
        p.json("dee", "inbox --all")["items"][0]["promotion_id"].as_str().unwrap().to_owned()
    };
    let dev = open("dev");
    run("carol", &["apply", &dev, "--rationale", &why]).good();
    let id = open("production");
    run("bob", &["comment", &id, "--rationale", &why]).good();
    run("bob", &["reject", &id, "--rationale", &why]).good();
    run("ana", &["approve", &id, "--rationale", &why, "--acknowledge-hidden", "--yes"]).good();
    for shape in ["table", "json"] {
        for line in [
            "keys",
            "show support.greeting",
            "versions support.greeting",
            "cat support.greeting@v1",
            "cat support.greeting@dev",
            "diff support.greeting v1 v2",
            "diff support.greeting v1 v2 --expand",
            "fragment list",
            "fragment show tone",
            "fragment users tone",
            "inbox",
            "inbox --all",
            &format!("review {id}"),
            &format!("review {id} --expand"),
            "resolve support.greeting --env dev",
            "resolve support.greeting --env dev --explain",
            "rollout status support.greeting --env dev",
            "audit tail -n 100",
            "policy show",
            "token list",
            "whoami",
        ] {
            let who = if line.starts_with("token") { "root" } else { "ana" };
            let args: Vec<&str> = line.split(' ').chain(["--output", shape]).collect();
            run(who, &args).good();
        }
    }
    // Errors quote what they were given.
    run("dee", &["cat", &format!("support.greeting@{HOSTILE}")]).fails(2, "");
    run("dee", &["keys", HOSTILE]).good();
    run("dee", &["fragment", "show", HOSTILE]).fails(3, "");
    run("dee", &["key", "edit", "support.greeting", "--group", HOSTILE]);
    run("dee", &["policy", "check", HOSTILE]).fails(1, "");
}
