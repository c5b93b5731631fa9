//! Runs a case on SQLite always (a real file) and on PostgreSQL when TEST_POSTGRES_URL is set (its own schema), and counts.

use countersign::storage::{Db, Engine};
use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

static SCHEMAS: AtomicU32 = AtomicU32::new(0);

/// A migrated database of one engine.
pub struct Place {
    /// Open and migrated.
    pub db: Db,
    /// What `Db::open` and `serve --database` take.
    pub url: String,
    /// A folder of its own, whatever the engine.
    pub dir: TempDir,
}

impl Place {
    /// A fresh SQLite file.
    pub async fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().join("registry.db").display());
        Self::at(url, dir).await
    }

    /// A fresh schema, where TEST_POSTGRES_URL is set.
    pub async fn postgres() -> Option<Self> {
        let base = std::env::var("TEST_POSTGRES_URL").ok().filter(|url| !url.is_empty())?;
        let schema = format!("t_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::Relaxed));
        let admin = sqlx::PgPool::connect(&base).await.expect("TEST_POSTGRES_URL can be reached");
        let create = sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
        sqlx::query(create).execute(&admin).await.unwrap();
        admin.close().await;
        let mark = if base.contains('?') { '&' } else { '?' };
        let url = format!("{base}{mark}options[search_path]={schema}");
        Some(Self::at(url, tempfile::tempdir().unwrap()).await)
    }

    /// Another fresh database on the same engine.
    pub async fn another(&self) -> Self {
        match self.db.engine() {
            Engine::Sqlite => Self::sqlite().await,
            Engine::Postgres => Self::postgres().await.expect("it was there before"),
        }
    }

    /// Closes the database, and drops the schema.
    async fn end(self) {
        self.db.close().await;
        let Some((_, schema)) = self.url.split_once("options[search_path]=") else { return };
        let admin = sqlx::PgPool::connect(&self.url).await.unwrap();
        let drop = sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"));
        sqlx::query(drop).execute(&admin).await.unwrap();
        admin.close().await;
    }

    async fn at(url: String, dir: TempDir) -> Self {
        let db = Db::open(&url).await.expect("the database opens");
        db.migrate().await.expect("the tables are made");
        Self { db, url, dir }
    }
}

/// Runs one case on each engine, each time on a fresh database.
#[expect(clippy::needless_pass_by_value, reason = "cases are closures written in place")]
pub fn on_each_engine(case: impl AsyncFn(&Place)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let postgres = Place::postgres().await;
        for place in [Some(Place::sqlite().await), postgres].into_iter().flatten() {
            eprintln!("on {}", place.db.engine().as_str());
            case(&place).await;
            count(place.db.engine());
            place.end().await;
        }
    });
}

/// Notes a case that ran, for `.ci/run` to count.
fn count(engine: Engine) {
    let Ok(path) = std::env::var("TEST_ENGINE_COUNTS") else { return };
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    writeln!(file, "{}", engine.as_str()).unwrap();
}
