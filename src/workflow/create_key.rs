//! Making a key.

use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Action, Code, ConfigKey, Refusal, Subject};
use crate::rules::access::{self, Need};
use crate::snapshot::Change;
use crate::wire::keys as wire;
use serde_json::json;

/// POST /v1/keys.
#[derive(Debug, Clone)]
pub struct CreateKey {
    /// The request.
    pub body: wire::CreateKey,
}

impl Verb for CreateKey {
    type Answer = ConfigKey;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<ConfigKey>, Refusal> {
        let body = self.body.clone();
        let key = ConfigKey {
            namespace: body.key_id.namespace().to_owned(),
            key_id: body.key_id,
            owning_group: body.owning_group,
            unit_type: body.unit_type,
            confidential: body.confidential,
            safe_default_digest: None,
            description: body.description,
            archived: false,
            created_at: work.at,
        };
        work.allow(Need::CreateKey, Some(&key), None)?;
        work.group("/owning_group", &key.owning_group)?;
        no_nul("/description", &key.description)?;
        if let Some(there) = work.conn.key_get(&key.key_id).await? {
            if !access::sees(&work.policy, work.caller, &there) {
                // The same words and the same event as for a place where the caller may make no key. Who may make one there learns
                // that this name is taken, since another one is made: what it is, and whose, stays hidden.
                let attempt = Need::CreateKey.to_string();
                return Err(work.deny(&attempt, format!("{} may not {attempt}", work.actor())));
            }
            return Err(Refusal::new(Code::Exists, format!("the key {} exists", key.key_id))
                .hint("change it instead, or choose another name")
                .current(&there));
        }
        work.conn.key_put(&key).await?;
        let detail = json!({
            "owning_group": key.owning_group, "unit_type": key.unit_type, "confidential": key.confidential,
            "description": key.description,
        });
        let change = Change::Key(Box::new(key.clone()));
        let subject = Subject::key(&key.key_id);
        Ok(Outcome::done(key, Action::KeyCreate, subject, &detail).created().changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.body.key_id))
    }
}
