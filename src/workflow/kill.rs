//! The kill switch (R13): works whatever else is broken.

use super::moving::{self, AtOnce, Move, Place};
use super::work::{Outcome, Verb, Work, no_nul};
use crate::model::{Act, Action, ActorKind, Code, ConfigKey, Environment, KeyId, Promotion, Refusal, Subject};
use crate::rules::access::{Need, sees};
use crate::rules::hidden::is_blank;
use crate::rules::promotion::{self, NOTE_SECONDS};
use crate::storage::StorageError;
use crate::wire::pointers as wire;
use crate::wire::promotions::Moved;

/// POST /v1/keys/{key}/pointers/{environment}/kill.
#[derive(Debug, Clone)]
pub struct KillPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Kill,
}

impl Verb for KillPointer {
    type Answer = Moved;

    async fn act(&self, work: &mut Work<'_>) -> Result<Outcome<Moved>, Refusal> {
        let note = self.body.note.as_deref().unwrap_or_default();
        no_nul("/note", note)?;
        let place = self.place(work).await?;
        work.allow(Need::Kill, Some(&place.key), Some(&self.environment))?;
        if place.pointer.killed {
            return self.repeat(work, place).await;
        }
        self.refuse_late(work).await?;
        let after = promotion::killed(&place.pointer, work.at);
        let unfit = unfit_default(work, &place).await?;
        let to = promotion::kill_serves(&place.pointer, place.key.safe_default_digest, |_| unfit);
        let done = AtOnce { act: Act::Kill, to, share: place.pointer.rollout_pct, rationale: note };
        let mut row = moving::row(work, &place, &done, &after);
        row.reason = Some(self.body.reason);
        row.review_owed = true;
        row.note_due_at = is_blank(note).then(|| work.at.plus_seconds(NOTE_SECONDS));
        if self.body.dry_run {
            return Ok(moving::would(row, after));
        }
        let moved = Move { before: Some(&place.pointer), after, promotion: row, action: Action::PointerKill, rationale: note };
        moving::move_now(work, moved).await
    }

    fn protects(&self) -> Option<Subject> {
        Some(Subject::key(&self.key))
    }

    /// A kill that is sent again looks again and acts.
    fn replays(&self) -> bool {
        false
    }

    fn holds_back(&self) -> bool {
        true
    }
}

impl KillPointer {
    /// The pointer; its key as the snapshot holds it where the row does not read.
    async fn place(&self, work: &mut Work<'_>) -> Result<Place, Refusal> {
        let (key, pointer) = work.conn.pointer_place(&self.key, &self.environment).await?;
        let key = match key {
            Err(StorageError::Corrupt(_)) => work.snapshot.key(&self.key).map(|key| (**key).clone()),
            found => found?,
        };
        // The registry itself kills again after a restore.
        let knows = |key: &ConfigKey| work.actor().kind == ActorKind::System || sees(&work.policy, work.caller, key);
        let key = key.filter(knows).ok_or_else(Refusal::not_found)?;
        let pointer = pointer?.ok_or_else(Refusal::not_found)?;
        Ok(Place { key, pointer })
    }

    /// Refuses a kill that was decided before a revive.
    async fn refuse_late(&self, work: &mut Work<'_>) -> Result<(), Refusal> {
        if self.body.issued_at.is_none() && self.body.seen_revision.is_none() {
            return Ok(());
        }
        let revived = match work.conn.applied_revived(&self.key, &self.environment).await {
            Ok(revived) => revived,
            // A row that does not read must not keep anybody from killing.
            Err(StorageError::Corrupt(_)) => return Ok(()),
            Err(other) => return Err(other.into()),
        };
        match promotion::outdated_kill(revived, self.body.issued_at, self.body.seen_revision) {
            Some(revive) => Err(Refusal::new(Code::PointerMoved, self.why_late(&revive))
                .hint("look at what serves now, and kill again if it must stop")
                .current(&revive)),
            None => Ok(()),
        }
    }

    /// Why it came too late, by what it was decided on: a revision that was seen, or the moment.
    fn why_late(&self, revive: &Promotion) -> String {
        match (self.body.seen_revision, revive.applied_at) {
            (Some(seen), _) => format!("it was revived since revision {seen}, which this kill was decided on"),
            (None, Some(at)) => format!("it was revived at {at}, after this kill was decided"),
            (None, None) => "it was revived after this kill was decided".to_owned(),
        }
    }

    /// A second kill changes nothing and says which one holds.
    async fn repeat(&self, work: &mut Work<'_>, place: Place) -> Result<Outcome<Moved>, Refusal> {
        let killed = match work.conn.promotion_last_applied(&self.key, &self.environment).await {
            Ok(last) => last.filter(|row| row.act == Act::Kill),
            Err(StorageError::Corrupt(_)) => None,
            Err(other) => return Err(other.into()),
        };
        let row = killed.unwrap_or_else(|| self.unknown(work, &place));
        Ok(moving::would(row, place.pointer))
    }

    /// Stands for the row of a kill that cannot be read.
    fn unknown(&self, work: &Work<'_>, place: &Place) -> Promotion {
        let done = AtOnce { act: Act::Kill, to: None, share: place.pointer.rollout_pct, rationale: "" };
        Promotion { reason: Some(self.body.reason), ..moving::row(work, place, &done, &place.pointer) }
    }
}

/// Whether the safe default cannot serve: quarantined, gone, not readable, or killed here before and not approved since.
async fn unfit_default(work: &mut Work<'_>, place: &Place) -> Result<bool, Refusal> {
    let Place { key, pointer } = place;
    let Some(digest) = key.safe_default_digest else { return Ok(true) };
    let (distrusted, version) = work.conn.applied_distrusted_version(&key.key_id, &pointer.environment, &digest).await?;
    match version {
        Ok(version) => Ok(distrusted || version.is_none_or(|version| version.quarantine.is_some())),
        Err(StorageError::Corrupt(_)) => Ok(true),
        Err(other) => Err(other.into()),
    }
}
