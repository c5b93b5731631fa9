//! Resolving over HTTP beside a bare route that gives the same bytes.

use super::setup::{Connection, WEB, approved, caller, production, registry, request, serve};
use axum::Router;
use axum::http::header;
use axum::routing::post;
use countersign::model::KeyId;
use countersign::wire::paths;
use countersign::wire::pointers::Resolve;
use countersign::wire::promotions::Rationale;
use countersign::workflow::ApplyPromotion;
use std::hint::black_box;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

pub async fn run() {
    println!("resolve over HTTP beside a bare route with the same bytes (bar: 0.6 at least)");
    let dir = tempfile::tempdir().unwrap();
    let registry = registry(dir.path()).await;
    let key: KeyId = "bench.http.greeting".parse().unwrap();
    let id = approved(&registry, key.clone(), &"You are a helpful assistant. ".repeat(35)).await;
    registry.run(&caller("person:carol"), None, ApplyPromotion { id, body: Rationale::default() }).await.unwrap();
    let (ours, stop) = serve(registry).await;
    let body = serde_json::to_string(&Resolve { unit: Some("unit-17".into()) }).unwrap();
    let request = request("POST", &paths::resolve(&production(), &key), WEB, &body);
    let answer = Connection::open(ours).await.ask(&request).await;
    let bare = bare(answer.clone()).await;
    assert_eq!(Connection::open(bare).await.ask(&request).await, answer, "both say the same");
    let (mut best_ours, mut best_bare) = (0_f64, 0_f64);
    for _ in 0..7 {
        best_bare = best_bare.max(rate(bare, &request).await);
        best_ours = best_ours.max(rate(ours, &request).await);
    }
    println!("  ours {best_ours:.0}/s, bare {best_bare:.0}/s, {} bytes each: {:.2}", answer.len(), best_ours / best_bare);
    stop.cancel();
}

/// A bare route that answers `bytes`.
async fn bare(bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bytes = axum::body::Bytes::from(bytes);
    let route = post(move || {
        let bytes = bytes.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], bytes) }
    });
    let router = Router::new().route(paths::template::RESOLVE, route);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Answers a second over eight connections that each wait for their answer.
async fn rate(address: SocketAddr, request: &str) -> f64 {
    const TIME: Duration = Duration::from_secs(1);
    let began = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let request = request.to_owned();
        tasks.spawn(async move {
            let (mut connection, mut count) = (Connection::open(address).await, 0_u32);
            while began.elapsed() < TIME {
                black_box(connection.ask(&request).await);
                count += 1;
            }
            count
        });
    }
    let counts = tasks.join_all().await;
    f64::from(counts.into_iter().sum::<u32>()) / began.elapsed().as_secs_f64()
}
