//! A small issuer of identities (OpenID Connect): discovery, keys that change, tokens signed with real keys, login by device.

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use countersign::model::Timestamp;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Only for tests, as its first line says: RSA keys cannot be made at run time here.
const RSA: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/oidc/test-only-rsa-key.txt"));

/// A key that signs.
#[allow(clippy::large_enum_variant, reason = "tests hold a handful")]
pub enum Signer {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
    /// The same key with the other padding.
    RsaPss(RsaKeyPair),
}

impl Signer {
    pub fn ed25519() -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap())
    }
    pub fn p256() -> Self {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pair.as_ref(), &random).unwrap())
    }
    pub fn rsa() -> Self {
        Self::Rsa(rsa_key())
    }
    pub fn rsa_pss() -> Self {
        Self::RsaPss(rsa_key())
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "EdDSA",
            Self::P256(_) => "ES256",
            Self::Rsa(_) => "RS256",
            Self::RsaPss(_) => "PS256",
        }
    }

    fn public(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": encoded(pair.public_key()) })
            }
            Self::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": encoded(x), "y": encoded(y) })
            }
            Self::Rsa(pair) | Self::RsaPss(pair) => {
                let public = rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                let alg = self.algorithm();
                json!({ "kty": "RSA", "kid": id, "use": "sig", "alg": alg, "n": encoded(public.n), "e": encoded(public.e) })
            }
        }
    }

    fn sign(&self, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ed25519(pair) => pair.sign(text).as_ref().to_vec(),
            Self::P256(pair) => pair.sign(&random, text).unwrap().as_ref().to_vec(),
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature).unwrap();
                signature
            }
            Self::RsaPss(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PSS_SHA256, &random, text, &mut signature).unwrap();
                signature
            }
        }
    }
}

fn rsa_key() -> RsaKeyPair {
    let lines = RSA.lines().skip_while(|line| !line.starts_with("-----BEGIN"));
    let text: String = lines.filter(|line| !line.starts_with("-----")).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// What a person who logs in is given.
type Grant = Box<dyn Fn() -> Value + Send>;

#[derive(Default)]
struct Inside {
    keys: Vec<(String, Arc<Signer>)>,
    down: bool,
    /// How often the keys were asked for.
    asked: usize,
    /// How often a device still has to ask.
    pending: usize,
    /// The claims of whoever logs in next.
    person: Option<Grant>,
    /// The only refresh token that works.
    refresh: Option<String>,
    made: usize,
}

/// A served issuer. Dropping it ends it.
pub struct Issuer {
    pub url: String,
    inside: Arc<Mutex<Inside>>,
    stop: CancellationToken,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Shared {
    url: String,
    inside: Arc<Mutex<Inside>>,
}

impl Issuer {
    /// An issuer with one key, `one`.
    pub async fn start(signer: Signer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inside = Inside { keys: vec![("one".into(), Arc::new(signer))], ..Inside::default() };
        let inside = Arc::new(Mutex::new(inside));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/device", post(device))
            .route("/token", post(token))
            .with_state(Shared { url: url.clone(), inside: inside.clone() });
        let stop = CancellationToken::new();
        let ended = stop.clone();
        tokio::spawn(async move { axum::serve(listener, router).with_graceful_shutdown(ended.cancelled_owned()).await });
        Self { url, inside, stop }
    }

    /// The tables that name it in a policy: its people, its group `release` as the policy's group `issued`.
    pub fn policy(&self) -> String {
        format!(
            "\n[issuer.corp]\nurl = \"{}\"\naudience = [\"countersign\"]\nclient = \"countersign-cli\"\n\
             claim = \"preferred_username\"\nalgorithms = [\"RS256\", \"PS256\", \"ES256\", \"EdDSA\"]\n\n\
             [group.issued]\noidc = \"corp:release\"\n",
            self.url
        )
    }

    /// Another key in place of all.
    pub fn rotate(&self, id: &str, signer: Signer) {
        self.inside.lock().unwrap().keys = vec![(id.to_owned(), Arc::new(signer))];
    }

    /// Answers nothing but 500 from now on, or works again.
    pub fn is_down(&self, down: bool) {
        self.inside.lock().unwrap().down = down;
    }

    /// How often the keys were asked for.
    pub fn asked(&self) -> usize {
        self.inside.lock().unwrap().asked
    }

    /// The claims of a good token.
    pub fn claims(&self, name: &str, groups: &[&str], now: Timestamp) -> Value {
        let now = now.0 / 1_000_000;
        json!({
            "iss": self.url, "aud": "countersign", "sub": format!("id-of-{name}"), "iat": now, "exp": now + 300,
            "preferred_username": name, "groups": groups,
        })
    }

    /// A good token.
    pub fn token(&self, name: &str, groups: &[&str], now: Timestamp) -> String {
        self.signed(&self.claims(name, groups, now))
    }

    /// A token with any claims, signed with the newest key.
    pub fn signed(&self, claims: &Value) -> String {
        let (id, signer) = self.inside.lock().unwrap().keys[0].clone();
        signed_with(&signer, &json!({ "alg": signer.algorithm(), "kid": id, "typ": "JWT" }), claims)
    }

    /// A token with any header, signed with the newest key.
    pub fn headed(&self, header: &Value, claims: &Value) -> String {
        let (_, signer) = self.inside.lock().unwrap().keys[0].clone();
        signed_with(&signer, header, claims)
    }

    /// Whoever logs in next is given such claims, after the device has asked `pending` times.
    pub fn expect(&self, pending: usize, claims: impl Fn() -> Value + Send + 'static) {
        let mut inside = self.inside.lock().unwrap();
        inside.pending = pending;
        inside.person = Some(Box::new(claims));
    }
}

/// A token of any header and claims.
pub fn signed_with(signer: &Signer, header: &Value, claims: &Value) -> String {
    let text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let signature = encoded(signer.sign(text.as_bytes()));
    format!("{text}.{signature}")
}

async fn discovery(State(shared): State<Shared>) -> Response {
    if shared.inside.lock().unwrap().down {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let at = |path: &str| format!("{}{path}", shared.url);
    Json(json!({
        "issuer": shared.url, "jwks_uri": at("/keys"), "token_endpoint": at("/token"),
        "device_authorization_endpoint": at("/device"),
    }))
    .into_response()
}

async fn keys(State(shared): State<Shared>) -> Response {
    let mut inside = shared.inside.lock().unwrap();
    inside.asked += 1;
    let keys: Vec<Value> = inside.keys.iter().map(|(id, signer)| signer.public(id)).collect();
    Json(json!({ "keys": keys })).into_response()
}

fn form(body: &str) -> HashMap<String, String> {
    Query::try_from_uri(&format!("/?{body}").parse().unwrap()).unwrap().0
}

async fn device(State(shared): State<Shared>, body: String) -> Response {
    let form = form(&body);
    if form["client_id"] != "countersign-cli" || !form["scope"].split(' ').any(|scope| scope == "openid") {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_client" }))).into_response();
    }
    Json(json!({
        "device_code": "the-device", "user_code": "WDJB-MJHT", "verification_uri": format!("{}/enter", shared.url),
        "expires_in": 60, "interval": 0,
    }))
    .into_response()
}

async fn token(State(shared): State<Shared>, body: String) -> Response {
    let form = form(&body);
    let mut inside = shared.inside.lock().unwrap();
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    match form["grant_type"].as_str() {
        "urn:ietf:params:oauth:grant-type:device_code" if form["device_code"] == "the-device" => {
            if inside.pending > 0 {
                inside.pending -= 1;
                return refused("authorization_pending");
            }
        }
        "refresh_token" if form.get("refresh_token").cloned() == inside.refresh && inside.refresh.is_some() => {}
        _ => return refused("invalid_grant"),
    }
    let Some(claims) = inside.person.as_ref().map(|person| person()) else { return refused("access_denied") };
    let (id, signer) = inside.keys[0].clone();
    inside.made += 1;
    let refresh = format!("refresh-{}", inside.made);
    inside.refresh = Some(refresh.clone());
    let id_token = signed_with(&signer, &json!({ "alg": signer.algorithm(), "kid": id }), &claims);
    Json(json!({ "access_token": "opaque", "token_type": "Bearer", "id_token": id_token, "refresh_token": refresh }))
        .into_response()
}
