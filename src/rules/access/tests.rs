//! Who may do what, as tables.

use super::*;
use crate::model::{Timestamp, UnitType};
use crate::rules::policy;

const POLICY: &str = r#"
environment = [{ name = "dev" }, { name = "staging" }, { name = "production", protected = true }]
role = [
  { who = "person:rita", role = "reader" },
  { who = "person:dee", role = "author", namespace = "support.**" },
  { who = "group:support", role = "approver", namespace = "support.**" },
  { who = "person:carol", role = "releaser", environment = "production" },
  { who = "person:olaf", role = "oncall" },
  { who = "service:ci", role = "evaluator" },
  { who = "service:desk", role = "service", namespace = "support.**" },
  { who = "service:edge", role = "public", namespace = "support.**" },
  { who = "person:ida", role = "importer" },
  { who = "person:aud", role = "auditor" },
  { who = "person:priv", role = "privacy" },
  { who = "person:root", role = "admin" },
]
[group.support]
members = ["person:ana"]
[group.owners]
members = ["person:owen", "person:dee"]
"#;

fn policy() -> Policy {
    policy::read(POLICY).unwrap()
}
fn caller(actor: &str, scope: Scope) -> Caller {
    Caller { token_id: "cs_a".into(), owner: Actor::person("root"), scope, ..Caller::whole(actor.parse().unwrap()) }
}
fn key(id: &str, confidential: bool) -> ConfigKey {
    let key_id: crate::model::KeyId = id.parse().unwrap();
    ConfigKey {
        namespace: key_id.namespace().into(),
        key_id,
        owning_group: "owners".into(),
        unit_type: UnitType::User,
        confidential,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: Timestamp(0),
    }
}
fn code(actor: &str, scope: Scope, need: Need, key: Option<&ConfigKey>, environment: Option<&str>) -> Option<Code> {
    let environment = environment.map(|e| e.parse().unwrap());
    allowed(&policy(), &caller(actor, scope), need, key, environment.as_ref()).err().map(|refusal| refusal.code)
}

/// Who can do each thing on `support.greeting` in production, of everybody in the policy.
const WHO: &[(Need, &[&str])] = &[
    (Need::Read, &["rita", "dee", "ana", "carol", "olaf", "ci", "ida", "root", "owen"]),
    (Need::Resolve, &["rita", "dee", "ana", "carol", "olaf", "ci", "desk", "edge", "ida"]),
    (Need::Audit, &["rita", "dee", "ana", "carol", "olaf", "ci", "ida", "aud", "root", "owen"]),
    (Need::PolicyRead, &["rita", "dee", "ana", "carol", "olaf", "ci", "ida", "aud", "root"]),
    (Need::TokensRead, &["aud", "root"]),
    (Need::Draft, &["dee", "ida"]),
    (Need::Import, &["ida"]),
    (Need::Open, &["dee", "carol"]),
    (Need::Withdraw, &["dee", "carol", "root"]),
    (Need::Comment, &["rita", "dee", "ana", "carol", "olaf", "ci", "ida", "owen"]),
    (Need::Approve, &["ana"]),
    (Need::Override, &["rita", "dee", "ana", "carol", "olaf", "ci", "ida", "owen"]),
    (Need::Apply, &["carol"]),
    (Need::Step, &["carol"]),
    (Need::StepDown, &["carol", "olaf"]),
    (Need::Hold, &["carol", "olaf"]),
    (Need::Resume, &["carol"]),
    (Need::Revive, &["carol"]),
    (Need::Rollback, &["carol", "olaf"]),
    (Need::Kill, &["carol", "olaf"]),
    (Need::UndoKill, &["carol", "olaf"]),
    (Need::Note, &["carol", "olaf"]),
    (Need::CloseReview, &["ana", "olaf"]),
    (Need::Quarantine, &["ana", "olaf"]),
    (Need::Lift, &["ana"]),
    (Need::Report, &["ci"]),
    (Need::CreateKey, &["dee", "ida", "root"]),
    (Need::KeyAdmin, &["dee", "owen", "root"]),
    (Need::Policy, &["root"]),
    (Need::Tokens, &["root"]),
    (Need::Webhooks, &["root"]),
    (Need::Privacy, &["priv"]),
];
const EVERYBODY: &[&str] = &[
    "person:rita",
    "person:dee",
    "person:ana",
    "person:carol",
    "person:olaf",
    "service:ci",
    "service:desk",
    "service:edge",
    "person:ida",
    "person:aud",
    "person:priv",
    "person:root",
    "person:owen",
    "person:nobody",
];

#[test]
fn each_need_has_exactly_its_people() {
    assert_eq!(WHO.iter().map(|(need, _)| *need).collect::<Vec<_>>(), Need::ALL);
    let key = key("support.greeting", false);
    for (need, who) in WHO {
        for actor in EVERYBODY {
            let may = code(actor, Scope::Full, *need, Some(&key), Some("production")).is_none();
            let name = actor.split_once(':').unwrap().1;
            assert_eq!(may, who.contains(&name), "{actor} {need:?}");
        }
    }
}

#[test]
fn what_is_in_reach_is_what_is_allowed() {
    let policy = policy();
    let keys =
        [key("support.greeting", false), key("support.greeting", true), key("search.rank", false), key("search.rank", true)];
    for actor in EVERYBODY {
        for scope in Scope::ALL.iter().copied() {
            let caller = caller(actor, scope);
            for need in [Need::Resolve, Need::Read, Need::Kill] {
                for place in ["staging", "production"] {
                    let environment = place.parse().unwrap();
                    let within = reach(&policy, &caller, need, &environment);
                    for key in &keys {
                        let may = allowed(&policy, &caller, need, Some(key), Some(&environment)).is_ok();
                        assert_eq!(within(key), may, "{actor} {scope} {need:?} {place} {key:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_token_is_for_the_one_environment_in_which_it_resolves() {
    let at = |roles: &str| {
        let policy =
            policy::read(&format!("environment = [{{ name = \"dev\" }}, {{ name = \"production\" }}]\nrole = [{roles}]"));
        home(&policy.unwrap(), &caller("service:desk", Scope::Full)).map(|environment| environment.to_string())
    };
    let grant = |rest: &str| format!("{{ who = \"service:desk\", {rest} }},");
    let (dev, production) = (r#"role = "service", environment = "dev""#, r#"role = "service", environment = "production""#);
    assert_eq!(at(""), None);
    assert_eq!(at(&grant(production)), Some("production".into()));
    assert_eq!(at(&format!("{}{}", grant(production), grant(dev))), None);
    assert_eq!(at(&grant(r#"role = "service""#)), None);
    // What does not resolve says nothing.
    assert_eq!(
        at(&format!("{}{}", grant(production), grant(r#"role = "auditor", environment = "dev""#))),
        Some("production".into())
    );
}

#[test]
fn being_admin_alone_moves_nothing() {
    let key = key("support.greeting", false);
    for need in [Need::Open, Need::Approve, Need::Override, Need::Apply, Need::Step, Need::Kill, Need::Revive, Need::Rollback] {
        assert_eq!(code("person:root", Scope::Full, need, Some(&key), Some("production")), Some(Code::Forbidden), "{need:?}");
    }
}

#[test]
fn a_grant_counts_only_in_its_namespace_and_environment() {
    let (support, search) = (key("support.greeting", false), key("search.rank", false));
    assert_eq!(code("person:carol", Scope::Full, Need::Apply, Some(&support), Some("staging")), Some(Code::Forbidden));
    // A safe default moves under the last protected environment.
    assert_eq!(code("person:carol", Scope::Full, Need::Apply, Some(&support), Some("@safe-default")), None);
    assert_eq!(code("person:ana", Scope::Full, Need::Approve, Some(&search), Some("production")), Some(Code::NotFound));
    assert_eq!(code("person:ana", Scope::Full, Need::Approve, None, None), None, "somewhere at all");
    assert_eq!(code("person:rita", Scope::Full, Need::Approve, None, None), Some(Code::Forbidden));
}

#[test]
fn a_confidential_key_is_hidden_from_all_but_its_owners_and_those_granted_its_namespace_by_name() {
    let secret = key("support.fraud.rules", true);
    let policy = policy();
    for actor in EVERYBODY {
        let may = sees(&policy, &caller(actor, Scope::Full), &secret);
        let expected = ["person:owen", "person:dee", "person:ana", "service:desk"].contains(actor);
        assert_eq!(may, expected, "{actor}");
        if !may {
            for need in Need::ALL.iter().filter(|need| **need != Need::CreateKey) {
                assert_eq!(code(actor, Scope::Full, *need, Some(&secret), None), Some(Code::NotFound), "{actor} {need:?}");
            }
        }
    }
    assert!(!sees(&policy, &caller("person:ana", Scope::Full), &key("search.rank", true)));
}

#[test]
fn a_grant_for_everywhere_does_not_reach_a_confidential_key_that_another_grant_shows() {
    let wide = POLICY.replace("role = [", "role = [\n{ who = \"person:ana\", role = \"releaser\" },");
    let policy = policy::read(&wide).unwrap();
    let ana = caller("person:ana", Scope::Full);
    assert!(allowed(&policy, &ana, Need::Approve, Some(&key("support.fraud.rules", true)), None).is_ok());
    assert!(allowed(&policy, &ana, Need::Apply, Some(&key("support.fraud.rules", true)), None).is_err());
    assert!(allowed(&policy, &ana, Need::Apply, Some(&key("support.fraud.rules", false)), None).is_ok());
}

#[test]
fn a_kill_token_only_kills_and_a_read_token_only_reads() {
    let key = key("support.greeting", false);
    for need in Need::ALL {
        let kills = code("person:olaf", Scope::Kill, *need, Some(&key), Some("production")).is_none();
        assert_eq!(kills, *need == Need::Kill, "{need:?}");
        let reads = code("person:olaf", Scope::Read, *need, Some(&key), Some("production")).is_none();
        assert_eq!(reads, matches!(need, Need::Read | Need::Resolve | Need::Audit | Need::PolicyRead), "{need:?}");
    }
}

#[test]
fn a_token_that_resolves_does_nothing_else_and_a_public_one_knows_of_nothing_confidential() {
    let (open, secret) = (key("support.greeting", false), key("support.greeting", true));
    for scope in [Scope::Service, Scope::Public] {
        for need in Need::ALL {
            let may = code("person:dee", scope, *need, Some(&open), Some("production")).is_none();
            assert_eq!(may, *need == Need::Resolve, "{scope} {need:?}");
        }
    }
    let of = |scope| code("service:desk", scope, Need::Resolve, Some(&secret), Some("production"));
    assert_eq!((of(Scope::Service), of(Scope::Public)), (None, Some(Code::NotFound)));
    assert_eq!(code("person:owen", Scope::Public, Need::Resolve, Some(&secret), None), Some(Code::NotFound), "an owner's too");
    let shown = |scope| sees_unit_hash(&policy(), &caller("service:desk", scope));
    assert!(shown(Scope::Service) && !shown(Scope::Public));
}

#[test]
fn a_token_for_one_environment_acts_there_alone_and_changes_nothing_that_belongs_to_all() {
    let key = key("support.greeting", false);
    let policy = policy();
    let bound = |actor: &str| Caller { environment: Some("production".parse().unwrap()), ..caller(actor, Scope::Full) };
    let may = |actor: &str, need: Need, place: Option<&str>| {
        let place = place.map(|place| place.parse().unwrap());
        allowed(&policy, &bound(actor), need, Some(&key), place.as_ref()).is_ok()
    };
    assert!(may("person:olaf", Need::Kill, Some("production")) && !may("person:olaf", Need::Kill, Some("staging")));
    assert!(may("person:rita", Need::Resolve, Some("production")) && !may("person:rita", Need::Resolve, Some("dev")));
    assert!(may("person:rita", Need::Read, None), "what belongs to no environment can be read");
    for need in Need::ALL.iter().filter(|need| !need.reads()) {
        for actor in EVERYBODY {
            assert!(!may(actor, *need, None), "{actor} {need:?}");
        }
    }
    assert!(!bound("person:root").is_whole());
    assert_eq!(home(&policy, &bound("person:rita")), Some("production".parse().unwrap()));
}

#[test]
fn a_refusal_names_the_roles_that_it_takes() {
    let refusal = allowed(&policy(), &caller("person:rita", Scope::Full), Need::Kill, None, None).unwrap_err();
    assert_eq!(refusal.detail, "person:rita may not kill");
    assert_eq!(refusal.hint.as_deref(), Some("it takes the role releaser or oncall there"));
}
