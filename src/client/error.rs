//! What can go wrong between a program and a registry.

use crate::model::Code;
use crate::wire::Problem;

/// Why a call gave nothing; the texts are lower-case fragments that read well after "failed to …:".
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClientError {
    /// No connection, or it broke before an answer came. Whether a change took effect is unknown: send it again with the
    /// same idempotency key.
    #[error("the registry at {server} cannot be reached: {why}")]
    Unreachable {
        /// The base URL.
        server: String,
        /// What the network said.
        why: String,
    },
    /// What answers does not prove that it is the registry, or speaks another protocol: nothing was sent, and it does not heal by
    /// itself.
    #[error("the registry at {server} cannot be reached: {why}")]
    Unproven {
        /// The base URL.
        server: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// No answer in time; whether a change took effect is unknown.
    #[error("the registry did not answer within {seconds} s; whether it took effect is unknown")]
    Timeout {
        /// The budget that ran out.
        seconds: u64,
    },
    /// The registry answered with a problem.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// What came does not hash to its digest, or is not what was asked for: it must not be shown as reviewable.
    #[error("integrity: {0}")]
    Integrity(String),
    /// Something that is not this API answered.
    #[error("the answer is not understood: {0}")]
    Protocol(String),
    /// An issuer did not let the person log in.
    #[error("{0}")]
    Login(String),
    /// This client will not send that: a token over plain http, an address that is none.
    #[error("{0}")]
    Refused(String),
}

impl ClientError {
    /// The registry's machine code, where it answered with a problem.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            _ => None,
        }
    }
    /// Whether it is unknown if a change took effect.
    pub fn outcome_unknown(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Timeout { .. })
    }
}
