//! What a storage failure is to a caller.

use crate::model::{Code, Refusal};
use crate::storage::StorageError;

impl From<StorageError> for Refusal {
    /// Nothing that a caller can send is a fault of the registry: what the tables refuse is bad input, what the machine
    /// refuses is named as such, and only the rest is `internal` (its cause goes to the log, not to the caller).
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Unique(what) => Self::new(Code::Exists, format!("it exists already ({what})")),
            StorageError::ForeignKey(what) => {
                Self::new(Code::Invalid, format!("it refers to something that the registry does not have ({what})"))
            }
            StorageError::Check(what) => Self::new(Code::Invalid, format!("the registry's tables refuse it ({what})")),
            StorageError::Full => Self::new(Code::DiskFull, "the registry's disk is full; nothing was changed")
                .hint("reads go on; free space on the server, then try again"),
            StorageError::Busy => {
                Self::new(Code::Unavailable, "the registry's database is busy; nothing was changed").hint("try again")
            }
            StorageError::Unavailable(cause) => {
                tracing::warn!(%cause, "the database is away");
                Self::new(Code::Unavailable, "the registry's database is away; reads go on from memory")
                    .hint("try again with the same Idempotency-Key: it takes effect once at most")
            }
            StorageError::Corrupt(cause) | StorageError::Other(cause) => {
                tracing::error!(%cause, "storage failed");
                Self::new(Code::Internal, "the registry could not do this; its log says why")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_has_its_code_and_no_cause_leaks() {
        let check = |error: StorageError, code: Code| assert_eq!(Refusal::from(error).code, code);
        check(StorageError::Full, Code::DiskFull);
        check(StorageError::Busy, Code::Unavailable);
        check(StorageError::Unavailable("x".into()), Code::Unavailable);
        check(StorageError::Check("x".into()), Code::Invalid);
        check(StorageError::ForeignKey("x".into()), Code::Invalid);
        check(StorageError::Unique("x".into()), Code::Exists);
        let inner = Refusal::from(StorageError::Other("password=hunter2".into()));
        assert_eq!(inner.code, Code::Internal);
        assert!(!inner.detail.contains("hunter2"));
    }
}
