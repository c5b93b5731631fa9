//! Marking a version, so that it does not come to serve.

use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Digest, Quarantine, Refusal, Subject, Version};
use crate::rules::access::Need;
use crate::snapshot::Change;
use crate::wire::versions::Reason;
use serde_json::json;

/// POST /v1/versions/{digest}/quarantine.
#[derive(Debug, Clone)]
pub struct QuarantineVersion {
    /// The version.
    pub digest: Digest,
    /// The request.
    pub body: Reason,
}

impl Verb for QuarantineVersion {
    type Answer = Version;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Version>, Refusal> {
        let (key, mut version) = work.version(&self.digest).await?;
        work.allow(Need::Quarantine, Some(&key), None)?;
        not_blank("/rationale", &self.body.rationale)?;
        if version.quarantine.is_some() {
            return Ok(Outcome::unchanged(version));
        }
        let mark = Quarantine { by: work.actor().clone(), reason: self.body.rationale.clone(), at: work.at };
        work.conn.version_quarantine_set(&self.digest, Some(&mark)).await?;
        version.quarantine = Some(mark);
        let serving = work.conn.pointer_by_digest(&self.digest).await?;
        let places: Vec<&str> = serving.iter().map(|pointer| pointer.environment.as_str()).collect();
        let detail = json!({
            "key_id": version.key_id, "number": version.number, "rationale": self.body.rationale, "serving_in": places,
        });
        let change = Change::Quarantine(key.key_id, self.digest, true);
        Ok(Outcome::done(version, Action::VersionQuarantine, Subject::digest(&self.digest), &detail).changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::digest(&self.digest))
    }

    fn holds_back(&self) -> bool {
        true
    }
}
