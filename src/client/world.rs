//! Calls about the world: environments, the policy, who the caller is.

use super::{Answer, Client, ClientError};
use crate::model::bundle::SignedBundle;
use crate::model::{Environment, EnvironmentRule, KeyId};
use crate::rules::bundle;
use crate::rules::note::PublicKey;
use crate::wire::paths;
use crate::wire::people::Me;
use crate::wire::world::{ApplyPolicy, AskPolicy, ExplainPolicy, PolicyExplained, PolicyText, World};

impl Client {
    /// Environments in the policy's order, the registry's name, its genesis.
    pub async fn world(&self) -> Answer<World> {
        self.get(&paths::environments(), &()).await
    }

    /// What an environment serves, whole and signed; checked, with the registry's own word for its key unless one is given.
    pub async fn bundle(&self, environment: &Environment, key: Option<&PublicKey>) -> Answer<SignedBundle> {
        let signed: SignedBundle = self.get(&paths::bundle(environment), &()).await?;
        bundle::check(&signed, key).map_err(ClientError::Integrity)?;
        if signed.bundle.environment != *environment {
            return Err(ClientError::Integrity(format!("asked for {environment}, got {}", signed.bundle.environment)));
        }
        Ok(signed)
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

    /// The merged rule, where it comes from, and what it means now.
    pub async fn explain_policy(&self, body: &ExplainPolicy) -> Answer<PolicyExplained> {
        self.ask(&paths::policy_explain(), body).await
    }

    /// Checks (`dry_run`) or applies a policy.
    pub async fn apply_policy(&self, body: &ApplyPolicy, idempotency: &str) -> Answer<PolicyText> {
        self.post(&paths::policy(), body, idempotency).await
    }
}
