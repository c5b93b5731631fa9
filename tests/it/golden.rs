//! The golden vectors: what the rules compute equals what `fixtures/golden/recompute.py` computes from the rules' text alone.

use countersign::model::audit::AuditBody;
use countersign::model::{AuditEvent, BasisPoints, ChainHead, Content, Digest, Environment, EnvironmentRule, KeyId, UnitType};
use countersign::rules::bucketing::{Domain, bucket, inside, rollout_salt, unit_hash};
use countersign::rules::canonical::{canonical, content_digest, digest_of, fragment_digest, parse_strict};
use countersign::rules::checkpoint::{Checkpoint, origin};
use countersign::rules::note::Signer;
use countersign::rules::{chain, notice, policy, statement};
use serde_json::{Value, json};

fn golden() -> Value {
    parse_strict(include_bytes!("../../fixtures/golden/golden.json")).unwrap()
}

fn cases<'a>(golden: &'a Value, name: &str) -> &'a Vec<Value> {
    let cases = golden[name].as_array().unwrap();
    assert!(cases.len() > 1, "{name}");
    cases
}

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap_or_else(|| panic!("{name} in {case}"))
}

fn pepper(hex_digits: &str) -> [u8; 32] {
    let digest: Digest = format!("sha256:{hex_digits}").parse().unwrap();
    digest.0
}

#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    for case in cases(&golden(), "numbers") {
        let read = parse_strict(text(case, "json").as_bytes());
        // Beyond 2^53 - 1 without fraction or exponent the strict reader refuses; the canonical form is still a number's.
        let value = read.unwrap_or_else(|_| serde_json::from_str(text(case, "json")).unwrap());
        assert_eq!(String::from_utf8(canonical(&value)).unwrap(), text(case, "jcs"), "{case}");
    }
}

#[test]
fn contents_and_fragments_have_their_digests() {
    let golden = golden();
    for case in cases(&golden, "versions") {
        let content: Content = serde_json::from_value(case["content"].clone()).unwrap();
        assert_eq!(String::from_utf8(canonical(&content)).unwrap(), text(case, "jcs"), "{}", case["name"]);
        assert_eq!(content_digest(&content).to_string(), text(case, "digest"), "{}", case["name"]);
        // Canonical bytes read again are the same content, and the order in which members are sent does not matter.
        let again: Content = serde_json::from_slice(&canonical(&content)).unwrap();
        assert_eq!(content_digest(&again), content_digest(&content), "{}", case["name"]);
    }
    for case in cases(&golden, "fragments") {
        let digest = fragment_digest(text(&case["content"], "name"), text(&case["content"], "body"));
        assert_eq!(digest.to_string(), text(case, "digest"));
    }
}

#[test]
fn every_golden_content_is_one() {
    let golden = golden();
    let fragments = cases(&golden, "fragments").iter().map(|case| {
        let digest: Digest = text(case, "digest").parse().unwrap();
        let row = json!({
            "fragment_id": uuid::Uuid::nil(), "digest": digest, "name": case["content"]["name"], "owning_group": "g",
            "body": case["content"]["body"], "author": "person:dee", "created_at": "2026-11-30T12:00:00Z",
        });
        (digest, serde_json::from_value(row).unwrap())
    });
    let fragments = fragments.collect();
    for case in cases(&golden, "versions") {
        let content: Content = serde_json::from_value(case["content"].clone()).unwrap();
        let checked = countersign::rules::content::check(content, &fragments);
        assert_eq!(checked.map(|c| c.digest.to_string()), Ok(text(case, "digest").to_owned()), "{}", case["name"]);
    }
}

#[test]
fn another_model_pin_alone_is_another_digest() {
    let golden = golden();
    let case = &cases(&golden, "versions")[0];
    let mut content: Content = serde_json::from_value(case["content"].clone()).unwrap();
    content.model_pin = Some("another".into());
    assert_ne!(content_digest(&content).to_string(), text(case, "digest"));
}

#[test]
fn units_have_their_hashes_and_buckets() {
    let golden = golden();
    for case in cases(&golden, "unit_hashes") {
        let unit_type: UnitType = text(case, "unit_type").parse().unwrap();
        let hash = unit_hash(&pepper(text(case, "pepper_hex")), unit_type, text(case, "unit")).unwrap();
        assert_eq!(hash, text(case, "unit_hash"), "{case}");
    }
    for case in cases(&golden, "buckets") {
        let domain = match text(case, "domain") {
            "rollout" => Domain::Rollout,
            "variant" => Domain::Variant,
            other => {
                assert_eq!(other, "exclusion");
                Domain::Exclusion
            }
        };
        assert_eq!(json!(bucket(domain, text(case, "salt"), text(case, "unit_hash"))), case["bucket"], "{case}");
    }
}

#[test]
fn a_rollout_holds_the_units_that_anyone_can_recompute() {
    let golden = golden();
    let rollout = &golden["rollout"];
    let key: KeyId = text(rollout, "key").parse().unwrap();
    let environment: Environment = text(rollout, "environment").parse().unwrap();
    let salt = rollout_salt(&key, &environment, &text(rollout, "to").parse().unwrap());
    assert_eq!(salt, text(rollout, "salt"));
    let pepper = pepper(text(rollout, "pepper_hex"));
    let drawn = |n: u64| bucket(Domain::Rollout, &salt, &unit_hash(&pepper, UnitType::User, &format!("user-{n}")).unwrap());
    let drawn: Vec<u16> = (0..rollout["units"].as_u64().unwrap()).map(drawn).collect();
    assert_eq!(json!(drawn[..50]), rollout["first_buckets"]);
    for pair in rollout["inside"].as_array().unwrap() {
        let share = BasisPoints::new(u16::try_from(pair[0].as_u64().unwrap()).unwrap()).unwrap();
        assert_eq!(json!(drawn.iter().filter(|b| inside(**b, share)).count()), pair[1], "{pair}");
    }
}

#[test]
fn policies_have_their_digests_from_toml_and_from_json() {
    for case in cases(&golden(), "policies") {
        let read = policy::read(text(case, "toml")).unwrap();
        let key: KeyId = text(case, "key").parse().unwrap();
        let rule = policy::rule(&read, &key, &text(case, "environment").parse().unwrap()).unwrap();
        assert_eq!(canonical(&rule), canonical(&case["rule"]), "{}", case["rule"]["name"]);
        assert_eq!(statement::policy_digest(&rule).to_string(), text(case, "policy_digest"));
        // What a client got over the network gives the same digest.
        let received: EnvironmentRule = serde_json::from_value(case["rule"].clone()).unwrap();
        assert_eq!(statement::policy_digest(&received).to_string(), text(case, "policy_digest"));
    }
}

#[test]
fn statements_have_their_digests() {
    for case in cases(&golden(), "statements") {
        let input = &case["input"];
        let read = |name: &str| serde_json::from_value::<Option<Digest>>(input[name].clone()).unwrap();
        let statement = statement::Statement {
            act: text(input, "act").parse().unwrap(),
            key: text(input, "key").parse().unwrap(),
            environment: text(input, "environment").parse().unwrap(),
            from: read("from"),
            to: read("to"),
            baseline: read("baseline"),
            plan: serde_json::from_value(input["plan"].clone()).unwrap(),
            safe_default: read("safe_default"),
            policy_digest: read("policy_digest").unwrap(),
        };
        assert_eq!(String::from_utf8(canonical(&statement)).unwrap(), text(case, "jcs"));
        assert_eq!(statement.digest().to_string(), text(case, "statement"));
    }
}

#[test]
fn the_audit_chain_seals_and_verifies_as_written() {
    let mut head = chain::EMPTY;
    for case in cases(&golden(), "audit") {
        let body: AuditBody = serde_json::from_value(case["body"].clone()).unwrap();
        let sealed = chain::seal(&head, text(case, "at").parse().unwrap(), body);
        for name in ["seq", "at", "prev_hash", "body_hash", "event_id"] {
            assert_eq!(serde_json::to_value(&sealed).unwrap()[name], case[name], "{name} of {}", case["seq"]);
        }
        // Over the network and back.
        let received: AuditEvent = serde_json::from_str(&serde_json::to_string(&sealed).unwrap()).unwrap();
        head = chain::verify(&head, &received).unwrap();
        assert_eq!(digest_of(&case["body"]), sealed.body_hash);
    }
    assert_eq!(head.seq, 4);
}

#[test]
fn checkpoints_and_notices_have_their_signatures() {
    let golden = golden();
    for case in cases(&golden, "checkpoints") {
        let signer = Signer::new(&pepper(text(case, "seed_hex")));
        let named = |name: &str| text(&case["bundle"], name);
        let bundle =
            (!case["bundle"].is_null()).then(|| (named("environment").parse().unwrap(), named("digest").parse().unwrap()));
        let (seq, at) = (case["seq"].as_u64().unwrap(), text(case, "at").parse().unwrap());
        let head = ChainHead { seq, event_id: text(case, "event_id").parse().unwrap(), at };
        let checkpoint = Checkpoint { registry: text(case, "registry").parse().unwrap(), head, bundle, mirror: None };
        let key = signer.public(&origin(&checkpoint.registry));
        assert_eq!((checkpoint.sign(&signer), key.to_string()), (text(case, "note").into(), text(case, "key").into()));
        assert_eq!(Checkpoint::open(text(case, "note"), &key), Ok(checkpoint));
    }
    for case in cases(&golden, "webhooks") {
        let (secret, id, body) = (text(case, "secret"), text(case, "id"), text(case, "body").as_bytes());
        let signed = notice::signature(secret, id, case["seconds"].as_i64().unwrap(), body);
        assert_eq!(signed.as_deref(), Some(text(case, "signature")));
    }
}
