//! What the policy says about a key in an environment: the rule, its origins, who may do what, what a promotion would need now.

use super::facts::{Asked, gather, rule_of};
use crate::model::{Act, ConfigKey, Digest, Environment, EnvironmentRule, Policy, Readiness, Refusal, Timestamp, Version};
use crate::rules::access::{Need, who_breaks_glass, who_may};
use crate::rules::policy::{group_members, group_of, origins};
use crate::rules::readiness::Door;
use crate::rules::statement::policy_digest;
use crate::snapshot::Snapshot;
use crate::storage::Conn;
use crate::wire::world::{FieldOrigin, MayDo, PolicyExplained};

/// The acts that are explained, in the order of a change's life.
const ACTS: [Need; 11] = [
    Need::Draft,
    Need::Open,
    Need::Apply,
    Need::Step,
    Need::StepDown,
    Need::Hold,
    Need::Rollback,
    Need::Kill,
    Need::Revive,
    Need::CloseReview,
    Need::Quarantine,
];

/// Explains the policy in force. The caller has been found to see the key.
///
/// # Errors
/// The policy has no such environment, the key has no such version, the database is away.
pub async fn explain_policy(
    conn: &mut Conn<'_>,
    snapshot: &Snapshot,
    now: Timestamp,
    key: ConfigKey,
    environment: Environment,
    to: Option<Digest>,
) -> Result<PolicyExplained, Refusal> {
    let policy = snapshot.policy();
    let rule = rule_of(policy, &key, &environment)?;
    let to = version(conn, &key, to).await?;
    let may = may(policy, &key, &environment, &rule);
    let fields = fields(policy, &key, &environment, &rule);
    let (name, to_digest) = (key.key_id.clone(), to.as_ref().map(|version| version.digest));
    let readiness = match to {
        Some(to) => {
            let door = Door::of(Act::Promote, &environment);
            let asked = Asked { door, key, environment: environment.clone(), to, promotion: None };
            gather(conn, policy, now, asked).await?.readiness()
        }
        None => Readiness::default(),
    };
    let (policy, policy_digest) = (snapshot.policy_digest(), policy_digest(&rule));
    Ok(PolicyExplained { key: name, environment, policy, rule, policy_digest, fields, may, to_digest, readiness })
}

/// The version that is named, else the newest that was not taken away.
async fn version(conn: &mut Conn<'_>, key: &ConfigKey, named: Option<Digest>) -> Result<Option<Version>, Refusal> {
    if let Some(digest) = named {
        let found = conn.version_get(&digest).await?.filter(|version| version.key_id == key.key_id);
        let refused = || Refusal::invalid("/to_digest", format!("{} has no version {digest}", key.key_id));
        return found.map(Some).ok_or_else(refused);
    }
    let newest = conn.version_list(&key.key_id, None, 20).await?;
    Ok(newest.into_iter().find(|version| !version.discarded))
}

fn fields(policy: &Policy, key: &ConfigKey, environment: &Environment, rule: &EnvironmentRule) -> Vec<FieldOrigin> {
    let values = serde_json::to_value(rule).unwrap_or_default();
    let origin = |(field, section, line): (&str, String, usize)| {
        let value = values.get(field).cloned().unwrap_or_default();
        FieldOrigin { field: field.to_owned(), value, section, line }
    };
    origins(policy, &key.key_id, environment).into_iter().map(origin).collect()
}

fn may(policy: &Policy, key: &ConfigKey, environment: &Environment, rule: &EnvironmentRule) -> Vec<MayDo> {
    let mut out: Vec<MayDo> =
        ACTS.into_iter().map(|need| MayDo { act: need.to_string(), who: who_may(policy, need, key, environment) }).collect();
    let approvers = who_may(policy, Need::Approve, key, environment);
    let of_group = |group: &str| {
        let members = group_members(policy, group);
        approvers.iter().filter(|actor| actor.is_person() && members.contains(actor)).cloned().collect()
    };
    let approvals = rule.approvals.iter().flatten();
    let approvals =
        approvals.map(|asked| MayDo { act: format!("approve {}", asked.gate), who: of_group(group_of(&asked.group, key)) });
    let people = |group: &str| group_members(policy, group).iter().filter(|actor| actor.is_person()).cloned().collect();
    let overrides = rule.gate.iter().filter_map(|(name, gate)| {
        let group = gate.override_group.as_deref()?;
        Some(MayDo { act: format!("override {name}"), who: people(group) })
    });
    let reports = rule.gate.iter().map(|(name, gate)| MayDo { act: format!("report {name}"), who: gate.reporters.clone() });
    out.splice(2..2, approvals.chain(reports).chain(overrides).collect::<Vec<_>>());
    if rule.break_glass.is_some() {
        out.push(MayDo { act: "break the glass".to_owned(), who: who_breaks_glass(policy, rule, key, environment) });
    }
    out
}
