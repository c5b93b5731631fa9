//! A relay of a served registry, in this process, on a directory of the test's.

use super::registry::{Said, Served, said};
use countersign::cli::exit::Failure;
use countersign::cli::relay::{Relay, start};
use countersign::cli::serve::Running;
use countersign::cli::tls::TlsFiles;
use countersign::client::ClientOptions;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What a policy grants a relay.
pub const RELAY: &str = r#"
[[role]]
who = "service:relay"
role = "service"
[[role]]
who = "service:relay"
role = "auditor"
"#;

/// The unit pepper of [`Served`], as its operator copies it.
pub fn pepper(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("unit-pepper"), hex::encode([7; 32])).unwrap();
}

impl Served {
    /// A registry that lets a relay be.
    pub async fn with_relay() -> Self {
        Self::with_policy(&format!("{}{RELAY}", super::registry::POLICY)).await
    }

    /// A token, as the admin makes it; its text.
    pub async fn token(&self, actor: &str, scope: &str) -> String {
        let made = self.post("root", "/v1/tokens", json!({ "actor": actor, "scope": scope })).await.good();
        made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// What a relay of it on a directory is started with.
    pub fn relay(&self, dir: &Path) -> Relay {
        Relay {
            upstream: format!("http://{}", self.address),
            data: dir.to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            tls: TlsFiles::default(),
            token_file: None,
            pepper_file: None,
            key: None,
            cors_origin: Vec::new(),
            accept_head: None,
        }
    }
}

/// A relay that runs.
pub struct Near {
    pub address: SocketAddr,
    stop: CancellationToken,
    running: Running,
    client: reqwest::Client,
}

impl Near {
    /// Starts one; `token` is its own at the registry.
    pub async fn start(args: &Relay, token: &str) -> Result<Self, Failure> {
        let options = ClientOptions {
            base_url: args.upstream.clone(),
            token: Some(token.to_owned()),
            insecure_http: false,
            authority: None,
            timeout: Duration::from_secs(10),
        };
        let stop = CancellationToken::new();
        let running = start(args, options, stop.clone()).await?;
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Ok(Self { address: running.address, stop, running, client })
    }

    /// Ends it, when what it keeps is on the disk.
    pub async fn end(self) {
        self.stop.cancel();
        drop(self.client);
        self.running.task.await.unwrap().unwrap();
    }

    /// A request with a token's text; none where it is empty.
    pub fn request(&self, token: &str, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("http://{}{path}", self.address));
        if token.is_empty() { request } else { request.bearer_auth(token) }
    }

    /// POST of JSON.
    pub async fn post(&self, token: &str, path: &str, body: Value) -> Said {
        said(self.request(token, Method::POST, path).json(&body)).await
    }

    /// What a unit gets.
    pub async fn resolve(&self, token: &str, key: &str, environment: &str, unit: &str) -> Said {
        self.post(token, &format!("/v1/environments/{environment}/resolve/{key}"), json!({ "unit": unit })).await
    }

    /// What the relay says of itself.
    pub async fn health(&self) -> Value {
        said(self.request("", Method::GET, "/readyz")).await.good()
    }

    /// Asks until it is so.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, is_so: impl Fn() -> F) -> Duration {
        let began = Instant::now();
        while !is_so().await {
            assert!(began.elapsed() < Duration::from_secs(30), "{what}: {}", self.health().await);
            tokio::task::yield_now().await;
        }
        began.elapsed()
    }
}
