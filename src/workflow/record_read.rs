//! Recording that somebody read a confidential text.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Digest, Refusal, Subject};
use crate::storage::{AuditFilter, Direction};
use serde_json::json;

/// One record stands for a reader's reads of a version for so long: screens read again and again.
const STANDS_SECONDS: i64 = 3600;

/// A read of a version's content, which the server has allowed.
#[derive(Debug, Clone)]
pub struct RecordRead {
    /// The version.
    pub digest: Digest,
}

impl Verb for RecordRead {
    type Answer = ();

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<()>, Refusal> {
        let (key, version) = work.version(&self.digest).await?;
        let subject = Subject::digest(&self.digest);
        let filter = AuditFilter {
            subject: Some(subject.0.clone()),
            actor: Some(work.actor().clone()),
            action: Some(Action::ContentRead),
            since: Some(work.at.plus_seconds(-STANDS_SECONDS)),
            direction: Direction::Newest,
            limit: 1,
            ..AuditFilter::default()
        };
        if !key.confidential || !work.conn.audit_list(&filter).await?.is_empty() {
            return Ok(Outcome::unchanged(()));
        }
        let detail = json!({ "key_id": version.key_id, "number": version.number });
        Ok(Outcome::done((), Action::ContentRead, subject, &detail))
    }

    fn holds_back(&self) -> bool {
        true
    }
}
