//! What a request carries, read strictly: body, query, names in the path, Idempotency-Key. All else is a 422 with its place.

use super::apart::{LONG, apart_if};
use super::error::Rejection;
use crate::model::{Code, Refusal};
use crate::rules::access::Caller;
use crate::rules::canonical;
use crate::workflow::Idempotency;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::str::FromStr;

/// The largest body, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;
/// What is still read of a body that is too large, so that its sender sees the answer instead of a broken connection.
const MOST_DRAINED: usize = 16 * MOST_BYTES;

/// A JSON body; an empty one reads as `{}`.
#[derive(Debug)]
pub struct Sent<T>(pub T);

/// Something to be done: who asks, the body, and the Idempotency-Key where one was sent.
#[derive(Debug)]
pub struct Command<T> {
    /// Who asks.
    pub caller: Caller,
    /// What was sent.
    pub body: T,
    /// Scope of the Idempotency-Key.
    pub idempotency: Option<Idempotency>,
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Sent<T> {
    type Rejection = Rejection;
    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        Ok(Self(typed(json(request).await?)?))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Command<T> {
    type Rejection = Rejection;
    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        no_query(request.uri())?;
        let caller = caller(request.extensions().get())?;
        let key = idempotency_key(request.headers())?;
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let value = json(request).await?;
        let idempotency = key.map(|key| Idempotency { key, method, path, body: canonical::digest_of(&value) });
        Ok(Self { caller, body: typed(value)?, idempotency })
    }
}

/// A body as it came, for foreign protocols: at most 1 MiB, whatever it is declared as.
#[derive(Debug)]
pub struct Unread(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Unread {
    type Rejection = Rejection;
    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        Ok(Self(read(request.into_body()).await?))
    }
}

/// The authenticated caller, put there by `auth`.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Rejection;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        Ok(caller(parts.extensions.get())?)
    }
}

fn caller(held: Option<&Caller>) -> Result<Caller, Refusal> {
    held.cloned().ok_or_else(|| Refusal::new(Code::Unauthenticated, "this needs a token"))
}

/// A query string without unknown or repeated parameters.
#[derive(Debug)]
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Rejection;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        Ok(Self(query(&parts.uri)?))
    }
}

/// For reads that take no parameters.
#[derive(Debug)]
pub struct NoQuery;

impl<S: Send + Sync> FromRequestParts<S> for NoQuery {
    type Rejection = Rejection;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        no_query(&parts.uri)?;
        Ok(Self)
    }
}

/// The names in the path.
#[derive(Debug)]
pub struct Names(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Names {
    type Rejection = Rejection;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Refusal::invalid("path", "the path is not percent-encoded UTF-8"))?;
        if let Some((name, _)) = params.iter().find(|(_, value)| value.contains('\0')) {
            return Err(Refusal::invalid(name, "holds U+0000").into());
        }
        Ok(Self(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

impl Names {
    /// What the path has for `{parameter}`, where it has that parameter.
    pub fn find(&self, parameter: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == parameter).map(|(_, value)| value.as_str())
    }

    /// The name that the path has for `{parameter}`.
    ///
    /// # Errors
    /// It is not such a name.
    pub fn get<T: FromStr<Err: Display>>(&self, parameter: &str) -> Result<T, Refusal> {
        let text = self.find(parameter).unwrap_or_default();
        text.parse().map_err(|why: T::Err| Refusal::invalid(parameter, format!("{text:?} in the path: {why}")))
    }
}

/// The body as strict JSON.
async fn json(request: Request) -> Result<Value, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = read(body).await?;
    if bytes.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    declared_json(&parts.headers)?;
    apart_if(bytes.len() > LONG, move || {
        let value = canonical::parse_strict(&bytes)?;
        // A list would be read as the members in their order.
        if !value.is_object() {
            return Err(Refusal::new(Code::Invalid, "the body is not a JSON object"));
        }
        // Content, and a fragment's body, keep every character; all else stands in texts that cannot hold this one.
        canonical::refuse_nul(&value, &["/content", "/body"])?;
        Ok(value)
    })
    .await?
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let declared = body.size_hint().lower();
    let mut stream = body.into_data_stream();
    let mut bytes = Vec::with_capacity(usize::try_from(declared).unwrap_or(0).min(MOST_BYTES));
    let mut seen = 0_usize;
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Refusal::new(Code::MalformedJson, "the body broke off"))?;
        seen += chunk.len();
        if seen <= MOST_BYTES {
            bytes.extend_from_slice(&chunk);
        } else if seen > MOST_DRAINED {
            break;
        }
    }
    if seen > MOST_BYTES {
        return Err(Refusal::new(Code::TooLarge, format!("the body is larger than {MOST_BYTES} bytes")));
    }
    Ok(bytes.into())
}

fn declared_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    let essence = declared.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refusal::new(Code::UnsupportedMedia, format!("the body is declared as {declared:?}, not as application/json")))
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let detail = error.inner().to_string();
        let mut path = pointer(error.path());
        for what in ["unknown field `", "missing field `"] {
            let name = detail.strip_prefix(what).and_then(|rest| rest.split('`').next());
            let ending = name.map(|name| format!("/{}", escape(name)));
            if let Some(ending) = ending.filter(|ending| !path.ends_with(ending.as_str())) {
                path.push_str(&ending);
            }
        }
        Refusal::invalid(path, detail)
    })
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } | Segment::Enum { variant: key } => Some(format!("/{}", escape(key))),
            Segment::Unknown => None,
        })
        .collect()
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Refusal> {
    let unreadable = |_| Refusal::invalid("query", "the query is not name=value pairs");
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(unreadable)?;
    for (at, (name, value)) in pairs.iter().enumerate() {
        if value.contains('\0') {
            return Err(Refusal::invalid(name, "holds U+0000"));
        }
        if pairs[..at].iter().any(|(earlier, _)| earlier == name) {
            return Err(Refusal::invalid(name, "is given twice"));
        }
    }
    Query::<T>::try_from_uri(uri).map(|Query(value)| value).map_err(|error| {
        let reason = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let named = ["missing field `", "unknown field `"]
            .iter()
            .find_map(|what| reason.split_once(what).and_then(|(_, rest)| rest.split('`').next()).map(str::to_owned));
        // Each parameter alone: the one that fails for a reason of its own is the culprit.
        let culprit = || {
            let raw = uri.query().unwrap_or_default();
            pairs.iter().zip(raw.split('&').filter(|pair| !pair.is_empty())).find_map(|((name, _), pair)| {
                let alone: Uri = format!("/?{pair}").parse().ok()?;
                let why = Query::<T>::try_from_uri(&alone).err().map(|e| e.body_text())?;
                (!why.contains("missing field")).then(|| name.clone())
            })
        };
        let path = named.or_else(culprit).unwrap_or_else(|| "query".to_owned());
        Refusal::invalid(path, reason)
    })
}

fn no_query(uri: &Uri) -> Result<(), Refusal> {
    let first = uri.query().and_then(|query| query.split(['=', '&']).find(|name| !name.is_empty()));
    first.map_or(Ok(()), |name| Err(Refusal::invalid(name, "this takes no parameters")))
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > 255 {
        return Err(Refusal::invalid("Idempotency-Key", "is not 1 to 255 visible ASCII characters"));
    }
    Ok(Some(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::keys::{CreateKey, ListKeys};
    use crate::wire::versions::CreateVersion;
    use serde_json::json;

    #[test]
    fn a_body_that_does_not_fit_is_refused_with_its_place() {
        let path = |value: Value| typed::<CreateKey>(value).unwrap_err().path.unwrap();
        assert_eq!(path(json!({"key_id": "Support.a", "owning_group": "g"})), "/key_id");
        assert_eq!(path(json!({"key_id": "support.a"})), "/owning_group");
        assert_eq!(path(json!({"key_id": "support.a", "owning_group": "g", "colour": 1})), "/colour");
        let content = json!({"key": "a.b", "format": "text", "body": "x", "variables": [{"name": "n", "type": "strange"}]});
        let refusal = typed::<CreateVersion>(json!({"content": content, "rationale": "r"})).unwrap_err();
        assert_eq!(refusal.path.unwrap(), "/content/variables/0/type");
    }

    #[test]
    fn a_query_that_does_not_fit_is_refused_with_the_parameter() {
        let path = |text: &str| query::<ListKeys>(&format!("/v1/keys?{text}").parse().unwrap()).unwrap_err().path.unwrap();
        assert_eq!(path("pattern=a&limit=many"), "limit");
        assert_eq!(path("colour=red"), "colour");
        assert_eq!(path("limit=1&limit=2"), "limit");
        assert_eq!(path("limit=1&pattern=**.a"), "pattern");
        let fits = query::<ListKeys>(&"/v1/keys?limit=5&pattern=support.**".parse().unwrap()).unwrap();
        assert_eq!((fits.limit, fits.pattern), (Some(5), Some("support.**".parse().unwrap())));
    }
}
