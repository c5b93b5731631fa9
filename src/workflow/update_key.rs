//! Changing a key; showing a confidential one and giving it to another group takes two people.

use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Action, Code, ConfigKey, KeyId, Refusal, Subject};
use crate::rules::access::{self, Need};
use crate::rules::policy::group_members;
use crate::snapshot::Change;
use crate::storage::{AuditFilter, Direction};
use crate::wire::keys as wire;
use serde_json::{Value, json};

/// The second person sends the same request within a day.
const WISH_SECONDS: i64 = 24 * 3600;
/// So many changes of one key are looked through for the first person's.
const WISHES: u32 = 200;

/// PATCH /v1/keys/{key}.
#[derive(Debug, Clone)]
pub struct UpdateKey {
    /// The key.
    pub key: KeyId,
    /// The request: what is given changes.
    pub body: wire::UpdateKey,
}

/// What of a request takes two people.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pair {
    /// Two of the owning group.
    Show,
    /// One of the owning group, one of the new owner's.
    Give(String),
}

impl Verb for UpdateKey {
    type Answer = ConfigKey;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<ConfigKey>, Refusal> {
        let before = work.conn.key_get(&self.key).await?.ok_or_else(Refusal::not_found)?;
        let pair = self.pair(&before);
        let wish = serde_json::to_value(&self.body).unwrap_or(Value::Null);
        let first = if pair.is_some() { first_of_pair(work, &before, &wish).await? } else { None };
        let invited = first.is_some() && matches!(&pair, Some(Pair::Give(group)) if is_member(work, group));
        if !invited && !access::sees(&work.policy, work.caller, &before) {
            return Err(Refusal::not_found());
        }
        let after = self.after(work, &before).await?;
        if after == before {
            work.allow(Need::KeyAdmin, Some(&before), None)?;
            return Ok(Outcome::unchanged(before));
        }
        let Some(pair) = pair else {
            work.allow(Need::KeyAdmin, Some(&before), None)?;
            return write(work, &before, after, &wish, None).await;
        };
        may_be_half(work, &before, &pair)?;
        match first {
            Some(first) if fits(work, &before, &pair, &first) => {
                write(work, &before, after, &wish, Some(first.to_string())).await
            }
            Some(first) if work.caller.is_person(&work.policy, &first) => Ok(Outcome::unchanged(before)),
            _ => {
                let detail = json!({ "wish": wish, "waits_for": waits_for(&before, &pair), "owner": work.caller.other_owner() });
                Ok(Outcome::done(before, Action::KeyUpdate, Subject::key(&self.key), &detail))
            }
        }
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }
}

impl UpdateKey {
    fn pair(&self, before: &ConfigKey) -> Option<Pair> {
        match &self.body.owning_group {
            Some(group) if *group != before.owning_group => Some(Pair::Give(group.clone())),
            _ => (self.body.confidential == Some(false) && before.confidential).then_some(Pair::Show),
        }
    }

    /// The key as the request wants it.
    async fn after(&self, work: &mut Work<'_>, before: &ConfigKey) -> Result<ConfigKey, Refusal> {
        let mut after = before.clone();
        let body = self.body.clone();
        if let Some(description) = body.description {
            no_nul("/description", &description)?;
            after.description = description;
        }
        after.archived = body.archived.unwrap_or(after.archived);
        after.confidential = body.confidential.unwrap_or(after.confidential);
        if let Some(group) = body.owning_group {
            work.group("/owning_group", &group)?;
            after.owning_group = group;
        }
        if after.owning_group != before.owning_group && before.confidential && !after.confidential {
            return Err(Refusal::invalid("/confidential", "cannot be given up in the same request as the owner")
                .hint("send two requests: each takes two people, and not the same ones"));
        }
        if let Some(unit_type) = body.unit_type.filter(|unit_type| *unit_type != before.unit_type) {
            if !work.conn.pointer_by_key(&self.key).await?.is_empty() {
                return Err(Refusal::new(Code::WrongState, "what is bucketed is fixed once a pointer exists")
                    .hint("make another key: every unit would change its side"));
            }
            after.unit_type = unit_type;
        }
        Ok(after)
    }
}

fn is_member(work: &Work<'_>, group: &str) -> bool {
    group_members(&work.policy, group).contains(work.actor())
}

/// Whether the caller can be one of the two.
fn may_be_half(work: &mut Work<'_>, before: &ConfigKey, pair: &Pair) -> Result<(), Refusal> {
    let member = is_member(work, &before.owning_group)
        || match pair {
            Pair::Give(group) => is_member(work, group),
            Pair::Show => false,
        };
    if member && work.caller.is_whole() && work.actor().is_person() {
        return Ok(());
    }
    let who = waits_for(before, pair);
    let detail = format!("{} is not one of the people whom this takes", work.actor());
    Err(work.deny("change a key", detail).hint(format!("it takes {who}")))
}

fn waits_for(before: &ConfigKey, pair: &Pair) -> String {
    match pair {
        Pair::Show => format!("two people of group:{}", before.owning_group),
        Pair::Give(group) => format!("one person of group:{} and another of group:{group}", before.owning_group),
    }
}

/// Whether the first person and the caller are the two that it takes.
fn fits(work: &Work<'_>, before: &ConfigKey, pair: &Pair, first: &crate::model::Actor) -> bool {
    let of = |group: &str, actor| group_members(&work.policy, group).contains(actor);
    let (old, second) = (before.owning_group.as_str(), work.actor());
    !work.caller.is_person(&work.policy, first)
        && match pair {
            Pair::Show => of(old, first) && of(old, second),
            Pair::Give(new) => (of(old, first) && of(new, second)) || (of(new, first) && of(old, second)),
        }
}

/// Who sent the same request within a day, where it was not fulfilled since: another person's, else the caller's own.
async fn first_of_pair(work: &mut Work<'_>, before: &ConfigKey, wish: &Value) -> Result<Option<crate::model::Actor>, Refusal> {
    let filter = AuditFilter {
        subject: Some(Subject::key(&before.key_id).0),
        since: Some(work.at.plus_seconds(-WISH_SECONDS)),
        direction: Direction::Newest,
        limit: WISHES,
        ..AuditFilter::default()
    };
    let mut own = None;
    for body in work.conn.audit_list(&filter).await?.into_iter().rev().filter_map(|event| event.body) {
        if body.action != Action::KeyUpdate {
            continue;
        }
        if body.detail.get("fulfils") == Some(wish) {
            break;
        }
        if body.detail.get("wish") == Some(wish) {
            let owner = body.detail.get("owner").and_then(|owner| serde_json::from_value(owner.clone()).ok());
            if !std::iter::once(&body.actor).chain(&owner).any(|who| work.caller.is_person(&work.policy, who)) {
                return Ok(Some(body.actor));
            }
            own = Some(body.actor);
        }
    }
    Ok(own)
}

async fn write(
    work: &mut Work<'_>,
    before: &ConfigKey,
    after: ConfigKey,
    wish: &Value,
    first: Option<String>,
) -> Result<Outcome<ConfigKey>, Refusal> {
    work.conn.key_update(&after).await?;
    let mut detail = json!({ "before": shown(before), "after": shown(&after) });
    if let (Value::Object(members), Some(first)) = (&mut detail, first) {
        members.insert("first_person".into(), first.into());
        members.insert("fulfils".into(), wish.clone());
    }
    let change = Change::Key(Box::new(after.clone()));
    let subject = Subject::key(&after.key_id);
    Ok(Outcome::done(after, Action::KeyUpdate, subject, &detail).changing([change]))
}

/// What of a key can change here.
fn shown(key: &ConfigKey) -> Value {
    json!({
        "owning_group": key.owning_group, "unit_type": key.unit_type, "confidential": key.confidential,
        "description": key.description, "archived": key.archived,
    })
}
