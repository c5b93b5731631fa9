//! GET /metrics: what Prometheus reads, in its own format; confidential keys and those of others are not in it.

use crate::support::registry::{Served, said};
use reqwest::Method;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

const KEY: &str = "support.greeting";

/// The samples of an exposition, by name and labels as they are written, each looked at by the rules of the text format
/// (Prometheus, exposition formats 0.0.4).
fn read(text: &str) -> BTreeMap<String, String> {
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut samples, mut families) = (BTreeMap::new(), BTreeMap::new());
    let mut family = String::new();
    let mut closed = BTreeSet::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && closed.insert(name.to_owned()), "{name} stands in one place");
            name.clone_into(&mut family);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(name == family && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            families.insert(name.to_owned(), kind.to_owned());
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let word = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
            let kind = families.get(&family).unwrap_or_else(|| panic!("{family} has no type"));
            let endings: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            let own = endings.iter().any(|ending| name.strip_suffix(ending) == Some(&family));
            assert!(word && own, "{line} in {family}");
            assert!(kind != "counter" || name.ends_with("_total"), "{line}");
            labels(&series[name.len()..]);
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(samples.insert(series.to_owned(), value.to_owned()).is_none(), "{series} stands twice");
        }
    }
    samples
}

/// `{name="value",…}`, the values escaped.
fn labels(text: &str) {
    let Some(mut rest) = text.strip_prefix('{') else { return assert!(text.is_empty(), "{text}") };
    loop {
        let (name, after) = rest.split_once("=\"").unwrap();
        assert!(!name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{text}");
        let mut escaped = false;
        let end = after.bytes().position(|b| {
            let ends = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        });
        rest = &after[end.unwrap() + 1..];
        if rest == "}" {
            return;
        }
        rest = rest.strip_prefix(',').unwrap();
    }
}

async fn scraped(served: &Served, who: &str) -> BTreeMap<String, String> {
    let answer = served.get(who, "/metrics").await;
    assert_eq!(
        (answer.status.as_u16(), &answer.headers["content-type"]),
        (200, &"text/plain; version=0.0.4; charset=utf-8".parse().unwrap())
    );
    read(&answer.text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scrape_tells_what_serves_and_how_the_server_does() {
    let served = Served::start().await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    for _ in 0..3 {
        served.get("web", &format!("/v1/environments/dev/resolve/{KEY}")).await.good();
    }
    served.get("rita", "/v1/keys/no.such").await;
    let _stream = served.request("rita", Method::GET, "/v1/stream").send().await.unwrap();
    let seen = scraped(&served, "rita").await;
    let pointer = format!("{{key=\"{KEY}\",environment=\"dev\"");
    assert_eq!(seen[&format!("countersign_pointer_info{pointer},digest=\"{digest}\",baseline=\"\"}}")], "1");
    assert_eq!(seen[&format!("countersign_pointer_rollout_ratio{pointer}}}")], "1");
    assert_eq!(seen[&format!("countersign_pointer_killed{pointer}}}")], "0");
    assert_eq!(seen["countersign_pointers_killed{environment=\"dev\"}"], "0");
    assert_eq!(seen["countersign_audit_head_seq"], served.head().await.to_string());
    assert_eq!(seen["countersign_resolves_total{environment=\"dev\"}"], "3");
    assert_eq!(seen["countersign_stream_clients{channel=\"v1\"}"], "1");
    assert_eq!(seen["countersign_database_up"], "1");
    assert_eq!(seen["countersign_outbox_notices{state=\"due\"}"], "0");
    let resolve = "method=\"get\",route=\"/v1/environments/{environment}/resolve/{key}\"";
    assert_eq!(seen[&format!("countersign_http_requests_total{{{resolve},status=\"2xx\"}}")], "3");
    assert_eq!(seen[&format!("countersign_http_request_duration_seconds_count{{{resolve}}}")], "3");
    let mut buckets: Vec<(f64, u64)> = Vec::new();
    for (series, count) in seen
        .iter()
        .filter(|(series, _)| series.starts_with(&format!("countersign_http_request_duration_seconds_bucket{{{resolve}")))
    {
        let bound = series.split("le=\"").nth(1).unwrap().trim_end_matches("\"}").replace("+Inf", "inf");
        buckets.push((bound.parse().unwrap(), count.parse().unwrap()));
    }
    buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{buckets:?}");
    assert_eq!(buckets.last(), Some(&(f64::INFINITY, 3)), "the last bucket holds all");
    let not_there = "countersign_http_requests_total{method=\"get\",route=\"/v1/keys/{key}\",status=\"4xx\"}";
    assert_eq!(seen[not_there], "1", "by template, never by name");
    served.act("olga", KEY, "dev", "kill", json!({ "reason": "test" })).await.good();
    let seen = scraped(&served, "rita").await;
    assert_eq!(seen[&format!("countersign_pointer_killed{pointer}}}")], "1");
    assert_eq!(seen["countersign_pointers_killed{environment=\"dev\"}"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn confidential_keys_and_those_of_others_are_not_in_it() {
    let served = Served::start().await;
    for key in [KEY, "support.secret"] {
        served.key(key).await;
        let digest = served.version(key, "A greeting.").await;
        served.into_dev(key, &digest).await;
    }
    served.act("olga", "support.secret", "dev", "kill", json!({ "reason": "test" })).await.good();
    let seen = scraped(&served, "rita").await;
    assert_eq!(seen["countersign_pointers_killed{environment=\"dev\"}"], "1");
    let hide = served.request("dee", Method::PATCH, "/v1/keys/support.secret").json(&json!({ "confidential": true }));
    said(hide).await.good();
    // Those who may read the key are as blind here: time series travel.
    for who in ["dee", "rita", "ana"] {
        let text = served.get(who, "/metrics").await.text;
        assert!(text.contains(KEY) && !text.contains("secret"), "{who}: {text}");
        assert_eq!(read(&text)["countersign_pointers_killed{environment=\"dev\"}"], "0", "{who}");
    }
    let elsewhere = served.get("eve", "/metrics").await.text;
    assert!(elsewhere.contains("countersign_audit_head_seq") && !elsewhere.contains("support."), "{elsewhere}");
    for (who, status) in [("nobody", 401), ("web-resolves", 403), ("olga-kill", 403), ("audi", 403)] {
        assert_eq!(said(served.request(who, Method::GET, "/metrics")).await.status.as_u16(), status, "{who}");
    }
}
