//! Submitting a version for review, and with an environment opening its promotion in the same transaction.

use super::open_promotion;
use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Code, Digest, Promotion, Refusal, Subject, Version, VersionState};
use crate::rules::access::Need;
use crate::wire::promotions::OpenPromotion;
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
        let promotion = self.open(work, &version).await?;
        let subject = Subject::digest(&self.digest);
        let opened = promotion.as_ref().map(open_promotion::detail);
        let detail = json!({
            "key_id": version.key_id, "number": version.number, "rationale": version.rationale, "promotion": opened,
        });
        let answer = Submitted { version, promotion };
        match (moves, opened, &answer.promotion) {
            (true, ..) => Ok(Outcome::done(answer, Action::VersionSubmit, subject, &detail)),
            // Submitted before: only the promotion is new.
            (false, Some(opened), Some(promotion)) => {
                let subject = Subject::promotion(promotion.promotion_id);
                Ok(Outcome::done(answer, Action::PromotionOpen, subject, &opened))
            }
            _ => Ok(Outcome::unchanged(answer)),
        }
    }

    fn protects(&self) -> Option<Subject> {
        self.body.environment.as_ref().map(|_| Subject::digest(&self.digest))
    }
}

impl SubmitVersion {
    /// Opens the promotion that the request asks for.
    async fn open(&self, work: &mut Work<'_>, version: &Version) -> Result<Option<Promotion>, Refusal> {
        let Some(environment) = &self.body.environment else { return Ok(None) };
        let body = OpenPromotion {
            key_id: version.key_id.clone(),
            environment: environment.clone(),
            to_digest: version.digest,
            rationale: self.body.rationale.clone().unwrap_or_else(|| version.rationale.clone()),
            percent: None,
            plan: None,
            supersedes: None,
            change: None,
            revive: false,
            baseline: None,
            at_time: None,
            when_ready: false,
            break_glass: false,
            dry_run: false,
        };
        open_promotion::open_within(work, &body).await.map(Some)
    }
}
