//! Who calls: the bearer token, checked against the snapshot, so that it works while the database is away.

use super::error::Rejection;
use super::router::{self, Access};
use crate::model::{Code, Refusal, Scope, Timestamp};
use crate::rules::access::{self, Caller, Need, allowed};
use crate::rules::{canonical, policy};
use crate::snapshot::{HeldToken, Snapshot};
use crate::workflow::Registry;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

/// Length of a token's id: `cs_` and 10 letters.
const ID_LENGTH: usize = 13;
/// The other place where OFREP's clients may put a token.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Lets a request through to its handler when the route's row of the access table allows it. A route without a row is
/// closed.
pub async fn guard(State(registry): State<Arc<Registry>>, mut request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let row = matched.as_deref().and_then(|template| router::access(request.method(), template));
    let snapshot = registry.snapshot.get();
    let decided = match row {
        Some(Access::Open | Access::Ticket) => Ok(None),
        Some(row @ Access::Foreign(_)) => authenticate_foreign(request.headers(), &snapshot, registry.clock.now())
            .and_then(|caller| admit(&snapshot, &caller, row).map(|()| Some(caller))),
        Some(row) => authenticate(request.headers(), &snapshot, registry.clock.now())
            .and_then(|caller| admit(&snapshot, &caller, row).map(|()| Some(caller))),
        None => Err(Refusal::not_found()),
    };
    match decided {
        Ok(caller) => {
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            next.run(request).await
        }
        Err(refusal) => Rejection(refusal).into_response(),
    }
}

/// What can be decided before the handler looks at names and bodies. A change is the verb's to decide, in its transaction and on
/// the key itself: so its refusal can be recorded.
fn admit(snapshot: &Snapshot, caller: &Caller, row: Access) -> Result<(), Refusal> {
    match row {
        Access::Open | Access::Ticket | Access::Verb(_) => Ok(()),
        Access::Anyone if caller.scope != Scope::Kill => Ok(()),
        Access::Known if !matches!(caller.scope, Scope::Kill | Scope::Public) => Ok(()),
        Access::Mine if matches!(caller.scope, Scope::Full | Scope::Read) => Ok(()),
        Access::Anyone | Access::Known | Access::Mine => Err(narrow(caller.scope)),
        // Members of a group may own keys, whatever their roles; the handler looks at the key.
        Access::Read(need @ Need::Read)
            if access::beyond(caller, need, None).is_none()
                && !policy::groups_of(snapshot.policy(), &caller.actor).is_empty() =>
        {
            Ok(())
        }
        Access::Read(need) | Access::Foreign(need) => allowed(snapshot.policy(), caller, need, None, None),
    }
}

/// The refusal of what a narrow token is not for.
fn narrow(scope: Scope) -> Refusal {
    let only = match scope {
        Scope::Kill => "this token can only kill",
        Scope::Service | Scope::Public => "this token only resolves",
        Scope::Full | Scope::Read => "this token is not for that",
    };
    Refusal::new(Code::Forbidden, only)
}

/// The caller that the `Authorization` header proves.
///
/// # Errors
/// `unauthenticated`; only who holds the secret learns whether the token was revoked or expired.
pub fn authenticate(headers: &HeaderMap, snapshot: &Snapshot, now: Timestamp) -> Result<Caller, Refusal> {
    let no = |why: &str| Refusal::new(Code::Unauthenticated, why);
    let header = headers.get(header::AUTHORIZATION).ok_or_else(|| no("this needs a token"))?;
    let invalid = || no("the token is not valid");
    let (scheme, text) = header.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(invalid)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(invalid());
    }
    held(text.trim(), snapshot, now)
}

/// The caller that the headers of a foreign protocol prove: a bearer token as everywhere, a token as `X-API-Key`, or its id and
/// its secret as a Basic user and password.
///
/// # Errors
/// As [`authenticate`].
pub fn authenticate_foreign(headers: &HeaderMap, snapshot: &Snapshot, now: Timestamp) -> Result<Caller, Refusal> {
    let invalid = || Refusal::new(Code::Unauthenticated, "the token is not valid");
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(header::AUTHORIZATION), text(API_KEY)) {
        (Some(given), _) => match given.split_once(' ') {
            Some((scheme, pair)) if scheme.eq_ignore_ascii_case("basic") => {
                let pair = BASE64.decode(pair.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(invalid)?;
                let (id, secret) = pair.split_once(':').ok_or_else(invalid)?;
                held(&format!("{id}_{secret}"), snapshot, now)
            }
            _ => authenticate(headers, snapshot, now),
        },
        (None, Some(key)) => held(key.trim(), snapshot, now),
        (None, None) => authenticate(headers, snapshot, now),
    }
}

/// The caller of a token's whole text.
fn held(text: &str, snapshot: &Snapshot, now: Timestamp) -> Result<Caller, Refusal> {
    let invalid = || Refusal::new(Code::Unauthenticated, "the token is not valid");
    let held = text.get(..ID_LENGTH).and_then(|id| snapshot.token(id)).ok_or_else(invalid)?;
    let given = canonical::sha256(text.as_bytes());
    if !bool::from(given.0.ct_eq(&held.hash.0)) {
        return Err(invalid());
    }
    current(held, now)
}

/// The caller of a token that is neither revoked nor expired.
///
/// # Errors
/// `unauthenticated`, with which of the two it is: for who has proved the secret, and for no one else.
pub fn current(held: &HeldToken, now: Timestamp) -> Result<Caller, Refusal> {
    let no = |why: &str| Refusal::new(Code::Unauthenticated, why);
    let token = &held.token;
    if token.revoked_at.is_some() {
        return Err(no("the token was revoked"));
    }
    if token.expires_at <= now {
        return Err(no("the token has expired"));
    }
    Ok(Caller {
        token_id: token.token_id.clone(),
        owner: token.owner.clone(),
        scope: token.scope,
        environment: token.environment.clone(),
        ..Caller::whole(token.actor.clone())
    })
}
