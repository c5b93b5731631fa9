//! Several statements in one go. Each message to SQLite's thread wakes that thread and then its caller: a change that sends
//! twenty would mostly wait. PostgreSQL takes them one after another.

use super::db::Conn;
use super::error::StorageError;
use futures_util::TryStreamExt as _;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments as _, AssertSqlSafe, Either, Encode, Executor as _, FromRow, Postgres, Sqlite, Type};
use std::collections::VecDeque;

/// Sends statements together: `batch!(conn, STATEMENT, argument…; STATEMENT, argument…)` gives their [`Answers`], in order.
macro_rules! batch {
    ($conn:expr, $($sql:expr $(, $arg:expr)*);+ $(;)?) => {{
        let mut batch = $crate::storage::batch::Batch::on($conn);
        $(statement!(batch, $sql $(, $arg)*);)+
        batch.run($conn).await
    }};
}

/// Adds a statement with its arguments to a [`Batch`].
macro_rules! statement {
    ($batch:expr, $sql:expr $(, $arg:expr)* $(,)?) => {
        $batch.statement($sql);
        $($batch.bind($arg)?;)*
    };
}

/// Statements that are sent together. One that fails ends the batch; those before it were done.
pub(super) enum Batch {
    /// One text in which every `$n` counts through.
    Sqlite { text: String, bound: SqliteArguments },
    /// One after another.
    Pg(Vec<(&'static str, PgArguments)>),
}

impl Batch {
    /// An empty one for the connection's engine.
    pub(super) fn on(conn: &Conn<'_>) -> Self {
        match conn {
            Conn::Sqlite(_) => Self::Sqlite { text: String::new(), bound: SqliteArguments::default() },
            Conn::Pg(_) => Self::Pg(Vec::new()),
        }
    }

    /// Adds a statement; what is bound from here on is for it.
    pub(super) fn statement(&mut self, sql: &'static str) {
        match self {
            Self::Sqlite { text, bound } => {
                number_from(bound.len(), sql, text);
                text.push(';');
            }
            Self::Pg(statements) => statements.push((sql, PgArguments::default())),
        }
    }

    /// Binds the statement's next argument.
    ///
    /// # Errors
    /// It cannot stand in a column.
    pub(super) fn bind<'q, T>(&mut self, value: T) -> Result<(), StorageError>
    where
        T: Encode<'q, Sqlite> + Type<Sqlite> + Encode<'q, Postgres> + Type<Postgres>,
    {
        match self {
            Self::Sqlite { bound, .. } => sqlx::Arguments::add(bound, value),
            Self::Pg(statements) => match statements.last_mut() {
                Some((_, bound)) => bound.add(value),
                None => Ok(()),
            },
        }
        .map_err(|cause| sqlx::Error::Encode(cause).into())
    }

    /// Sends them.
    ///
    /// # Errors
    /// That of the first statement that failed.
    pub(super) async fn run(self, conn: &mut Conn<'_>) -> Result<Answers, StorageError> {
        match (self, conn) {
            (Self::Sqlite { text, bound }, Conn::Sqlite(conn)) => {
                let mut answers = VecDeque::new();
                let mut rows = Vec::new();
                let mut found = (&mut **conn).fetch_many(sqlx::query_with(AssertSqlSafe(text), bound));
                while let Some(next) = found.try_next().await? {
                    match next {
                        Either::Right(row) => rows.push(row),
                        Either::Left(done) => {
                            let rows = Rows::Sqlite(std::mem::take(&mut rows));
                            answers.push_back(Answer { rows, touched: done.rows_affected() });
                        }
                    }
                }
                Ok(Answers(answers))
            }
            (Self::Pg(statements), Conn::Pg(conn)) => {
                let mut answers = VecDeque::new();
                for (sql, bound) in statements {
                    let (mut rows, mut touched) = (Vec::new(), 0);
                    let mut found = (&mut **conn).fetch_many(sqlx::query_with(sql, bound));
                    while let Some(next) = found.try_next().await? {
                        match next {
                            Either::Right(row) => rows.push(row),
                            Either::Left(done) => touched = done.rows_affected(),
                        }
                    }
                    answers.push_back(Answer { rows: Rows::Pg(rows), touched });
                }
                Ok(Answers(answers))
            }
            _ => Err(StorageError::Other("a batch was sent to another engine".into())),
        }
    }
}

/// Writes `sql` to `out`, its `$1` as `$(before + 1)` and so on. A `$` stands in our texts before the number of an argument only.
fn number_from(before: usize, sql: &str, out: &mut String) {
    use std::fmt::Write as _;
    let mut parts = sql.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let number = part[..digits].parse::<usize>().unwrap_or(0);
        let _ = write!(out, "${}", number + before);
        out.push_str(&part[digits..]);
    }
}

enum Rows {
    Sqlite(Vec<SqliteRow>),
    Pg(Vec<PgRow>),
}

struct Answer {
    rows: Rows,
    touched: u64,
}

/// What the statements of a batch answered; each call takes the next one's.
pub(super) struct Answers(VecDeque<Answer>);

impl Answers {
    /// All its rows.
    ///
    /// # Errors
    /// A row does not read; the answers after it still do.
    pub(super) fn rows<T>(&mut self) -> Result<Vec<T>, StorageError>
    where
        T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow>,
    {
        let Some(answer) = self.0.pop_front() else { return Err(StorageError::Other("a batch has no such answer".into())) };
        match answer.rows {
            Rows::Sqlite(rows) => rows.iter().map(T::from_row).collect::<Result<_, _>>(),
            Rows::Pg(rows) => rows.iter().map(T::from_row).collect(),
        }
        .map_err(StorageError::from)
    }

    /// Its row, where there is one.
    ///
    /// # Errors
    /// It does not read.
    pub(super) fn row<T>(&mut self) -> Result<Option<T>, StorageError>
    where
        T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow>,
    {
        Ok(self.rows()?.into_iter().next())
    }

    /// How many rows it wrote.
    pub(super) fn touched(&mut self) -> u64 {
        self.0.pop_front().map_or(0, |answer| answer.touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_numbered_through() {
        for (before, sql, numbered) in [
            (0, "SELECT 1", "SELECT 1"),
            (0, "SELECT $1, $2", "SELECT $1, $2"),
            (3, "a = $1 AND b = $12 OR c = $1", "a = $4 AND b = $15 OR c = $4"),
            (9, "($1)", "($10)"),
        ] {
            let mut out = String::new();
            number_from(before, sql, &mut out);
            assert_eq!(out, numbered, "{sql} after {before}");
        }
    }
}
