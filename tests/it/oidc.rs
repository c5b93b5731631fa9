//! People whom an issuer knows: who comes in with which token, keys that change, groups that must be fresh, two accounts of one
//! person, and login by device.

use crate::support::issuer::{Issuer, Signer, signed_with};
use crate::support::policy;
use crate::support::registry::Served;
use countersign::clock::Clock;
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";
const DAY: i64 = 24 * 3600;

/// The served policy, where the owners are whom the issuer says, and approve.
fn by_issuer(issuer: &Issuer) -> String {
    let owners = policy::SERVED.replace("members = [\"person:ana\", \"person:bob\", \"person:dee\"]", "oidc = \"corp:owners\"");
    assert_ne!(owners, policy::SERVED);
    format!("{owners}{}", issuer.policy())
}

fn noon() -> Clock {
    Clock::fixed("2026-11-30T12:00:00Z".parse().unwrap())
}

/// A registry on a fixed clock, and its issuer.
async fn house(signer: Signer, policy: impl Fn(&Issuer) -> String) -> (Served, Issuer, Clock) {
    let issuer = Issuer::start(signer).await;
    let clock = noon();
    let served = Served::on(&policy(&issuer), clock.clone()).await;
    (served, issuer, clock)
}

fn served_by(issuer: &Issuer) -> String {
    format!("{}{}", policy::SERVED, issuer.policy())
}

fn later(clock: &Clock, seconds: i64) {
    clock.set(clock.now().plus_seconds(seconds));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_comes_in_with_a_token_of_the_issuer_however_it_is_signed() {
    for signer in [Signer::rsa(), Signer::rsa_pss(), Signer::p256(), Signer::ed25519()] {
        let (served, issuer, clock) = house(signer, served_by).await;
        let ana = issuer.token("ana", &["release", "other"], clock.now());
        let me = served.get(&ana, "/v1/me").await.good();
        assert_eq!((&me["actor"], &me["login"]), (&json!("person:ana"), &json!("oidc:corp")));
        assert_eq!(me["groups"], json!(["issued", "owners"]), "one group by its issuer's word, one by the policy's");
        let eve = issuer.token("eve", &[], clock.now());
        assert_eq!(served.get(&eve, "/v1/me").await.good()["groups"], json!([]));
        let stranger = issuer.token("stranger", &[], clock.now());
        assert_eq!(served.get(&stranger, "/v1/keys").await.refused(), (403, "forbidden".into()), "known, and no more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_right_in_every_way_opens_nothing() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    let now = clock.now();
    let good = issuer.claims("root", &[], now);
    let with = |claim: &str, value: Value| {
        let mut claims = good.clone();
        claims[claim] = value;
        issuer.signed(&claims)
    };
    let seconds = now.0 / 1_000_000;
    let other = Signer::ed25519();
    let head = json!({ "alg": "EdDSA", "kid": "one" });
    let public = "the public key";
    for (what, token) in [
        ("another audience", with("aud", json!("another"))),
        ("another issuer", with("iss", json!("https://elsewhere.example"))),
        ("expired", with("exp", json!(seconds - 60))),
        ("from the future", with("iat", json!(seconds + 61))),
        ("not yet", with("nbf", json!(seconds + 61))),
        ("a logout", with("events", json!({ "http://schemas.openid.net/event/backchannel-logout": {} }))),
        ("no such name", with("preferred_username", json!("Root"))),
        ("a service", with("preferred_username", json!("service:ci"))),
        ("another's key", signed_with(&other, &head, &good)),
        ("a key that is not there", signed_with(&other, &json!({ "alg": "EdDSA", "kid": "two" }), &good)),
        ("no signature", issuer.headed(&json!({ "alg": "none" }), &good)),
        ("a secret that is public", issuer.headed(&json!({ "alg": "HS256", "kid": "one" }), &good)),
        ("another algorithm", issuer.headed(&json!({ "alg": "RS256", "kid": "one" }), &good)),
        ("its own key", issuer.headed(&json!({ "alg": "EdDSA", "kid": "two", "jwk": public }), &good)),
        ("another kind", issuer.headed(&json!({ "alg": "EdDSA", "kid": "one", "typ": "logout+jwt" }), &good)),
    ] {
        let said = served.get(&token, "/v1/me").await;
        assert_eq!(said.refused(), (401, "unauthenticated".into()), "{what}");
        assert_eq!(said.headers["www-authenticate"], "Bearer", "{what}");
        assert!(!said.text.contains(&token[token.len() - 20..]), "{what}: the answer does not repeat the token");
    }
    let whole = issuer.signed(&good);
    let (text, signature) = whole.rsplit_once('.').unwrap();
    for token in [format!("{text}."), format!("{text}.{}", &signature[1..]), format!("eyJ{}.x.y", "a".repeat(20_000))] {
        assert_eq!(served.get(&token, "/v1/me").await.status, 401);
    }
    served.get(&whole, "/v1/me").await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_may_differ_by_the_leeway_and_no_more() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    let token = issuer.token("ana", &[], clock.now());
    later(&clock, 300 + 59);
    served.get(&token, "/v1/me").await.good();
    later(&clock, 1);
    assert_eq!(served.get(&token, "/v1/me").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_are_fetched_when_a_token_names_one_but_not_as_often_as_tokens_do() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    let first = issuer.token("ana", &[], clock.now());
    for _ in 0..5 {
        served.get(&first, "/v1/me").await.good();
    }
    assert_eq!(issuer.asked(), 1, "keys are kept");
    issuer.rotate("two", Signer::p256());
    let second = issuer.token("ana", &[], clock.now());
    served.get(&second, "/v1/me").await.good();
    assert_eq!(issuer.asked(), 2);
    assert_eq!(served.get(&first, "/v1/me").await.status, 401, "the key was taken back");
    let stray = Signer::ed25519();
    for n in 0..50 {
        let head = json!({ "alg": "EdDSA", "kid": format!("stray-{n}") });
        let token = signed_with(&stray, &head, &issuer.claims("ana", &[], clock.now()));
        assert_eq!(served.get(&token, "/v1/me").await.status, 401);
    }
    assert!(issuer.asked() <= 5, "{} times within a minute", issuer.asked());
    served.get(&second, "/v1/me").await.good();
    issuer.rotate("three", Signer::ed25519());
    let third = issuer.token("ana", &[], clock.now());
    assert_eq!(served.get(&third, "/v1/me").await.status, 401, "for a minute nobody is asked");
    later(&clock, 61);
    served.get(&third, "/v1/me").await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_is_away_lets_people_work_for_a_day_with_the_keys_that_are_known() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    issuer.is_down(true);
    let token = issuer.token("olga", &[], clock.now());
    let away = served.get(&token, "/v1/me").await;
    assert_eq!(away.refused(), (401, "unauthenticated".into()));
    assert!(away.text.contains("cannot be checked now"), "{}", away.text);
    assert!(!away.text.contains("127.0.0.1"), "what the server calls is nobody's business: {}", away.text);
    issuer.is_down(false);
    later(&clock, 61);
    served.get(&token, "/v1/me").await.good();
    issuer.is_down(true);
    later(&clock, DAY - 100);
    let token = issuer.token("olga", &[], clock.now());
    served.get(&token, "/v1/me").await.good();
    later(&clock, 200);
    assert_eq!(served.get(&token, "/v1/me").await.status, 401, "a day later nobody knows which keys were taken back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_counts_for_a_day_after_its_issuer_said_so_and_readiness_says_why_not() {
    let (served, issuer, clock) = house(Signer::ed25519(), by_issuer).await;
    let token = |name: &str, groups: &[&str]| issuer.token(name, groups, clock.now());
    let dee = token("dee", &["owners"]);
    served.post(&dee, "/v1/keys", json!({ "key_id": KEY, "owning_group": "owners" })).await.good();
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    served.passes(&digest).await;
    let id = served.open(KEY, "production", &digest, json!({})).await;
    let show = format!("/v1/promotions/{id}");
    let item = async || {
        let view = served.get("rita", &show).await.good();
        view["readiness"].as_array().unwrap().iter().find(|item| item["kind"] == "approval").unwrap().clone()
    };
    assert_eq!(item().await["who"], json!(["group:owners"]), "ana was never seen");
    let view = served.get("ana", &show).await.good();
    let vote = json!({
        "verdict": "approve", "rationale": "read it", "statement": view["statement"], "acknowledged_hidden": view["hidden"],
    });
    assert_eq!(served.post("ana", &format!("{show}/approvals"), vote).await.status, 403, "nobody said that she is in the group");
    let ana = token("ana", &["owners"]);
    served.approve(&ana, &id).await;
    let approval = served.get("rita", &show).await.good()["approvals"][0].clone();
    assert_eq!((&approval["login_method"], &approval["groups"]), (&json!("oidc:corp"), &json!(["owners"])));
    assert_eq!(item().await["status"], "met");

    // A token of the registry says nothing of groups, so it keeps nothing fresh.
    later(&clock, DAY + 1);
    served.get("ana", "/v1/me").await.good();
    let refused = served.post("carol", &format!("{show}/apply"), json!({})).await;
    assert_eq!(refused.refused(), (409, "policy_unmet".into()));
    assert!(refused.text.contains("person:ana was last seen in it over 24 h ago"), "{}", refused.text);

    let ana = token("ana", &["owners"]);
    served.get(&ana, "/v1/me").await.good();
    served.post("carol", &format!("{show}/apply"), json!({})).await.good();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_left_the_group_between_approval_and_apply_counts_no_more_and_an_older_token_does_not_bring_it_back() {
    let (served, issuer, clock) = house(Signer::ed25519(), by_issuer).await;
    let dee = issuer.token("dee", &["owners"], clock.now());
    served.post(&dee, "/v1/keys", json!({ "key_id": KEY, "owning_group": "owners" })).await.good();
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    served.passes(&digest).await;
    let id = served.open(KEY, "production", &digest, json!({})).await;
    let before = issuer.token("ana", &["owners"], clock.now());
    served.approve(&before, &id).await;
    later(&clock, 10);
    let after = issuer.token("ana", &[], clock.now());
    assert_eq!(served.get(&after, "/v1/me").await.good()["groups"], json!([]));
    assert_eq!(
        served.get(&before, "/v1/me").await.good()["groups"],
        json!([]),
        "the older token is still good, its groups are not"
    );
    let refused = served.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await;
    assert_eq!(refused.refused(), (409, "policy_unmet".into()));
    assert!(refused.text.contains("0 of 1 approvals by group owners"), "{}", refused.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_issuer_said_outlives_the_server() {
    let (served, issuer, clock) = house(Signer::ed25519(), by_issuer).await;
    let ana = issuer.token("ana", &["owners"], clock.now());
    served.get(&ana, "/v1/me").await.good();
    // It is kept beside the request; a change that waits for the writer comes after it.
    let db = &served.registry.db;
    let kept = async || db.read().await.unwrap().conn().sight_all().await.unwrap();
    while kept().await.is_empty() {
        tokio::task::yield_now().await;
    }
    let again = served.restarted().await;
    assert_eq!(again.get("ana", "/v1/me").await.good()["groups"], json!(["owners"]));
    later(&clock, DAY + 1);
    let late = served.restarted().await;
    let ana = issuer.token("ana", &["nothing"], clock.now());
    assert_eq!(late.get(&ana, "/v1/me").await.good()["groups"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_with_two_accounts_is_one_person() {
    let two = |issuer: &Issuer| {
        let policy = served_by(issuer).replace("count = 1", "count = 2");
        let policy = policy.replace("\"person:ana\", \"person:bob\"", "\"person:ana\", \"person:ana.corp\", \"person:bob\"");
        format!(
            "{policy}\n[person.ana]\nalso = [\"person:ana.corp\"]\n[person.dee]\nalso = [\"person:dee.corp\"]\n\
             [[role]]\nwho = \"person:ana.corp\"\nrole = \"approver\"\n[[role]]\nwho = \"person:dee.corp\"\nrole = \"approver\"\n"
        )
    };
    let (served, issuer, clock) = house(Signer::ed25519(), two).await;
    served.key(KEY).await;
    let digest = served.version(KEY, "A greeting.").await;
    served.into_dev(KEY, &digest).await;
    served.passes(&digest).await;
    let id = served.open(KEY, "production", &digest, json!({})).await;
    served.approve("ana", &id).await;
    served.approve(&issuer.token("ana.corp", &[], clock.now()), &id).await;
    let refused = served.post("carol", &format!("/v1/promotions/{id}/apply"), json!({})).await;
    assert_eq!(refused.refused(), (409, "policy_unmet".into()));
    assert!(refused.text.contains("1 of 2 approvals"), "{}", refused.text);
    // The author cannot approve by her other account either.
    let dee = issuer.token("dee.corp", &[], clock.now());
    let view = served.get(&dee, &format!("/v1/promotions/{id}")).await.good();
    let vote = json!({
        "verdict": "approve", "rationale": "mine", "statement": view["statement"], "acknowledged_hidden": view["hidden"],
    });
    let refused = served.post(&dee, &format!("/v1/promotions/{id}/approvals"), vote).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    served.approve("bob", &id).await;
    served.apply(&id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_the_token_of_an_issuer_does() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    let token = issuer.token("rita", &[], clock.now());
    let mut stream = served.request(&token, Method::GET, "/v1/stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert!(stream.chunk().await.unwrap().is_some(), "it says that it lives");
    later(&clock, 300 + 60);
    let ends = async { while stream.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), ends).await.expect("within twenty seconds");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_issuer_is_taken_out_of_the_policy() {
    let (served, issuer, clock) = house(Signer::ed25519(), served_by).await;
    let token = issuer.token("rita", &[], clock.now());
    let mut stream = served.request(&token, Method::GET, "/v1/stream").send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let without = json!({ "source": policy::SERVED, "rationale": "another house" });
    served.post("root", "/v1/policy", without).await.good();
    let ends = async { while stream.chunk().await.unwrap().is_some() {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), ends).await.expect("within twenty seconds");
    assert_eq!(served.get(&token, "/v1/me").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_token_yet_learns_where_to_log_in_and_nothing_else() {
    let (served, issuer, _) = house(Signer::ed25519(), served_by).await;
    let offers = served.get("nobody", "/v1/login").await.good();
    let offer = json!({
        "name": "corp", "url": issuer.url, "client": "countersign-cli", "scopes": "openid profile offline_access",
    });
    assert_eq!(offers, json!({ "issuers": [offer] }));
    assert_eq!(Served::start().await.get("nobody", "/v1/login").await.good(), json!({ "issuers": [] }));
}

/// The program against a registry of this process.
mod program {
    use super::served_by;
    use crate::support::issuer::{Issuer, Signer};
    use crate::support::program::{Said, program, said};
    use crate::support::registry::Served;
    use countersign::clock::Clock;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    async fn run(home: &Path, server: &str, line: &str) -> Said {
        let (home, server, words) = (home.to_owned(), server.to_owned(), line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        tokio::task::spawn_blocking(move || said(program(&home).args(words).env("COUNTERSIGN_SERVER", server))).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_person_logs_in_by_device_and_the_login_renews_itself() {
        let issuer = Issuer::start(Signer::rsa()).await;
        let served = Served::with_policy(&served_by(&issuer)).await;
        let home = tempfile::tempdir().unwrap();
        let server = format!("http://{}", served.address);
        let clock = Clock::System;
        let (url, first) = (issuer.url.clone(), issuer.claims("ana", &["release"], clock.now()));
        // Its token is about to end, so that the next command must renew it.
        issuer.expect(2, move || {
            let mut claims = first.clone();
            claims["exp"] = json!(claims["iat"].as_i64().unwrap() + 30);
            claims
        });
        let login = run(home.path(), &server, "login --oidc").await;
        login.good();
        assert!(login.err.contains("WDJB-MJHT") && login.err.contains(&format!("{url}/enter")), "{}", login.err);
        assert!(login.out.contains("person:ana") && login.out.contains("logged in with corp"), "{}", login.out);
        let file = home.path().join("config/tokens.json");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(kept.contains("refresh-"), "{kept}");
        for secret in ["refresh-", "eyJ"] {
            assert!(!login.out.contains(secret) && !login.err.contains(secret), "no secret is shown");
        }

        let second = issuer.claims("ana", &[], clock.now());
        issuer.expect(0, move || second.clone());
        run(home.path(), &server, "whoami").await.good();
        let renewed = std::fs::read_to_string(&file).unwrap();
        assert_ne!(renewed, kept, "a renewed login is kept");
        run(home.path(), &server, "whoami").await.good();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), renewed, "one that lasts is not renewed again");
        run(home.path(), &server, "logout").await.good();
        run(home.path(), &server, "whoami").await.fails(4, "needs a token");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_login_that_is_refused_says_so_and_keeps_nothing() {
        let issuer = Issuer::start(Signer::ed25519()).await;
        let served = Served::with_policy(&served_by(&issuer)).await;
        let home = tempfile::tempdir().unwrap();
        let server = format!("http://{}", served.address);
        run(home.path(), &server, "login --oidc").await.fails(4, "access_denied");
        run(home.path(), &server, "login --oidc elsewhere").await.fails(2, "no issuer \"elsewhere\"");
        // The issuer gives a token that the registry does not take.
        let mut wrong = issuer.claims("ana", &[], Clock::System.now());
        wrong["aud"] = json!("another");
        issuer.expect(0, move || wrong.clone());
        run(home.path(), &server, "login --oidc").await.fails(4, "is for somebody else");
        assert!(!home.path().join("config/tokens.json").exists());
        let plain = Served::start().await;
        run(home.path(), &format!("http://{}", plain.address), "login --oidc").await.fails(1, "names no issuer");
    }
}
