//! Reading JSON from addresses that an operator named: short, small, without redirects.

use std::time::Duration;

/// How long an answer may take in all.
const MOST_TIME: Duration = Duration::from_secs(5);
/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(3);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 1024 * 1024;

/// A client for all such reads.
///
/// # Errors
/// The system's certificates cannot be read.
pub fn client() -> Result<reqwest::Client, String> {
    // A second call finds one installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .timeout(MOST_TIME)
        // What is read must come from the address that the operator named.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|why| format!("failed to make an HTTP client: {why}"))
}

/// The body of a 200.
///
/// # Errors
/// Anything else; the text names the address.
pub async fn get(http: &reqwest::Client, url: &str) -> Result<Vec<u8>, String> {
    let failed = |why: reqwest::Error| format!("{url}: {}", why.without_url());
    let mut response = http.get(url).header("accept", "application/json").send().await.map_err(failed)?;
    if response.status() != reqwest::StatusCode::OK {
        return Err(format!("{url} answered {}", response.status()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if bytes.len() + chunk.len() > LARGEST {
            return Err(format!("{url} answered more than {LARGEST} bytes"));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
