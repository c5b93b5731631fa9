//! Hiding a version; saving its content again shows it again.

use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Action, Code, Digest, Refusal, Subject, Version, VersionState};
use crate::rules::access::Need;
use crate::rules::policy::same_person;
use crate::wire::versions::Reason;
use serde_json::json;

/// POST /v1/versions/{digest}/discard.
#[derive(Debug, Clone)]
pub struct DiscardVersion {
    /// The version.
    pub digest: Digest,
    /// The request.
    pub body: Reason,
}

impl Verb for DiscardVersion {
    type Answer = Version;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Version>, Refusal> {
        let (key, mut version) = work.version(&self.digest).await?;
        work.allow(Need::Draft, Some(&key), None)?;
        no_nul("/rationale", &self.body.rationale)?;
        if !version.authors.iter().chain(&version.submitter).any(|author| same_person(&work.policy, author, work.actor())) {
            let authors: Vec<String> = version.authors.iter().map(ToString::to_string).collect();
            return Err(work.deny("discard a version", "only its author discards a version").hint(authors.join(", ")));
        }
        if version.discarded {
            return Ok(Outcome::unchanged(version));
        }
        if version.state == VersionState::Published {
            return Err(Refusal::new(Code::WrongState, "a version that was published stays: it may have served")
                .hint("quarantine keeps it from serving again"));
        }
        if let Some(open) = work.conn.promotion_open_of_version(&self.digest).await?.first() {
            return Err(Refusal::new(Code::WrongState, "a promotion of this version is open")
                .hint(format!("withdraw promotion {} first", open.promotion_id))
                .current(open));
        }
        work.conn.version_discard(&self.digest, true).await?;
        version.discarded = true;
        let detail = json!({ "key_id": version.key_id, "number": version.number, "rationale": self.body.rationale });
        Ok(Outcome::done(version, Action::VersionDiscard, Subject::digest(&self.digest), &detail))
    }
}
