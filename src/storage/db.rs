//! Pools, transactions and connections of the two engines, and the macros that expand one body for both.

use super::dialect;
use super::error::StorageError;
use super::reserve::Reserve;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection as _, PgConnection, PgPool, SqliteConnection, SqlitePool};
use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

/// Runs a body on a connection of either engine, which is `$p` in it.
macro_rules! on {
    ($conn:expr, $p:ident => $body:expr) => {
        match $conn {
            $crate::storage::Conn::Sqlite($p) => {
                let $p = &mut **$p;
                $body
            }
            $crate::storage::Conn::Pg($p) => {
                let $p = &mut **$p;
                $body
            }
        }
    };
}

/// At most one row: `row!(conn, STATEMENT, argument…)` gives `Result<Option<T>, StorageError>`.
macro_rules! row {
    ($conn:expr, $sql:expr $(, $arg:expr)* $(,)?) => {
        on!($conn, c => sqlx::query_as($sql)$(.bind($arg))*.fetch_optional(c).await).map_err($crate::storage::StorageError::from)
    };
}

/// All rows: `Result<Vec<T>, StorageError>`.
macro_rules! rows {
    ($conn:expr, $sql:expr $(, $arg:expr)* $(,)?) => {
        on!($conn, c => sqlx::query_as($sql)$(.bind($arg))*.fetch_all(c).await).map_err($crate::storage::StorageError::from)
    };
}

/// Runs a write: `Result<u64, StorageError>`, the number of rows that it touched.
macro_rules! run {
    ($conn:expr, $sql:expr $(, $arg:expr)* $(,)?) => {
        on!($conn, c => sqlx::query($sql)$(.bind($arg))*.execute(c).await.map(|r| r.rows_affected()))
            .map_err($crate::storage::StorageError::from)
    };
}

/// Says once how a row becomes `$t`, for both drivers (in place of sqlx's derive, which would build both drivers twice).
macro_rules! decode {
    ($t:ty, $r:ident => $body:expr) => {
        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $t {
            fn from_row($r: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                use sqlx::Row as _;
                $body
            }
        }
        impl sqlx::FromRow<'_, sqlx::postgres::PgRow> for $t {
            fn from_row($r: &sqlx::postgres::PgRow) -> Result<Self, sqlx::Error> {
                use sqlx::Row as _;
                $body
            }
        }
    };
}

/// How many pages SQLite's log may have before a commit copies it into the file itself, where nobody calls [`Db::write_back`].
const LONGEST_LOG: &str = "8000";

/// Which engine a database runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A file.
    Sqlite,
    /// A server.
    Postgres,
}

impl Engine {
    /// `sqlite` or `postgres`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// An open database; cheap to clone.
#[derive(Debug, Clone)]
pub enum Db {
    /// One writer (so that our own connections never meet SQLITE_BUSY), four read-only connections, and one for [`Db::write_back`].
    Sqlite {
        /// Read-only.
        read: SqlitePool,
        /// Exactly one connection.
        write: SqlitePool,
        /// Exactly one connection.
        back: SqlitePool,
        /// Space that is kept for a kill on a full disk.
        reserve: Reserve,
    },
    /// PostgreSQL, READ COMMITTED.
    Pg(PgPool),
}

/// A transaction; dropping it rolls back.
#[derive(Debug)]
pub enum Tx {
    /// On SQLite.
    Sqlite(sqlx::Transaction<'static, sqlx::Sqlite>),
    /// On PostgreSQL.
    Pg(sqlx::Transaction<'static, sqlx::Postgres>),
}

/// What statements run on: borrowed from a [`Tx`].
#[derive(Debug)]
pub enum Conn<'c> {
    /// On SQLite.
    Sqlite(&'c mut SqliteConnection),
    /// On PostgreSQL.
    Pg(&'c mut PgConnection),
}

/// Says that a database is served, as long as its connection lives.
#[derive(Debug)]
pub struct ServedMark {
    _holds: Option<PgConnection>,
}

impl Db {
    /// Opens `sqlite:PATH` (made with mode 0600 where missing) or `postgres://…`. Does not migrate.
    ///
    /// # Errors
    /// The database cannot be reached, or the URL is of neither kind.
    pub async fn open(url: &str) -> Result<Self, StorageError> {
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            let options = PgConnectOptions::from_str(url)?;
            return Self::open_postgres(options).await;
        }
        match url.strip_prefix("sqlite:") {
            Some(path) => Self::open_sqlite(Path::new(path.strip_prefix("//").unwrap_or(path))).await,
            None => Err(StorageError::Other("a database is sqlite:PATH or postgres://…".into())),
        }
    }

    /// Opens a PostgreSQL database.
    async fn open_postgres(options: PgConnectOptions) -> Result<Self, StorageError> {
        const SQL: &str = "SELECT datcollate FROM pg_database WHERE datname = current_database()";
        let pool = PgPoolOptions::new().max_connections(12).acquire_timeout(Duration::from_secs(10));
        let pool = pool.connect_with(options).await?;
        let (collation,): (String,) = sqlx::query_as(SQL).fetch_one(&pool).await?;
        // Lists are walked in byte order, as on SQLite; another order would skip keys between pages.
        if !matches!(collation.as_str(), "C" | "POSIX" | "C.UTF-8" | "C.utf8") {
            return Err(StorageError::Other(format!(
                "the database sorts text by {collation}; make it with: CREATE DATABASE … TEMPLATE template0 LC_COLLATE 'C'"
            )));
        }
        Ok(Self::Pg(pool))
    }

    /// Opens a SQLite file: WAL, every commit on the disk before it is acknowledged, foreign keys held.
    async fn open_sqlite(path: &Path) -> Result<Self, StorageError> {
        make_private(path).map_err(|e| StorageError::Unavailable(format!("{}: {e}", path.display())))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(5))
            .pragma("wal_autocheckpoint", LONGEST_LOG)
            // What a mark needs to be gone back to stays in memory, however much a verb writes.
            .pragma("temp_store", "MEMORY");
        let pool = |connections: u32, patience: u64| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .idle_timeout(None)
                .max_lifetime(None)
                .acquire_timeout(Duration::from_secs(patience))
                // A file does not go away like a server: no question before each use.
                .test_before_acquire(false)
                // The engine ends a transaction by itself when the disk is full; the driver still counts it as open and
                // would refuse every later one. Such a connection is closed, and a fresh one takes its place.
                .before_acquire(|connection, _| Box::pin(async move { Ok(!connection.is_in_transaction()) }))
        };
        let write = pool(1, 30).connect_with(options.clone()).await?;
        let back = pool(1, 10).connect_lazy_with(options.clone());
        let read = pool(4, 10).connect_lazy_with(options.read_only(true));
        let reserve = Reserve::beside(path);
        reserve.keep();
        Ok(Self::Sqlite { read, write, back, reserve })
    }

    /// Opens a SQLite file to look at it: nothing is written, not even beside it.
    pub fn look(path: &Path) -> Self {
        let options = SqliteConnectOptions::new().filename(path).read_only(true).busy_timeout(Duration::from_secs(5));
        let pool = || SqlitePoolOptions::new().max_connections(1).connect_lazy_with(options.clone());
        Self::Sqlite { read: pool(), write: pool(), back: pool(), reserve: Reserve::beside(path) }
    }

    /// Writes a copy of the database as it is at one moment, while others go on writing; a SQLite file down to the disk.
    ///
    /// # Errors
    /// The file is there already, the disk is full, or the engine is another.
    pub async fn copy_to(&self, path: &Path) -> Result<(), StorageError> {
        let Self::Sqlite { read, .. } = self else {
            return Err(StorageError::Other("PostgreSQL is copied by its own tools".into()));
        };
        let file = |e: std::io::Error| StorageError::Unavailable(format!("{}: {e}", path.display()));
        make_private(path).map_err(file)?;
        sqlx::query("VACUUM INTO $1").bind(path.display().to_string()).execute(read).await?;
        std::fs::File::open(path).and_then(|copy| copy.sync_all()).map_err(file)
    }

    /// Which engine this is.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Sqlite { .. } => Engine::Sqlite,
            Self::Pg(_) => Engine::Postgres,
        }
    }

    /// Brings the tables to the newest version; does nothing where they are.
    ///
    /// # Errors
    /// A migration fails, or the database was migrated by a newer program.
    pub async fn migrate(&self) -> Result<(), StorageError> {
        let wrong = |e: sqlx::migrate::MigrateError| StorageError::Other(format!("migration: {e}"));
        let migrator = dialect::migrator(self.engine()).await.map_err(wrong)?;
        match self {
            Self::Sqlite { write, .. } => migrator.run(write).await,
            Self::Pg(pool) => migrator.run(pool).await,
        }
        .map_err(wrong)
    }

    /// Whether the tables are at the newest version.
    ///
    /// # Errors
    /// The database is away.
    pub async fn is_migrated(&self) -> Result<bool, StorageError> {
        const SQL: &str = "SELECT MAX(version) FROM _sqlx_migrations WHERE success";
        let found: Result<(Option<i64>,), sqlx::Error> = match self {
            Self::Sqlite { read, .. } => sqlx::query_as(SQL).fetch_one(read).await,
            Self::Pg(pool) => sqlx::query_as(SQL).fetch_one(pool).await,
        };
        match found {
            Ok((version,)) => Ok(version == Some(dialect::NEWEST)),
            // No table of migrations: nothing was migrated.
            Err(sqlx::Error::Database(_)) => Ok(false),
            Err(other) => Err(other.into()),
        }
    }

    /// Marks the database as served by this process until the mark is dropped; none while another process has it. A SQLite file has
    /// no such mark: its directory is locked instead.
    ///
    /// # Errors
    /// The database is away.
    pub async fn mark_served(&self) -> Result<Option<ServedMark>, StorageError> {
        // "served", in the space of this program's own numbers in this database.
        const SQL: &str = "SELECT pg_try_advisory_lock(127013093073252)";
        let Self::Pg(pool) = self else { return Ok(Some(ServedMark { _holds: None })) };
        let mut holds = pool.acquire().await?.detach();
        let (free,): (bool,) = sqlx::query_as(SQL).fetch_one(&mut holds).await?;
        Ok(free.then_some(ServedMark { _holds: Some(holds) }))
    }

    /// Begins a write transaction. Its first statement must be [`Conn::audit_head_lock`].
    ///
    /// # Errors
    /// The database is away or busy.
    pub async fn begin(&self) -> Result<Tx, StorageError> {
        Ok(match self {
            Self::Sqlite { write, .. } => Tx::Sqlite(write.begin_with(dialect::BEGIN_WRITE_SQLITE).await?),
            Self::Pg(pool) => Tx::Pg(pool.begin_with(dialect::BEGIN_WRITE_POSTGRES).await?),
        })
    }

    /// Begins a read: all its statements see one state. Drop it when done.
    ///
    /// # Errors
    /// The database is away.
    pub async fn read(&self) -> Result<Tx, StorageError> {
        Ok(match self {
            Self::Sqlite { read, .. } => Tx::Sqlite(read.begin_with(dialect::BEGIN_READ_SQLITE).await?),
            Self::Pg(pool) => Tx::Pg(pool.begin_with(dialect::BEGIN_READ_POSTGRES).await?),
        })
    }

    /// Prepares every static statement: finds a wrong column or a slip of dialect without running it.
    ///
    /// # Errors
    /// The first statement that the engine refuses, with its text.
    pub async fn prepare_all(&self) -> Result<usize, StorageError> {
        use sqlx::{Executor as _, SqlSafeStr as _};
        let mut count = 0;
        for sql in super::STATEMENTS.iter().copied().flatten().copied() {
            match self {
                Self::Sqlite { write, .. } => write.prepare(sql.into_sql_str()).await.map(drop),
                Self::Pg(pool) => pool.prepare(sql.into_sql_str()).await.map(drop),
            }
            .map_err(|e| StorageError::Other(format!("{e}: {sql}")))?;
            count += 1;
        }
        Ok(count)
    }

    /// Copies what stands in SQLite's log into its file while others read and write, so that no commit has to; elsewhere nothing.
    ///
    /// # Errors
    /// The disk is full or away: the log keeps what it holds, and grows.
    pub async fn write_back(&self) -> Result<(), StorageError> {
        let Self::Sqlite { back, .. } = self else { return Ok(()) };
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(back).await.map(drop).map_err(StorageError::from)
    }

    /// Keeps the reserve again, where there is room for it.
    pub fn keep_reserve(&self) {
        if let Self::Sqlite { reserve, .. } = self {
            reserve.keep();
        }
    }

    /// Gives the reserve up, so that one more write finds room on a full disk; whether there was one.
    pub fn free_reserve(&self) -> bool {
        matches!(self, Self::Sqlite { reserve, .. } if reserve.free())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        match self {
            Self::Sqlite { read, write, back, .. } => {
                read.close().await;
                back.close().await;
                write.close().await;
            }
            Self::Pg(pool) => pool.close().await,
        }
    }
}

impl Tx {
    /// What statements run on.
    pub fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(tx) => Conn::Sqlite(tx),
            Self::Pg(tx) => Conn::Pg(tx),
        }
    }

    /// Makes the writes durable: on the disk when this returns.
    ///
    /// # Errors
    /// The disk is full or the database is away; nothing was written then, or (connection lost) it is not known.
    pub async fn commit(self) -> Result<(), StorageError> {
        match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Pg(tx) => tx.commit().await,
        }
        .map_err(StorageError::from)
    }

    /// Takes the writes back.
    ///
    /// # Errors
    /// The database is away.
    pub async fn rollback(self) -> Result<(), StorageError> {
        match self {
            Self::Sqlite(tx) => tx.rollback().await,
            Self::Pg(tx) => tx.rollback().await,
        }
        .map_err(StorageError::from)
    }
}

/// Makes the file, where missing, readable by its owner only (its journals take the same mode).
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
