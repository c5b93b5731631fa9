//! Submitting a version for review, and with an environment opening its promotion in the same transaction.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Code, Digest, Refusal, Subject, VersionState};
use crate::rules::access::Need;
use crate::wire::versions::{Submit, Submitted};
use serde_json::json;

/// POST /v1/versions/{digest}/submit.
#[derive(Debug, Clone)]
pub struct SubmitVersion {
    /// The version.
    pub digest: Digest,
    /// The request.
    pub body: Submit,
}

impl Verb for SubmitVersion {
    type Answer = Submitted;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Submitted>, Refusal> {
        let (key, mut version) = work.version(&self.digest).await?;
        work.allow(Need::Draft, Some(&key), None)?;
        if version.discarded {
            return Err(Refusal::new(Code::WrongState, "this version was discarded").hint("save its content again first"));
        }
        let moves = version.state == VersionState::Draft;
        if moves {
            work.conn.version_state_set(&self.digest, VersionState::Review).await?;
            version.state = VersionState::Review;
            if version.author != *work.actor() {
                work.conn.version_submitter_set(&self.digest, work.actor()).await?;
                version.submitter = Some(work.actor().clone());
            }
        }
        if self.body.environment.is_some() {
            return Err(Refusal::invalid("/environment", "cannot be given yet"));
        }
        let subject = Subject::digest(&self.digest);
        let detail = json!({ "key_id": version.key_id, "number": version.number, "rationale": version.rationale });
        let answer = Submitted { version, promotion: None };
        if !moves {
            return Ok(Outcome::unchanged(answer));
        }
        Ok(Outcome::done(answer, Action::VersionSubmit, subject, &detail))
    }
}
