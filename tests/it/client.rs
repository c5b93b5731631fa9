//! The client against a served registry: the stream in all weathers, the chain's alarms, texts that are not what they claim.

use crate::support::proxy::{Mishap, Proxy};
use crate::support::registry::{Served, token_of};
use countersign::client::{Client, Followed, Pins, contact, follow, verify_all, verify_from};
use countersign::model::AuditEvent;
use futures_util::StreamExt as _;
use std::time::Duration;

/// The next item that `pick` wants, within ten seconds.
async fn next<T>(stream: &mut countersign::client::stream::Following, mut pick: impl FnMut(Followed) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(found) = pick(stream.next().await.unwrap()) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("nothing came")
}

fn audit(told: Followed) -> Option<Box<AuditEvent>> {
    match told {
        Followed::Audit(event) => Some(event),
        Followed::Broken(at) => panic!("broken: {at:?}"),
        _ => None,
    }
}

fn client(address: std::net::SocketAddr, who: &str) -> Client {
    Client::new(&format!("http://{address}"), Some(&token_of(who))).unwrap()
}

/// Everything that came until the event `last`.
async fn numbers(stream: &mut countersign::client::stream::Following, last: u64) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.last() != Some(&last) {
        seen.push(next(stream, audit).await.seq);
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_comes_once_and_in_order_in_all_weathers() {
    for mishaps in [
        &[][..],
        &[Mishap::Drop],
        &[Mishap::Drop, Mishap::Drop, Mishap::Drop],
        &[Mishap::Double, Mishap::Double],
        &[Mishap::Swap],
        &[Mishap::Cut],
        &[Mishap::Cut, Mishap::Double, Mishap::Drop],
        &[Mishap::Silence],
    ] {
        let served = Served::start().await;
        let proxy = Proxy::before(served.address).await;
        let mut stream = follow(client(proxy.address, "ana"), None);
        next(&mut stream, |told| matches!(told, Followed::Connected(Some(_))).then_some(())).await;
        let before = served.head().await;
        proxy.spoil(mishaps);
        for n in 0..4 {
            served.key(&format!("support.key{n}")).await;
        }
        assert_eq!(numbers(&mut stream, before + 4).await, (before + 1..=before + 4).collect::<Vec<_>>(), "{mishaps:?}");
        assert!(proxy.is_done(), "{mishaps:?} did not happen");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_event_is_an_alarm_with_its_number_and_the_stream_goes_on() {
    let served = Served::start().await;
    let proxy = Proxy::before(served.address).await;
    let mut stream = follow(client(proxy.address, "ana"), None);
    next(&mut stream, |told| matches!(told, Followed::Connected(Some(_))).then_some(())).await;
    let before = served.head().await;
    proxy.spoil(&[Mishap::Forge]);
    served.key("support.a").await;
    let at = next(&mut stream, |told| if let Followed::Broken(at) = told { Some(at) } else { None }).await;
    assert_eq!(at.seq, before + 1);
    served.key("support.b").await;
    let later = next(&mut stream, |told| if let Followed::Audit(e) = told { Some(e.seq) } else { None }).await;
    assert!(later > before, "events go on coming");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_read_the_audit_trail_still_follows_pointers() {
    let served = Served::start().await;
    served.key("support.a").await;
    let digest = served.version("support.a", "one").await;
    let mut stream = follow(client(served.address, "web"), None);
    next(&mut stream, |told| matches!(told, Followed::Connected(None)).then_some(())).await;
    served.into_dev("support.a", &digest).await;
    let pointer = next(&mut stream, |told| if let Followed::Pointer(p) = told { Some(p) } else { None }).await;
    assert_eq!(pointer.digest.to_string(), digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_head_is_remembered_and_another_registry_at_the_address_is_an_alarm() {
    let home = tempfile::tempdir().unwrap();
    let pins = Pins::under(home.path());
    let served = Served::start().await;
    let proxy = Proxy::before(served.address).await;
    let ana = client(proxy.address, "ana");
    let first = contact(&ana, Some(&pins)).await.unwrap();
    assert!(first.first && first.from == first.head.seq);
    served.key("support.a").await;
    let again = contact(&ana, Some(&pins)).await.unwrap();
    assert_eq!((again.first, again.from, again.head.seq), (false, first.from, first.head.seq + 1));
    let whole = verify_all(&ana, Some(&pins), |_, _| Ok(())).await.unwrap();
    assert_eq!((whole.events, whole.seen_before), (again.head.seq, Some(again.head.seq)));
    assert_eq!(verify_from(&ana, Some(&pins), 2).await.unwrap(), whole.head);
    let beyond = verify_from(&ana, Some(&pins), whole.events + 1).await.unwrap_err().to_string();
    assert!(beyond.contains("this event is missing"), "{beyond}");
    assert_eq!(contact(&ana, Some(&pins)).await.unwrap().from, 1, "what was verified whole counts from #1");
    // The same address, another registry.
    let mut pin = pins.get(ana.base_url()).unwrap().unwrap();
    let other = Served::start().await;
    let stranger = client(other.address, "ana");
    pin.server = stranger.base_url().to_owned();
    pins.put(&pin).unwrap();
    for found in [
        verify_from(&stranger, Some(&pins), 1).await.map(|_| ()).unwrap_err().to_string(),
        contact(&stranger, Some(&pins)).await.map(|_| ()).unwrap_err().to_string(),
        verify_all(&stranger, Some(&pins), |_, _| Ok(())).await.map(|_| ()).unwrap_err().to_string(),
    ] {
        assert!(found.contains("#1") && found.contains("another registry"), "{found}");
    }
    let mut stream = follow(stranger, Some(pins));
    let at = next(&mut stream, |told| if let Followed::Broken(at) = told { Some(at) } else { None }).await;
    assert_eq!(at.seq, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_remembers_what_it_verified() {
    let home = tempfile::tempdir().unwrap();
    let pins = Pins::under(home.path());
    let served = Served::start().await;
    let ana = client(served.address, "ana");
    let mut stream = follow(ana.clone(), Some(pins.clone()));
    next(&mut stream, |told| matches!(told, Followed::Connected(_)).then_some(())).await;
    served.key("support.a").await;
    let seq = next(&mut stream, audit).await.seq;
    next(&mut stream, |told| matches!(told, Followed::Heartbeat(_)).then_some(())).await;
    assert_eq!(pins.get(ana.base_url()).unwrap().unwrap().head.seq, seq);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_event_that_is_changed_under_an_open_stream_is_an_alarm() {
    use sqlx::Connection as _;
    let served = Served::start().await;
    served.key("support.a").await;
    let old = served.head().await;
    served.key("support.b").await;
    let mut stream = follow(client(served.address, "ana"), None);
    next(&mut stream, |told| matches!(told, Followed::Connected(Some(_))).then_some(())).await;
    let file = served.dir.path().join("registry.db");
    let mut conn = sqlx::SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::raw_sql("DROP TRIGGER audit_event_no_update").execute(&mut conn).await.unwrap();
    let forge = format!("UPDATE audit_event SET actor = 'person:eve' WHERE seq = {old}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(forge)).execute(&mut conn).await.unwrap();
    let wait = async {
        loop {
            if let Some(Followed::Broken(at)) = stream.next().await {
                return at;
            }
        }
    };
    let at = tokio::time::timeout(Duration::from_secs(30), wait).await.expect("no alarm");
    assert_eq!(at.seq, old);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_so_and_the_stream_tries_again() {
    let served = Served::start().await;
    let mut stream = follow(Client::new(&format!("http://{}", served.address), Some("cs_none")).unwrap(), None);
    for _ in 0..2 {
        let error = next(&mut stream, |told| if let Followed::Lost { error, .. } = told { Some(error) } else { None }).await;
        assert_eq!(error.code().map(countersign::model::Code::as_str), Some("unauthenticated"));
    }
}
