//! What served at an earlier time, and where a digest served: read from applied changes and their events.

use crate::model::{
    Action, ConfigKey, Digest, Environment, EnvironmentPointer, KeyId, Moment, Refusal, Subject, Timestamp, Version,
};
use crate::rules::promotion::is_undo;
use crate::rules::served::{Change, distrusted, periods};
use crate::storage::{AuditFilter, Conn, Direction, MoveRow, StorageError};
use crate::wire::versions::{Approved, Served};

/// Rows read at once.
const CHUNK: u32 = 500;
/// So many marks of one digest are looked at.
const MARKS: u32 = 1000;

/// A pointer as it was after an event.
#[derive(Debug, Clone)]
pub struct Then {
    /// The event.
    pub as_of: Moment,
    /// The key, with the safe default of that time.
    pub key: ConfigKey,
    /// The pointer.
    pub pointer: EnvironmentPointer,
    /// Those of the digests that it names that were quarantined.
    pub quarantined: Vec<Digest>,
    /// Whether the safe default of that time had itself been killed there, and not been approved since.
    pub distrusted: bool,
}

/// The event that a question about the past means: the one with that number, or the newest at a moment.
///
/// # Errors
/// `invalid` where there is no such event.
pub async fn moment(conn: &mut Conn<'_>, seq: Option<u64>, time: Option<Timestamp>) -> Result<Moment, Refusal> {
    let (before, path) = match (seq, time) {
        (Some(seq), None) => (AuditFilter { before: Some(seq.saturating_add(1)), ..AuditFilter::default() }, "/seq"),
        // Times are kept in whole microseconds: what happened within this one counts.
        (None, Some(time)) => {
            (AuditFilter { until: Some(Timestamp(time.0.saturating_add(1))), ..AuditFilter::default() }, "/time")
        }
        _ => return Err(Refusal::invalid("", "give either `seq` or `time`")),
    };
    let filter = AuditFilter { direction: Direction::Newest, limit: 1, ..before };
    let found = conn.audit_list(&filter).await?.pop();
    match found {
        Some(event) if seq.is_none_or(|seq| seq == event.seq) => Ok(Moment { seq: event.seq, at: event.at }),
        Some(event) => Err(Refusal::invalid(path, format!("is not there yet: the newest event is #{}", event.seq))),
        None => Err(Refusal::invalid(path, "is before the first event")),
    }
}

/// A pointer of `key` as it was after an event; none where there was none yet.
///
/// # Errors
/// The database is away, or an event no longer reads.
pub async fn as_of(
    conn: &mut Conn<'_>,
    mut key: ConfigKey,
    environment: &Environment,
    as_of: Moment,
) -> Result<Option<Then>, Refusal> {
    let Some(newest) = conn.move_as_of(&key.key_id, environment, as_of.seq).await? else { return Ok(None) };
    let pointer = pointer(&newest)?.clone();
    let safe = conn.move_as_of(&key.key_id, &Environment::safe_default(), as_of.seq).await?;
    key.safe_default_digest = safe.as_ref().and_then(|row| row.promotion.to_digest);
    let distrusted = match safe.and_then(|row| row.promotion.to_digest.map(|digest| (digest, row.seq))) {
        Some((digest, approved)) => {
            let mut history = history(conn, &key.key_id, environment).await?;
            history.retain(|change| change.moment.seq <= as_of.seq);
            distrusted(&digest, &history, &[approved])
        }
        None => false,
    };
    let mut quarantined = Vec::new();
    for digest in [pointer.baseline_digest, key.safe_default_digest].into_iter().flatten() {
        let newest = marks(conn, &digest, Some(as_of.seq)).await?.pop();
        if newest.is_some_and(|(_, on)| on) {
            quarantined.push(digest);
        }
    }
    Ok(Some(Then { as_of, key, pointer, quarantined, distrusted }))
}

/// Where a version served, when, to how many, and who let it.
///
/// # Errors
/// The database is away, or an event no longer reads.
pub async fn served(conn: &mut Conn<'_>, version: Version) -> Result<Served, Refusal> {
    let marks = marks(conn, &version.digest, None).await?;
    let defaults = defaults(conn, &version).await?;
    let (mut all, mut approved) = (Vec::new(), Vec::new());
    for pointer in conn.pointer_by_key(&version.key_id).await? {
        let history = history(conn, &version.key_id, &pointer.environment).await?;
        let found = periods(&version.digest, &history, &marks, &defaults);
        for change in history.iter().filter(|change| !is_undo(&change.promotion)) {
            if found.iter().any(|period| period.approved == Some(change.promotion.promotion_id)) {
                approved.push(change.promotion.clone());
            }
        }
        all.extend(found);
    }
    all.sort_by_key(|period| period.from.seq);
    approved.sort_by_key(|row| row.applied_at);
    let mut votes = Vec::new();
    for promotion in approved {
        let mut approvals = conn.approval_list(promotion.promotion_id).await?;
        approvals.retain(|vote| vote.verdict != crate::model::Verdict::Comment);
        votes.push(Approved { promotion, approvals });
    }
    Ok(Served { version, periods: all, approved: votes })
}

/// The numbers of the changes that approved a version as its key's safe default.
async fn defaults(conn: &mut Conn<'_>, version: &Version) -> Result<Vec<u64>, StorageError> {
    let (mut defaults, mut after) = (Vec::new(), 0);
    loop {
        let found = conn.move_after(&version.key_id, &Environment::safe_default(), after, CHUNK).await?;
        let Some(last) = found.last() else { return Ok(defaults) };
        after = last.seq;
        defaults.extend(found.iter().filter(|row| row.promotion.to_digest == Some(version.digest)).map(|row| row.seq));
    }
}

async fn history(conn: &mut Conn<'_>, key: &KeyId, environment: &Environment) -> Result<Vec<Change>, Refusal> {
    let (mut history, mut after) = (Vec::new(), 0);
    loop {
        let found = conn.move_after(key, environment, after, CHUNK).await?;
        let Some(last) = found.last() else { return Ok(history) };
        after = last.seq;
        for row in found {
            let pointer = pointer(&row)?.clone();
            history.push(Change { moment: Moment { seq: row.seq, at: pointer.updated_at }, promotion: row.promotion, pointer });
        }
    }
}

fn pointer(row: &MoveRow) -> Result<&EnvironmentPointer, StorageError> {
    row.pointer.as_ref().ok_or_else(|| StorageError::Corrupt(format!("the event #{} does not say what it left", row.seq)))
}

/// When a digest was quarantined and when that was lifted, oldest first, up to an event.
async fn marks(conn: &mut Conn<'_>, digest: &Digest, until: Option<u64>) -> Result<Vec<(Moment, bool)>, StorageError> {
    let filter = AuditFilter {
        subject: Some(Subject::digest(digest).0),
        before: until.map(|seq| seq.saturating_add(1)),
        direction: Direction::Newest,
        limit: MARKS,
        ..AuditFilter::default()
    };
    let mark = |event: crate::model::AuditEvent| {
        let on = match event.body?.action {
            Action::VersionQuarantine => true,
            Action::VersionLift => false,
            _ => return None,
        };
        Some((Moment { seq: event.seq, at: event.at }, on))
    };
    Ok(conn.audit_list(&filter).await?.into_iter().filter_map(mark).collect())
}
