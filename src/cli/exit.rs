//! Why a command failed: the exit code, the sentence, the next step.

#[cfg(feature = "tui")]
use crate::client::{ClientError, VerifyError};
use crate::config::ConfigError;
use crate::model::{Code, IdError, ReadinessItem, Refusal};
use std::io;
use std::process::ExitCode;

/// The exit codes of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done; a reader that went away is no error.
    Done,
    /// 1: anything else.
    Failed,
    /// 2: the arguments are wrong.
    Usage,
    /// 3: not there, or not yours.
    NotFound,
    /// 4: 401 and 403.
    Denied,
    /// 5: conflict or stale, 409 and 412.
    Conflict,
    /// 6: the policy's requirements are not met.
    Unmet,
    /// 7: the registry cannot be reached.
    Unreachable,
    /// 8: a digest or the chain does not hold.
    Integrity,
    /// 128 and the number of the signal that ended it, as shells say it.
    Signal(u8),
}

impl Exit {
    /// The number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Denied => 4,
            Self::Conflict => 5,
            Self::Unmet => 6,
            Self::Unreachable => 7,
            Self::Integrity => 8,
            Self::Signal(number) => 128_u8.saturating_add(number),
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// The process's exit code.
    pub exit: Exit,
    /// What happened: a lower-case fragment that reads well after `error:`.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What the policy misses.
    pub unmet: Vec<ReadinessItem>,
}

/// What to do about a chain that is not the one seen before.
#[cfg(feature = "tui")]
pub const RIGHTFUL: &str = "do not trust this registry until somebody says why; after a rightful restore, `countersign audit \
                            accept-head --rationale WHY` ends the alarm on this machine";

/// What every command gives back.
pub type Done = Result<(), Failure>;

impl Failure {
    /// A failure with an exit code and a sentence.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, unmet: Vec::new() }
    }
    /// Wrong arguments.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }
    /// Anything that is none of the other kinds.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }
    /// The same with what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The exit code of a registry's machine code.
pub fn exit_of(code: Code) -> Exit {
    match code {
        Code::NotFound => Exit::NotFound,
        Code::Unauthenticated | Code::Forbidden => Exit::Denied,
        Code::PolicyUnmet => Exit::Unmet,
        Code::Ambiguous
        | Code::Exists
        | Code::PointerMoved
        | Code::AlreadyApplied
        | Code::PromotionClosed
        | Code::RolloutInProgress
        | Code::StatementMismatch
        | Code::Killed
        | Code::WrongState
        | Code::ReadOnly
        | Code::PreconditionFailed
        | Code::NoHistory => Exit::Conflict,
        _ => Exit::Failed,
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        Self { exit: exit_of(refusal.code), message, hint: refusal.hint, unmet: refusal.unmet }
    }
}

#[cfg(feature = "tui")]
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Problem(problem) => {
                // The registry's own hint speaks of headers.
                let hint = match problem.code {
                    Code::Unauthenticated => {
                        Some("`countersign login` keeps a token; --token and COUNTERSIGN_TOKEN give one".into())
                    }
                    _ => problem.hint,
                };
                Self { exit: exit_of(problem.code), message, hint, unmet: problem.unmet }
            }
            ClientError::Unreachable { .. } | ClientError::Unproven { .. } | ClientError::Timeout { .. } => {
                Self::new(Exit::Unreachable, message)
            }
            ClientError::Integrity(_) => Self::new(Exit::Integrity, message).hint("do not review or use this text"),
            ClientError::Login(_) => Self::new(Exit::Denied, message),
            ClientError::Protocol(_) => Self::failed(message),
            ClientError::Refused(_) => Self::usage(message),
        }
    }
}

#[cfg(feature = "tui")]
impl From<VerifyError> for Failure {
    fn from(error: VerifyError) -> Self {
        let message = error.to_string();
        match error {
            VerifyError::Client(error) => error.into(),
            VerifyError::Broken(_) => Self::new(Exit::Integrity, message).hint(RIGHTFUL),
            VerifyError::Pins(_) => Self::failed(message),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::failed(error.to_string())
    }
}

impl From<IdError> for Failure {
    fn from(error: IdError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::failed(format!("{error:#}"))
    }
}

impl From<io::Error> for Failure {
    /// A reader that went away ends the command without an error.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Done, ""),
            _ => Self::failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_codes_have_the_documented_exit_codes() {
        for (code, exit) in [
            (Code::NotFound, 3),
            (Code::Unauthenticated, 4),
            (Code::Forbidden, 4),
            (Code::PointerMoved, 5),
            (Code::PreconditionFailed, 5),
            (Code::StatementMismatch, 5),
            (Code::PolicyUnmet, 6),
            (Code::Invalid, 1),
            (Code::Internal, 1),
        ] {
            assert_eq!(exit_of(code).code(), exit, "{code}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        assert_eq!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).exit, Exit::Done);
    }
}
