//! The policy's grammar: every table, every field, every name that must be known.

use super::issuers;
use super::walk::{Node, Table, is_segment, wrong};
use crate::model::policy::{
    ApprovalRule, EnvironmentFields, EnvironmentOverride, EnvironmentPolicy, FreezeWindow, GateRule, RoleGrant, Threshold,
};
use crate::model::{Actor, ActorKind, BasisPoints, Environment, Plan, PlanStep, Policy, Refusal, Role};
use crate::rules::freeze;
use std::collections::{BTreeMap, BTreeSet};
use toml::de::DeTable;

/// Fields of an environment that a namespace can replace.
pub(super) const FIELDS: &[&str] = &[
    "protected",
    "after",
    "soak",
    "plan",
    "gates",
    "approvals",
    "freeze",
    "safe_default",
    "expires",
    "acknowledge_hidden",
    "advance",
    "break_glass",
    "alias",
];
const LATER: &[&str] = &["guards"];

/// Reads a whole policy.
pub(super) fn read(source: &str) -> Result<Policy, Refusal> {
    let document = DeTable::parse(source)
        .map_err(|e| wrong(source, &e.span().unwrap_or(0..0), format_args!("not TOML: {}", e.message().replace('\n', "; "))))?;
    let document = Table::document(source, document.get_ref());
    document.only(&["environment", "gate", "group", "role", "person", "issuer", "policy"], &[])?;
    let mut names = Names { gates: BTreeSet::new(), groups: BTreeSet::new(), environments: Vec::new() };
    names.gates.extend(document.named("gate")?.into_iter().map(|(name, _)| name));
    names.groups.extend(document.named("group")?.into_iter().map(|(name, _)| name));

    let issuers = issuers::issuers(&document)?;
    let groups = named(&document, "group", group)?;
    let mut oidc_groups = BTreeMap::new();
    for (name, table) in document.named("group")? {
        if let Some(node) = table.get("oidc") {
            oidc_groups.insert(name.to_owned(), issuers::group(&node, &issuers)?);
        }
    }
    let gates = named(&document, "gate", |table| gate(table, &names))?;
    let mut environments = Vec::new();
    for table in document.tables("environment")? {
        let read = environment(&table, &names)?;
        if let Some(alias) = shared_alias(&environments, &read) {
            return Err(table.wrong(format_args!("the alias {alias:?} already names another environment")));
        }
        names.environments.push(read.name.clone());
        environments.push(read);
    }
    if environments.is_empty() {
        return Err(document.wrong("there is no [[environment]]"));
    }
    let roles = document.tables("role")?.iter().map(|table| role(table, &names)).collect::<Result<_, _>>()?;
    let persons = persons(&document)?;
    let (source, lapsed) = (source.to_owned(), BTreeMap::new());
    let mut policy =
        Policy { source, environments, gates, groups, oidc_groups, lapsed, issuers, roles, persons, second_admin: false };
    if let Some(table) = document.get("policy") {
        policy.second_admin = second_admin(&table.table()?, &policy)?;
    }
    Ok(policy)
}

/// An alias or name of `new` that an environment before it has already.
fn shared_alias(before: &[EnvironmentPolicy], new: &EnvironmentPolicy) -> Option<String> {
    let alias = |environment: &EnvironmentPolicy| environment.fields.alias.clone();
    let taken = |name: &String| before.iter().any(|other| other.name == *name || other.fields.alias.as_ref() == Some(name));
    let own = alias(new).filter(|name| taken(name) || *name == new.name);
    own.or_else(|| before.iter().filter_map(alias).find(|name| *name == new.name))
}

/// Names that others refer to; environments as far as they have been read, in order.
struct Names<'a> {
    gates: BTreeSet<&'a str>,
    groups: BTreeSet<&'a str>,
    environments: Vec<String>,
}

impl Names<'_> {
    fn group(&self, node: &Node<'_>) -> Result<String, Refusal> {
        let name = node.text()?;
        if self.groups.contains(name) {
            return Ok(name.to_owned());
        }
        Err(node.wrong(format_args!("there is no group {name:?}; it would be [group.{name}]")))
    }

    fn environment(&self, node: &Node<'_>) -> Result<String, Refusal> {
        let name = node.text()?;
        if self.environments.iter().any(|known| known == name) {
            return Ok(name.to_owned());
        }
        Err(node.wrong(format_args!("there is no environment {name:?} above; environments are named in order")))
    }
}

fn named<'a, T>(
    document: &Table<'a>,
    name: &'a str,
    read: impl Fn(&Table<'a>) -> Result<T, Refusal>,
) -> Result<BTreeMap<String, T>, Refusal> {
    document.named(name)?.into_iter().map(|(name, table)| Ok((name.to_owned(), read(&table)?))).collect()
}

/// Whether a change takes a second admin; then there must be two people who can be the two.
fn second_admin(table: &Table<'_>, policy: &Policy) -> Result<bool, Refusal> {
    table.only(&["second_admin"], &[])?;
    let Some(node) = table.get("second_admin") else { return Ok(false) };
    let asked = node.boolean()?;
    // Whom an issuer counts to a group is not known here.
    let from_issuer = policy.roles.iter().any(|grant| {
        grant.role == Role::Admin && grant.who.strip_prefix("group:").is_some_and(|group| policy.oidc_groups.contains_key(group))
    });
    if asked && !from_issuer && admins(policy).len() < 2 {
        return Err(node.wrong("`second_admin = true` takes two people with the role admin: nobody could change this policy"));
    }
    Ok(asked)
}

/// The people whom grants make admins, each once whatever accounts they have.
fn admins(policy: &Policy) -> BTreeSet<Actor> {
    let grants = policy.roles.iter().filter(|grant| grant.role == Role::Admin);
    let who = grants.flat_map(|grant| match grant.who.strip_prefix("group:") {
        Some(group) => super::group_members(policy, group).to_vec(),
        None => grant.who.parse().into_iter().collect(),
    });
    who.filter(Actor::is_person).map(|actor| super::person_of(policy, &actor)).collect()
}

fn actor(node: &Node<'_>, kinds: &[ActorKind]) -> Result<Actor, Refusal> {
    let actor: Actor = node.parsed()?;
    if kinds.contains(&actor.kind) {
        return Ok(actor);
    }
    Err(node.wrong(format_args!("{actor} cannot stand here")))
}

fn group(table: &Table<'_>) -> Result<Vec<Actor>, Refusal> {
    table.only(&["members", "oidc"], &[])?;
    let said = table.get("oidc").is_some();
    let mut members = match table.get("members") {
        Some(node) if !said => node.set(|node| actor(node, &[ActorKind::Person, ActorKind::Service]))?,
        None if said => Vec::new(),
        _ => return Err(table.wrong("a group has either `members` or `oidc`")),
    };
    members.sort();
    Ok(members)
}

fn gate(table: &Table<'_>, names: &Names<'_>) -> Result<GateRule, Refusal> {
    table.only(&["at_most", "at_least", "reporters", "override"], &[])?;
    let at_most = table.maybe("at_most", Node::number)?;
    let at_least = table.maybe("at_least", Node::number)?;
    let threshold = match (at_most, at_least) {
        (Some(x), None) => Threshold::AtMost(x),
        (None, Some(x)) => Threshold::AtLeast(x),
        _ => return Err(table.wrong("a gate has either `at_most` or `at_least`")),
    };
    let reporters = table.need("reporters")?;
    let mut actors = reporters.set(|node| actor(node, &[ActorKind::Person, ActorKind::Service]))?;
    if actors.is_empty() {
        return Err(reporters.wrong("a gate that nobody reports can never open: `reporters` is empty"));
    }
    actors.sort();
    let override_group = table.maybe("override", |node| names.group(node))?;
    Ok(GateRule { threshold, reporters: actors, override_group })
}

fn environment(table: &Table<'_>, names: &Names<'_>) -> Result<EnvironmentPolicy, Refusal> {
    let known: Vec<&str> = ["name"].iter().chain(FIELDS).chain(&["for"]).copied().collect();
    table.only(&known, LATER)?;
    let node = table.need("name")?;
    let name: Environment = node.parsed()?;
    if name.is_safe_default() {
        return Err(node.wrong(format_args!("{name} is the registry's own name for safe defaults; choose another")));
    }
    let name = name.to_string();
    if let Some(kind) = looks_like_another_selector(&name) {
        return Err(node.wrong(format_args!("the environment name {name:?} looks like {kind}; choose another")));
    }
    if names.environments.contains(&name) {
        return Err(node.wrong(format_args!("the environment {name:?} stands twice")));
    }
    let fields = fields(table, names)?;
    soak_has_a_place(table, &fields, None)?;
    let mut overrides: Vec<EnvironmentOverride> = Vec::new();
    for inner in table.tables("for")? {
        let known: Vec<&str> = ["namespace"].iter().chain(FIELDS).copied().collect();
        inner.only(&known, LATER)?;
        let node = inner.need("namespace")?;
        let namespace = pattern(&node)?;
        if let Some(other) = overrides.iter().find(|other| tied(&other.namespace, &namespace)) {
            let what = format_args!("{namespace:?} and {:?} fit the same keys equally well: a tie", other.namespace);
            return Err(node.wrong(what));
        }
        let replaced = self::fields(&inner, names)?;
        soak_has_a_place(&inner, &replaced, Some(&fields))?;
        overrides.push(EnvironmentOverride { namespace, fields: replaced, lines: inner.lines(FIELDS) });
    }
    Ok(EnvironmentPolicy { name, fields, lines: table.lines(FIELDS), overrides })
}

/// A soak needs the environment in which it is held.
fn soak_has_a_place(table: &Table<'_>, own: &EnvironmentFields, base: Option<&EnvironmentFields>) -> Result<(), Refusal> {
    let after = own.after.is_some() || base.is_some_and(|base| base.after.is_some());
    match table.get("soak") {
        Some(node) if !after => Err(node.wrong("`soak` needs `after`: the environment in which it soaks")),
        _ => Ok(()),
    }
}

/// What kind of selector a word would be read as instead of an environment.
fn looks_like_another_selector(name: &str) -> Option<&'static str> {
    let number = name.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let hex = name.len() >= 6 && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    match (number, hex) {
        (true, _) => Some("a version number"),
        (_, true) => Some("the beginning of a digest"),
        _ if name == "sha256" => Some("a digest"),
        _ => None,
    }
}

fn fields(table: &Table<'_>, names: &Names<'_>) -> Result<EnvironmentFields, Refusal> {
    Ok(EnvironmentFields {
        protected: table.maybe("protected", Node::boolean)?,
        after: table.maybe("after", |node| names.environment(node))?,
        soak: table.maybe("soak", Node::duration)?,
        plan: table.maybe("plan", plan)?,
        gates: table.maybe("gates", |node| gates(node, names))?,
        approvals: table.maybe("approvals", |node| approvals(node, names))?,
        freeze: table.maybe("freeze", windows)?,
        safe_default: table.maybe("safe_default", |node| one_of(node, &["required", "optional"]))?,
        expires: table.maybe("expires", Node::duration)?,
        acknowledge_hidden: table.maybe("acknowledge_hidden", Node::boolean)?,
        advance: table.maybe("advance", |node| one_of(node, &["auto", "manual"]))?,
        break_glass: table.maybe("break_glass", break_glass)?,
        alias: table.maybe("alias", alias)?,
    })
}

fn one_of(node: &Node<'_>, words: &[&str]) -> Result<String, Refusal> {
    let text = node.text()?;
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(node.wrong(format_args!("{text:?} is not one of {}", words.join(", "))))
}

/// Roles that may break the glass, sorted. Only people do, so the roles of machines and those that move nothing are refused.
fn break_glass(node: &Node<'_>) -> Result<Vec<Role>, Refusal> {
    let mut roles = node.set(|item| {
        let role: Role = item.parsed()?;
        if matches!(role, Role::Releaser | Role::Oncall | Role::Approver) {
            return Ok(role);
        }
        Err(item.wrong(format_args!("the role {role} cannot break the glass; releaser, oncall or approver can")))
    })?;
    roles.sort();
    Ok(roles)
}

fn windows(node: &Node<'_>) -> Result<Vec<FreezeWindow>, Refusal> {
    let mut out = Vec::new();
    for item in node.list()? {
        let table = item.table()?;
        table.only(&["tz", "from", "to", "weekly"], &[])?;
        let tz = table.need("tz")?.text()?.to_owned();
        let window = FreezeWindow {
            tz,
            from: table.maybe("from", Node::local_time)?,
            to: table.maybe("to", Node::local_time)?,
            weekly: table.maybe("weekly", |node| node.text().map(str::to_owned))?,
        };
        freeze::check(&window).map_err(|why| item.wrong(why))?;
        out.push(window);
    }
    Ok(out)
}

fn alias(node: &Node<'_>) -> Result<String, Refusal> {
    let text = node.text()?;
    if is_segment(text) && looks_like_another_selector(text).is_none() {
        return Ok(text.to_owned());
    }
    Err(node.wrong(format_args!("the alias {text:?} is not a name that an environment could have")))
}

fn gates(node: &Node<'_>, names: &Names<'_>) -> Result<Vec<String>, Refusal> {
    node.set(|item| {
        let name = item.text()?;
        if names.gates.contains(name) {
            return Ok(name.to_owned());
        }
        Err(item.wrong(format_args!("there is no evaluation gate {name:?}; it would be [gate.{name}]")))
    })
}

fn approvals(node: &Node<'_>, names: &Names<'_>) -> Result<Vec<ApprovalRule>, Refusal> {
    let mut out: Vec<ApprovalRule> = Vec::new();
    for item in node.list()? {
        let table = item.table()?;
        table.only(&["gate", "group", "count"], &[])?;
        let gate_node = table.need("gate")?;
        let gate = gate_node.text()?.to_owned();
        if !is_segment(&gate) {
            return Err(gate_node.wrong(format_args!("{gate:?} is not a name for an approval gate")));
        }
        if names.gates.contains(gate.as_str()) {
            return Err(gate_node.wrong(format_args!("the approval gate {gate:?} is named like an evaluation gate")));
        }
        if out.iter().any(|other| other.gate == gate) {
            return Err(gate_node.wrong(format_args!("the approval gate {gate:?} stands twice")));
        }
        let group_node = table.need("group")?;
        let group = if group_node.text()? == "@owning" { "@owning".to_owned() } else { names.group(&group_node)? };
        let count = table.maybe("count", Node::count)?.unwrap_or(1);
        out.push(ApprovalRule { gate, group, count });
    }
    Ok(out)
}

fn plan(node: &Node<'_>) -> Result<Plan, Refusal> {
    let steps = node.list()?;
    let mut out: Plan = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let parts = step.list()?;
        let (percent, bake) = match parts.as_slice() {
            [percent] => (percent, None),
            [percent, bake] => (percent, Some(bake)),
            _ => return Err(step.wrong("a step is [percent, bake], and [percent] in the last")),
        };
        let share = BasisPoints::from_percent(percent.number()?).map_err(|e| percent.wrong(e))?;
        if share == BasisPoints::ZERO || out.last().is_some_and(|before| before.0 >= share) {
            return Err(percent.wrong(format_args!("the plan must rise: {share} % does not")));
        }
        let last = at + 1 == steps.len();
        let bake = match (last, bake) {
            (true, Some(bake)) => return Err(bake.wrong("the last step of a plan bakes for ever; leave its time out")),
            (true, None) => None,
            (false, Some(bake)) => Some(bake.duration()?),
            (false, None) => return Err(step.wrong("only the last step of a plan has no bake time")),
        };
        out.push(PlanStep(share, bake));
    }
    if out.is_empty() {
        return Err(node.wrong("a plan has one step at least"));
    }
    Ok(out)
}

/// A namespace pattern: literal segments, the last perhaps `*` or `**`.
fn pattern(node: &Node<'_>) -> Result<String, Refusal> {
    let text = node.text()?;
    let (last, before) = text.rsplit_once('.').map_or((text, ""), |(before, last)| (last, before));
    let literal = before.is_empty() && !text.contains('.') || before.split('.').all(is_segment);
    if literal && (is_segment(last) || last == "*" || last == "**") {
        return Ok(text.to_owned());
    }
    Err(node.wrong(format_args!("{text:?} is not a namespace pattern: segments joined by dots, the last perhaps * or **")))
}

/// The literal segments of a pattern, and its wildcard.
fn split(pattern: &str) -> (Vec<&str>, Option<&str>) {
    let mut segments: Vec<&str> = pattern.split('.').collect();
    let wildcard = segments.pop_if(|last| last.starts_with('*'));
    (segments, wildcard)
}

/// Whether two patterns with equally long literal prefixes fit some namespace both.
fn tied(one: &str, other: &str) -> bool {
    let ((one, a), (other, b)) = (split(one), split(other));
    one == other && (a == b || matches!((a, b), (Some("**"), _) | (_, Some("**"))))
}

fn role(table: &Table<'_>, names: &Names<'_>) -> Result<RoleGrant, Refusal> {
    table.only(&["who", "role", "namespace", "environment"], &[])?;
    let node = table.need("who")?;
    let text = node.text()?;
    let who = match text.strip_prefix("group:") {
        Some(group) if names.groups.contains(group) => text.to_owned(),
        Some(group) => return Err(node.wrong(format_args!("there is no group {group:?}; it would be [group.{group}]"))),
        None => actor(&node, &[ActorKind::Person, ActorKind::Service])?.to_string(),
    };
    Ok(RoleGrant {
        who,
        role: table.need("role")?.parsed()?,
        namespace: table.maybe("namespace", pattern)?,
        environment: table.maybe("environment", |node| names.environment(node))?,
    })
}

fn persons(document: &Table<'_>) -> Result<BTreeMap<String, Vec<Actor>>, Refusal> {
    let all = document.named("person")?;
    let heads: BTreeSet<&str> = all.iter().map(|(name, _)| *name).collect();
    let mut taken: BTreeMap<Actor, &str> = BTreeMap::new();
    let mut out = BTreeMap::new();
    for (name, table) in all {
        table.only(&["also"], &[])?;
        let mut also = Vec::new();
        for node in table.need("also")?.list()? {
            let account = actor(&node, &[ActorKind::Person, ActorKind::Git])?;
            if account.is_person() && heads.contains(&*account.name) {
                return Err(node.wrong(format_args!("{account} has a [person] table of its own")));
            }
            if let Some(other) = taken.insert(account.clone(), name) {
                return Err(node.wrong(format_args!("{account} is already an account of {other:?}")));
            }
            also.push(account);
        }
        also.sort();
        out.insert(name.to_owned(), also);
    }
    Ok(out)
}
