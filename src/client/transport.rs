//! The connection: one HTTP client, the token, timeouts, problems, sizes.

use super::{Answer, ClientError, Renewing, trust};
use crate::wire::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(5);
/// Connections that are kept for later calls.
const IDLE: usize = 4;
/// The largest answer that is read into memory, in bytes.
const LARGEST: usize = 64 << 20;

/// Installs the TLS provider; call it once before the first client. Without one, building a client would panic.
pub fn init_tls() {
    // A second call finds one installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// How to reach a registry.
#[derive(Clone)]
pub struct ClientOptions {
    /// `http://HOST:PORT` or `https://HOST`, without `/v1`.
    pub base_url: String,
    /// `cs_…`
    pub token: Option<String>,
    /// Send the token over plain http beyond loopback too.
    pub insecure_http: bool,
    /// PEM of the authorities that alone are trusted for https; the system's unless given.
    pub authority: Option<Vec<u8>>,
    /// How long one call may take.
    pub timeout: Duration,
}

/// A registry's API. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    base: String,
    http: reqwest::Client,
    bearer: Bearer,
    timeout: Duration,
    /// The newest audit event that the registry told of.
    heard: AtomicU64,
}

/// What proves who calls.
enum Bearer {
    Nobody,
    Token(String),
    Session(Arc<Renewing>),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is left out.
        f.debug_struct("Client").field("base", &self.inner.base).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the registry at `base_url`, with 30 s for each call.
    pub fn new(base_url: &str, token: Option<&str>) -> Answer<Self> {
        Self::with(ClientOptions {
            base_url: base_url.to_owned(),
            token: token.map(str::to_owned),
            insecure_http: false,
            authority: None,
            timeout: Duration::from_secs(30),
        })
    }

    /// A client with all options given.
    pub fn with(mut options: ClientOptions) -> Answer<Self> {
        let bearer = options.token.take().map_or(Bearer::Nobody, Bearer::Token);
        Self::bearing(bearer, options)
    }

    /// A client of a person who logged in with an issuer, whose login it renews; the token of the options is not looked at.
    pub fn logged_in(session: Arc<Renewing>, options: ClientOptions) -> Answer<Self> {
        Self::bearing(Bearer::Session(session), options)
    }

    fn bearing(bearer: Bearer, options: ClientOptions) -> Answer<Self> {
        init_tls();
        let ClientOptions { base_url, timeout, insecure_http, authority, .. } = options;
        let base = base_url.trim_end_matches('/').to_owned();
        check_address(&base, !matches!(bearer, Bearer::Nobody) && !insecure_http)?;
        let builder = reqwest::Client::builder();
        // Reading the system's certificates takes longer than the first answer on loopback, where none is ever looked at.
        let in_clear = base.starts_with("http://");
        let builder = if in_clear { builder.tls_certs_only([]) } else { trust::by(builder, authority.as_deref())? };
        let http = builder
            .connect_timeout(CONNECT)
            // Each keeps room for the largest answer that it read.
            .pool_max_idle_per_host(IDLE)
            // A token goes to the address that the person named and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| ClientError::Protocol(chain_of(&e)))?;
        Ok(Self { inner: Arc::new(Inner { base, http, bearer, timeout, heard: AtomicU64::new(0) }) })
    }

    /// The registry's base URL without a slash at the end: what pins are kept under.
    pub fn base_url(&self) -> &str {
        &self.inner.base
    }

    /// The number of the newest audit event that the registry told this client of, by an act's answer or by its trail; 0 where
    /// it told of none. It is not verified: see [`super::contact`].
    pub fn heard(&self) -> u64 {
        self.inner.heard.load(Ordering::Relaxed)
    }

    /// Notes that the registry told of an event.
    pub(super) fn heard_of(&self, seq: u64) {
        self.inner.heard.fetch_max(seq, Ordering::Relaxed);
    }

    /// `GET path?query`
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &(impl Serialize + Sync)) -> Answer<T> {
        let request = self.inner.http.get(self.address(path)).query(query);
        self.answer(request).await
    }

    /// `POST path` with a body and the caller's idempotency key.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        idempotency: &str,
    ) -> Answer<T> {
        let request = self.inner.http.post(self.address(path)).header("idempotency-key", idempotency).json(body);
        self.act(request).await
    }

    /// `PATCH path` with a body and the caller's idempotency key.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        idempotency: &str,
    ) -> Answer<T> {
        let request = self.inner.http.patch(self.address(path)).header("idempotency-key", idempotency).json(body);
        self.act(request).await
    }

    /// `DELETE path` with the caller's idempotency key.
    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str, idempotency: &str) -> Answer<T> {
        let request = self.inner.http.delete(self.address(path)).header("idempotency-key", idempotency);
        self.act(request).await
    }

    /// `POST path` that changes nothing (resolving).
    pub(super) async fn ask<T: DeserializeOwned>(&self, path: &str, body: &(impl Serialize + Sync)) -> Answer<T> {
        self.answer(self.inner.http.post(self.address(path)).json(body)).await
    }

    /// `GET path` of a text.
    pub(super) async fn text(&self, path: &str) -> Answer<String> {
        let request = self.signed(self.inner.http.get(self.address(path))).await.timeout(self.inner.timeout);
        let (status, bytes) = self.read(request.send().await.map_err(|e| self.broken(&e))?).await?;
        if !(200..300).contains(&status) {
            return Err(refused(status, &bytes));
        }
        String::from_utf8(bytes).map_err(|_| ClientError::Protocol("the answer is no text".into()))
    }

    /// `GET path?query` of something long: its body has no time limit, each piece of it has.
    pub(super) async fn download(&self, path: &str, query: &(impl Serialize + Sync)) -> Answer<Download> {
        let request = self.signed(self.inner.http.get(self.address(path)).query(query)).await;
        let sent = tokio::time::timeout(self.inner.timeout, request.send()).await;
        let response = sent.map_err(|_| self.too_late())?.map_err(|e| self.broken(&e))?;
        if response.status().is_success() {
            return Ok(Download { client: self.clone(), response });
        }
        let (status, bytes) = self.read(response).await?;
        Err(refused(status, &bytes))
    }

    fn too_late(&self) -> ClientError {
        ClientError::Timeout { seconds: self.inner.timeout.as_secs() }
    }

    /// Opens an event stream: the response once its head has come; its body has no time limit.
    pub(super) async fn open_stream(&self, path: &str, query: &(impl Serialize + Sync)) -> Answer<reqwest::Response> {
        let request = self.inner.http.get(self.address(path)).query(query).header("accept", "text/event-stream");
        let sent = {
            let request = self.signed(request).await;
            tokio::time::timeout(CONNECT + CONNECT, request.send()).await
        };
        let response = sent.map_err(|_| ClientError::Timeout { seconds: 10 })?.map_err(|e| self.broken(&e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, bytes) = self.read(response).await?;
        Err(refused(status, &bytes))
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.inner.base)
    }

    async fn signed(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.inner.bearer {
            Bearer::Token(token) => request.bearer_auth(token),
            Bearer::Session(session) => request.bearer_auth(session.token().await),
            Bearer::Nobody => request,
        }
    }

    async fn answer<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Answer<T> {
        self.body_of(self.send(request).await?).await
    }

    /// The answer to an act, which names the act's own event.
    async fn act<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Answer<T> {
        let response = self.send(request).await?;
        let number = response.headers().get("countersign-seq").and_then(|n| n.to_str().ok()).and_then(|n| n.parse().ok());
        self.heard_of(number.unwrap_or(0));
        self.body_of(response).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Answer<reqwest::Response> {
        self.signed(request).await.timeout(self.inner.timeout).send().await.map_err(|e| self.broken(&e))
    }

    async fn body_of<T: DeserializeOwned>(&self, response: reqwest::Response) -> Answer<T> {
        let (status, bytes) = self.read(response).await?;
        if !(200..300).contains(&status) {
            return Err(refused(status, &bytes));
        }
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        serde_json::from_slice(text).map_err(|e| ClientError::Protocol(format!("{e} in an answer of {} bytes", bytes.len())))
    }

    async fn read(&self, mut response: reqwest::Response) -> Answer<(u16, Vec<u8>)> {
        let status = response.status().as_u16();
        let stated = response.content_length().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let mut bytes = Vec::with_capacity(stated.min(LARGEST));
        while let Some(chunk) = response.chunk().await.map_err(|e| self.broken(&e))? {
            if bytes.len() + chunk.len() > LARGEST {
                return Err(ClientError::Protocol(format!("it is larger than {LARGEST} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok((status, bytes))
    }

    pub(super) fn broken(&self, error: &reqwest::Error) -> ClientError {
        if error.is_timeout() && !error.is_connect() {
            return ClientError::Timeout { seconds: self.inner.timeout.as_secs() };
        }
        if error.is_builder() {
            return ClientError::Refused(format!("this cannot be sent: {}", chain_of(error)));
        }
        let server = self.inner.base.clone();
        match trust::advice(error) {
            Some(why) => ClientError::Unproven { server, why },
            None => ClientError::Unreachable { server, why: chain_of(error) },
        }
    }
}

/// A long answer on its way.
#[derive(Debug)]
pub struct Download {
    client: Client,
    response: reqwest::Response,
}

impl Download {
    /// The next piece; none at the end, and only there: what breaks off is an error.
    pub async fn next(&mut self) -> Answer<Option<Vec<u8>>> {
        let piece = tokio::time::timeout(self.client.inner.timeout, self.response.chunk()).await;
        let piece = piece.map_err(|_| self.client.too_late())?.map_err(|e| self.client.broken(&e))?;
        Ok(piece.map(|bytes| bytes.to_vec()))
    }
}

fn refused(status: u16, bytes: &[u8]) -> ClientError {
    match serde_json::from_slice::<Problem>(bytes) {
        Ok(problem) => ClientError::Problem(Box::new(problem)),
        Err(_) => ClientError::Protocol(format!("HTTP {status} without a problem document; is this a Countersign registry?")),
    }
}

/// The innermost causes, joined: reqwest's own text names only the URL.
fn chain_of(error: &dyn std::error::Error) -> String {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words.push(inner.to_string());
        cause = inner.source();
    }
    words.pop().unwrap_or_else(|| error.to_string())
}

/// Refuses an address that is none, and a token over plain http beyond loopback.
fn check_address(base: &str, guard_token: bool) -> Answer<()> {
    let refuse = |text: String| Err(ClientError::Refused(text));
    let Ok(url) = reqwest::Url::parse(base) else {
        return refuse(format!("{base:?} is not an address like https://registry.example or http://127.0.0.1:7400"));
    };
    match (url.scheme(), url.host_str()) {
        ("https", Some(_)) => Ok(()),
        ("http", Some(host)) if !guard_token || is_loopback(host) => Ok(()),
        ("http", Some(host)) => refuse(format!(
            "a token would go to {host} over plain http, where others can read it; use https, or --insecure-http if the way is safe"
        )),
        _ => refuse(format!("{base:?} is neither an http nor an https address")),
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_plain_http_only_to_loopback() {
        for (address, allowed) in [
            ("http://127.0.0.1:7400", true),
            ("http://[::1]:7400", true),
            ("http://localhost:7400", true),
            ("https://registry.example", true),
            ("http://registry.example", false),
            ("http://127.0.0.1.evil.example", false),
            ("http://localhost.evil.example", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(Client::new(address, Some("cs_x")).is_ok(), allowed, "{address}");
            assert!(Client::new(address, None).is_ok(), "{address}");
        }
        for none in ["", "registry", "ftp://registry", "file:///etc/passwd"] {
            assert!(matches!(Client::new(none, None), Err(ClientError::Refused(_))), "{none}");
        }
    }

    #[test]
    fn debug_output_never_shows_the_token() {
        let client = Client::new("http://127.0.0.1:1", Some("cs_secret")).unwrap();
        assert!(!format!("{client:?}").contains("cs_secret"));
    }
}
