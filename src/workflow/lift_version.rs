//! Lifting a quarantine mark: by another person than who set it.

use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Action, Code, Digest, Refusal, Subject, Version};
use crate::rules::access::Need;
use crate::snapshot::Change;
use crate::wire::versions::Reason;
use serde_json::json;

/// POST /v1/versions/{digest}/lift.
#[derive(Debug, Clone)]
pub struct LiftVersion {
    /// The version.
    pub digest: Digest,
    /// The request.
    pub body: Reason,
}

impl Verb for LiftVersion {
    type Answer = Version;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Version>, Refusal> {
        let (key, mut version) = work.version(&self.digest).await?;
        work.allow(Need::Lift, Some(&key), None)?;
        not_blank("/rationale", &self.body.rationale)?;
        let Some(mark) = version.quarantine.take() else {
            return Err(Refusal::new(Code::WrongState, "this version carries no quarantine mark"));
        };
        if !work.actor().is_person() || work.caller.is_person(&work.policy, &mark.by) {
            let detail = format!("{} set the mark; another person lifts it", mark.by);
            return Err(work.deny("lift a quarantine", detail).hint("ask another approver"));
        }
        work.conn.version_quarantine_set(&self.digest, None).await?;
        let detail = json!({
            "key_id": version.key_id, "number": version.number, "rationale": self.body.rationale, "set_by": mark.by,
            "set_at": mark.at,
        });
        let change = Change::Quarantine(key.key_id, self.digest, false);
        Ok(Outcome::done(version, Action::VersionLift, Subject::digest(&self.digest), &detail).changing([change]))
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::digest(&self.digest))
    }
}
