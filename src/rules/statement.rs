//! What approvers sign (R9).

use super::canonical::digest_of;
use crate::model::{Act, Digest, Environment, EnvironmentRule, KeyId, Plan, Promotion};
use serde::Serialize;

/// Everything that an approval is about: `statement = sha256(JCS{act, key, environment, from, to, baseline, plan, safe_default,
/// policy_digest})`, null where there is none. The approving client fills it from what it showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// What is done.
    pub act: Act,
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// What serves until then.
    pub from: Option<Digest>,
    /// What shall serve.
    pub to: Option<Digest>,
    /// What units outside the share get.
    pub baseline: Option<Digest>,
    /// The steps, approved as a whole.
    pub plan: Option<Plan>,
    /// The key's safe default at that time.
    pub safe_default: Option<Digest>,
    /// Digest of the merged rule: [`policy_digest`].
    pub policy_digest: Digest,
}

impl Statement {
    /// The statement of a promotion as its row says it.
    pub fn of(promotion: &Promotion) -> Self {
        Self {
            act: promotion.act,
            key: promotion.key_id.clone(),
            environment: promotion.environment.clone(),
            from: promotion.from_digest,
            to: promotion.to_digest,
            baseline: promotion.baseline_digest,
            plan: Some(promotion.plan.clone()).filter(|plan| !plan.is_empty()),
            safe_default: promotion.safe_default_digest,
            policy_digest: promotion.policy_digest,
        }
    }

    /// What is compared and kept.
    pub fn digest(&self) -> Digest {
        digest_of(self)
    }
}

/// Digest of the merged rule for a key and environment: every field present, null where unset, with the gates that it names.
pub fn policy_digest(rule: &EnvironmentRule) -> Digest {
    digest_of(rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BasisPoints, PlanStep};

    #[test]
    fn whatever_is_under_a_statement_changes_it() {
        let digest = |byte: u8| Some(Digest([byte; 32]));
        let statement = Statement {
            act: Act::Promote,
            key: "a.b".parse().unwrap(),
            environment: "production".parse().unwrap(),
            from: digest(1),
            to: digest(2),
            baseline: digest(1),
            plan: Some(vec![PlanStep(BasisPoints::ALL, None)]),
            safe_default: digest(3),
            policy_digest: Digest([4; 32]),
        };
        let change: [fn(&mut Statement); 11] = [
            |s| s.act = Act::Revive,
            |s| s.key = "a.c".parse().unwrap(),
            |s| s.environment = "staging".parse().unwrap(),
            |s| s.from = None,
            |s| s.to = Some(Digest([9; 32])),
            |s| s.baseline = None,
            |s| s.plan = None,
            |s| s.plan = Some(vec![PlanStep(BasisPoints::ALL, Some(1))]),
            |s| s.plan = Some(vec![PlanStep(BasisPoints::ZERO, None)]),
            |s| s.safe_default = None,
            |s| s.policy_digest = Digest::ZERO,
        ];
        for (at, change) in change.iter().enumerate() {
            let mut changed = statement.clone();
            change(&mut changed);
            assert_ne!(changed.digest(), statement.digest(), "change {at}");
        }
    }
}
