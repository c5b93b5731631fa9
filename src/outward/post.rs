//! Sending to an address that somebody named: over https, to public addresses or listed ones, without following anything.

use crate::rules::net::{Range, may_call};
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use std::error::Error as _;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a receiver may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a connection may take to come up.
const CONNECT: Duration = Duration::from_secs(5);
/// The longest address.
const MOST_URL: usize = 2000;

/// Why a receiver did not take what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Untaken {
    /// It may take it later.
    Later(String),
    /// It says that it never will: 410.
    Gone,
}

/// A client for addresses that others name.
#[derive(Debug)]
pub struct Post {
    listed: Arc<[Range]>,
    http: OnceLock<Result<reqwest::Client, String>>,
}

impl Post {
    /// One that also calls the listed ranges.
    pub fn new(listed: &[Range]) -> Self {
        Self { listed: listed.into(), http: OnceLock::new() }
    }

    /// Sends a body; taken is whatever is answered by 2xx.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn send(&self, url: &str, headers: HeaderMap, body: Vec<u8>) -> Result<(), Untaken> {
        // What is listed may have changed since the address was named.
        let url = check_url(url, &self.listed).map_err(Untaken::Later)?;
        let http = self.http.get_or_init(|| client(self.listed.clone())).as_ref().map_err(|why| Untaken::Later(why.clone()))?;
        let sent = http.post(url).headers(headers).body(body).send().await;
        let status = sent.map_err(|error| Untaken::Later(innermost(&error)))?.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            410 => Err(Untaken::Gone),
            300..=399 => Err(Untaken::Later(format!("it answered {status}: redirects are not followed"))),
            _ => Err(Untaken::Later(format!("it answered {status}"))),
        }
    }
}

fn client(listed: Arc<[Range]>) -> Result<reqwest::Client, String> {
    // A second call finds a provider installed, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .dns_resolver(Arc::new(Guarded(listed)))
        .redirect(reqwest::redirect::Policy::none())
        // A proxy would resolve names for us, where nothing is checked.
        .no_proxy()
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT)
        .timeout(PATIENCE)
        .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| innermost(&error))
}

/// Resolves a name to those of its addresses that may be called: what is checked is what is connected to.
#[derive(Debug)]
struct Guarded(Arc<[Range]>);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let listed = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let open: Vec<_> = found.filter(|address| may_call(address.ip(), &listed)).collect();
            if open.is_empty() {
                return Err(format!("{} has no address that may be called", name.as_str()).into());
            }
            let addresses: Addrs = Box::new(open.into_iter());
            Ok(addresses)
        })
    }
}

/// An address that may be named: https (http where it is a listed loopback address), without a password, and not one that may not be
/// called. What a name resolves to is looked at whenever it is called.
///
/// # Errors
/// What is wrong with it, a lower-case fragment.
pub fn check_url(text: &str, listed: &[Range]) -> Result<Url, String> {
    if text.len() > MOST_URL {
        return Err(format!("is longer than {MOST_URL} bytes"));
    }
    let url = Url::parse(text).map_err(|why| format!("is no address: {why}"))?;
    let host = url.host_str().ok_or("names no host")?;
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    let local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => {}
        "http" if local && listed.iter().any(loopback) => {}
        _ => return Err("is not https".into()),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a name or a password in it, which would be shown to everybody who lists it".into());
    }
    if url.fragment().is_some() {
        return Err("has a fragment, which is never sent".into());
    }
    match address {
        Some(address) if !may_call(address, listed) => Err(format!("{address} is private, local or reserved, and is not listed")),
        _ => Ok(url),
    }
}

fn loopback(range: &Range) -> bool {
    let all = [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1_u16])];
    all.iter().any(|address| range.holds(*address))
}

/// The innermost cause: reqwest's own text names the whole address, and a path may be a secret.
fn innermost(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return format!("it did not answer within {} s", PATIENCE.as_secs());
    }
    let (mut said, mut cause) = (None, error.source());
    while let Some(inner) = cause {
        said = Some(inner.to_string());
        cause = inner.source();
    }
    said.unwrap_or_else(|| "it cannot be reached".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_public_and_without_a_password() {
        let listed: Vec<Range> = ["127.0.0.1".parse().unwrap(), "10.1.0.0/16".parse().unwrap()].into();
        for (url, plain, with) in [
            ("https://example.com/hook?x=1", true, true),
            ("https://8.8.8.8/", true, true),
            ("http://example.com/", false, false),
            ("http://8.8.8.8/", false, false),
            ("http://127.0.0.1:9000/hook", false, true),
            ("http://localhost:9000/hook", false, true),
            ("https://10.1.2.3/", false, true),
            ("http://10.1.2.3/", false, false),
            ("https://127.0.0.1/", false, true),
            ("https://127.1/", false, true),
            ("https://2130706433/", false, true),
            ("https://0x7f.0.0.1/", false, true),
            ("https://127.0.0.2/", false, false),
            ("https://[::1]/", false, false),
            ("https://[::ffff:10.0.0.1]/", false, false),
            ("https://169.254.169.254/latest/meta-data/", false, false),
            ("https://[fd00:ec2::254]/", false, false),
            ("https://100.64.0.1/", false, false),
            ("https://user:pass@example.com/", false, false),
            ("https://user@example.com/", false, false),
            ("https://example.com/#part", false, false),
            ("ftp://example.com/", false, false),
            ("file:///etc/passwd", false, false),
            ("example.com", false, false),
            ("", false, false),
        ] {
            assert_eq!(check_url(url, &[]).is_ok(), plain, "{url}");
            assert_eq!(check_url(url, &listed).is_ok(), with, "{url} with what is listed");
        }
        assert!(check_url(&format!("https://example.com/{}", "a".repeat(2000)), &[]).is_err());
    }

    #[tokio::test]
    async fn a_name_is_looked_at_when_it_is_called() {
        let closed = Guarded([].into()).resolve("localhost".parse().unwrap()).await;
        assert!(closed.is_err_and(|why| why.to_string().contains("no address that may be called")));
        let listed: Arc<[Range]> = ["127.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()].into();
        assert!(Guarded(listed).resolve("localhost".parse().unwrap()).await.is_ok());
        let sent = Post::new(&[]).send("https://localhost:1/", HeaderMap::new(), Vec::new()).await;
        assert!(matches!(sent, Err(Untaken::Later(why)) if why.contains("may be called")));
    }
}
