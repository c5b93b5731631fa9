//! The commands against a real server process: what they print, and their exit codes.

use crate::support::program::{POLICY, Program, program, said};
use serde_json::Value;
use std::io::Read as _;
use std::process::Stdio;

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

#[test]
fn a_change_walks_from_a_file_to_production_and_back_by_commands_alone() {
    let p = Program::start();
    let first = p.served_in_dev("support.greeting", "Hello there.\n");
    assert_eq!(p.words("dee", "cat support.greeting@v1").good().out, "Hello there.\n");
    let id = p.open("support.greeting@v1 --env production --change T-1");
    let review = p.words("ana", &format!("review {id}"));
    for words in ["Hello there.", "accuracy", "review", &first, "25:1m,50:1m,100"] {
        assert!(review.good().out.contains(words), "{words}: {}", review.out);
    }
    p.words("carol", &format!("apply {id} --yes")).fails(6, "accuracy");
    p.words("ci", "verdict support.greeting@v1 --gate accuracy --score 0.95").good();
    assert_eq!(p.json("ana", "inbox")["items"].as_array().unwrap().len(), 1);
    let approved = p.json("ana", &format!("approve {id} --rationale good --yes"));
    assert_eq!(approved["statement"], p.json("ana", &format!("review {id}"))["statement"]);
    let dry = p.json("carol", &format!("apply {id} --dry-run"));
    assert_eq!(dry["pointer"]["rollout_pct"], 25);
    assert_eq!(p.json("carol", &format!("review {id}"))["state"], "open", "a dry run changes nothing");
    p.words("carol", &format!("apply {id} --yes")).good();
    p.words("carol", &format!("wait {id} --timeout 5s")).good();
    p.words("carol", "step support.greeting --env production --to 50 --rationale next --yes").good();
    assert_eq!(p.json("carol", "rollout status support.greeting --env production")["rollout_pct"], 50);
    let killed = p.json("carol", "kill support.greeting --env production --reason quality --yes");
    assert!(killed["seq"].as_u64().unwrap() > 0);
    let answer = p.json("dee", "resolve support.greeting --env production --unit u1");
    assert_eq!((text(&answer, "/reason"), &answer["digest"]), ("killed_no_default", &Value::Null));
    p.words("carol", &format!("note {} --note drill", text(&killed, "/promotion/promotion_id"))).good();
    p.words("olga", &format!("close-review {} --rationale looked", text(&killed, "/promotion/promotion_id"))).good();
    p.words("carol", "undo-kill support.greeting --env production --rationale wrong --yes").good();
    assert_eq!(p.json("carol", "rollout status support.greeting --env production")["killed"], false);
    let verified = p.words("ana", "audit verify");
    assert!(verified.good().out.starts_with("verified "), "{}", verified.out);
}

#[test]
fn each_failure_has_its_exit_code_and_says_what_to_do() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "Hello.\n");
    p.words("dee", "promote support.greeting@v1").fails(2, "--env");
    p.words("dee", "cat support.greeting").fails(2, "name the version too");
    p.words("dee", "promote support.greeting@v1 --env dev --plan 5,100 --rationale x").fails(2, "bake");
    p.words("dee", "cat support.greeting@v9").fails(3, "support.greeting has no version v9");
    p.words("dee", "cat support.greeting@production").fails(3, "support.greeting serves nothing in production");
    p.words("dee", "cat support.nothing@v1").fails(3, "there is no key support.nothing that you may see");
    p.words("dee", "show support.nothing").fails(3, "");
    p.words("dee", "review 123").fails(2, "countersign inbox");
    p.words("nobody", "whoami").fails(4, "login");
    p.words("dee", "kill support.greeting --env dev --reason test --yes").fails(4, "kill");
    p.words("web", "show support.greeting").fails(4, "");
    let id = p.open("support.greeting@v1 --env production");
    p.words("ana", &format!("approve {id} --rationale good --yes")).good();
    p.words("carol", &format!("apply {id} --yes")).fails(6, "accuracy");
    p.words("dee", &format!("withdraw {id}")).good();
    p.words("carol", &format!("apply {id} --yes")).fails(5, "");
    p.words("dee", &format!("approve {id} --rationale good --yes")).fails(4, "");
    p.words("dee", "rollout status support.greeting --env nowhere").fails(3, "support.greeting serves nothing in nowhere");
    p.stop();
    p.words("dee", "whoami").fails(7, "cannot be reached");
    p.words("carol", "kill support.greeting --env dev --reason test --yes").fails(7, "--idempotency-key");
}

#[test]
fn an_author_cannot_approve_and_hidden_text_must_be_acknowledged() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "Hello\u{200b} there.\n");
    let id = p.open("support.greeting@v1 --env production");
    p.words("dee", &format!("approve {id} --rationale mine --yes")).fails(4, "author");
    let refused = p.words("ana", &format!("approve {id} --rationale ok --yes"));
    refused.fails(6, "--acknowledge-hidden");
    assert!(refused.err.contains("U+200B"), "{}", refused.err);
    let row = p.json("ana", &format!("approve {id} --rationale ok --yes --acknowledge-hidden"));
    assert_eq!(text(&row, "/acknowledged_hidden/0/code_points"), "U+200B");
}

#[test]
fn several_keys_die_at_once_and_a_pattern_says_how_many() {
    let p = Program::start();
    for name in ["a", "b", "c"] {
        p.served_in_dev(&format!("support.{name}"), "x");
    }
    let outcomes = p.json("carol", "kill support.a support.b --env dev --reason outage --note n --yes");
    assert_eq!(outcomes["items"].as_array().unwrap().len(), 2);
    p.words("carol", "kill support.** elsewhere.** --env dev --reason outage --yes").fails(2, "stands alone");
    p.words("carol", "kill elsewhere.** --env dev --reason outage --yes").fails(3, "elsewhere.**");
    let rest = p.json("carol", "kill support.** --env dev --reason outage --note n --yes");
    assert_eq!(rest["items"].as_array().unwrap().len(), 3);
    for name in ["a", "b", "c"] {
        assert_eq!(p.json("carol", &format!("rollout status support.{name} --env dev"))["killed"], true);
    }
}

#[test]
fn the_same_idempotency_key_acts_once() {
    let p = Program::start();
    let line = "key create support.greeting --group owners --idempotency-key k1";
    assert_eq!(p.json("root", line), p.json("root", line));
    p.words("root", "key create support.other --group owners --idempotency-key k1").fails(1, "");
    p.words("root", "key create support.greeting --group owners").fails(5, "");
}

#[test]
fn lists_join_all_pages_and_filters_narrow_them() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "x");
    p.words("root", "key create search.rank --group owners --description ranks").good();
    let names = |line: &str| -> Vec<String> {
        let all = p.json("dee", line);
        all["items"].as_array().unwrap().iter().map(|k| text(k, "/key_id").to_owned()).collect()
    };
    assert_eq!(names("keys"), ["search.rank", "support.greeting"]);
    assert_eq!(names("keys support.**"), ["support.greeting"]);
    assert_eq!(names("keys --env dev"), ["support.greeting"]);
    assert_eq!(names("keys --model-pin none"), Vec::<String>::new());
    p.words("root", "key archive search.rank").good();
    assert_eq!(names("keys"), ["support.greeting"]);
    assert_eq!(names("keys --archived").len(), 2);
    for n in 2..120 {
        p.draft("support.greeting", &format!("text {n}"));
    }
    assert_eq!(p.json("dee", "versions support.greeting")["items"].as_array().unwrap().len(), 119);
}

#[test]
fn a_token_is_kept_at_login_and_forgotten_at_logout() {
    let p = Program::start();
    let login = p.feed("nobody", "login", p.token("dee"));
    login.good();
    assert!(!login.out.contains(p.token("dee")) && !login.err.contains(p.token("dee")));
    assert_eq!(p.json("nobody", "whoami")["actor"], "person:dee");
    let file = text(&p.json("nobody", "paths"), "/tokens").to_owned();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let unnamed = |args: &[&str]| said(p.command("nobody", args).env_remove("COUNTERSIGN_SERVER"));
    assert!(unnamed(&["whoami"]).good().out.contains("person:dee"), "login made it the registry of commands that name none");
    p.words("nobody", "logout").good();
    p.words("nobody", "whoami").fails(4, "");
    p.words("nobody", "logout").fails(3, "no token");
    let settings = p.home.path().join("config/config.toml");
    std::fs::write(&settings, "# mine\ntheme = \"mono\"\n").unwrap();
    unnamed(&["whoami"]).fails(2, "countersign login --server");
    p.feed("nobody", "login", p.token("dee")).good();
    let kept = std::fs::read_to_string(&settings).unwrap();
    assert_eq!(kept, format!("server = \"{}\"\n# mine\ntheme = \"mono\"\n", p.server), "the rest stays");
    std::fs::write(&settings, "server = \"http://127.0.0.1:1\"\n").unwrap();
    let elsewhere = p.feed("nobody", "login", p.token("dee"));
    assert!(elsewhere.good().err.contains("commands go to http://127.0.0.1:1 unless"), "{}", elsewhere.err);
    assert!(!std::fs::read_to_string(&settings).unwrap().contains(&p.server), "a registry that is named stays");
    p.words("nobody", "logout").good();
    p.feed("nobody", "login", "cs_not_a_token").fails(4, "");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("cs_not"), "what the registry refuses is not kept");
}

#[test]
fn a_token_that_ends_works_no_more() {
    let p = Program::start();
    let made = p.json("root", "token create --actor service:web --scope read --note temporary");
    let (id, secret) = (text(&made, "/token_id"), text(&made, "/secret"));
    let with = |line: &str| said(p.command("nobody", line.split(' ')).env("COUNTERSIGN_TOKEN", secret));
    with("whoami").good();
    let listed = p.words("root", "token list");
    assert!(listed.good().out.contains(id) && !listed.out.contains(secret));
    p.words("root", &format!("token revoke {id}")).good();
    with("whoami").fails(4, "");
}

#[test]
fn policies_are_checked_offline_and_applied_with_a_reason() {
    let p = Program::start();
    let file = p.home.path().join("policy.toml");
    let path = file.to_str().unwrap().to_owned();
    let checked = said(program(p.home.path()).args(["policy", "check", &path]));
    assert!(checked.good().out.contains("dev, production"), "{}", checked.out);
    assert_eq!(p.words("root", "policy show").good().out.trim(), POLICY.trim());
    assert_eq!(p.json("root", "policy show support.greeting --env production")["protected"], true);
    std::fs::write(&file, POLICY.replace("at_least = 0.9", "at_least = 0.8")).unwrap();
    p.words("dee", &format!("policy apply {path} --rationale x --yes")).fails(4, "");
    p.words("root", &format!("policy apply {path} --rationale x --yes")).good();
    assert!(p.words("root", "policy show").good().out.contains("0.8"));
    std::fs::write(&file, POLICY.replace("protected = true", "protected = true\nguards = []")).unwrap();
    p.words("root", &format!("policy check {path}")).fails(1, "line 8");
    p.words("root", &format!("policy apply {path} --rationale x --yes")).fails(1, "line 8");
}

#[test]
fn fragments_are_pinned_shown_and_traced() {
    let p = Program::start();
    p.words("root", "key create support.greeting --group owners").good();
    let made = p.feed("dee", "fragment create tone --file - --group owners --output json", "Be kind.");
    let digest = text(&made.json(), "/digest").to_owned();
    let source = format!("---\nformat: template\nfragments: {{\"tone\": \"{digest}\"}}\n---\n{{% include \"tone\" %}} Hi.\n");
    p.draft("support.greeting", &source);
    assert_eq!(p.words("dee", "fragment show tone").good().out, "Be kind.\n");
    assert_eq!(p.json("dee", &format!("fragment show {digest}"))["body"], "Be kind.");
    let users = p.json("dee", "fragment users tone");
    assert_eq!(
        (users.pointer("/items/0/version/key_id"), users.pointer("/items/0/newest")),
        (Some(&"support.greeting".into()), Some(&true.into()))
    );
    assert_eq!(p.json("dee", "fragment list")["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_difference_is_marked_in_words_and_given_as_data() {
    let p = Program::start();
    p.words("root", "key create support.greeting --group owners").good();
    p.draft("support.greeting", "Always be kind and brief.\n\nSame.\n");
    p.draft("support.greeting", "Always be kind and clear.\n\nSame.\n");
    let shown = p.words("dee", "diff support.greeting v1 v2");
    assert!(shown.good().out.contains("[-brief-]{+clear+}"), "{}", shown.out);
    let data = p.json("dee", "diff support.greeting v1 v2");
    assert_eq!(text(&data, "/texts/0/0"), "/body");
    assert_eq!(said(&mut p.command("dee", ["diff", "support.greeting", "v1", "v2", "--json"])).json(), data);
}

#[test]
fn quarantine_and_discard_keep_a_version_away() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "x");
    p.words("ana", "quarantine support.greeting@v1 --rationale bad").good();
    assert!(p.words("dee", "versions support.greeting").good().out.contains("quarantined"));
    p.words("ana", "lift support.greeting@v1 --rationale fine").fails(4, "");
    p.words("bob", "lift support.greeting@v1 --rationale fine").good();
    p.draft("support.greeting", "y");
    p.words("dee", "discard support.greeting@v2").good();
    assert_eq!(p.json("dee", "versions support.greeting")["items"].as_array().unwrap().len(), 1);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let p = Program::start();
    p.served_in_dev("support.greeting", &"line\n".repeat(60_000));
    let mut child =
        p.command("dee", ["cat", "support.greeting@v1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0; 5]).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn raw_text_goes_into_a_pipe_byte_for_byte_and_never_onto_a_terminal() {
    let p = Program::start();
    let hostile = "a\u{1b}[2Jb\u{202e}\r\n\ttab\n";
    p.served_in_dev("support.greeting", hostile);
    assert_eq!(p.words("dee", "cat support.greeting@v1 --raw").good().out, hostile);
    let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["cat", "support.greeting@v1", "--raw"]);
    command.env("COUNTERSIGN_SERVER", &p.server);
    command.env("COUNTERSIGN_TOKEN", p.token("dee"));
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut seen = String::new();
    let _ = pair.master.try_clone_reader().unwrap().read_to_string(&mut seen);
    assert_eq!(child.wait().unwrap().exit_code(), 2, "{seen}");
    assert!(!seen.contains("[2J"), "{seen:?}");
}

#[test]
fn completions_manual_and_checks_work_without_a_registry() {
    let home = tempfile::tempdir().unwrap();
    let run = |line: &str| said(program(home.path()).args(line.split(' ')));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&format!("completions {shell}")).good().out.contains("rollback"));
    }
    assert!(run("man").good().out.contains(".TH countersign"));
    assert!(run("--help").good().out.contains("Exit codes"));
    run("whoami").fails(2, "no registry is named");
    run("whoami --server nonsense").fails(2, "nonsense");
    run("whoami --server http://registry.example --token cs_x").fails(2, "plain http");
    let keymap = home.path().join("keys.toml");
    std::fs::write(&keymap, "[global]\n\"no.such.action\" = [\"x\"]\n").unwrap();
    run(&format!("keymap check {}", keymap.display())).fails(1, "no.such.action");
}
