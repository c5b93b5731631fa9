//! What can go wrong in a database, by kind: alike for both engines.

use thiserror::Error;

/// A storage failure; callers match on the kind and turn it into a refusal.
#[derive(Debug, Error)]
pub enum StorageError {
    /// A unique constraint; the text names it.
    #[error("it exists already ({0})")]
    Unique(String),
    /// A foreign key; the text names it.
    #[error("it refers to something that is not there ({0})")]
    ForeignKey(String),
    /// A CHECK or an append-only trigger; the text names it.
    #[error("the database refuses it ({0})")]
    Check(String),
    /// No space is left on the disk.
    #[error("the disk is full")]
    Full,
    /// Another writer held the lock for too long, or a deadlock was broken: it may be tried again.
    #[error("the database is busy")]
    Busy,
    /// The database cannot be reached.
    #[error("the database is away ({0})")]
    Unavailable(String),
    /// A row does not hold what it should.
    #[error("a row cannot be read ({0})")]
    Corrupt(String),
    /// Anything else.
    #[error("the database failed ({0})")]
    Other(String),
}

impl From<sqlx::Error> for StorageError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(inner) => of_database(inner.as_ref()),
            sqlx::Error::Io(inner) if inner.kind() == std::io::ErrorKind::StorageFull => Self::Full,
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => Self::Unavailable(error.to_string()),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
                Self::Corrupt(error.to_string())
            }
            other => Self::Other(other.to_string()),
        }
    }
}

/// SQLite's primary result code is the low byte of the extended one; PostgreSQL's SQLSTATE has five letters or digits.
fn of_database(error: &dyn sqlx::error::DatabaseError) -> StorageError {
    let text = error.message().to_owned();
    if error.is_unique_violation() {
        return StorageError::Unique(text);
    }
    if error.is_foreign_key_violation() {
        return StorageError::ForeignKey(text);
    }
    if error.is_check_violation() {
        return StorageError::Check(text);
    }
    let code = error.code().unwrap_or_default();
    let primary = if code.len() == 5 { None } else { code.parse::<u32>().ok().map(|c| c & 0xff) };
    match (primary, code.as_ref()) {
        (Some(13), _) | (None, "53100") => StorageError::Full,
        (Some(5 | 6), _) | (None, "40001" | "40P01" | "55P03") => StorageError::Busy,
        (Some(19), _) | (None, "P0001" | "23502" | "22021") => StorageError::Check(text),
        (Some(10 | 14 | 26), _) => StorageError::Unavailable(text),
        (None, state) if state.starts_with("08") || state.starts_with("57P") || state.starts_with("53") => {
            StorageError::Unavailable(text)
        }
        (Some(11), _) | (None, "XX001" | "XX002") => StorageError::Corrupt(text),
        _ => StorageError::Other(text),
    }
}
