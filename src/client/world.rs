//! Calls about the world: environments, the policy, who the caller is.

use super::{Answer, Client};
use crate::model::{Environment, EnvironmentRule, KeyId};
use crate::wire::paths;
use crate::wire::people::Me;
use crate::wire::world::{ApplyPolicy, AskPolicy, PolicyText, World};

impl Client {
    /// Environments in the policy's order, the registry's name, its genesis.
    pub async fn world(&self) -> Answer<World> {
        self.get(&paths::environments(), &()).await
    }

    /// Who the caller is.
    pub async fn me(&self) -> Answer<Me> {
        self.get(&paths::me(), &()).await
    }

    /// The policy in force as text.
    pub async fn policy(&self) -> Answer<PolicyText> {
        self.get(&paths::policy(), &AskPolicy::default()).await
    }

    /// The merged rule for a key in an environment.
    pub async fn policy_rule(&self, key: &KeyId, environment: &Environment) -> Answer<EnvironmentRule> {
        let ask = AskPolicy { key: Some(key.clone()), environment: Some(environment.to_string()) };
        self.get(&paths::policy(), &ask).await
    }

    /// Checks (`dry_run`) or applies a policy.
    pub async fn apply_policy(&self, body: &ApplyPolicy, idempotency: &str) -> Answer<PolicyText> {
        self.post(&paths::policy(), body, idempotency).await
    }
}
