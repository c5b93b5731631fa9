//! Making a fragment revision. It changes no version by itself: versions pin revisions.

use super::work::{Outcome, Verb, Work};
use crate::model::{Action, Code, Fragment, Refusal, Subject, ids};
use crate::rules::access::Need;
use crate::rules::canonical::fragment_digest;
use crate::wire::versions as wire;
use serde_json::json;

/// POST /v1/fragments.
#[derive(Debug, Clone)]
pub struct CreateFragment {
    /// The request.
    pub body: wire::CreateFragment,
}

impl Verb for CreateFragment {
    type Answer = Fragment;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Fragment>, Refusal> {
        let wire::CreateFragment { name, body, owning_group } = self.body.clone();
        work.allow(Need::Draft, None, None)?;
        ids::check_fragment_name(&name).map_err(|e| Refusal::invalid("/name", e.problem))?;
        work.group("/owning_group", &owning_group)?;
        let digest = fragment_digest(&name, &body);
        if let Some(there) = work.conn.fragment_get(&digest).await? {
            return Ok(Outcome::unchanged(there));
        }
        if let Some(newest) = work.conn.fragment_newest(&name).await?
            && newest.owning_group != owning_group
        {
            return Err(Refusal::new(Code::Exists, format!("the fragment {name} belongs to another group"))
                .hint(format!("choose another name, or owning_group {}", newest.owning_group)));
        }
        let (fragment_id, author, created_at) = (work.uuid(), work.actor().clone(), work.at);
        let fragment = Fragment { fragment_id, digest, name, owning_group, body, author, created_at };
        work.conn.fragment_put(&fragment).await?;
        let subject = Subject(format!("fragment:{}", fragment.name));
        let detail = json!({ "digest": digest, "owning_group": fragment.owning_group });
        Ok(Outcome::done(fragment, Action::FragmentCreate, subject, &detail).created())
    }
}
