//! The chain under attack: rows that are changed, taken away or replaced behind the registry's back.

use crate::support::program::Program;
use serde_json::Value;

#[test]
fn a_changed_event_is_exit_code_8_with_its_number_and_a_kill_still_works() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "x");
    let verified = p.json("ana", "audit verify");
    let events = verified["events"].as_u64().unwrap();
    assert!(verified["seen_before"].as_u64().is_some_and(|seen| seen <= events), "what the commands before saw: {verified}");
    assert_eq!(p.json("ana", "audit verify")["seen_before"].as_u64(), Some(events));
    p.stop();
    sql(&p, &["UPDATE audit_event SET actor = 'person:eve' WHERE seq = 12"]);
    p.restart();
    p.words("ana", "audit verify").fails(8, "#12");
    p.words("nobody", "audit verify").fails(4, "");
    p.words("carol", "kill support.greeting --env dev --reason test --yes").good();
}

#[test]
fn a_shorter_chain_raises_the_alarm_of_whoever_saw_the_longer_one() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "x");
    let events = p.json("ana", "audit verify")["events"].as_u64().unwrap();
    p.stop();
    let last = format!("DELETE FROM audit_event WHERE seq = {events}");
    let head =
        format!("UPDATE audit_head SET seq = {0}, event_id = (SELECT event_id FROM audit_event WHERE seq = {0})", events - 1);
    sql(&p, &[&last, &head]);
    p.restart();
    p.words("ana", "audit verify").fails(8, &format!("#{events}"));
}

#[test]
fn an_approval_is_not_given_on_a_chain_that_does_not_hold() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "x");
    let id = p.open("support.greeting@v1 --env production");
    p.words("ana", "audit verify").good();
    p.stop();
    sql(&p, &["UPDATE audit_event SET actor = 'person:eve' WHERE seq = (SELECT seq FROM audit_head)"]);
    p.restart();
    p.words("ana", &format!("approve {id} --rationale ok --yes")).fails(8, "broken at #");
    let said = p.words("bob", &format!("comment {id} --rationale alarm"));
    assert!(said.good().err.contains("broken at #"), "it is told all the same: {}", said.err);
}

#[test]
fn one_byte_anywhere_in_an_event_breaks_the_chain_there() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "x");
    p.stop();
    sql(&p, &[]);
    let kept = std::fs::read(database(&p)).unwrap();
    for change in [
        "actor = 'person:dea'",
        "action = 'key.update'",
        "subject = subject || 'x'",
        "at = at + 1",
        "nonce = replace(nonce, substr(nonce, 1, 1), CASE substr(nonce, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END)",
        "detail = CAST(replace(CAST(detail AS TEXT), 'owners', 'ownerz') AS BLOB)",
        "prev_hash = 'sha256:' || substr(hex(zeroblob(32)), 1, 63) || '1'",
        "body_hash = 'sha256:' || substr(hex(zeroblob(32)), 1, 63) || '1'",
        "event_id = 'sha256:' || substr(hex(zeroblob(32)), 1, 63) || '1'",
    ] {
        for beside in ["registry.db-wal", "registry.db-shm"] {
            let _ = std::fs::remove_file(p.dir().join(beside));
        }
        std::fs::write(database(&p), &kept).unwrap();
        let seq = number(&p, "SELECT seq FROM audit_event WHERE action = 'key.create'");
        sql(&p, &[&format!("UPDATE audit_event SET {change} WHERE seq = {seq}")]);
        p.restart();
        p.words("ana", "audit verify").fails(8, &format!("#{seq}"));
        p.stop();
    }
}

#[test]
fn what_was_changed_in_the_database_by_hand_does_not_serve_and_is_an_alarm() {
    let mut p = Program::start();
    let [changed, _, moved] =
        ["support.k1", "support.k2", "support.k3"].map(|key| p.served_in_dev(key, &format!("text of {key}")));
    p.words("carol", "kill support.k2 --env dev --reason safety --yes").good();
    assert!(ready(&p).contains("\"alarms\":[]"), "{}", ready(&p));
    p.stop();
    sql(
        &p,
        &[
            "PRAGMA foreign_keys = OFF",
            "UPDATE version SET content = CAST(replace(CAST(content AS TEXT), 'text of support.k1', 'EVIL') AS BLOB)",
            "UPDATE environment_pointer SET killed = 0 WHERE key_id = 'support.k2'",
            &format!("UPDATE environment_pointer SET digest = '{changed}' WHERE key_id = 'support.k3'"),
        ],
    );
    p.restart();
    let gets = |key: &str| -> Value {
        let said = p.words("dee", &format!("resolve {key} --env dev --unit u1 --output json"));
        serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{} {}", said.out, said.err))
    };
    let text = gets("support.k1");
    assert_eq!((&text["digest"], &text["content"]), (&Value::Null, &Value::Null), "what is not its digest does not serve");
    let killed = gets("support.k2");
    assert_eq!((&killed["killed"], &killed["reason"]), (&Value::Bool(true), &Value::from("killed_no_default")));
    let kept = gets("support.k3");
    assert_eq!((kept["digest"].as_str(), kept["content"]["body"].as_str()), (Some(&*moved), Some("text of support.k3")));
    assert!(ready(&p).contains("\"alarms\":[\"integrity\"]"), "{}", ready(&p));
    p.words("carol", "kill support.k1 --env dev --reason safety --yes").good();
    p.words("carol", "kill support.k2 --env dev --reason safety --yes").good();
    assert_eq!((&gets("support.k1")["killed"], &gets("support.k2")["killed"]), (&Value::Bool(true), &Value::Bool(true)));
}

/// What the server says of itself.
fn ready(p: &Program) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(p.server.trim_start_matches("http://")).unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: registry\r\nConnection: close\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

fn database(p: &Program) -> std::path::PathBuf {
    p.dir().join("registry.db")
}

async fn connect(p: &Program) -> sqlx::SqliteConnection {
    use sqlx::Connection as _;
    let mut conn = sqlx::SqliteConnection::connect(&format!("sqlite:{}", database(p).display())).await.unwrap();
    sqlx::raw_sql("PRAGMA journal_mode = DELETE").execute(&mut conn).await.unwrap();
    conn
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Drops every trigger and runs statements, while nobody serves the registry.
fn sql(p: &Program, statements: &[&str]) {
    use sqlx::{Connection as _, Row as _};
    wait(async {
        let mut conn = connect(p).await;
        let rows = sqlx::query("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetch_all(&mut conn).await.unwrap();
        let drops = rows.iter().map(|row| format!("DROP TRIGGER {}", row.get::<String, _>(0)));
        for statement in drops.chain(statements.iter().map(|s| (*s).to_owned())) {
            sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();
    });
}

/// The number that a query gives.
fn number(p: &Program, query: &'static str) -> i64 {
    use sqlx::{Connection as _, Row as _};
    wait(async {
        let mut conn = connect(p).await;
        let found = sqlx::query(query).fetch_one(&mut conn).await.unwrap().get(0);
        conn.close().await.unwrap();
        found
    })
}
