//! The only file with status codes: a refusal becomes an RFC 9457 problem.

use crate::model::{Code, Refusal};
use crate::storage::StorageError;
use crate::wire::Problem;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A refusal on its way out.
#[derive(Debug)]
pub struct Rejection(pub Refusal);

impl From<Refusal> for Rejection {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<StorageError> for Rejection {
    fn from(error: StorageError) -> Self {
        Self(error.into())
    }
}

/// The status of each code.
pub fn status(code: Code) -> StatusCode {
    match code {
        Code::MalformedJson | Code::Invalid | Code::NoChange | Code::IdempotencyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
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
        | Code::PolicyUnmet
        | Code::NoHistory => StatusCode::CONFLICT,
        Code::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMedia => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Timeout => StatusCode::REQUEST_TIMEOUT,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What to do next, where the refusal itself says nothing.
fn usual_hint(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::Unauthenticated => "send `Authorization: Bearer cs_…` with a token that is neither expired nor revoked",
        Code::Forbidden => "ask an admin which role of the policy allows this",
        Code::PointerMoved => "read the pointer again and decide anew",
        Code::AlreadyApplied => "nothing is left to do",
        Code::PromotionClosed => "open a new promotion, or renew this one",
        Code::RolloutInProgress => "name the running promotion as `supersedes`, or wait until it reaches 100 %",
        Code::StatementMismatch => "read the promotion again; what was shown is not what would be applied",
        Code::Killed => "open a promotion with `revive`",
        Code::ReadOnly => {
            "kills, holds, quarantines and revocations work; an operator releases the rest: `countersign restore DIR --release`"
        }
        Code::PolicyUnmet => "each entry of `unmet` says who can meet it",
        Code::IdempotencyReused => "use a fresh Idempotency-Key for another body",
        Code::TooLarge => "a body may have 1 MiB",
        Code::UnsupportedMedia => "send `Content-Type: application/json`",
        Code::DiskFull => "the operator must make room; nothing was changed",
        Code::Unavailable => "reads go on; try again",
        Code::RateLimited => "wait as long as Retry-After says; a kill never waits",
        Code::Timeout => "try again with the same Idempotency-Key",
        Code::Internal => "tell the operator the request id; the log says more",
        _ => return None,
    })
}

/// The problem of a refusal, as it is sent.
pub fn problem(mut refusal: Refusal) -> Problem {
    if refusal.hint.is_none() {
        refusal.hint = usual_hint(refusal.code).map(str::to_owned);
    }
    if refusal.code == Code::NotFound {
        // One constant body, so that "not yours" and "not there" cannot be told apart.
        refusal = Refusal::not_found();
    }
    let status = status(refusal.code).as_u16();
    Problem::of(refusal, status)
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let code = self.0.code;
        let body = serde_json::to_vec(&problem(self.0)).unwrap_or_default();
        let mut response = (status(code), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if code == Code::RateLimited {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_of_the_registry_are_5xx() {
        for code in Code::ALL {
            let own = matches!(code, Code::DiskFull | Code::Unavailable | Code::Internal);
            assert_eq!(status(*code).is_server_error(), own, "{code}");
            assert!(status(*code).is_client_error() || own, "{code}");
        }
    }

    #[test]
    fn every_not_found_has_the_same_body() {
        let mut odd = Refusal::new(Code::NotFound, "key support.secret is confidential").hint("ask its owner");
        odd.path = Some("/key".into());
        assert_eq!(problem(odd), problem(Refusal::not_found()));
    }
}
