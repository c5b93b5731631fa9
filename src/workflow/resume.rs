//! Letting a held rollout go on.

use super::hold::hold;
use super::moving;
use super::work::{Outcome, Verb, Work, not_blank};
use crate::model::{Code, Environment, KeyId, Refusal, Subject};
use crate::rules::access::Need;
use crate::rules::rollout;
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;

/// POST /v1/keys/{key}/pointers/{environment}/resume.
#[derive(Debug, Clone)]
pub struct ResumePointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Act,
}

impl Verb for ResumePointer {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        let place = moving::place(work, &self.key, &self.environment).await?;
        work.allow(Need::Resume, Some(&place.key), Some(&self.environment))?;
        moving::alive(&place.pointer)?;
        moving::seen(&place.pointer, self.body.seen_revision)?;
        if !place.pointer.held {
            return Err(Refusal::new(Code::WrongState, "the rollout is not held").current(&place.pointer));
        }
        if !rollout::runs(&place.pointer) {
            return Err(Refusal::new(Code::WrongState, "no rollout runs there: it is held until a person promotes again")
                .current(&place.pointer));
        }
        hold(work, &place, false, &self.body.rationale, self.body.dry_run).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }
}
