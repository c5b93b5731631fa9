//! The commands that answer questions about serving.

use crate::support::program::Program;

#[test]
fn where_changes_grep_and_earlier_answers_are_commands() {
    let p = Program::start();
    p.served_in_dev("support.greeting", "Hello there.\nWe are open.");
    let first = p.json("dee", "resolve support.greeting --env dev")["digest"].as_str().unwrap().to_owned();
    let seq = p.json("carol", "audit tail -n 1")["items"][0]["seq"].as_u64().unwrap();
    p.draft("support.greeting", "Good evening.\nWe are closed.\u{202e}");
    p.words("dee", "submit support.greeting@v2").good();
    let id = p.open("support.greeting@v2 --env dev");
    p.words("carol", &format!("apply {id}")).good();

    let earlier = p.json("dee", &format!("resolve support.greeting --env dev --as-of #{seq}"));
    assert_eq!((earlier["digest"].as_str(), earlier["as_of"]["seq"].as_u64()), (Some(first.as_str()), Some(seq)));
    assert!(p.words("dee", &format!("resolve support.greeting --env dev --as-of #{seq}")).good().out.contains("Hello there."));
    p.words("dee", "resolve support.greeting --env dev --as-of yesterday").fails(2, "how long ago like 2h");
    p.words("dee", "resolve support.greeting --env dev --as-of 2h").fails(1, "before the first event");

    let told = p.words("dee", &format!("where {first}")).good().out.clone();
    assert!(told.contains("support.greeting v1") && told.contains("dev") && told.contains("100 %"), "{told}");
    let short = p.words("dee", "where support.greeting@v1").good().out.clone();
    assert_eq!(short, told);
    p.draft("support.greeting", "Never served.");
    assert!(p.words("dee", "where support.greeting@v3").good().out.contains("it never served"));
    p.words("dee", "where nonsense").fails(2, "neither a digest nor KEY@SEL");

    let changes = p.json("carol", &format!("changes --env dev --since #{seq}"))["items"].as_array().unwrap().len();
    assert_eq!(changes, 1);
    assert!(p.words("carol", "changes --env dev --since 1h").good().out.contains("support.greeting"));
    assert!(p.words("carol", "changes --env staging --since 1h").good().out.contains("nothing changed"));

    let found = p.words("dee", "grep closed --env dev").good().out.clone();
    assert!(found.contains("support.greeting@v2:2: We are closed."), "{found}");
    assert!(!found.contains('\u{202e}'), "{found:?}");
    p.words("dee", "grep Hello --env dev").fails(1, "nothing that dev serves");

    let preview = p.words("dee", "preview support.greeting@v1 --env dev --percent 30").good().out.clone();
    assert!(preview.contains("70 %") && preview.contains("30 %"), "{preview}");
    let file = p.home.path().join("units.txt");
    std::fs::write(&file, format!("{}\n\n{}\n", "0".repeat(64), "f".repeat(64))).unwrap();
    let line = format!("preview support.greeting@v1 --env dev --percent 100 --units {}", file.display());
    assert!(p.words("dee", &line).good().out.contains("2 of 2 units move"));
    std::fs::write(&file, "user-42\n").unwrap();
    p.words("dee", &line).fails(1, "line 1 is not a unit hash");
}
