//! Who may do what where: roles, scopes, namespaces, confidentiality.

use super::policy::{group_members, last_protected, matches};
use crate::model::policy::RoleGrant;
use crate::model::{Actor, Code, ConfigKey, Environment, EnvironmentRule, Policy, Refusal, Role, Scope};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Who calls, as the token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// For whom the token acts.
    pub actor: Actor,
    /// The token.
    pub token_id: String,
    /// The person who made the token and answers for it.
    pub owner: Actor,
    /// What the token may do of what its actor may.
    pub scope: Scope,
    /// The only environment in which it acts and resolves; none = all of its actor's.
    pub environment: Option<Environment>,
    /// How it proved who it is.
    pub login: Login,
}

/// How a caller proved who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// With a token of the registry.
    Token,
    /// With a token of an issuer that the policy names so.
    Oidc(Arc<str>),
}

impl fmt::Display for Login {
    /// As approvals keep it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token => f.write_str("token"),
            Self::Oidc(issuer) => write!(f, "oidc:{issuer}"),
        }
    }
}

impl Caller {
    /// An actor with all that it may do, without a token: the registry's own hand, and for asking what somebody might.
    pub fn whole(actor: Actor) -> Self {
        let (token_id, scope, login) = (String::new(), Scope::Full, Login::Token);
        Self { owner: actor.clone(), actor, token_id, scope, environment: None, login }
    }

    /// Whether the token leaves nothing out of what its actor may.
    pub fn is_whole(&self) -> bool {
        self.scope == Scope::Full && self.environment.is_none()
    }
}

/// A kind of right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// Read keys, versions, contents, pointers, promotions.
    Read,
    /// Resolve a key for a unit, and have it explained.
    Resolve,
    /// Read the audit trail and its stream.
    Audit,
    /// Read the policy and its merged rules.
    PolicyRead,
    /// List the tokens of others.
    TokensRead,
    /// Save, submit and discard versions; make fragments.
    Draft,
    /// Import with foreign authors.
    Import,
    /// Open, renew promotions.
    Open,
    /// Withdraw a promotion (its actor or an admin: the workflow looks at which).
    Withdraw,
    /// Comment on a promotion.
    Comment,
    /// Approve, reject, retract (the gate's group is the workflow's to check).
    Approve,
    /// Override an evaluation gate (the gate's group is the workflow's to check).
    Override,
    /// Apply a promotion.
    Apply,
    /// Step a rollout up.
    Step,
    /// Step a rollout down.
    StepDown,
    /// Hold a rollout.
    Hold,
    /// Let a held rollout go on.
    Resume,
    /// Serve again after a kill.
    Revive,
    /// Back to what served before.
    Rollback,
    /// The kill switch.
    Kill,
    /// Take one's kill back.
    UndoKill,
    /// Write the note that a kill owed.
    Note,
    /// Review a kill, undo-kill or override afterwards.
    CloseReview,
    /// Mark a version.
    Quarantine,
    /// Lift the mark.
    Lift,
    /// Report gate verdicts.
    Report,
    /// Make a key (pass the key as it would be).
    CreateKey,
    /// Change a key: its owner or an admin.
    KeyAdmin,
    /// Apply another policy.
    Policy,
    /// Make or revoke tokens of others (one's own: no right is needed).
    Tokens,
    /// Name, list and take away receivers of notices.
    Webhooks,
    /// See unit hashes of others.
    Privacy,
}

impl Need {
    /// Every kind, for tests that enumerate.
    pub const ALL: &'static [Self] = &[
        Self::Read,
        Self::Resolve,
        Self::Audit,
        Self::PolicyRead,
        Self::TokensRead,
        Self::Draft,
        Self::Import,
        Self::Open,
        Self::Withdraw,
        Self::Comment,
        Self::Approve,
        Self::Override,
        Self::Apply,
        Self::Step,
        Self::StepDown,
        Self::Hold,
        Self::Resume,
        Self::Revive,
        Self::Rollback,
        Self::Kill,
        Self::UndoKill,
        Self::Note,
        Self::CloseReview,
        Self::Quarantine,
        Self::Lift,
        Self::Report,
        Self::CreateKey,
        Self::KeyAdmin,
        Self::Policy,
        Self::Tokens,
        Self::Webhooks,
        Self::Privacy,
    ];

    /// The roles that confer it.
    pub fn roles(self) -> &'static [Role] {
        use Role::{Admin, Approver, Auditor, Author, Evaluator, Importer, Oncall, Privacy, Public, Reader, Releaser, Service};
        match self {
            Self::Read => &[Reader, Author, Approver, Releaser, Oncall, Evaluator, Importer, Admin],
            Self::Resolve => &[Service, Public, Reader, Author, Approver, Releaser, Oncall, Evaluator, Importer],
            Self::Audit | Self::PolicyRead => &[Reader, Author, Approver, Releaser, Oncall, Evaluator, Importer, Auditor, Admin],
            Self::TokensRead => &[Auditor, Admin],
            Self::Draft => &[Author, Importer],
            Self::Import => &[Importer],
            Self::Open => &[Author, Releaser],
            Self::Withdraw => &[Author, Releaser, Admin],
            Self::Comment | Self::Override => &[Reader, Author, Approver, Releaser, Oncall, Evaluator, Importer],
            Self::Approve | Self::Lift => &[Approver],
            Self::Apply | Self::Step | Self::Resume | Self::Revive => &[Releaser],
            Self::StepDown | Self::Hold | Self::Rollback | Self::Kill | Self::UndoKill | Self::Note => &[Releaser, Oncall],
            Self::CloseReview | Self::Quarantine => &[Approver, Oncall],
            Self::Report => &[Evaluator],
            Self::CreateKey => &[Admin, Importer],
            Self::KeyAdmin | Self::Policy | Self::Tokens | Self::Webhooks => &[Admin],
            Self::Privacy => &[Privacy],
        }
    }

    /// Whether it only looks.
    fn reads(self) -> bool {
        matches!(self, Self::Read | Self::Resolve | Self::Audit | Self::PolicyRead | Self::TokensRead | Self::Privacy)
    }
}

impl fmt::Display for Need {
    /// What the caller wanted, after "to".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read this",
            Self::Resolve => "resolve",
            Self::Audit => "read the audit trail",
            Self::PolicyRead => "read the policy",
            Self::TokensRead => "list tokens",
            Self::Draft => "write versions",
            Self::Import => "import",
            Self::Open => "open a promotion",
            Self::Withdraw => "withdraw a promotion",
            Self::Comment => "comment",
            Self::Approve => "approve",
            Self::Override => "override a gate",
            Self::Apply => "apply a promotion",
            Self::Step => "step a rollout up",
            Self::StepDown => "step a rollout down",
            Self::Hold => "hold a rollout",
            Self::Resume => "resume a rollout",
            Self::Revive => "revive",
            Self::Rollback => "roll back",
            Self::Kill => "kill",
            Self::UndoKill => "undo a kill",
            Self::Note => "write the note of a kill",
            Self::CloseReview => "close a review",
            Self::Quarantine => "quarantine a version",
            Self::Lift => "lift a quarantine",
            Self::Report => "report a gate verdict",
            Self::CreateKey => "create a key",
            Self::KeyAdmin => "change a key",
            Self::Policy => "change the policy",
            Self::Tokens => "manage tokens of others",
            Self::Webhooks => "manage receivers of notices",
            Self::Privacy => "see unit hashes",
        })
    }
}

/// Whether the caller may do it. Without a key or environment: whether it may anywhere at all (lists then leave out what
/// [`sees`] denies).
///
/// # Errors
/// `not_found` where the caller may not know of the key; `forbidden`, with who may, for all else.
pub fn allowed(
    policy: &Policy,
    caller: &Caller,
    need: Need,
    key: Option<&ConfigKey>,
    environment: Option<&Environment>,
) -> Result<(), Refusal> {
    if let Some(why) = beyond(caller, need, environment) {
        return Err(forbidden(caller, need).hint(why));
    }
    // A key that is only about to be made has no existence to hide.
    let hidden = key.filter(|_| need != Need::CreateKey);
    if hidden.is_some_and(|key| !sees(policy, caller, key)) {
        return Err(Refusal::not_found());
    }
    let suits = |grant: &RoleGrant| {
        need.roles().contains(&grant.role)
            && covers(policy, grant, key, environment)
            && hidden.is_none_or(|key| trusted_with(grant, key))
    };
    if grants(policy, &caller.actor).any(suits) {
        return Ok(());
    }
    if key.is_some_and(|key| owns(policy, caller, key)) && owner_may(policy, caller, need, key) {
        return Ok(());
    }
    let roles: Vec<&str> = need.roles().iter().map(|role| role.as_str()).collect();
    Err(forbidden(caller, need).hint(format!("it takes the role {} there", roles.join(" or "))))
}

/// The keys that [`allowed`] lets the caller have in an environment: for lists, since the grants are looked up once.
pub fn reach<'a>(
    policy: &'a Policy,
    caller: &'a Caller,
    need: Need,
    environment: &'a Environment,
) -> impl Fn(&ConfigKey) -> bool + 'a {
    let in_scope = beyond(caller, need, Some(environment)).is_none();
    let granted: Vec<&RoleGrant> = grants(policy, &caller.actor).filter(|grant| need.roles().contains(&grant.role)).collect();
    move |key| {
        let suits = |grant: &&RoleGrant| covers(policy, grant, Some(key), Some(environment)) && trusted_with(grant, key);
        let shown = !(key.confidential && caller.scope == Scope::Public);
        in_scope
            && shown
            && (granted.iter().any(suits) || (owns(policy, caller, key) && owner_may(policy, caller, need, Some(key))))
    }
}

/// The environment that an application's token is for: the one that it names, else the only one in which its actor may resolve,
/// where there is only one.
pub fn home(policy: &Policy, caller: &Caller) -> Option<Environment> {
    if caller.environment.is_some() {
        return caller.environment.clone();
    }
    let mut places: Vec<&str> = Vec::new();
    for grant in grants(policy, &caller.actor).filter(|grant| Need::Resolve.roles().contains(&grant.role)) {
        match &grant.environment {
            Some(environment) => places.push(environment),
            None => places.extend(policy.environments.iter().map(|environment| environment.name.as_str())),
        }
    }
    places.sort_unstable();
    places.dedup();
    if let [only] = places[..] { only.parse().ok() } else { None }
}

/// Whether the caller gets a unit's pseudonym, which is personal data (R23): applications do for the units that they ask for,
/// browsers, and people, do not, but for the role privacy.
pub fn sees_unit_hash(policy: &Policy, caller: &Caller) -> bool {
    caller.scope != Scope::Public
        && grants(policy, &caller.actor).any(|grant| matches!(grant.role, Role::Service | Role::Privacy))
}

/// Why the token itself does not reach so far, whatever its actor may; none where it does. What changes something and belongs to
/// no environment is beyond a token for one environment.
pub fn beyond(caller: &Caller, need: Need, environment: Option<&Environment>) -> Option<String> {
    match caller.scope {
        Scope::Kill if need != Need::Kill => return Some("this token can only kill".to_owned()),
        Scope::Read if !need.reads() => return Some("this token only reads".to_owned()),
        Scope::Service | Scope::Public if need != Need::Resolve => return Some("this token only resolves".to_owned()),
        _ => {}
    }
    let own = caller.environment.as_ref()?;
    let here = environment.map_or(need.reads(), |asked| asked == own);
    (!here).then(|| format!("this token is for {own} alone"))
}

/// Whether the caller may break the glass there: a person, with a full token, who has one of the roles that the rule names.
///
/// # Errors
/// `forbidden`, with the roles that may.
pub fn breaks_glass(
    policy: &Policy,
    caller: &Caller,
    rule: &EnvironmentRule,
    key: &ConfigKey,
    environment: &Environment,
) -> Result<(), Refusal> {
    let roles = rule.break_glass.as_deref().unwrap_or_default();
    let suits = |grant: &RoleGrant| {
        roles.contains(&grant.role) && covers(policy, grant, Some(key), Some(environment)) && trusted_with(grant, key)
    };
    let here = caller.environment.as_ref().is_none_or(|only| only == environment);
    let person = caller.actor.is_person() && caller.scope == Scope::Full && here;
    if person && grants(policy, &caller.actor).any(suits) {
        return Ok(());
    }
    let refusal = Refusal::new(Code::Forbidden, format!("{} may not break the glass in {environment}", caller.actor));
    let named: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    Err(match named.as_slice() {
        [] => refusal.hint("the policy lets nobody: it names no `break_glass` there"),
        named => refusal.hint(format!("it takes a person with the role {} there", named.join(" or "))),
    })
}

/// The people and services that may do something to a key in an environment, each once.
pub fn who_may(policy: &Policy, need: Need, key: &ConfigKey, environment: &Environment) -> Vec<Actor> {
    everybody(policy, |caller| allowed(policy, caller, need, Some(key), Some(environment)).is_ok())
}

/// The people who may break the glass there.
pub fn who_breaks_glass(policy: &Policy, rule: &EnvironmentRule, key: &ConfigKey, environment: &Environment) -> Vec<Actor> {
    everybody(policy, |caller| breaks_glass(policy, caller, rule, key, environment).is_ok())
}

/// Everybody whom grants and groups name, with a full token, who `may`.
fn everybody(policy: &Policy, may: impl Fn(&Caller) -> bool) -> Vec<Actor> {
    let granted = policy.roles.iter().filter_map(|grant| grant.who.parse::<Actor>().ok());
    let named: BTreeSet<Actor> = policy.groups.values().flatten().cloned().chain(granted).collect();
    named.into_iter().filter(|actor| may(&Caller::whole(actor.clone()))).collect()
}

/// Whether the caller may know that the key exists: some grant covers it, or the caller is in the owning group. For a
/// confidential key a grant counts only when its pattern names a part of the namespace, and admin, auditor and public never; a
/// public token sees none.
pub fn sees(policy: &Policy, caller: &Caller, key: &ConfigKey) -> bool {
    if key.confidential && caller.scope == Scope::Public {
        return false;
    }
    if owns(policy, caller, key) {
        return true;
    }
    grants(policy, &caller.actor).any(|grant| covers(policy, grant, Some(key), None) && trusted_with(grant, key))
}

/// Whether a grant reaches a key in spite of its confidentiality.
fn trusted_with(grant: &RoleGrant, key: &ConfigKey) -> bool {
    !key.confidential
        || (grant.namespace.as_deref().is_some_and(|pattern| !pattern.starts_with('*'))
            && !matches!(grant.role, Role::Admin | Role::Auditor | Role::Public))
}

/// The grants that count for an actor: its own and those of its groups.
pub fn grants<'a>(policy: &'a Policy, actor: &'a Actor) -> impl Iterator<Item = &'a RoleGrant> {
    policy.roles.iter().filter(move |grant| means(policy, &grant.who, actor))
}

/// Whether the `who` of a grant is the actor, or a group that the actor is in. Asked several times a request: it makes no text.
fn means(policy: &Policy, who: &str, actor: &Actor) -> bool {
    match who.split_once(':') {
        Some(("group", name)) => group_members(policy, name).contains(actor),
        Some((kind, name)) => name == &*actor.name && kind == actor.kind.as_str(),
        None => false,
    }
}

fn owns(policy: &Policy, caller: &Caller, key: &ConfigKey) -> bool {
    group_members(policy, &key.owning_group).contains(&caller.actor)
}

/// What membership in the owning group confers by itself: reading and keeping the key; making one also takes the right to
/// write in its namespace.
fn owner_may(policy: &Policy, caller: &Caller, need: Need, key: Option<&ConfigKey>) -> bool {
    match need {
        Need::Read | Need::Audit | Need::Comment | Need::Override | Need::KeyAdmin => true,
        Need::CreateKey => {
            grants(policy, &caller.actor).any(|grant| grant.role == Role::Author && covers(policy, grant, key, None))
        }
        _ => false,
    }
}

fn covers(policy: &Policy, grant: &RoleGrant, key: Option<&ConfigKey>, environment: Option<&Environment>) -> bool {
    let namespace = match (&grant.namespace, key) {
        (Some(pattern), Some(key)) => matches(pattern, key.key_id.namespace()),
        _ => true,
    };
    let place = match (&grant.environment, environment) {
        (Some(granted), Some(asked)) if asked.is_safe_default() => {
            key.and_then(|key| last_protected(policy, &key.key_id)).is_some_and(|last| last == granted)
        }
        (Some(granted), Some(asked)) => granted == asked.as_str(),
        _ => true,
    };
    namespace && place
}

fn forbidden(caller: &Caller, need: Need) -> Refusal {
    Refusal::new(Code::Forbidden, format!("{} may not {need}", caller.actor))
}

#[cfg(test)]
mod tests {
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
        for need in [Need::Open, Need::Approve, Need::Override, Need::Apply, Need::Step, Need::Kill, Need::Revive, Need::Rollback]
        {
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
        assert_eq!(
            code("person:owen", Scope::Public, Need::Resolve, Some(&secret), None),
            Some(Code::NotFound),
            "an owner's too"
        );
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
}
