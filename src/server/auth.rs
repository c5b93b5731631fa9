//! Who calls: a token of the registry, checked against the snapshot, so that it works while the database is away, or a token of
//! an issuer, checked against the issuer's keys.

use super::App;
use super::accept::Peer;
use super::error::Rejection;
use super::held::{Account, is_long};
use super::limits;
use super::reading::Reading;
use super::router::{self, Access};
use crate::model::{Code, Refusal, Scope, Timestamp};
use crate::rules::access::{self, Caller, Login, Need, allowed};
use crate::rules::{canonical, jwt, policy};
use crate::snapshot::{HeldToken, Snapshot};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::net::IpAddr;
use subtle::ConstantTimeEq as _;

/// Length of a token's id: `cs_` and 10 letters.
const ID_LENGTH: usize = 13;
/// The other place where OFREP's clients may put a token.
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Lets a request through to its handler when the route's row of the access table allows it. A route without a row is
/// closed.
pub async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    enter(request, next, async |row, headers, peer| pass(&app, row, headers, peer).await).await
}

/// Lets a request through to its handler where `pass` says so of the route's row.
pub async fn enter(
    mut request: Request,
    next: Next,
    pass: impl AsyncFnOnce(Option<Access>, &HeaderMap, Option<IpAddr>) -> Result<Option<Caller>, Shut>,
) -> Response {
    let template = request.extensions().get::<MatchedPath>().cloned();
    let template = template.as_ref().map_or("", MatchedPath::as_str);
    let peer = request.extensions().get::<Peer>().map(|peer| peer.address);
    let row = router::access(request.method(), template);
    match pass(row, request.headers(), peer).await {
        Ok(None) => next.run(request).await,
        Ok(Some(caller)) => {
            let account = limits::account(&caller).into_owned();
            request.extensions_mut().insert(caller);
            let mut response = next.run(request).await;
            if is_long(&response) {
                response.extensions_mut().insert(Account(account.into()));
            }
            response
        }
        Err(Shut::Refused(refusal)) => Rejection(refusal).into_response(),
        Err(Shut::TooMany { seconds }) => {
            let refusal = Refusal::new(Code::RateLimited, format!("too many requests; again in {seconds} s"));
            let mut response = Rejection(refusal).into_response();
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            response
        }
    }
}

/// Why a request does not reach its handler.
pub enum Shut {
    /// It is not allowed.
    Refused(Refusal),
    /// Not now.
    TooMany {
        /// When to ask again.
        seconds: u64,
    },
}

impl From<Refusal> for Shut {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Who asks, where the route asks for somebody.
async fn pass(app: &App, row: Option<Access>, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Option<Caller>, Shut> {
    let row = row.ok_or_else(Refusal::not_found)?;
    if matches!(row, Access::Open | Access::Ticket) {
        return Ok(None);
    }
    let too_many = |seconds| Shut::TooMany { seconds };
    let identified = identify(app, headers, matches!(row, Access::Foreign(_))).await;
    let now = app.registry.clock.now();
    let caller = match identified {
        Ok(caller) => caller,
        Err(refusal) => {
            if let Some(address) = peer {
                app.limits.failure(address, now).map_err(too_many)?;
            }
            return Err(refusal.into());
        }
    };
    // A kill waits for nothing, and answers from memory cost less than counting them.
    let counted = !matches!(row, Access::Verb(Need::Kill) | Access::Read(Need::Resolve) | Access::Foreign(_));
    if counted {
        app.limits.request(&caller, now).map_err(too_many)?;
    }
    admit(&app.registry.snapshot.get(), &caller, row)?;
    Ok(Some(caller))
}

/// Who asks a relay: somebody with a token of the registry that its state holds.
pub fn pass_by_token(
    reading: &Reading,
    row: Option<Access>,
    headers: &HeaderMap,
    peer: Option<IpAddr>,
) -> Result<Option<Caller>, Shut> {
    let row = row.ok_or_else(Refusal::not_found)?;
    if matches!(row, Access::Open | Access::Ticket) {
        return Ok(None);
    }
    let (snapshot, now) = (reading.snapshot.get(), reading.clock.now());
    let foreign = matches!(row, Access::Foreign(_));
    let proved = if foreign { authenticate_foreign(headers, &snapshot, now) } else { authenticate(headers, &snapshot, now) };
    let caller = match proved {
        Ok(caller) => caller,
        Err(refusal) => {
            let guess = peer.map_or(Ok(()), |address| reading.limits.failure(address, now));
            guess.map_err(|seconds| Shut::TooMany { seconds })?;
            return Err(refusal.into());
        }
    };
    admit(&snapshot, &caller, row)?;
    Ok(Some(caller))
}

/// The caller that a request's headers prove, by a token of the registry or of one of the policy's issuers; `foreign` protocols
/// have more ways to send the former.
///
/// # Errors
/// `unauthenticated`.
pub async fn identify(app: &App, headers: &HeaderMap, foreign: bool) -> Result<Caller, Refusal> {
    let snapshot = app.registry.snapshot.get();
    let now = app.registry.clock.now();
    let Some(text) = issued(headers).filter(|_| !snapshot.policy().issuers.is_empty()) else {
        return if foreign { authenticate_foreign(headers, &snapshot, now) } else { authenticate(headers, &snapshot, now) };
    };
    let proved = app.issuers.prove(snapshot.policy(), text, now).await;
    let sight = proved.map_err(|why| Refusal::new(Code::Unauthenticated, format!("the token {why}")))?;
    let login = Login::Oidc(sight.issuer.as_str().into());
    let caller = Caller { token_id: login.to_string(), login, ..Caller::whole(sight.actor.clone()) };
    app.registry.observe(sight);
    Ok(caller)
}

/// The bearer's text, where it has the form of an issuer's token.
fn issued(headers: &HeaderMap) -> Option<&str> {
    let (scheme, text) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let text = text.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !text.starts_with("cs_") && jwt::is_one(text)).then_some(text)
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
fn authenticate(headers: &HeaderMap, snapshot: &Snapshot, now: Timestamp) -> Result<Caller, Refusal> {
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
fn authenticate_foreign(headers: &HeaderMap, snapshot: &Snapshot, now: Timestamp) -> Result<Caller, Refusal> {
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
