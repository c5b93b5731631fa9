//! The chain under attack: rows that are changed, taken away or replaced behind the registry's back.

use crate::support::program::Program;
use serde_json::Value;

#[test]
fn a_changed_event_is_exit_code_8_with_its_number_and_a_kill_still_works() {
    let mut p = Program::start();
    p.served_in_dev("support.greeting", "x");
    let verified = p.json("ana", "audit verify");
    let events = verified["events"].as_u64().unwrap();
    assert_eq!(verified["seen_before"], Value::Null);
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
    p.words("bob", &format!("comment {id} --rationale alarm")).good();
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
