//! The commands that move pointers and settle what is owed, with what they refuse.

use crate::support::program::{POLICY, Program};
use serde_json::Value;

/// A version that passed its gate, was approved and serves in production at the plan's first share.
fn into_production(p: &Program, what: &str) -> String {
    p.words("ci", &format!("verdict {what} --gate accuracy --score 0.95")).good();
    let id = p.open(&format!("{what} --env production"));
    p.words("ana", &format!("approve {id} --rationale good --yes")).good();
    p.words("carol", &format!("apply {id} --yes")).good();
    id
}

fn pointer(p: &Program) -> Value {
    p.json("carol", "rollout status support.greeting --env production")
}

/// A second version, everywhere in dev.
fn second_in_dev(p: &Program) {
    p.draft("support.greeting", "two");
    p.words("dee", "submit support.greeting@v2").good();
    let id = p.open("support.greeting@v2 --env dev");
    p.words("carol", &format!("apply {id}")).good();
}

#[test]
fn a_rollout_steps_holds_resumes_and_rolls_back() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "one");
    into_production(&p, "support.greeting@v1");
    p.words("carol", "step support.greeting --env production --to 33 --rationale x --yes").fails(1, "33");
    let held = p.words("carol", "hold support.greeting --env production --rationale wait");
    assert!(held.good().out.starts_with("hold support.greeting #"), "{}", held.out);
    p.words("carol", "resume support.greeting --env production --yes").fails(2, "--rationale");
    assert_eq!(pointer(&p)["held"], true);
    p.words("carol", "step support.greeting --env production --rationale x --yes").fails(6, "held");
    p.words("carol", "resume support.greeting --env production --rationale on --yes").good();
    p.words("carol", "resume support.greeting --env production --rationale on --yes").fails(5, "not held");
    let dry = p.json("carol", "step support.greeting --env production --rationale x --dry-run");
    assert_eq!((&dry["pointer"]["rollout_pct"], &dry["seq"]), (&Value::from(50), &Value::Null));
    assert_eq!(pointer(&p)["rollout_pct"], 25, "a dry run changes nothing");
    for share in [50, 100] {
        p.words("carol", "step support.greeting --env production --rationale x --yes").good();
        assert_eq!(pointer(&p)["rollout_pct"], share);
    }
    p.words("carol", "rollback support.greeting --env production --rationale x --yes").fails(5, "");
    second_in_dev(&p);
    let running = into_production(&p, "support.greeting@v2");
    assert_eq!(pointer(&p)["running"].as_str(), Some(running.as_str()));
    let blocked = p.words("dee", "promote support.greeting@v1 --env production --rationale again");
    blocked.fails(5, "");
    p.words("dee", &format!("promote support.greeting@v1 --env production --rationale again --supersedes {running}")).good();
    let down = p.json("carol", "step support.greeting --env production --down --to 10 --rationale slow --yes");
    assert_eq!(down["staled"].as_array().unwrap().len(), 1, "{down}");
    p.words("carol", "rollback support.greeting --env production --rationale bad --yes").good();
    assert_eq!(pointer(&p)["version"]["number"], 1);
    assert_eq!(p.words("dee", "cat support.greeting@production").good().out, "one\n");
}

#[test]
fn a_killed_key_serves_its_safe_default_until_it_is_revived() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "one");
    into_production(&p, "support.greeting@v1");
    second_in_dev(&p);
    p.words("ci", "verdict support.greeting@v2 --gate accuracy --score 1").good();
    let safe = p.open("support.greeting@v2 --env @safe-default");
    p.words("ana", &format!("approve {safe} --rationale ok --yes")).good();
    p.words("carol", &format!("apply {safe} --yes")).good();
    let told = p.words("carol", "kill support.greeting --env production --reason test --dry-run");
    assert!(told.good().out.starts_with("kill support.greeting: nothing was changed\nthen: production "), "{}", told.out);
    let dry = p.json("carol", "kill support.greeting --env production --reason test --dry-run");
    assert_eq!((&dry["seq"], &pointer(&p)["killed"]), (&Value::Null, &Value::Bool(false)));
    p.words("carol", "kill support.greeting --env production --reason test --note drill --yes").good();
    let again = p.json("carol", "kill support.greeting --env production --reason test --yes");
    assert_eq!(again["seq"], Value::Null, "a second kill changes nothing");
    for unit in ["u1", "u2", "u3"] {
        let answer = p.json("dee", &format!("resolve support.greeting --env production --unit {unit}"));
        assert_eq!((answer["reason"].as_str(), answer["content"]["body"].as_str()), (Some("killed"), Some("two")));
    }
    let explained = p.words("dee", "resolve support.greeting --env production --unit u1 --explain");
    assert!(explained.good().out.contains("KILLED") && explained.out.contains("killed"), "{}", explained.out);
    p.words("carol", "rollback support.greeting --env production --rationale x --yes").fails(5, "killed");
    let refused = p.open("support.greeting@v1 --env production");
    p.words("carol", &format!("apply {refused} --yes")).fails(6, "killed");
    let revive = "revive support.greeting@v1 --env production --percent 25 --rationale fixed";
    let id = p.json("carol", revive)["promotion_id"].as_str().unwrap().to_owned();
    p.words("carol", &format!("apply {id} --yes")).fails(6, "review");
    p.words("ana", &format!("approve {id} --rationale good --yes")).good();
    p.words("carol", &format!("apply {id} --yes")).good();
    let now = pointer(&p);
    assert_eq!((&now["killed"], &now["rollout_pct"]), (&Value::Bool(false), &Value::from(25)));
    let owed = p.json("olga", "inbox")["items"].as_array().unwrap().len();
    assert!(owed > 0, "the kill is to be reviewed by another person");
}

#[test]
fn votes_are_given_taken_back_overridden_and_renewed() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "one");
    let id = p.open("support.greeting@v1 --env production");
    p.words("bob", &format!("reject {id} --rationale no")).good();
    p.words("ana", &format!("approve {id} --rationale good --yes")).good();
    p.words("bob", &format!("retract {id} --rationale oh")).good();
    assert_eq!(p.json("bob", &format!("comment {id} --rationale fine"))["verdict"], "comment");
    p.words("bob", &format!("comment {id} --rationale  ")).fails(2, "");
    let blank = p.run("bob", ["comment", &id, "--rationale", "   "]);
    blank.fails(1, "rationale");
    p.words("dee", &format!("override {id} --gate accuracy --rationale x --yes")).fails(4, "");
    p.words("bob", &format!("override {id} --gate accuracy --rationale urgent --yes")).good();
    p.words("carol", &format!("apply {id} --yes")).good();
    p.words("ana", &format!("close-review {id} --rationale seen")).good();
    p.words("ana", &format!("close-review {id} --rationale seen")).fails(5, "");

    second_in_dev(&p);
    let running = pointer(&p)["running"].as_str().unwrap().to_owned();
    let id = p.open(&format!("support.greeting@v2 --env production --supersedes {running}"));
    p.words("ana", &format!("promote --renew {id} --rationale x")).fails(4, "");
    p.words("dee", &format!("promote --renew {id} --rationale x")).fails(5, "nothing has changed");
    let file = p.home.path().join("policy.toml");
    std::fs::write(&file, POLICY.replace("at_least = 0.9", "at_least = 0.7")).unwrap();
    p.words("root", &format!("policy apply {} --rationale x --yes", file.display())).good();
    p.words("carol", &format!("wait {id} --timeout 5s")).fails(5, "stale");
    let renewed = p.json("dee", &format!("promote --renew {id} --rationale again"));
    assert_eq!((renewed["state"].as_str(), renewed["supersedes"].as_str()), (Some("open"), Some(id.as_str())));
    let id = renewed["promotion_id"].as_str().unwrap();
    p.words("carol", &format!("wait {id} --timeout 1s")).fails(6, "accuracy");
}

#[test]
fn an_approval_that_cannot_be_sent_is_refused_before_the_review_is_printed() {
    let p = Program::start();
    let file = p.home.path().join("policy.toml");
    let one = r#"{ gate = "review", group = "@owning", count = 1 }"#;
    let two = format!(r#"{one}, {{ gate = "release", group = "owners", count = 1 }}"#);
    std::fs::write(&file, POLICY.replace(one, &two)).unwrap();
    p.words("root", &format!("policy apply {} --rationale x --yes", file.display())).good();
    p.served_in_dev("support.greeting", "one");
    let id = p.open("support.greeting@v1 --env production");
    let unclear = p.words("ana", &format!("approve {id} --rationale good --yes"));
    unclear.fails(2, "name one with --gate");
    assert!(!unclear.err.contains("Requirements") && unclear.err.contains("review, release"), "{}", unclear.err);
    p.words("ana", &format!("approve {id} --gate release --rationale good --yes")).good();
    let again = p.words("ana", &format!("approve {id} --gate review --rationale good --yes"));
    again.fails(4, "you cannot approve this");
    assert!(!again.err.contains("Requirements"), "{}", again.err);
    p.words("bob", &format!("approve {id} --rationale good --yes")).good();
}

#[test]
fn the_trail_is_filtered_by_what_it_is_about() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "one");
    let actions = |line: &str| -> Vec<String> {
        let events = p.json("ana", line)["items"].clone();
        events.as_array().unwrap().iter().map(|e| e["action"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(actions("audit tail -n 1"), ["promotion.apply"]);
    assert_eq!(actions("audit tail --action key.create"), ["key.create"]);
    assert_eq!(actions("audit tail --actor person:dee"), ["version.draft", "version.submit", "promotion.open"]);
    assert_eq!(actions("audit tail --subject key:support.greeting --action key.create").len(), 1);
    assert!(p.words("ana", "audit tail -n 1").good().out.contains("person:carol  promotion.apply"));
    p.words("ana", "audit tail --action nonsense").fails(2, "nonsense");
    p.words("web", "audit tail").fails(4, "");
}

#[test]
fn a_kill_takes_the_keys_that_its_pattern_lists_and_is_not_held_up_by_a_typo() {
    let p = Program::start();
    for key in ["support.k1", "support.k2", "search.k2"] {
        p.served_in_dev(key, "one");
    }
    let killed = |key: &str| p.json("carol", &format!("rollout status {key} --env dev"))["killed"] == true;
    for none in ["**.k2", "support.k*", "support.*.k2"] {
        p.words("olga", &format!("kill {none} --env dev --reason test --yes")).fails(2, "pattern");
        p.words("olga", &format!("changes --env dev --since 1h --namespace {none}")).fails(2, "pattern");
        p.words("olga", &format!("keys {none}")).fails(2, "pattern");
    }
    assert!(!killed("support.k1") && !killed("support.k2") && !killed("search.k2"));
    p.words("olga", "kill support.k1 support.k1 --env dev --reason test --yes").good();
    assert!(killed("support.k1") && !killed("support.k2"));
    let dry = p.words("olga", "kill search.k2 Search.K2 --env dev --reason test --dry-run --yes");
    dry.fails(2, "1 of 2 keys would not be killed");
    assert!(!killed("search.k2"));
    let said = p.words("olga", "kill search.k2 Search.K2 search.k2 --env dev --reason test --yes");
    said.fails(1, "1 of 2 keys were not killed");
    assert!(said.out.contains("Search.K2"), "{}", said.out);
    assert!(killed("search.k2"));
    p.words("olga", "kill support.* --env dev --reason test --yes").good();
    assert!(killed("support.k2"));
}
