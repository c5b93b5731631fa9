//! The few texts in which the two engines differ: migrations, and how transactions begin.

use super::db::Engine;
use futures_util::future::BoxFuture;
use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationSource, MigrationType, Migrator};

/// Begins a write: SQLite takes the write lock at once; PostgreSQL serialises on the audit head row.
pub(super) const BEGIN_WRITE_SQLITE: &str = "BEGIN IMMEDIATE";
pub(super) const BEGIN_WRITE_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Begins a read that sees one state from its first statement on.
pub(super) const BEGIN_READ_SQLITE: &str = "BEGIN";
pub(super) const BEGIN_READ_POSTGRES: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Version, name, text. A migration that was released never changes.
const MIGRATIONS: &[(i64, &str, &str)] = &[
    (1, "registry", include_str!("migrations/0001_registry.sql")),
    (2, "past", include_str!("migrations/0002_past.sql")),
    (3, "policy", include_str!("migrations/0003_policy.sql")),
    (4, "people", include_str!("migrations/0004_people.sql")),
    (5, "webhooks", include_str!("migrations/0005_webhooks.sql")),
    (6, "owners", include_str!("migrations/0006_owners.sql")),
];

/// The version that a migrated database has.
pub(super) const NEWEST: i64 = 6;

/// The lines of `sql` that stand for `engine`: `--@sqlite` or `--@postgres` to the next `--@` line stand for that one only.
fn for_engine(sql: &str, engine: Engine) -> String {
    let mut keep = true;
    let mut out = String::new();
    for line in sql.lines() {
        match line.trim().strip_prefix("--@") {
            Some(mark) => keep = mark == "all" || mark == engine.as_str(),
            None if keep => {
                out.push_str(line);
                out.push('\n');
            }
            None => {}
        }
    }
    out
}

#[derive(Debug)]
struct Source(Engine);

impl MigrationSource<'static> for Source {
    fn resolve(self) -> BoxFuture<'static, Result<Vec<Migration>, sqlx::error::BoxDynError>> {
        Box::pin(async move {
            let build = |(version, name, sql): &(i64, &'static str, &str)| {
                let text = sqlx::AssertSqlSafe(for_engine(sql, self.0)).into_sql_str();
                Migration::new(*version, (*name).into(), MigrationType::Simple, text, false)
            };
            Ok(MIGRATIONS.iter().map(build).collect())
        })
    }
}

/// The migrations for one engine.
pub(super) async fn migrator(engine: Engine) -> Result<Migrator, sqlx::migrate::MigrateError> {
    Migrator::new(Source(engine)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_for_one_engine_or_for_both() {
        let sql = "a\n--@sqlite\nb\n--@postgres\nc\n--@all\nd\n";
        assert_eq!(for_engine(sql, Engine::Sqlite), "a\nb\nd\n");
        assert_eq!(for_engine(sql, Engine::Postgres), "a\nc\nd\n");
    }

    #[test]
    fn the_newest_version_is_the_last_migration() {
        assert_eq!(MIGRATIONS.last().map(|m| m.0), Some(NEWEST));
    }
}
