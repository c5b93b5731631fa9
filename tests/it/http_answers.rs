//! What served earlier, where a digest served, what changed, who would move: asked over HTTP, on either engine.

use crate::support::engines::{Place, on_each_engine};
use crate::support::registry::{POLICY, Served};
use countersign::clock::Clock;
use countersign::model::UnitType;
use countersign::rules::bucketing::unit_hash;
use serde_json::{Value, json};

const KEY: &str = "support.greeting";

async fn served(place: &Place) -> Served {
    Served::over(place.db.clone(), tempfile::tempdir().unwrap(), POLICY, Clock::System).await
}

async fn as_of(served: &Served, when: Value, unit: Option<&str>) -> Value {
    let mut body = when;
    if let Some(unit) = unit {
        body["unit"] = json!(unit);
    }
    served.post("rita", &format!("/v1/environments/production/resolve/{KEY}/as-of"), body).await.good()
}

/// Two digests: the first for everybody, the second at 25 %, killed, and the safe default's.
async fn history(served: &Served) -> [String; 3] {
    served.key(KEY).await;
    let safe = served.version(KEY, "A safe greeting.").await;
    let first = served.version(KEY, "The first greeting.").await;
    let second = served.version(KEY, "The second greeting.").await;
    served.into_production(KEY, &safe, json!({ "environment": "@safe-default" })).await;
    served.into_dev(KEY, &first).await;
    served.into_production(KEY, &first, json!({ "percent": 100 })).await;
    served.into_dev(KEY, &second).await;
    served.into_production(KEY, &second, json!({})).await;
    [safe, first, second]
}

#[test]
fn every_answer_of_the_past_can_be_asked_for_again() {
    on_each_engine(async |place| {
        let served = served(place).await;
        let [safe, first, _] = history(&served).await;
        let mut seen: Vec<(u64, Vec<Value>)> = Vec::new();
        let units: Vec<String> = (0..20).map(|n| format!("u{n}")).collect();
        for act in ["", "step", "quarantine", "kill", "undo-kill", "rollback"] {
            let why = json!({ "rationale": "because" });
            match act {
                "" => {}
                "quarantine" => {
                    served.post("ana", &format!("/v1/versions/{safe}/quarantine"), why).await.good();
                }
                "kill" => {
                    served.act("olga", KEY, "production", "kill", json!({ "reason": "test", "note": "drill" })).await.good();
                }
                "undo-kill" => drop(served.act("olga", KEY, "production", act, why).await.good()),
                _ => drop(served.act("carol", KEY, "production", act, why).await.good()),
            }
            let mut answers = Vec::new();
            for unit in &units {
                answers.push(served.resolve(KEY, "production", unit).await);
            }
            seen.push((served.head().await, answers));
        }
        for (seq, answers) in &seen {
            for (unit, answer) in units.iter().zip(answers) {
                let then = as_of(&served, json!({ "seq": seq }), Some(unit)).await;
                assert_eq!(then["as_of"]["seq"], *seq);
                for member in ["digest", "reason", "bucket", "content", "killed", "revision"] {
                    assert_eq!(then[member], answer[member], "{member} of {unit} as of #{seq}");
                }
                assert!(!then["steps"].as_array().unwrap().is_empty());
                let at = then["as_of"]["at"].clone();
                assert_eq!(as_of(&served, json!({ "time": at }), Some(unit)).await["digest"], answer["digest"], "by time");
            }
        }
        let whole = json!({ "seq": seen[0].0 });
        assert_eq!(as_of(&served, whole, None).await["digest"], first.as_str(), "no unit: the baseline");
        let path = format!("/v1/environments/production/resolve/{KEY}/as-of");
        for (body, code) in [
            (json!({}), (422, "invalid")),
            (json!({ "seq": 1, "time": "2026-11-30T12:00:00Z" }), (422, "invalid")),
            (json!({ "seq": 1_000_000 }), (422, "invalid")),
            (json!({ "time": "1970-01-01T00:00:00Z" }), (422, "invalid")),
            (json!({ "seq": 1 }), (404, "not_found")),
        ] {
            assert_eq!(served.post("rita", &path, body.clone()).await.refused(), (code.0, code.1.into()), "{body}");
        }
    });
}

#[test]
fn a_digest_says_where_it_served_to_how_many_and_who_let_it() {
    on_each_engine(async |place| {
        let served = served(place).await;
        let [safe, first, second] = history(&served).await;
        served.act("olga", KEY, "production", "kill", json!({ "reason": "quality", "note": "rude" })).await.good();
        let told = |answer: &Value| -> Vec<(String, String, f64, bool)> {
            let period = |p: &Value| {
                let word = |name: &str| p[name].as_str().unwrap().to_owned();
                (word("environment"), word("served_as"), p["share"].as_f64().unwrap(), p["until"].is_null())
            };
            answer["periods"].as_array().unwrap().iter().map(period).collect()
        };
        let row = |environment: &str, served_as: &str, share: f64, now: bool| (environment.into(), served_as.into(), share, now);
        let answer = served.get("rita", &format!("/v1/versions/{second}/served")).await.good();
        assert_eq!(told(&answer), [row("dev", "digest", 100.0, true), row("production", "digest", 25.0, false)]);
        let approved = answer["approved"].as_array().unwrap();
        let votes: Vec<&Value> = approved.iter().flat_map(|a| a["approvals"].as_array().unwrap()).collect();
        assert_eq!(votes.len(), 1, "dev asks for no approval");
        assert_eq!((votes[0]["approver"].as_str(), votes[0]["rationale"].as_str()), (Some("person:ana"), Some("read it")));
        let answer = served.get("rita", &format!("/v1/versions/{first}/served")).await.good();
        let expected = [
            row("dev", "digest", 100.0, false),
            row("production", "digest", 100.0, false),
            row("production", "baseline", 75.0, false),
        ];
        assert_eq!(told(&answer), expected);
        let answer = served.get("rita", &format!("/v1/versions/{safe}/served")).await.good();
        assert_eq!(told(&answer), [row("production", "safe_default", 100.0, true)]);
        assert_eq!(answer["periods"][0]["began_by"]["act"], "kill");
        assert_eq!(served.get("eve", &format!("/v1/versions/{safe}/served")).await.status, 404);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_counts_who_would_move_and_the_change_moves_those() {
    let served = Served::start().await;
    let [_, first, second] = history(&served).await;
    let units: Vec<String> = (0..2000).map(|n| format!("u{n}")).collect();
    let hashes: Vec<String> =
        units.iter().map(|unit| unit_hash(&served.registry.snapshot.get().pepper().0, UnitType::User, unit).unwrap()).collect();
    let ask = json!({ "key_id": KEY, "environment": "production", "percent": 50, "unit_hashes": hashes });
    let head = served.head().await;
    let preview = served.post("rita", "/v1/promotions/preview", ask).await.good();
    assert_eq!(served.head().await, head, "a question changes nothing");
    let gets = |flow: &Value| (flow["from"].as_str() == Some(&first), flow["to"].as_str() == Some(&second));
    let moved = preview["units"].as_array().unwrap().iter().find(|flow| gets(flow) == (true, true)).unwrap()["units"].clone();
    let expected = preview["expected"].as_array().unwrap().iter().find(|flow| gets(flow) == (true, true)).unwrap();
    assert_eq!(expected["percent"], 25);
    let mut before = Vec::new();
    for unit in &units {
        before.push(served.resolve(KEY, "production", unit).await["digest"].clone());
    }
    served.act("carol", KEY, "production", "step", json!({ "rationale": "looks good" })).await.good();
    let mut count = 0;
    for (unit, before) in units.iter().zip(before) {
        let after = served.resolve(KEY, "production", unit).await["digest"].clone();
        assert!(before != second.as_str() || after == second.as_str(), "raising a share takes the digest from nobody");
        count += u64::from(before != after);
    }
    assert_eq!(moved, count);
    for bad in [json!(["x"]), json!([hashes[0].to_uppercase()]), json!(vec!["0".repeat(64); 10_001])] {
        let ask = json!({ "key_id": KEY, "environment": "production", "unit_hashes": bad });
        assert_eq!(served.post("rita", "/v1/promotions/preview", ask).await.refused().0, 422);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_found_by_the_text_and_the_model_that_they_serve() {
    let served = Served::start().await;
    history(&served).await;
    let count = async |who: &str, query: &str| {
        served.get(who, &format!("/v1/keys?{query}")).await.good()["items"].as_array().unwrap().len()
    };
    assert_eq!(count("rita", "text=first+greeting&environment=production").await, 1, "a baseline serves");
    assert_eq!(count("rita", "text=first+greeting&environment=dev").await, 0, "it serves there no longer");
    assert_eq!(count("rita", "text=safe+greeting").await, 0, "a safe default serves nobody yet");
    served.act("olga", KEY, "production", "kill", json!({ "reason": "test", "note": "drill" })).await.good();
    assert_eq!(count("rita", "text=safe+greeting&environment=production").await, 1);
    assert_eq!(count("rita", "text=first+greeting&environment=production").await, 0, "nobody gets it");
    assert_eq!(count("rita", "model_pin=none").await, 0);
    for (pattern, found) in [("support.**", 1), ("support.*", 1), ("greet", 1), ("search.**", 0)] {
        let query = format!("pattern={pattern}&text=safe+greeting&environment=production");
        assert_eq!(count("rita", &query).await, found, "{pattern}");
    }
    for n in 0..5 {
        let key = format!("support.page{n}");
        served.key(&key).await;
        let digest = served.version(&key, "the same words").await;
        served.into_dev(&key, &digest).await;
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = served.get("rita", &format!("/v1/keys?text=same+words&limit=2{cursor}")).await.good();
        names.extend(page["items"].as_array().unwrap().iter().map(|row| row["key_id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(names, (0..5).map(|n| format!("support.page{n}")).collect::<Vec<_>>(), "in their order, each once");
    assert_eq!(served.get("rita", "/v1/keys?text=").await.refused().0, 422);
    assert_eq!(served.get("rita", "/v1/keys?environment=dev").await.refused().0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_trail_is_filtered_by_environment_and_namespace() {
    let served = Served::start().await;
    history(&served).await;
    served.key("search.query").await;
    let all = served.get("audi", "/v1/audit?limit=1000").await.good()["items"].as_array().unwrap().clone();
    let ask = async |query: &str| served.get("audi", &format!("/v1/audit?limit=1000&{query}")).await.good()["items"].clone();
    let here: Vec<&Value> = all.iter().filter(|event| event["detail"]["environment"] == "dev").collect();
    assert!(here.len() >= 4);
    assert_eq!(ask("environment=dev").await, json!(here));
    let support = ask("namespace=support.**").await.as_array().unwrap().len();
    let search = ask("namespace=search.**").await;
    assert_eq!((search.as_array().unwrap().len(), search[0]["action"].as_str()), (1, Some("key.create")));
    let about_keys = all.iter().filter(|e| !["policy.apply", "token.create"].contains(&e["action"].as_str().unwrap())).count();
    assert_eq!(support + 1, about_keys);
    // One at a time it is the same list.
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = served.get("audi", &format!("/v1/audit?limit=1&environment=dev{cursor}")).await.good();
        paged.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(json!(paged), json!(here));
}
