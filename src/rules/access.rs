//! Who may do what where: roles, scopes, namespaces, confidentiality.

use super::policy::{group_members, last_protected, matches, same_person};
use crate::model::policy::RoleGrant;
use crate::model::{
    Actor, Code, ConfigKey, Environment, EnvironmentRule, KeyId, Policy, Refusal, Role, Scope, Timestamp, UnitType,
};
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

    /// Who stands behind it: for whom the token acts, and whose it is. Whoever made a token for somebody else can act as them.
    pub fn persons(&self) -> [&Actor; 2] {
        [&self.actor, &self.owner]
    }

    /// Whether one of those behind it is the person of an account.
    pub fn is_person(&self, policy: &Policy, account: &Actor) -> bool {
        self.persons().into_iter().any(|one| same_person(policy, one, account))
    }

    /// Whose token it is, where that is not for whom it acts.
    pub fn other_owner(&self) -> Option<&Actor> {
        (self.owner != self.actor).then_some(&self.owner)
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

/// Whether the caller may know what is said of a name that no key has: as if a confidential key had it. What stands where one
/// was asked for must not tell a name that is free from one that is hidden.
pub fn sees_free(policy: &Policy, caller: &Caller, name: &KeyId) -> bool {
    let key = ConfigKey {
        key_id: name.clone(),
        namespace: name.namespace().to_owned(),
        owning_group: String::new(),
        unit_type: UnitType::User,
        confidential: true,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: Timestamp(0),
    };
    sees(policy, caller, &key)
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
mod tests;
