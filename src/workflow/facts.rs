//! Gathers from one transaction everything that `rules::readiness` judges by.

use crate::model::approval::HiddenSpan;
use crate::model::{
    Actor, Approval, ConfigKey, Content, Digest, Environment, EnvironmentPointer, EnvironmentRule, Fragment, GateVerdict, Policy,
    Promotion, Readiness, Refusal, Timestamp, Version,
};
use crate::rules::hidden::{Bodies, content_spans};
use crate::rules::policy;
use crate::rules::readiness::{Door, Serving, may_serve};
use crate::rules::soak::{Stretch, stretches};
use crate::storage::{Conn, Sought, StorageError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Applied rows of a pointer that a soak is counted from: more than any pointer has.
const WHOLE_HISTORY: u32 = 100_000;

/// What is asked: may this come to serve there, by that door?
#[derive(Debug, Clone)]
pub struct Asked {
    /// The way in.
    pub door: Door,
    /// The key.
    pub key: ConfigKey,
    /// Where.
    pub environment: Environment,
    /// What would serve.
    pub to: Version,
    /// The opened promotion; for a step, the applied one whose rollout runs.
    pub promotion: Option<Promotion>,
}

/// The facts, owned.
#[derive(Debug, Clone)]
pub struct Facts {
    /// What was asked.
    pub asked: Asked,
    /// The merged rule of the policy in force.
    pub rule: EnvironmentRule,
    /// The policy in force.
    pub policy: Arc<Policy>,
    /// The pointer as it is now.
    pub pointer: Option<EnvironmentPointer>,
    /// Approval rows of the promotion, oldest first.
    pub approvals: Vec<Approval>,
    /// Newest verdict of each gate on `to`.
    pub verdicts: Vec<GateVerdict>,
    /// Authors of the fragments that `to` pins.
    pub fragment_authors: Vec<Actor>,
    /// Owners of the tokens of every actor that matters.
    pub owners: BTreeMap<Actor, Vec<Actor>>,
    /// Whether the environment before held `to` at 100 %.
    pub held_before: bool,
    /// When the environment before held it, where the rule asks for a soak.
    pub soaked: Vec<Stretch>,
    /// Unusual characters that `to` adds.
    pub hidden: Vec<HiddenSpan>,
    /// The key's safe default as it is now.
    pub safe_default: Option<Version>,
    /// Environments in which the key is killed.
    pub killed_in: Vec<Environment>,
    /// What `to` holds, with the bodies of its fragments.
    pub content: Option<(Content, Bodies)>,
    /// The moment.
    pub now: Timestamp,
}

impl Facts {
    /// The facts as `rules::readiness` reads them.
    pub fn serving(&self) -> Serving<'_> {
        Serving {
            door: self.asked.door,
            key: &self.asked.key,
            environment: &self.asked.environment,
            to: &self.asked.to,
            rule: &self.rule,
            policy: &self.policy,
            pointer: self.pointer.as_ref(),
            promotion: self.asked.promotion.as_ref(),
            approvals: &self.approvals,
            verdicts: &self.verdicts,
            fragment_authors: &self.fragment_authors,
            owners: &self.owners,
            held_before: self.held_before,
            soaked: &self.soaked,
            hidden: &self.hidden,
            safe_default: self.safe_default.as_ref(),
            killed_in: &self.killed_in,
            now: self.now,
        }
    }

    /// What stands in the way.
    pub fn readiness(&self) -> Readiness {
        may_serve(&self.serving())
    }
}

/// The rule of an environment for a key.
///
/// # Errors
/// `invalid` at `/environment`, naming those that the policy has.
pub fn rule_of(policy: &Policy, key: &ConfigKey, environment: &Environment) -> Result<EnvironmentRule, Refusal> {
    policy::rule(policy, &key.key_id, environment).ok_or_else(|| {
        let names: Vec<&str> = policy.environments.iter().map(|known| known.name.as_str()).collect();
        Refusal::invalid("/environment", format!("the policy has no environment {environment}"))
            .hint(format!("it has: {}", names.join(", ")))
    })
}

/// Reads the facts.
///
/// # Errors
/// The policy has no such environment; the database is away.
pub async fn gather(conn: &mut Conn<'_>, policy: &Arc<Policy>, now: Timestamp, asked: Asked) -> Result<Facts, Refusal> {
    let rule = rule_of(policy, &asked.key, &asked.environment)?;
    let before = rule.after.as_ref().map(|before| before.parse::<Environment>().ok());
    let sought = Sought {
        key: &asked.key.key_id,
        to: &asked.to.digest,
        from: asked.promotion.as_ref().and_then(|promotion| promotion.from_digest),
        safe_default: asked.key.safe_default_digest,
        promotion: asked.promotion.as_ref().map(|promotion| (promotion.promotion_id, &promotion.actor)),
        before: before.as_ref().and_then(Option::as_ref),
    };
    let ground = conn.ground(&sought).await?;
    let pointer = ground.pointers.iter().find(|pointer| pointer.environment == asked.environment).cloned();
    let killed_in = ground.pointers.into_iter().filter(|pointer| pointer.killed).map(|pointer| pointer.environment).collect();
    let fragment_authors = authors(ground.to.as_ref());
    let to = parsed(&asked.to.digest, ground.to)?;
    let from = match (&asked.promotion, &pointer) {
        (Some(promotion), _) => promotion.from_digest.map(|from| parsed(&from, ground.from)).transpose()?.flatten(),
        (None, Some(pointer)) => content(conn, &pointer.digest).await?,
        (None, None) => None,
    };
    let held_before = match &before {
        Some(Some(_)) => ground.before.reached_all,
        Some(None) => false,
        None => true,
    };
    let soaked = match (&before, rule.soak) {
        (Some(Some(before)), Some(_)) => soaked(conn, &asked, before).await?,
        _ => Vec::new(),
    };
    let hidden = to.as_ref().map(|to| spans(from.as_ref(), to)).unwrap_or_default();
    let mut facts = Facts {
        asked,
        rule,
        policy: policy.clone(),
        pointer,
        approvals: ground.approvals,
        verdicts: ground.verdicts,
        fragment_authors,
        owners: BTreeMap::new(),
        held_before,
        soaked,
        hidden,
        safe_default: ground.safe_default,
        killed_in,
        content: to,
        now,
    };
    facts.owners = owners(&facts, &ground.owners);
    Ok(facts)
}

async fn soaked(conn: &mut Conn<'_>, asked: &Asked, before: &Environment) -> Result<Vec<Stretch>, StorageError> {
    let mut history = conn.promotion_applied_list(&asked.key.key_id, before, WHOLE_HISTORY).await?;
    history.reverse();
    Ok(stretches(&history, &asked.to.digest))
}

/// Everyone who wrote one of the fragments, sorted.
fn authors(found: Option<&(Vec<u8>, Vec<Fragment>)>) -> Vec<Actor> {
    let authors = found.iter().flat_map(|(_, fragments)| fragments).map(|fragment| fragment.author.clone());
    authors.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Owners of the tokens of all that had a hand in it; nobody for who has no token.
fn owners(facts: &Facts, found: &BTreeMap<Actor, Vec<Actor>>) -> BTreeMap<Actor, Vec<Actor>> {
    let to = &facts.asked.to;
    let opened = facts.asked.promotion.as_ref().map(|promotion| &promotion.actor);
    let wrote = to.authors.iter().chain([&to.author]).chain(&to.submitter).chain(&facts.fragment_authors);
    let reported = facts.verdicts.iter().map(|verdict| &verdict.reporter);
    wrote.chain(opened).chain(reported).map(|actor| (actor.clone(), found.get(actor).cloned().unwrap_or_default())).collect()
}

/// Unusual characters that `to` adds to `from`.
///
/// # Errors
/// The database is away, or holds what does not read.
pub async fn hidden(conn: &mut Conn<'_>, from: Option<Digest>, to: &Digest) -> Result<Vec<HiddenSpan>, Refusal> {
    let Some(new) = content(conn, to).await? else { return Ok(Vec::new()) };
    let old = match from {
        Some(from) => content(conn, &from).await?,
        None => None,
    };
    Ok(spans(old.as_ref(), &new))
}

fn spans(old: Option<&(Content, Bodies)>, (new, bodies): &(Content, Bodies)) -> Vec<HiddenSpan> {
    let none = Bodies::new();
    let (old, old_bodies) = old.map_or((None, &none), |(content, bodies)| (Some(content), bodies));
    content_spans(old, new, old_bodies, bodies)
}

async fn content(conn: &mut Conn<'_>, digest: &Digest) -> Result<Option<(Content, Bodies)>, Refusal> {
    let Some(bytes) = conn.content_get(digest).await? else { return Ok(None) };
    let fragments = conn.version_fragment_list(digest).await?;
    parsed(digest, Some((bytes, fragments)))
}

fn parsed(digest: &Digest, found: Option<(Vec<u8>, Vec<Fragment>)>) -> Result<Option<(Content, Bodies)>, Refusal> {
    let Some((bytes, fragments)) = found else { return Ok(None) };
    let content: Content =
        serde_json::from_slice(&bytes).map_err(|why| StorageError::Corrupt(format!("the content of {digest}: {why}")))?;
    Ok(Some((content, fragments.into_iter().map(|fragment| (fragment.name, fragment.body)).collect())))
}
