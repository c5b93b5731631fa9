//! Logging in with an issuer: device authorization (RFC 8628), and renewing what it gave.

use super::{Answer, ClientError, init_tls};
use crate::model::Timestamp;
use crate::model::oidc::{LoginOffer, Session};
use crate::rules::jwt;
use crate::rules::policy::is_safe_url;
use serde::Deserialize;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// How long one call to an issuer may take.
const MOST_TIME: Duration = Duration::from_secs(15);
/// The largest answer of an issuer that is read, in bytes.
const LARGEST: usize = 1024 * 1024;
/// A token is renewed when it ends within so many seconds.
const AHEAD_SECONDS: i64 = 60;
/// After a renewal that failed it is not tried again for so many seconds.
const AGAIN_SECONDS: i64 = 15;
/// Seconds between polls where the issuer names none (RFC 8628, 3.2), and what `slow_down` adds (3.5).
const INTERVAL: u64 = 5;
const SLOWER: u64 = 5;

/// What the person must do: open an address and confirm a code.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are RFC 8628's")]
pub struct DeviceCode {
    device_code: String,
    /// What the issuer asks for.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// The same with the code in it.
    pub verification_uri_complete: Option<String>,
    expires_in: u64,
    interval: Option<u64>,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    device_authorization_endpoint: Option<String>,
    token_endpoint: String,
}

#[derive(Deserialize)]
struct Granted {
    id_token: Option<String>,
    refresh_token: Option<String>,
}

#[derive(Deserialize)]
struct Denied {
    error: String,
    error_description: Option<String>,
}

/// An issuer as a client talks to it.
struct Issuer<'a> {
    http: reqwest::Client,
    offer: &'a LoginOffer,
    found: Discovery,
}

/// Logs a person in: `show` says what the person must do, then this waits until it is done.
///
/// # Errors
/// The issuer cannot be reached, offers no device login, or the person refused or took too long.
pub async fn device_login(offer: &LoginOffer, show: impl FnOnce(&DeviceCode)) -> Answer<Session> {
    let issuer = Issuer::find(offer).await?;
    let endpoint = issuer.found.device_authorization_endpoint.clone();
    let endpoint = endpoint.ok_or_else(|| issuer.wrong("offers no login by device"))?;
    let ask = [("client_id", offer.client.as_str()), ("scope", offer.scopes.as_str())];
    let (status, bytes) = issuer.post(&endpoint, &ask).await?;
    if status != 200 {
        return Err(issuer.denied(&bytes));
    }
    let code: DeviceCode = issuer.read(&bytes)?;
    if !is_safe_url(&code.verification_uri) {
        return Err(issuer.wrong("sends people to an address that is not https"));
    }
    show(&code);
    let began = tokio::time::Instant::now();
    let mut interval = code.interval.unwrap_or(INTERVAL);
    while began.elapsed() < Duration::from_secs(code.expires_in) {
        tokio::time::sleep(Duration::from_secs(interval)).await;
        let ask = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", code.device_code.as_str()),
            ("client_id", offer.client.as_str()),
        ];
        let (status, bytes) = issuer.post(&issuer.found.token_endpoint, &ask).await?;
        if status == 200 {
            return issuer.session(&bytes, None);
        }
        match issuer.read::<Denied>(&bytes)?.error.as_str() {
            "authorization_pending" => {}
            "slow_down" => interval += SLOWER,
            _ => return Err(issuer.denied(&bytes)),
        }
    }
    Err(issuer.wrong("was not told who you are in time; log in again"))
}

/// The session that a refresh token gives.
async fn renewed(session: &Session) -> Answer<Session> {
    let issuer = Issuer::find(&session.issuer).await?;
    let refresh = session.refresh.as_deref().ok_or_else(|| issuer.wrong("gave nothing to renew the login with"))?;
    let ask = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("client_id", session.issuer.client.as_str())];
    let (status, bytes) = issuer.post(&issuer.found.token_endpoint, &ask).await?;
    if status == 200 { issuer.session(&bytes, Some(refresh)) } else { Err(issuer.denied(&bytes)) }
}

impl<'a> Issuer<'a> {
    async fn find(offer: &'a LoginOffer) -> Answer<Self> {
        init_tls();
        if !is_safe_url(&offer.url) {
            return Err(ClientError::Refused(format!("the issuer {} is not at an https address: {:?}", offer.name, offer.url)));
        }
        let http = reqwest::Client::builder()
            .timeout(MOST_TIME)
            // What proves the person goes to the address that the issuer named and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|why| ClientError::Protocol(why.to_string()))?;
        let address = format!("{}/.well-known/openid-configuration", offer.url.trim_end_matches('/'));
        let issuer = Self { http, offer, found: Discovery::none() };
        let (status, bytes) = issuer.send(issuer.http.get(&address)).await?;
        if status != 200 {
            return Err(issuer.wrong(&format!("answers {status} at {address}")));
        }
        let found: Discovery = issuer.read(&bytes)?;
        if found.issuer != offer.url {
            return Err(issuer.wrong(&format!("says that it is {:?}", found.issuer)));
        }
        let endpoints = [Some(&found.token_endpoint), found.device_authorization_endpoint.as_ref()];
        if endpoints.into_iter().flatten().any(|endpoint| !is_safe_url(endpoint)) {
            return Err(issuer.wrong("names an endpoint that is not https"));
        }
        Ok(Self { found, ..issuer })
    }

    async fn post(&self, endpoint: &str, form: &[(&str, &str)]) -> Answer<(u16, Vec<u8>)> {
        // reqwest's own forms are a feature that nothing else needs.
        let body = reqwest::Url::parse_with_params("http://form.invalid/", form);
        let body = body.map_err(|why| self.wrong(&why.to_string()))?.query().unwrap_or_default().to_owned();
        let request = self.http.post(endpoint).header("content-type", "application/x-www-form-urlencoded").body(body);
        self.send(request.header("accept", "application/json")).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Answer<(u16, Vec<u8>)> {
        let away =
            |why: reqwest::Error| ClientError::Unreachable { server: self.offer.url.clone(), why: why.without_url().to_string() };
        let mut response = request.send().await.map_err(away)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(away)? {
            if bytes.len() + chunk.len() > LARGEST {
                return Err(self.wrong("answers too much"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok((status, bytes))
    }

    fn session(&self, bytes: &[u8], refresh: Option<&str>) -> Answer<Session> {
        let granted: Granted = self.read(bytes)?;
        let token = granted.id_token.ok_or_else(|| self.wrong("gave no ID token; its client must ask for the scope openid"))?;
        let until = jwt::parse(&token).ok().and_then(|unproved| unproved.expires());
        let until = until.ok_or_else(|| self.wrong("gave a token that cannot be read"))?;
        // An issuer that keeps the refresh token as it is need not send it again.
        let refresh = granted.refresh_token.or_else(|| refresh.map(str::to_owned));
        Ok(Session { issuer: self.offer.clone(), token, refresh, until })
    }

    fn read<T: serde::de::DeserializeOwned>(&self, bytes: &[u8]) -> Answer<T> {
        // What cannot be read may hold a secret, so nothing of it is said.
        serde_json::from_slice(bytes).map_err(|_| self.wrong("answers what is not understood"))
    }

    fn denied(&self, bytes: &[u8]) -> ClientError {
        match serde_json::from_slice::<Denied>(bytes) {
            Ok(denied) => {
                let more = denied.error_description.map_or_else(String::new, |text| format!(" ({text})"));
                self.wrong(&format!("says {}{more}", denied.error))
            }
            Err(_) => self.wrong("refused"),
        }
    }

    fn wrong(&self, what: &str) -> ClientError {
        ClientError::Login(format!("the issuer {} {what}", self.offer.name))
    }
}

impl Discovery {
    fn none() -> Self {
        Self { issuer: String::new(), device_authorization_endpoint: None, token_endpoint: String::new() }
    }
}

/// Where a session is kept between runs, and the time.
pub trait Keeper: Send + Sync {
    /// This moment.
    fn now(&self) -> Timestamp;
    /// The session that is kept: another process may have renewed it.
    fn kept(&self) -> Option<Session>;
    /// Keeps a renewed one.
    fn keep(&self, session: &Session);
}

/// A session that renews itself shortly before it ends.
pub struct Renewing {
    held: Mutex<(Session, Option<Timestamp>)>,
    keeper: Box<dyn Keeper>,
}

impl fmt::Debug for Renewing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Renewing(…)")
    }
}

impl Renewing {
    /// Of a session, kept by `keeper`.
    pub fn new(session: Session, keeper: Box<dyn Keeper>) -> Arc<Self> {
        Arc::new(Self { held: Mutex::new((session, None)), keeper })
    }

    /// The token to send. One that could not be renewed is sent as it is: the registry says what is wrong with it.
    pub async fn token(&self) -> String {
        let mut held = self.held.lock().await;
        let now = self.keeper.now();
        let lasts = |session: &Session| session.until > now.plus_seconds(AHEAD_SECONDS);
        if lasts(&held.0) {
            return held.0.token.clone();
        }
        if let Some(kept) = self.keeper.kept().filter(lasts) {
            held.0 = kept;
            return held.0.token.clone();
        }
        if held.1.is_none_or(|tried| now.seconds_since(tried) >= AGAIN_SECONDS) {
            held.1 = Some(now);
            // What another process was given since may be the only one that still works.
            let newest = self.keeper.kept().unwrap_or_else(|| held.0.clone());
            if let Ok(session) = renewed(&newest).await {
                self.keeper.keep(&session);
                held.0 = session;
            }
        }
        held.0.token.clone()
    }
}
