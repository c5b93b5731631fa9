//! Reading a policy from TOML, merging its rule for a key, and who is who in it.

mod grammar;
mod issuers;
mod walk;

pub use issuers::{FRESH_SECONDS, is_fresh, is_safe_url, with_sights};

use crate::model::policy::{EnvironmentFields, EnvironmentOverride, EnvironmentPolicy};
use crate::model::{Actor, ConfigKey, Environment, EnvironmentRule, KeyId, Policy, Refusal};

/// Reads a policy and refuses what is wrong in it, or not supported, with its line.
///
/// # Errors
/// `invalid`; the detail begins with `line N:` and `path` is `/policy`.
pub fn read(source: &str) -> Result<Policy, Refusal> {
    grammar::read(source)
}

/// The merged rule of an environment for a key: the environment's fields, replaced whole by those of the override whose
/// pattern matches the key's namespace with the longest literal prefix. [`Environment::safe_default`] gets the rule of the
/// last protected environment, under the name `@safe-default`. None: the policy has no such environment.
pub fn rule(policy: &Policy, key: &KeyId, environment: &Environment) -> Option<EnvironmentRule> {
    let name = if environment.is_safe_default() { last_protected(policy, key)? } else { environment.as_str() };
    let found = policy.environments.iter().find(|candidate| candidate.name == name)?;
    let fields = merged(found, key);
    let gates = fields.gates.iter().flatten();
    let gate = gates.filter_map(|gate| Some((gate.clone(), policy.gates.get(gate)?.clone()))).collect();
    Some(EnvironmentRule {
        name: environment.to_string(),
        protected: fields.protected,
        after: fields.after,
        soak: fields.soak,
        plan: fields.plan,
        gates: fields.gates,
        approvals: fields.approvals,
        freeze: fields.freeze,
        safe_default: fields.safe_default,
        expires: fields.expires,
        acknowledge_hidden: fields.acknowledge_hidden,
        advance: fields.advance,
        break_glass: fields.break_glass,
        guards: None,
        alias: fields.alias,
        gate,
    })
}

/// The override of an environment that rules a key: of those whose pattern covers its namespace, that with the longest literal
/// prefix. Ties were refused when the policy was read.
fn overriding<'a>(environment: &'a EnvironmentPolicy, key: &KeyId) -> Option<&'a EnvironmentOverride> {
    let fitting = environment.overrides.iter().filter(|o| matches(&o.namespace, key.namespace()));
    fitting.max_by_key(|o| o.namespace.split('.').filter(|segment| !segment.starts_with('*')).count())
}

fn merged(environment: &EnvironmentPolicy, key: &KeyId) -> EnvironmentFields {
    let base = environment.fields.clone();
    let Some(over) = overriding(environment, key).map(|o| o.fields.clone()) else { return base };
    EnvironmentFields {
        protected: over.protected.or(base.protected),
        after: over.after.or(base.after),
        soak: over.soak.or(base.soak),
        plan: over.plan.or(base.plan),
        gates: over.gates.or(base.gates),
        approvals: over.approvals.or(base.approvals),
        freeze: over.freeze.or(base.freeze),
        safe_default: over.safe_default.or(base.safe_default),
        expires: over.expires.or(base.expires),
        acknowledge_hidden: over.acknowledge_hidden.or(base.acknowledge_hidden),
        advance: over.advance.or(base.advance),
        break_glass: over.break_glass.or(base.break_glass),
        alias: over.alias.or(base.alias),
    }
}

/// Where each field of the merged rule comes from: the field, its section and its line, in the order of fields. Fields that are
/// not set are left out.
pub fn origins(policy: &Policy, key: &KeyId, environment: &Environment) -> Vec<(&'static str, String, usize)> {
    let name = if environment.is_safe_default() { last_protected(policy, key) } else { Some(environment.as_str()) };
    let Some(found) = policy.environments.iter().find(|candidate| Some(candidate.name.as_str()) == name) else {
        return Vec::new();
    };
    let over = overriding(found, key);
    let origin = |field: &&'static str| {
        let replaced = over.and_then(|over| Some((format!("[[environment.for]] {}", over.namespace), *over.lines.get(*field)?)));
        let own = || Some((format!("[[environment]] {}", found.name), *found.lines.get(*field)?));
        let (section, line) = replaced.or_else(own)?;
        Some((*field, section, line))
    };
    grammar::FIELDS.iter().filter_map(origin).collect()
}

/// The environment whose rule safe defaults follow: the last that is protected for the key; where none is, the last.
pub fn last_protected<'a>(policy: &'a Policy, key: &KeyId) -> Option<&'a str> {
    let protected = |environment: &&EnvironmentPolicy| merged(environment, key).protected == Some(true);
    let last = policy.environments.iter().rfind(protected).or(policy.environments.last());
    last.map(|environment| environment.name.as_str())
}

/// Members of a group as the policy says now; empty for a group that it does not know.
pub fn group_members<'a>(policy: &'a Policy, group: &str) -> &'a [Actor] {
    policy.groups.get(group).map_or(&[], Vec::as_slice)
}

/// The group that an approval rule names for a key: `@owning` is the key's owner.
pub fn group_of<'a>(group: &'a str, key: &'a ConfigKey) -> &'a str {
    if group == "@owning" { &key.owning_group } else { group }
}

/// The groups that an actor is in; sorted.
pub fn groups_of(policy: &Policy, actor: &Actor) -> Vec<String> {
    policy.groups.iter().filter(|(_, members)| members.contains(actor)).map(|(name, _)| name.clone()).collect()
}

/// The one account that stands for a person who has several; for all others the actor itself.
pub fn person_of(policy: &Policy, actor: &Actor) -> Actor {
    let owner = policy.persons.iter().find(|(_, also)| also.contains(actor));
    owner.map_or_else(|| actor.clone(), |(name, _)| Actor::person(name))
}

/// Whether two accounts are one person.
pub fn same_person(policy: &Policy, one: &Actor, other: &Actor) -> bool {
    person_of(policy, one) == person_of(policy, other)
}

/// Whether a pattern covers a namespace (or a whole key): literal segments, the last perhaps `*` (exactly one segment) or
/// `**` (any number, none included). `support.**` covers `support` and `support.refund`; `**` covers everything.
pub fn matches(pattern: &str, namespace: &str) -> bool {
    let mut have = namespace.split('.').filter(|segment| !segment.is_empty());
    for want in pattern.split('.') {
        match want {
            "**" => return true,
            "*" => {
                if have.next().is_none() {
                    return false;
                }
            }
            literal => {
                if have.next() != Some(literal) {
                    return false;
                }
            }
        }
    }
    have.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BasisPoints, PlanStep, Role};

    const GOOD: &str = r#"
[[environment]]
name = "dev"

[[environment]]
name = "staging"
after = "dev"
gates = ["toxicity"]

[[environment]]
name = "production"
protected = true
after = "staging"
plan = [[5, "30m"], [25.5, "24h"], [100]]
gates = ["toxicity"]
approvals = [{ gate = "owners", group = "@owning", count = 2 }, { gate = "release", group = "release" }]
safe_default = "required"
expires = "7d"
acknowledge_hidden = true
advance = "manual"

[[environment.for]]
namespace = "support.**"
plan = [[50, "90s"], [100]]

[[environment.for]]
namespace = "support.refund.**"
approvals = []

[gate.toxicity]
at_most = 0.05
reporters = ["service:ci"]
override = "release"

[group.release]
members = ["person:carol", "person:bob"]

[[role]]
who = "group:release"
role = "releaser"
environment = "production"

[person.carol]
also = ["person:carol-admin", "git:Carol C."]

[policy]
second_admin = false
"#;

    fn key(text: &str) -> KeyId {
        text.parse().unwrap()
    }
    fn environment(text: &str) -> Environment {
        text.parse().unwrap()
    }

    #[test]
    fn a_policy_is_read_whole() {
        let policy = read(GOOD).unwrap();
        assert_eq!(policy.environments.iter().map(|e| &*e.name).collect::<Vec<_>>(), ["dev", "staging", "production"]);
        assert_eq!(group_members(&policy, "release"), [Actor::person("bob"), Actor::person("carol")]);
        assert!(same_person(&policy, &Actor::person("carol-admin"), &Actor::person("carol")));
        assert!(same_person(&policy, &"git:Carol C.".parse().unwrap(), &Actor::person("carol-admin")));
        assert!(!same_person(&policy, &Actor::person("bob"), &Actor::person("carol")));
        assert_eq!(policy.source, GOOD);
    }

    #[test]
    fn a_namespace_replaces_whole_fields_and_the_longest_literal_prefix_wins() {
        let policy = read(GOOD).unwrap();
        let rule = |k: &str| rule(&policy, &key(k), &environment("production")).unwrap();
        let share = |points| BasisPoints::new(points).unwrap();
        let plan = rule("search.rank").plan.unwrap();
        assert_eq!(plan, [PlanStep(share(500), Some(1800)), PlanStep(share(2550), Some(86400)), PlanStep(share(10000), None)]);
        assert_eq!(rule("support.greeting").plan.unwrap()[0], PlanStep(share(5000), Some(90)));
        // The longer prefix wins alone: the shorter one's plan does not shine through.
        assert_eq!(rule("support.refund.system").plan.unwrap(), plan);
        assert_eq!(rule("support.refund.system").approvals, Some(vec![]));
        assert_eq!(rule("support.greeting").approvals.unwrap().len(), 2);
        let rule = rule("search.rank");
        assert_eq!((rule.expires_seconds(), rule.acknowledges_hidden(), rule.requires_safe_default()), (7 * 86400, true, true));
        assert_eq!(rule.gate.keys().collect::<Vec<_>>(), ["toxicity"]);
    }

    #[test]
    fn soak_freeze_and_the_rest_are_read_and_replaced_whole_for_a_namespace() {
        let source = GOOD
            .replace("expires = \"7d\"", "soak = \"24h\"\nbreak_glass = [\"releaser\", \"oncall\"]\n\
                freeze = [{ tz = \"Europe/Berlin\", weekly = \"fri 16:00-mon 08:00\" }, { tz = \"UTC\", from = 2026-12-24T18:00:00, to = \"2026-12-27 08:00\" }]")
            .replace("advance = \"manual\"", "advance = \"auto\"")
            .replace("plan = [[50, \"90s\"], [100]]", "freeze = []\nsoak = \"30m\"\nadvance = \"manual\"");
        let policy = read(&source).unwrap();
        let rule = |k: &str| rule(&policy, &key(k), &environment("production")).unwrap();
        let (wide, narrow) = (rule("search.rank"), rule("support.greeting"));
        assert_eq!((wide.soak, narrow.soak, wide.advances(), narrow.advances()), (Some(86_400), Some(1800), true, false));
        assert_eq!(wide.break_glass, Some(vec![Role::Releaser, Role::Oncall]));
        assert_eq!(narrow.break_glass, wide.break_glass);
        assert_eq!((wide.freeze.as_ref().map(Vec::len), narrow.freeze), (Some(2), Some(vec![])));
        let hashed = serde_json::to_value(&wide.freeze.unwrap()[1]).unwrap();
        let want = serde_json::json!({"tz": "UTC", "from": "2026-12-24T18:00:00", "to": "2026-12-27T08:00:00", "weekly": null});
        assert_eq!(hashed, want, "one form, whatever the policy wrote");
    }

    #[test]
    fn a_second_admin_takes_two_people_not_two_accounts() {
        let with = |more: &str| read(&format!("{}{more}", GOOD.replace("second_admin = false", "second_admin = true")));
        let admin = |who: &str| format!("\n[[role]]\nwho = \"{who}\"\nrole = \"admin\"\n");
        assert!(with(&(admin("person:carol") + &admin("person:carol-admin"))).is_err(), "one person");
        assert!(with(&(admin("person:carol") + &admin("service:ci"))).is_err(), "a service is nobody");
        assert!(with(&(admin("person:carol") + &admin("person:dan"))).unwrap().second_admin);
        assert!(with(&admin("group:release")).unwrap().second_admin);
        assert!(!read(GOOD).unwrap().second_admin);
    }

    #[test]
    fn each_field_says_from_which_section_and_line_it_comes() {
        let policy = read(GOOD).unwrap();
        let line = |text: &str| GOOD.lines().position(|line| line.starts_with(text)).unwrap() + 1;
        let found = origins(&policy, &key("support.greeting"), &environment("production"));
        let of = |field: &str| found.iter().find(|origin| origin.0 == field).map(|origin| (origin.1.as_str(), origin.2));
        assert_eq!(of("plan"), Some(("[[environment.for]] support.**", line("plan = [[50"))));
        assert_eq!(of("expires"), Some(("[[environment]] production", line("expires"))));
        assert_eq!(of("approvals"), Some(("[[environment]] production", line("approvals = [{"))));
        assert_eq!(of("soak"), None);
        let refund = origins(&policy, &key("support.refund.system"), &Environment::safe_default());
        assert_eq!(refund.iter().find(|origin| origin.0 == "approvals").unwrap().1, "[[environment.for]] support.refund.**");
        assert_eq!(origins(&policy, &key("support.greeting"), &environment("elsewhere")), []);
    }

    #[test]
    fn safe_defaults_follow_the_last_protected_environment() {
        let policy = read(GOOD).unwrap();
        let safe = rule(&policy, &key("support.greeting"), &Environment::safe_default()).unwrap();
        let production = rule(&policy, &key("support.greeting"), &environment("production")).unwrap();
        assert_eq!(safe, EnvironmentRule { name: "@safe-default".into(), ..production });
        assert_eq!(rule(&policy, &key("support.greeting"), &environment("elsewhere")), None);
    }

    #[test]
    fn patterns_cover_what_they_say() {
        for (pattern, covered, not_covered) in [
            ("support.**", &["support", "support.refund", "support.refund.eu"][..], &["supporters", "search"][..]),
            ("support.*", &["support.refund"], &["support", "support.refund.eu", "search.rank"]),
            ("support", &["support"], &["support.refund", "search"]),
            ("**", &["support", "a.b.c"], &[]),
            ("*", &["support"], &["support.refund"]),
            ("support.refund", &["support.refund"], &["support", "support.refund.eu", "support.refunds"]),
        ] {
            for text in covered {
                assert!(matches(pattern, text), "{pattern} covers {text}");
            }
            for text in not_covered {
                assert!(!matches(pattern, text), "{pattern} does not cover {text}");
            }
        }
    }

    /// Text that the good policy has, what stands there instead, and what the complaint says.
    const BAD: &[(&str, &str, &str)] = &[
        ("name = \"dev\"", "name = \"dev\"\nsoak = \"1h\"", "line 4: `soak` needs `after`"),
        ("after = \"dev\"", "after = \"dev\"\nsoak = \"0h\"", "line 8: `soak` is not a duration above zero"),
        ("name = \"dev\"", "name = \"dev\"\nfreeze = [{ tz = \"UTC\" }]", "line 4: a window has `from` and `to`, or `weekly`"),
        (
            "name = \"dev\"",
            "name = \"dev\"\nfreeze = [{ tz = \"Mars/Base\", weekly = \"fri 16:00-mon 08:00\" }]",
            "line 4: \"Mars/Base\" is not a time zone",
        ),
        (
            "name = \"dev\"",
            "name = \"dev\"\nfreeze = [{ tz = \"UTC\", weekly = \"never\" }]",
            "line 4: \"never\" is not a window like",
        ),
        ("name = \"dev\"", "name = \"dev\"\nfreeze = [{ weekly = \"fri 16:00-mon 08:00\" }]", "line 4: `tz` is missing"),
        (
            "name = \"dev\"",
            "name = \"dev\"\nfreeze = [{ tz = \"UTC\", from = 2026-12-24T18:00:00Z, to = 2026-12-27T00:00:00 }]",
            "line 4: `from` is not a local date and time",
        ),
        (
            "name = \"dev\"",
            "name = \"dev\"\nfreeze = [{ tz = \"UTC\", from = 2026-12-24T18:00:00, to = 2026-12-24T18:00:00 }]",
            "line 4: a window must end after it begins",
        ),
        ("name = \"dev\"", "name = \"dev\"\nbreak_glass = [\"boss\"]", "line 4: \"boss\": role is not one of"),
        ("name = \"dev\"", "name = \"dev\"\nbreak_glass = [\"service\"]", "line 4: the role service cannot break the glass"),
        ("name = \"dev\"", "name = \"dev\"\nbreak_glass = [\"admin\"]", "line 4: the role admin cannot break the glass"),
        ("name = \"dev\"", "name = \"dev\"\nbreak_glass = [\"oncall\", \"oncall\"]", "line 4: \"oncall\" stands twice"),
        ("name = \"dev\"", "name = \"dev\"\nguards = []", "line 4: `guards` is not supported"),
        ("name = \"dev\"", "name = \"dev\"\nadvance = \"now\"", "line 4: \"now\" is not one of auto, manual"),
        ("second_admin = false", "second_admin = true", "line 47: `second_admin = true` takes two people"),
        ("members = [\"person:carol\", \"person:bob\"]", "", "line 35: a group has either `members` or `oidc`"),
        ("namespace = \"support.**\"", "namespace = \"support.**\"\nguards = []", "line 24: `guards` is not supported"),
        ("name = \"dev\"", "name = \"dev\"\nprotect = true", "line 4: `protect` is unknown here"),
        ("name = \"dev\"", "name = \"Dev\"", "line 3: \"Dev\": environment is not one segment"),
        ("name = \"dev\"", "name = \"@safe-default\"", "line 3: @safe-default is the registry's own name"),
        ("name = \"dev\"", "name = \"facade\"", "line 3: the environment name \"facade\" looks like the beginning of a digest"),
        ("name = \"dev\"", "name = \"v2\"", "line 3: the environment name \"v2\" looks like a version number"),
        ("name = \"dev\"", "name = \"sha256\"", "line 3: the environment name \"sha256\" looks like a digest"),
        ("name = \"staging\"", "name = \"dev\"", "line 6: the environment \"dev\" stands twice"),
        ("after = \"dev\"", "after = \"production\"", "line 7: there is no environment \"production\" above"),
        ("after = \"dev\"", "after = \"staging\"", "line 7: there is no environment \"staging\" above"),
        ("[5, \"30m\"]", "[0, \"30m\"]", "line 14: the plan must rise: 0 % does not"),
        ("[5, \"30m\"]", "[25.5, \"30m\"]", "line 14: the plan must rise: 25.5 % does not"),
        ("[5, \"30m\"]", "[-5, \"30m\"]", "line 14: percentage is not between 0 and 100"),
        ("[5, \"30m\"]", "[5.001, \"30m\"]", "line 14: percentage has more than two decimals"),
        ("[5, \"30m\"]", "[5]", "line 14: only the last step of a plan has no bake time"),
        ("[5, \"30m\"]", "[5, \"30 minutes\"]", "line 14: `plan` is not a duration"),
        ("[5, \"30m\"]", "[5, \"0m\"]", "line 14: `plan` is not a duration above zero"),
        ("[5, \"30m\"]", "[5, 1800]", "line 14: `plan` is not a duration"),
        ("[100]]\ngates", "[100, \"1h\"]]\ngates", "line 14: the last step of a plan bakes for ever"),
        ("plan = [[50, \"90s\"], [100]]", "plan = []", "line 24: a plan has one step at least"),
        ("expires = \"7d\"", "expires = \"-7d\"", "line 18: `expires` is not a duration"),
        ("expires = \"7d\"", "expires = \"99999999999d\"", "line 18: `expires` is not a duration"),
        ("count = 2", "count = 0", "line 16: `count` is not a whole number from 1"),
        ("count = 2", "count = -1", "line 16: `count` is not a whole number from 1"),
        ("group = \"release\" }", "group = \"releases\" }", "line 16: there is no group \"releases\""),
        ("gate = \"release\"", "gate = \"toxicity\"", "line 16: the approval gate \"toxicity\" is named like an evaluation gate"),
        ("gate = \"release\"", "gate = \"owners\"", "line 16: the approval gate \"owners\" stands twice"),
        ("gate = \"release\"", "gate = \"\"", "line 16: \"\" is not a name for an approval gate"),
        ("gates = [\"toxicity\"]\napprovals", "gates = [\"tox\"]\napprovals", "line 15: there is no evaluation gate \"tox\""),
        (
            "gates = [\"toxicity\"]\napprovals",
            "gates = [\"toxicity\", \"toxicity\"]\napprovals",
            "line 15: \"toxicity\" stands twice",
        ),
        ("safe_default = \"required\"", "safe_default = \"yes\"", "line 17: \"yes\" is not one of required, optional"),
        ("acknowledge_hidden = true", "acknowledge_hidden = \"yes\"", "line 19: `acknowledge_hidden` is not true or false"),
        (
            "namespace = \"support.refund.**\"",
            "namespace = \"support.*\"",
            "line 27: \"support.*\" and \"support.**\" fit the same keys",
        ),
        (
            "namespace = \"support.refund.**\"",
            "namespace = \"support.**\"",
            "line 27: \"support.**\" and \"support.**\" fit the same keys",
        ),
        (
            "namespace = \"support.refund.**\"",
            "namespace = \"support\"",
            "line 27: \"support\" and \"support.**\" fit the same keys",
        ),
        ("namespace = \"support.refund.**\"", "namespace = \"*.refund\"", "line 27: \"*.refund\" is not a namespace pattern"),
        ("namespace = \"support.refund.**\"", "namespace = \"\"", "line 27: \"\" is not a namespace pattern"),
        ("at_most = 0.05", "at_most = 0.05\nat_least = 1", "line 30: a gate has either"),
        ("at_most = 0.05", "", "line 30: a gate has either"),
        ("at_most = 0.05", "at_most = nan", "line 31: `at_most` is not a finite number"),
        ("reporters = [\"service:ci\"]", "reporters = []", "line 32: a gate that nobody reports can never open"),
        ("reporters = [\"service:ci\"]", "reporters = [\"ci\"]", "line 32: \"ci\": actor is not"),
        ("reporters = [\"service:ci\"]", "reporters = [\"system:ci\"]", "line 32: system:ci cannot stand here"),
        ("override = \"release\"", "override = \"@owning\"", "line 33: there is no group \"@owning\""),
        ("\"person:bob\"", "\"person:carol\"", "line 36: \"person:carol\" stands twice"),
        ("who = \"group:release\"", "who = \"group:nobody\"", "line 39: there is no group \"nobody\""),
        ("role = \"releaser\"", "role = \"boss\"", "line 40: \"boss\": role is not one of"),
        ("environment = \"production\"", "environment = \"prod\"", "line 41: there is no environment \"prod\""),
        ("[person.carol]", "[person.\"Carol\"]", "line 43: \"Carol\" is not a name"),
        ("\"person:carol-admin\"", "\"person:carol\"", "line 44: person:carol has a [person] table of its own"),
        ("\"person:carol-admin\"", "\"git:Carol C.\"", "line 44: git:Carol C. is already an account of \"carol\""),
        ("\"person:carol-admin\"", "\"service:ci\"", "line 44: service:ci cannot stand here"),
        ("[policy]", "[polizei]", "line 46: `polizei` is unknown here"),
        ("[policy]", "[policy", "line 46: not TOML"),
        ("[gate.toxicity]", "[gate.toxicity]\n[gate.toxicity]", "line 31: not TOML"),
        ("after = \"dev\"", "alias = \"dev\"", "line 5: the alias \"dev\" already names another environment"),
        ("name = \"dev\"", "name = \"dev\"\nalias = \"staging\"", "line 6: the alias \"staging\" already names"),
    ];

    #[test]
    fn what_is_wrong_is_refused_with_its_line() {
        let mut differ = Vec::new();
        for (good, bad, complaint) in BAD {
            assert!(GOOD.contains(good), "{good}");
            let refusal = read(&GOOD.replacen(good, bad, 1)).expect_err(bad);
            if !refusal.detail.starts_with(complaint) || refusal.path.as_deref() != Some("/policy") {
                differ.push(format!("{bad}: {complaint}\n  but: {refusal}"));
            }
        }
        assert!(differ.is_empty(), "{}", differ.join("\n"));
        assert!(read("").unwrap_err().detail.contains("line 1: there is no [[environment]]"));
        assert!(read("\u{0}").unwrap_err().detail.starts_with("line 1: not TOML"));
    }
}
