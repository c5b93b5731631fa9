//! Who calls: the bearer token, checked against the snapshot, so that it works while the database is away.

use super::error::Rejection;
use super::router::{Access, access};
use crate::model::{Code, Refusal, Scope, Timestamp};
use crate::rules::access::{Caller, Need, allowed};
use crate::rules::{canonical, policy};
use crate::snapshot::Snapshot;
use crate::workflow::Registry;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use std::sync::Arc;
use subtle::ConstantTimeEq as _;

/// Length of a token's id: `cs_` and 10 letters.
const ID_LENGTH: usize = 13;

/// Lets a request through to its handler when the route's row of the access table allows it. A route without a row is
/// closed.
pub async fn guard(State(registry): State<Arc<Registry>>, mut request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let row = matched.as_deref().and_then(|template| access(request.method(), template));
    let snapshot = registry.snapshot.get();
    let decided = match row {
        Some(Access::Open) => Ok(None),
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
        Access::Open | Access::Verb(_) => Ok(()),
        _ if caller.scope == Scope::Kill => Err(Refusal::new(Code::Forbidden, "this token can only kill")),
        Access::Anyone => Ok(()),
        // Members of a group may own keys, whatever their roles; the handler looks at the key.
        Access::Read(Need::Read) if !policy::groups_of(snapshot.policy(), &caller.actor).is_empty() => Ok(()),
        Access::Read(need) => allowed(snapshot.policy(), caller, need, None, None),
    }
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
    let text = text.trim();
    let held = text.get(..ID_LENGTH).and_then(|id| snapshot.token(id)).ok_or_else(invalid)?;
    let given = canonical::sha256(text.as_bytes());
    if !bool::from(given.0.ct_eq(&held.hash.0)) {
        return Err(invalid());
    }
    let token = &held.token;
    if token.revoked_at.is_some() {
        return Err(no("the token was revoked"));
    }
    if token.expires_at <= now {
        return Err(no("the token has expired"));
    }
    Ok(Caller { actor: token.actor.clone(), token_id: token.token_id.clone(), owner: token.owner.clone(), scope: token.scope })
}
