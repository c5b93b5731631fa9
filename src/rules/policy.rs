//! Reading a policy from TOML, merging its rule for a key, and who is who in it.

use crate::model::{Actor, ConfigKey, Environment, EnvironmentRule, KeyId, Policy, Refusal};

/// Reads a policy and refuses what is wrong in it, or not supported, with its line.
///
/// # Errors
/// `invalid`; the detail begins with `line N:` and `path` is `/policy`.
pub fn read(source: &str) -> Result<Policy, Refusal> {
    unimplemented!("{source}")
}

/// The merged rule of an environment for a key: the environment's fields, replaced whole by those of the override whose
/// pattern matches the key's namespace with the longest literal prefix. [`Environment::safe_default`] gets the rule of the
/// last protected environment, under the name `@safe-default`. None: the policy has no such environment.
pub fn rule(policy: &Policy, key: &KeyId, environment: &Environment) -> Option<EnvironmentRule> {
    unimplemented!("{policy:?} {key} {environment}")
}

/// The environment whose rule safe defaults follow: the last that is protected for the key.
pub fn last_protected<'a>(policy: &'a Policy, key: &KeyId) -> Option<&'a str> {
    unimplemented!("{policy:?} {key}")
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
