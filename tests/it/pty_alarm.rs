//! A registry whose trail is changed behind its back, while a terminal is open on it: the alarm, and a kill in spite of it.

use crate::pty_danger::{is_killed, registry};
use crate::support::program::Program;
use crate::support::pty::{Pty, terminal};
use std::time::Instant;

/// Runs statements on the database beside its server, as `sqlite3` does; the number that the last one gives.
fn sql(p: &Program, statements: &[&'static str]) -> i64 {
    use sqlx::{Connection as _, Row as _};
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let url = format!("sqlite:{}", p.dir().join("registry.db").display());
        let mut conn = sqlx::SqliteConnection::connect(&url).await.unwrap();
        let (last, before) = statements.split_last().unwrap();
        for statement in before {
            sqlx::raw_sql(*statement).execute(&mut conn).await.unwrap();
        }
        let number = sqlx::query(*last).fetch_one(&mut conn).await.unwrap().get(0);
        conn.close().await.unwrap();
        number
    })
}

/// The alarm comes on the open screen, stays in every room, and a kill still works.
fn alarm_and_kill(p: &Program, pty: &mut Pty, what: &str, seq: i64) {
    let begun = Instant::now();
    let alarm = format!("AUDIT CHAIN BROKEN AT #{seq}");
    pty.shows(&alarm);
    println!("{what}: the alarm came after {:.1} s", begun.elapsed().as_secs_f32());
    for (key, room) in [("2", "[ 2 Keys"), ("3", "[ 3 Rollouts"), ("5", "[ 5 Audit"), ("1", "[ 1 Inbox")] {
        pty.type_keys(key).shows(room).shows(&alarm);
    }
    assert!(!pty.screen().contains("chain ✓"), "no green mark:\n{}", pty.screen());
    pty.idle().type_keys("!k").shows("KILL in [PRODUCTION]").idle();
    pty.type_keys("o\tproduction").shows("ARMED").type_keys("\x13");
    pty.shows("killed support.refund.system in production").shows(&alarm);
    assert!(is_killed(p));
}

fn open(p: &Program) -> Pty {
    let mut pty = terminal(p, "carol", 120, 36, &[]);
    pty.shows("live").shows(" 1 of ").shows("chain ✓").idle();
    assert!(!pty.screen().contains("BROKEN"));
    pty
}

#[test]
fn one_byte_of_a_row_that_changes_under_an_open_terminal_is_an_alarm_and_a_kill_still_works() {
    let p = registry();
    let mut pty = open(&p);
    let seq = sql(
        &p,
        &[
            "DROP TRIGGER audit_event_no_update",
            "UPDATE audit_event SET actor = 'person:dea' \
             WHERE seq = (SELECT MIN(seq) FROM audit_event WHERE actor = 'person:dee')",
            "SELECT seq FROM audit_event WHERE actor = 'person:dea'",
        ],
    );
    alarm_and_kill(&p, &mut pty, "a changed byte", seq);
}

#[test]
fn the_last_row_that_goes_away_under_an_open_terminal_is_an_alarm_and_a_kill_still_works() {
    let p = registry();
    let mut pty = open(&p);
    let seq = sql(
        &p,
        &[
            "DROP TRIGGER audit_event_no_delete",
            "DELETE FROM audit_event WHERE seq = (SELECT MAX(seq) FROM audit_event)",
            "SELECT MAX(seq) + 1 FROM audit_event",
        ],
    );
    alarm_and_kill(&p, &mut pty, "a row gone", seq);
}
