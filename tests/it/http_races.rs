//! Many clients at once, over HTTP, each on a connection of its own: one wins, the others hear of it.

use crate::support::engines::{Place, on_each_engine};
use crate::support::registry::{POLICY, Served, token_of};
use countersign::clock::Clock;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const KEY: &str = "support.greeting";
const CLIENTS: usize = 64;

async fn served(place: &Place) -> Served {
    let served = Served::over(place.db.clone(), tempfile::tempdir().unwrap(), POLICY, Clock::System).await;
    served.key(KEY).await;
    let base = served.version(KEY, "What served before.").await;
    served.into_dev(KEY, &base).await;
    served
}

/// Applies each promotion by a client of its own, all let go at the same moment; status and body of each answer.
async fn apply_at_once(served: &Served, ids: &[String]) -> Vec<(u16, Value)> {
    let start = tokio::sync::Barrier::new(ids.len());
    let (start, served) = (&start, &served);
    let each = ids.iter().map(|id| async move {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let base = format!("http://{}", served.address);
        // The connection stands before the race begins.
        client.get(format!("{base}/healthz")).send().await.unwrap().bytes().await.unwrap();
        let request = client.post(format!("{base}/v1/promotions/{id}/apply")).bearer_auth(token_of("carol")).json(&json!({}));
        start.wait().await;
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    });
    join_all(each).await
}

async fn events_after(served: &Served, seq: u64) -> Vec<Value> {
    let page = served.get("audi", &format!("/v1/audit?after={seq}&limit=1000")).await.good();
    page["items"].as_array().unwrap().clone()
}

#[test]
fn of_64_promotions_applied_at_once_one_wins_and_63_are_told_which() {
    on_each_engine(async |place| {
        let served = served(place).await;
        let mut ids = Vec::new();
        for number in 0..CLIENTS {
            let digest = served.version(KEY, &format!("Greeting {number}.")).await;
            ids.push(served.open(KEY, "dev", &digest, json!({})).await);
        }
        let before = served.head().await;
        let answers = apply_at_once(&served, &ids).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(status, _)| *status == 200);
        assert_eq!((won.len(), lost.len()), (1, CLIENTS - 1));
        let winner = won[0].1["promotion"]["promotion_id"].as_str().unwrap().to_owned();
        for (status, problem) in lost {
            assert_eq!((status, &problem["code"]), (409, &json!("pointer_moved")), "{problem}");
            assert_eq!(problem["current"]["promotion_id"], winner.as_str(), "{problem}");
        }
        let losers: BTreeSet<&str> = ids.iter().map(String::as_str).filter(|id| *id != winner).collect();
        for id in &losers {
            assert_eq!(served.get("rita", &format!("/v1/promotions/{id}")).await.good()["state"], "stale");
        }
        let events = events_after(&served, before).await;
        assert_eq!(events.len(), 1, "one event: {events:?}");
        let staled = events[0]["detail"]["staled"].as_array().unwrap();
        assert_eq!(staled.iter().map(|id| id.as_str().unwrap()).collect::<BTreeSet<_>>(), losers);
        let pointer = served.get("rita", &format!("/v1/keys/{KEY}/pointers/dev")).await.good();
        assert_eq!((&pointer["digest"], &pointer["revision"]), (&won[0].1["promotion"]["to_digest"], &json!(2)));
    });
}

#[test]
fn one_promotion_applied_by_64_clients_at_once_takes_effect_once() {
    on_each_engine(async |place| {
        let served = served(place).await;
        let digest = served.version(KEY, "A greeting.").await;
        let id = served.open(KEY, "dev", &digest, json!({})).await;
        let before = served.head().await;
        let answers = apply_at_once(&served, &vec![id; CLIENTS]).await;
        let done = answers.iter().filter(|(status, _)| *status == 200).count();
        let told = answers.iter().filter(|(status, body)| *status == 409 && body["code"] == "already_applied").count();
        assert_eq!((done, told), (1, CLIENTS - 1), "{answers:?}");
        let events = events_after(&served, before).await;
        assert_eq!(events.len(), 1, "one event: {events:?}");
        let pointer = served.get("rita", &format!("/v1/keys/{KEY}/pointers/dev")).await.good();
        assert_eq!((&pointer["digest"], &pointer["revision"]), (&json!(digest), &json!(2)), "one effect");
    });
}
