//! Gathers from one transaction everything that `rules::readiness` judges by.

use crate::model::approval::HiddenSpan;
use crate::model::{
    Actor, Approval, ConfigKey, Content, Digest, Environment, EnvironmentPointer, EnvironmentRule, GateVerdict, Policy,
    Promotion, Readiness, Refusal, Timestamp, Version,
};
use crate::rules::hidden::{Bodies, content_spans};
use crate::rules::policy;
use crate::rules::readiness::{Door, Serving, may_serve};
use crate::rules::soak::{Stretch, stretches};
use crate::storage::{Conn, StorageError};
use std::collections::BTreeMap;
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
    let pointers = conn.pointer_by_key(&asked.key.key_id).await?;
    let pointer = pointers.iter().find(|pointer| pointer.environment == asked.environment).cloned();
    let killed_in = pointers.into_iter().filter(|pointer| pointer.killed).map(|pointer| pointer.environment).collect();
    let approvals = match &asked.promotion {
        Some(promotion) => conn.approval_list(promotion.promotion_id).await?,
        None => Vec::new(),
    };
    let verdicts = conn.verdict_newest(&asked.to.digest).await?;
    let new = content(conn, &asked.to.digest).await?;
    let fragment_authors = match &new {
        Some((content, _)) if !content.fragments.is_empty() => conn.version_fragment_authors(&asked.to.digest).await?,
        _ => Vec::new(),
    };
    let safe_default = match &asked.key.safe_default_digest {
        Some(digest) => conn.version_get(digest).await?,
        None => None,
    };
    let held_before = match &rule.after {
        Some(before) => held_at_all(conn, &asked, before).await?,
        None => true,
    };
    let soaked = match (&rule.after, rule.soak) {
        (Some(before), Some(_)) => soaked(conn, &asked, before).await?,
        _ => Vec::new(),
    };
    let hidden = spans(conn, from(&asked, pointer.as_ref()), new).await?;
    let mut facts = Facts {
        asked,
        rule,
        policy: policy.clone(),
        pointer,
        approvals,
        verdicts,
        fragment_authors,
        owners: BTreeMap::new(),
        held_before,
        soaked,
        hidden,
        safe_default,
        killed_in,
        now,
    };
    facts.owners = owners(conn, &facts).await?;
    Ok(facts)
}

/// What `to` is compared with: what served when the promotion was opened; without one, what serves now.
fn from(asked: &Asked, pointer: Option<&EnvironmentPointer>) -> Option<Digest> {
    match &asked.promotion {
        Some(promotion) => promotion.from_digest,
        None => pointer.map(|pointer| pointer.digest),
    }
}

async fn held_at_all(conn: &mut Conn<'_>, asked: &Asked, before: &str) -> Result<bool, StorageError> {
    let Ok(before) = before.parse::<Environment>() else { return Ok(false) };
    Ok(conn.past_of(&asked.key.key_id, &before, &asked.to.digest).await?.reached_all)
}

async fn soaked(conn: &mut Conn<'_>, asked: &Asked, before: &str) -> Result<Vec<Stretch>, StorageError> {
    let Ok(before) = before.parse::<Environment>() else { return Ok(Vec::new()) };
    let mut history = conn.promotion_applied_list(&asked.key.key_id, &before, WHOLE_HISTORY).await?;
    history.reverse();
    Ok(stretches(&history, &asked.to.digest))
}

async fn owners(conn: &mut Conn<'_>, facts: &Facts) -> Result<BTreeMap<Actor, Vec<Actor>>, StorageError> {
    let to = &facts.asked.to;
    let opened = facts.asked.promotion.as_ref().map(|promotion| &promotion.actor);
    let wrote = to.authors.iter().chain([&to.author]).chain(&to.submitter).chain(&facts.fragment_authors);
    let reported = facts.verdicts.iter().map(|verdict| &verdict.reporter);
    let mut owners = BTreeMap::new();
    for actor in wrote.chain(opened).chain(reported) {
        if !owners.contains_key(actor) {
            owners.insert(actor.clone(), conn.token_owners(actor).await?);
        }
    }
    Ok(owners)
}

/// Unusual characters that `to` adds to `from`.
///
/// # Errors
/// The database is away, or holds what does not read.
pub async fn hidden(conn: &mut Conn<'_>, from: Option<Digest>, to: &Digest) -> Result<Vec<HiddenSpan>, Refusal> {
    let new = content(conn, to).await?;
    spans(conn, from, new).await
}

async fn spans(conn: &mut Conn<'_>, from: Option<Digest>, new: Option<(Content, Bodies)>) -> Result<Vec<HiddenSpan>, Refusal> {
    let Some((new, new_bodies)) = new else { return Ok(Vec::new()) };
    let old = match from {
        Some(from) => content(conn, &from).await?,
        None => None,
    };
    let (old, old_bodies) = old.unzip();
    Ok(content_spans(old.as_ref(), &new, &old_bodies.unwrap_or_default(), &new_bodies))
}

async fn content(conn: &mut Conn<'_>, digest: &Digest) -> Result<Option<(Content, Bodies)>, Refusal> {
    let Some(bytes) = conn.content_get(digest).await? else { return Ok(None) };
    let content: Content =
        serde_json::from_slice(&bytes).map_err(|why| StorageError::Corrupt(format!("the content of {digest}: {why}")))?;
    if content.fragments.is_empty() {
        return Ok(Some((content, Bodies::new())));
    }
    let fragments = conn.version_fragment_list(digest).await?;
    Ok(Some((content, fragments.into_iter().map(|fragment| (fragment.name, fragment.body)).collect())))
}
