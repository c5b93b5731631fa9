//! The keys of the policy's issuers: found by discovery, kept, fetched anew when they turn old or one is named that is not known.

use super::fetch;
use crate::model::oidc::{Issuer, OidcSight};
use crate::model::{Policy, Timestamp};
use crate::rules::jwt::{self, Fault, Key};
use crate::rules::{oidc, policy};
use serde::Deserialize;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Keys that are older are fetched anew beside the request that finds them so: a key that an issuer took back counts no longer.
const OLD_SECONDS: i64 = 10 * 60;
/// Keys that are older prove nothing any more: the issuer has been away for a day.
const OLDEST_SECONDS: i64 = 24 * 3600;
/// How often keys are fetched within [`TRIES_SECONDS`], whatever tokens name.
const MOST_TRIES: usize = 5;
const TRIES_SECONDS: i64 = 60;

/// What is known of all issuers. Shared by all requests.
#[derive(Debug, Default)]
pub struct Issuers {
    http: OnceLock<reqwest::Client>,
    held: Mutex<HashMap<String, Arc<Held>>>,
}

/// What is known of one.
#[derive(Debug, Default)]
struct Held {
    known: Mutex<Option<Known>>,
    /// When keys were fetched or tried to be; whoever holds the lock fetches, the others wait for its outcome.
    tries: tokio::sync::Mutex<VecDeque<Timestamp>>,
}

#[derive(Debug, Clone)]
struct Known {
    keys: Arc<Vec<Key>>,
    at: Timestamp,
}

/// The part of a discovery document (OpenID Connect Discovery 1.0) that is used.
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

impl Issuers {
    /// Who a bearer token of an issuer proves its bearer to be, and what the issuer says of that person's groups.
    ///
    /// # Errors
    /// Why it proves nobody, to be read after "the token".
    pub async fn prove(self: &Arc<Self>, policy: &Policy, text: &str, now: Timestamp) -> Result<OidcSight, String> {
        let said = |fault: Fault| match fault {
            Fault::Bad(why) => why.to_owned(),
            Fault::UnknownKey => "is signed with a key that its issuer does not publish".to_owned(),
        };
        let unproved = jwt::parse(text).map_err(said)?;
        let from = unproved.issuer().ok_or("names no issuer")?;
        let issuer = policy.issuers.values().find(|known| known.url == from).ok_or("is from an issuer that is not known here")?;
        let held = self.held(&issuer.url);
        let known = held.known(now);
        let proved = match &known {
            Some(known) => unproved.prove(&known.keys, &issuer.algorithms),
            None => Err(Fault::UnknownKey),
        };
        let claims = match proved {
            Err(Fault::UnknownKey) => {
                let keys = self.fetched(&held, issuer, known.map(|known| known.at), now).await?;
                unproved.prove(&keys, &issuer.algorithms).map_err(said)?
            }
            other => {
                if known.is_some_and(|known| now.seconds_since(known.at) > OLD_SECONDS) {
                    self.fetch_beside(held, issuer, now);
                }
                other.map_err(said)?
            }
        };
        oidc::identity(policy, issuer, claims, now)
    }

    fn held(&self, url: &str) -> Arc<Held> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.entry(url.to_owned()).or_default().clone()
    }

    /// Fetches without anybody waiting, unless somebody does so already.
    fn fetch_beside(self: &Arc<Self>, held: Arc<Held>, issuer: &Issuer, now: Timestamp) {
        if held.tries.try_lock().is_err() {
            return;
        }
        let (issuers, issuer) = (self.clone(), issuer.clone());
        tokio::spawn(async move {
            let before = held.known(now).map(|known| known.at);
            let _ = issuers.fetched(&held, &issuer, before, now).await;
        });
    }

    /// The issuer's keys, fetched unless somebody else fetched them since those of `before`.
    async fn fetched(
        &self,
        held: &Held,
        issuer: &Issuer,
        before: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Arc<Vec<Key>>, String> {
        let mut tries = held.tries.lock().await;
        if let Some(known) = held.known(now).filter(|known| before.is_none_or(|before| known.at > before)) {
            return Ok(known.keys);
        }
        while tries.front().is_some_and(|at| now.seconds_since(*at) >= TRIES_SECONDS || *at > now) {
            tries.pop_front();
        }
        if tries.len() >= MOST_TRIES {
            return Err("names a key that is not known here; its issuer was asked for new ones too often just now".to_owned());
        }
        tries.push_back(now);
        match self.read(issuer).await {
            Ok(keys) => {
                let keys = Arc::new(keys);
                *held.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Known { keys: keys.clone(), at: now });
                Ok(keys)
            }
            Err(why) => {
                tracing::warn!(issuer = issuer.name, why, "failed to read the keys of an issuer");
                Err("cannot be checked now: the keys of its issuer cannot be read".to_owned())
            }
        }
    }

    async fn read(&self, issuer: &Issuer) -> Result<Vec<Key>, String> {
        let http = if let Some(http) = self.http.get() {
            http
        } else {
            let made = fetch::client()?;
            self.http.get_or_init(|| made)
        };
        let address = format!("{}/.well-known/openid-configuration", issuer.url.trim_end_matches('/'));
        let found = fetch::get(http, &address).await?;
        let found: Discovery = serde_json::from_slice(&found).map_err(|why| format!("{address}: {why}"))?;
        if found.issuer != issuer.url {
            return Err(format!("{address} speaks for {:?}, not for {:?}", found.issuer, issuer.url));
        }
        if !policy::is_safe_url(&found.jwks_uri) {
            return Err(format!("{address} names keys at {:?}, which is not https", found.jwks_uri));
        }
        let keys = jwt::keys(&fetch::get(http, &found.jwks_uri).await?)?;
        if keys.is_empty() { Err(format!("{} holds no key that can be used", found.jwks_uri)) } else { Ok(keys) }
    }
}

impl Held {
    /// What is known and not too old to prove anything.
    fn known(&self, now: Timestamp) -> Option<Known> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.filter(|known| now.seconds_since(known.at) <= OLDEST_SECONDS)
    }
}
