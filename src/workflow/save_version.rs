//! Saving a version: identity is content (R1-R3).

use super::work::{Outcome, Verb, Work, no_nul, not_blank};
use crate::model::{Action, Actor, ActorKind, Code, Digest, Fragment, KeyId, Refusal, Subject, Version, VersionState};
use crate::rules::access::Need;
use crate::rules::content::{self, Checked};
use crate::wire::versions::{CreateVersion, Imported, VersionView};
use serde_json::json;
use std::collections::BTreeMap;

/// Bytes of all fragments that a version pins: as many as its own text may have. All of them are checked with it, while every other
/// change waits.
const MOST_PINNED: usize = 1024 * 1024;

/// POST /v1/keys/{key}/versions.
#[derive(Debug, Clone)]
pub struct SaveVersion {
    /// The key.
    pub key: KeyId,
    /// The request.
    pub body: CreateVersion,
}

impl Verb for SaveVersion {
    type Answer = VersionView;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<VersionView>, Refusal> {
        let key = work.key(&self.key).await?;
        let need = if self.body.imported.is_some() { Need::Import } else { Need::Draft };
        work.allow(need, Some(&key), None)?;
        self.check(work)?;
        let fragments = pinned(work, &self.body.content.fragments).await?;
        let checked = content::check(self.body.content.clone(), &fragments).map_err(|r| under("/content", r))?;
        let bodies: Vec<Fragment> = fragments.into_values().collect();
        let view = |version: Version, checked: &Checked| VersionView {
            version,
            content: Some(checked.content.clone()),
            fragment_bodies: bodies.clone(),
            warnings: checked.warnings.clone(),
        };
        if let Some(there) = work.conn.version_get(&checked.digest).await? {
            let Outcome { answer: version, created, event, changes } = self.again(work, there).await?;
            let mut answer = view(version, &checked);
            if answer.version.authors.len() > 1 {
                let others = others(&answer.version, work.actor()).join(", ");
                answer.warnings.push(format!("the same content was saved by {others}; none of you can approve it"));
            }
            return Ok(Outcome { answer, created, event, changes });
        }
        let version = self.first(work, &checked).await?;
        let detail = self.detail(&version);
        let subject = Subject::digest(&version.digest);
        Ok(Outcome::done(view(version, &checked), Action::VersionDraft, subject, &detail).created())
    }
}

impl SaveVersion {
    fn check(&self, work: &Work<'_>) -> Result<(), Refusal> {
        not_blank("/rationale", &self.body.rationale)?;
        if self.body.content.key != self.key {
            return Err(Refusal::invalid("/content/key", "is not the key of the path"));
        }
        no_nul("/content/model_pin", self.body.content.model_pin.as_deref().unwrap_or(""))?;
        let Some(Imported { author, created_at }) = &self.body.imported else { return Ok(()) };
        no_nul("/imported/author", &author.name)?;
        if author.kind != ActorKind::Git && author != work.actor() {
            return Err(Refusal::invalid("/imported/author", "is neither `git:NAME` nor the importing person"));
        }
        if *created_at > work.at {
            return Err(Refusal::invalid("/imported/created_at", "is in the future"));
        }
        Ok(())
    }

    /// Who wrote it.
    fn author(&self, work: &Work<'_>) -> Actor {
        self.body.imported.as_ref().map_or_else(|| work.actor().clone(), |imported| imported.author.clone())
    }

    fn detail(&self, version: &Version) -> serde_json::Value {
        json!({
            "key_id": version.key_id, "number": version.number, "rationale": self.body.rationale, "author": version.author,
            "state": version.state, "model_pin": version.model_pin,
            "imported_at": self.body.imported.as_ref().map(|imported| imported.created_at),
        })
    }

    /// A digest that the registry does not have yet.
    async fn first(&self, work: &mut Work<'_>, checked: &Checked) -> Result<Version, Refusal> {
        let author = self.author(work);
        let imported = self.body.imported.is_some();
        let version = Version {
            digest: checked.digest,
            key_id: self.key.clone(),
            number: work.conn.version_newest_number(&self.key).await? + 1,
            author: author.clone(),
            submitter: Some(work.actor().clone()).filter(|submitter| imported && *submitter != author),
            rationale: self.body.rationale.clone(),
            model_pin: checked.content.model_pin.clone(),
            format: checked.content.format,
            state: if imported { VersionState::Review } else { VersionState::Draft },
            created_at: self.body.imported.as_ref().map_or(work.at, |imported| imported.created_at),
            quarantine: None,
            discarded: false,
            authors: vec![author],
        };
        work.conn.version_put(&version, &checked.bytes).await?;
        for (at, variable) in checked.content.variables.iter().enumerate() {
            let id = work.uuid();
            work.conn.variable_put(id, &version.digest, at, variable).await?;
        }
        for (name, pin) in &checked.content.fragments {
            work.conn.version_fragment_put(&version.digest, name, pin).await?;
        }
        Ok(version)
    }

    /// The same content again: the existing version, with whoever saved it as another author (R1); shown again where it
    /// was discarded.
    async fn again(&self, work: &mut Work<'_>, mut version: Version) -> Result<Outcome<Version>, Refusal> {
        let author = self.author(work);
        let digest = version.digest;
        let (new_author, revived) = (!version.authors.contains(&author), version.discarded);
        if !new_author && !revived {
            return Ok(Outcome::unchanged(version));
        }
        if new_author {
            work.conn.version_author_add(&digest, &author).await?;
            version.authors.push(author.clone());
            version.authors.sort();
        }
        if revived {
            work.conn.version_discard(&digest, false).await?;
            version.discarded = false;
        }
        let action = if revived { Action::VersionDraft } else { Action::VersionAuthor };
        let detail = json!({
            "key_id": version.key_id, "number": version.number, "rationale": self.body.rationale, "author": author,
            "revived": revived,
        });
        Ok(Outcome::done(version, action, Subject::digest(&digest), &detail))
    }
}

/// The authors of a version but one.
fn others(version: &Version, but: &Actor) -> Vec<String> {
    version.authors.iter().filter(|author| *author != but).map(ToString::to_string).collect()
}

/// The fragment revisions that a content pins, as far as the registry has them: what is missing, the content's check names.
async fn pinned(work: &mut Work<'_>, pins: &BTreeMap<String, Digest>) -> Result<BTreeMap<Digest, Fragment>, Refusal> {
    if pins.len() > 100 {
        return Err(Refusal::new(Code::Invalid, "a version pins 100 fragments at most"));
    }
    let (mut found, mut bytes) = (BTreeMap::new(), 0);
    for digest in pins.values() {
        if let Some(fragment) = work.conn.fragment_get(digest).await? {
            bytes += fragment.body.len();
            if bytes > MOST_PINNED {
                let why = format!("the fragments have together more than {MOST_PINNED} bytes");
                return Err(Refusal::invalid("/content/fragments", why).hint("pin fewer, or shorter ones"));
            }
            found.insert(*digest, fragment);
        }
    }
    Ok(found)
}

/// A refusal of a part, with its place in the whole.
fn under(prefix: &str, mut refusal: Refusal) -> Refusal {
    if let Some(path) = refusal.path.take() {
        refusal.path = Some(if path.starts_with(prefix) { path } else { format!("{prefix}{path}") });
    }
    refusal
}
