//! Rows of `promotion`.

use super::batch::{Answers, Batch};
use super::codec::{AsJson, Id, limit};
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, ConfigKey, Digest, Environment, KeyId, Plan, Promotion, PromotionState, Timestamp};
use uuid::Uuid;

macro_rules! columns {
    () => {
        "p.promotion_id, p.key_id, p.from_digest, p.to_digest, p.environment, p.actor, p.kind, p.at, p.act, p.state, p.rationale, \
         p.reason, p.rollout_pct, p.plan, p.baseline_digest, p.safe_default_digest, p.pointer_revision, p.policy_digest, p.statement, \
         p.supersedes, p.change, p.expires_at, p.applied_at, p.applied_by, p.reviewed_by, p.reviewed_at, p.review_owed, \
         p.note_due_at, p.closed_reason, p.at_time, p.when_ready, p.break_glass, p.missed"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM promotion p WHERE p.promotion_id = $1");
const KEY: &str = "SELECT k.* FROM config_key k JOIN promotion p ON p.key_id = k.key_id WHERE p.promotion_id = $1";
/// `applied_seq` orders what was applied: the number that this transaction's one audit event will have.
const PUT: &str = "INSERT INTO promotion (promotion_id, key_id, from_digest, to_digest, environment, actor, kind, at, act, state, \
    rationale, reason, rollout_pct, plan, baseline_digest, safe_default_digest, pointer_revision, policy_digest, statement, supersedes, \
    change, expires_at, applied_at, applied_by, reviewed_by, reviewed_at, review_owed, note_due_at, closed_reason, at_time, when_ready, \
    break_glass, missed, applied_seq) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, \
    $27, $28, $29, $30, $31, $32, $33, CASE WHEN $34 THEN (SELECT seq + 1 FROM audit_head) END)";
pub(super) const APPLY: &str = "UPDATE promotion SET state = 'applied', applied_at = $2, applied_by = $3, review_owed = $4, \
    applied_seq = (SELECT seq + 1 FROM audit_head) WHERE promotion_id = $1 AND state = 'open'";
const CLOSE: &str = "UPDATE promotion SET state = $2, closed_reason = $3, \
    missed = $2 IN ('stale', 'expired') AND (when_ready OR at_time IS NOT NULL) WHERE promotion_id = $1 AND state = 'open'";
pub(super) const STALE_OTHERS: &str = "UPDATE promotion SET state = 'stale', closed_reason = $3, \
    missed = (when_ready OR at_time IS NOT NULL) WHERE key_id = $1 AND environment = $2 \
    AND state = 'open' AND promotion_id <> $4 RETURNING promotion_id";
const REVIEW: &str =
    "UPDATE promotion SET reviewed_by = $2, reviewed_at = $3, review_owed = FALSE WHERE promotion_id = $1 AND review_owed";
const NOTE: &str = "UPDATE promotion SET rationale = $2, note_due_at = NULL WHERE promotion_id = $1 AND note_due_at IS NOT NULL";
const SEEN: &str = "UPDATE promotion SET missed = FALSE WHERE promotion_id = $1 AND missed";
const OWE: &str = "UPDATE promotion SET review_owed = $2, note_due_at = $3 WHERE promotion_id = $1";
const OPEN_OF_POINTER: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.state = 'open' ORDER BY p.promotion_id"
);
const OPEN_OF_VERSION: &str =
    concat!("SELECT ", columns!(), " FROM promotion p WHERE p.to_digest = $1 AND p.state = 'open' ORDER BY p.promotion_id");
const OPEN_COUNT: &str = "SELECT COUNT(*) FROM promotion WHERE key_id = $1 AND environment = $2 AND state = 'open'";
const OPEN_ALL: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.state = 'open' AND p.promotion_id > $1 ORDER BY p.promotion_id LIMIT $2"
);
const EXPIRED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.state = 'open' AND p.expires_at <= $1 ORDER BY p.expires_at LIMIT $2"
);
/// Open ones that the registry applies by itself, of one key.
const TIMED_OF_KEY: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.key_id = $1 AND p.state = 'open' AND (p.when_ready OR p.at_time IS NOT NULL) ORDER BY p.promotion_id"
);
/// … of all keys, by the index of open ones.
const TIMED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.state = 'open' AND p.promotion_id > $1 AND (p.when_ready OR p.at_time IS NOT NULL) \
     ORDER BY p.promotion_id LIMIT $2"
);
const LAST_APPLIED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq IS NOT NULL ORDER BY p.applied_seq DESC LIMIT 1"
);
const APPLIED_OF: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE p.key_id = $1 AND p.environment = $2 AND p.applied_seq IS NOT NULL ORDER BY p.applied_seq DESC LIMIT $3"
);
const SERVED: &str = "SELECT COUNT(*) FROM promotion WHERE key_id = $1 AND environment = $2 AND to_digest = $3 \
    AND applied_seq IS NOT NULL AND rollout_pct > 0 AND act IN ('promote', 'step', 'revive', 'rollback')";
const OWED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM promotion p WHERE (p.review_owed OR p.note_due_at IS NOT NULL OR p.missed) AND p.promotion_id < $1 ORDER BY p.promotion_id DESC LIMIT $2"
);

macro_rules! list {
    ($leading:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM promotion p WHERE p.promotion_id < $1 AND ",
            $leading,
            " AND ($2 = '' OR p.state = $2) AND ($3 = '' OR p.environment = $3) AND ($4 = '' OR p.key_id = $4) \
             AND ($5 = '' OR p.change = $5) ORDER BY p.promotion_id DESC LIMIT $6"
        )
    };
}
/// One text for each leading index; the engines do not see through `$n = ''`.
const LIST_BY_CHANGE: &str = list!("p.change = $5");
const LIST_BY_KEY: &str = list!("p.key_id = $4");
const LIST_BY_STATE: &str = list!("p.state = $2");
const LIST_BY_ENVIRONMENT: &str = list!("p.environment = $3");
const LIST: &str = list!("TRUE");

pub(super) const ALL: &[&str] = &[
    GET,
    KEY,
    PUT,
    APPLY,
    CLOSE,
    STALE_OTHERS,
    REVIEW,
    NOTE,
    SEEN,
    OWE,
    OPEN_OF_POINTER,
    OPEN_OF_VERSION,
    OPEN_COUNT,
    OPEN_ALL,
    EXPIRED,
    TIMED_OF_KEY,
    TIMED,
    LAST_APPLIED,
    APPLIED_OF,
    SERVED,
    OWED,
    LIST_BY_CHANGE,
    LIST_BY_KEY,
    LIST_BY_STATE,
    LIST_BY_ENVIRONMENT,
    LIST,
];

decode!(Promotion, r => Ok(Self {
    promotion_id: r.try_get::<Id, _>("promotion_id")?.0,
    key_id: r.try_get("key_id")?,
    from_digest: r.try_get("from_digest")?,
    to_digest: r.try_get("to_digest")?,
    environment: r.try_get("environment")?,
    actor: r.try_get("actor")?,
    kind: r.try_get("kind")?,
    at: r.try_get("at")?,
    act: r.try_get("act")?,
    state: r.try_get("state")?,
    rationale: r.try_get("rationale")?,
    reason: r.try_get("reason")?,
    rollout_pct: r.try_get("rollout_pct")?,
    plan: r.try_get::<AsJson<Plan>, _>("plan")?.0,
    baseline_digest: r.try_get("baseline_digest")?,
    safe_default_digest: r.try_get("safe_default_digest")?,
    pointer_revision: r.try_get("pointer_revision")?,
    policy_digest: r.try_get("policy_digest")?,
    statement: r.try_get("statement")?,
    supersedes: r.try_get::<Option<Id>, _>("supersedes")?.map(|id| id.0),
    change: r.try_get("change")?,
    expires_at: r.try_get("expires_at")?,
    applied_at: r.try_get("applied_at")?,
    applied_by: r.try_get("applied_by")?,
    reviewed_by: r.try_get("reviewed_by")?,
    reviewed_at: r.try_get("reviewed_at")?,
    review_owed: r.try_get("review_owed")?,
    note_due_at: r.try_get("note_due_at")?,
    closed_reason: r.try_get("closed_reason")?,
    at_time: r.try_get("at_time")?,
    when_ready: r.try_get("when_ready")?,
    break_glass: r.try_get("break_glass")?,
    missed: r.try_get("missed")?,
}));

/// What a page of promotions asks for. Newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromotionFilter {
    /// Only in this state.
    pub state: Option<PromotionState>,
    /// Only of this environment.
    pub environment: Option<Environment>,
    /// Only of this key.
    pub key: Option<KeyId>,
    /// Only of this ticket.
    pub change: Option<String>,
    /// Only older than this one.
    pub before: Option<Uuid>,
    /// At most so many.
    pub limit: u32,
}

/// Above every UUID as text.
const ABOVE_ALL: &str = "g";

/// Adds what [`Conn::promotion_put`] does.
pub(super) fn put(batch: &mut Batch, p: &Promotion) -> Result<(), StorageError> {
    statement!(
        batch,
        PUT,
        Id(p.promotion_id),
        &p.key_id,
        p.from_digest,
        p.to_digest,
        &p.environment,
        &p.actor,
        p.kind,
        p.at,
        p.act,
        p.state,
        &p.rationale,
        p.reason,
        p.rollout_pct,
        AsJson(&p.plan),
        p.baseline_digest,
        p.safe_default_digest,
        p.pointer_revision,
        p.policy_digest,
        p.statement,
        p.supersedes.map(Id),
        &p.change,
        p.expires_at,
        p.applied_at,
        &p.applied_by,
        &p.reviewed_by,
        p.reviewed_at,
        p.review_owed,
        p.note_due_at,
        &p.closed_reason,
        p.at_time,
        p.when_ready,
        p.break_glass,
        p.missed,
        p.state == PromotionState::Applied
    );
    Ok(())
}

/// The ids that [`STALE_OTHERS`] gave, sorted.
pub(super) fn staled(found: &mut Answers) -> Result<Vec<Uuid>, StorageError> {
    let mut ids: Vec<Uuid> = found.rows::<(Id,)>()?.into_iter().map(|(id,)| id.0).collect();
    ids.sort_unstable();
    Ok(ids)
}

impl Conn<'_> {
    /// One promotion.
    pub async fn promotion_get(&mut self, id: Uuid) -> Result<Option<Promotion>, StorageError> {
        row!(self, GET, Id(id))
    }

    /// One promotion and its key.
    pub async fn promotion_and_key(&mut self, id: Uuid) -> Result<(Option<Promotion>, Option<ConfigKey>), StorageError> {
        let mut found = batch!(self, GET, Id(id); KEY, Id(id))?;
        Ok((found.row()?, found.row()?))
    }

    /// Adds a promotion: open, or (kill, step, rollback …) applied at once.
    pub async fn promotion_put(&mut self, p: &Promotion) -> Result<(), StorageError> {
        let mut batch = Batch::on(self);
        put(&mut batch, p)?;
        batch.run(self).await.map(drop)
    }

    /// Marks an open promotion applied; false where it is not open any more.
    pub async fn promotion_apply_set(
        &mut self,
        id: Uuid,
        at: Timestamp,
        by: &Actor,
        review_owed: bool,
    ) -> Result<bool, StorageError> {
        Ok(run!(self, APPLY, Id(id), at, by, review_owed)? == 1)
    }

    /// Closes an open promotion as withdrawn, stale or expired; false where it is not open any more.
    pub async fn promotion_close(&mut self, id: Uuid, state: PromotionState, reason: &str) -> Result<bool, StorageError> {
        Ok(run!(self, CLOSE, Id(id), state, reason)? == 1)
    }

    /// Makes every open promotion of a pointer stale, but `except`; their ids, sorted.
    pub async fn promotion_stale_others(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        except: Option<Uuid>,
        reason: &str,
    ) -> Result<Vec<Uuid>, StorageError> {
        let except = except.map_or(String::new(), |id| id.to_string());
        staled(&mut batch!(self, STALE_OTHERS, key, environment, reason, &except)?)
    }

    /// Settles the review that is owed; false where none is.
    pub async fn promotion_review_set(&mut self, id: Uuid, by: &Actor, at: Timestamp) -> Result<bool, StorageError> {
        Ok(run!(self, REVIEW, Id(id), by, at)? == 1)
    }

    /// Writes the note that a kill owed as its rationale; false where none is owed.
    pub async fn promotion_note_set(&mut self, id: Uuid, note: &str) -> Result<bool, StorageError> {
        Ok(run!(self, NOTE, Id(id), note)? == 1)
    }

    /// Sets what is owed for a promotion after the fact; whether it exists.
    pub async fn promotion_owe(&mut self, id: Uuid, review: bool, note_due_at: Option<Timestamp>) -> Result<bool, StorageError> {
        Ok(run!(self, OWE, Id(id), review, note_due_at)? == 1)
    }

    /// Open promotions of a pointer, oldest first.
    pub async fn promotion_open_of_pointer(
        &mut self,
        key: &KeyId,
        environment: &Environment,
    ) -> Result<Vec<Promotion>, StorageError> {
        rows!(self, OPEN_OF_POINTER, key, environment)
    }

    /// Open promotions of a version, oldest first.
    pub async fn promotion_open_of_version(&mut self, digest: &Digest) -> Result<Vec<Promotion>, StorageError> {
        rows!(self, OPEN_OF_VERSION, digest)
    }

    /// How many promotions of a pointer are open.
    pub async fn promotion_open_count(&mut self, key: &KeyId, environment: &Environment) -> Result<i64, StorageError> {
        let found: Option<(i64,)> = row!(self, OPEN_COUNT, key, environment)?;
        Ok(found.map_or(0, |(count,)| count))
    }

    /// Open promotions after one, oldest first.
    pub async fn promotion_open_list(&mut self, after: Option<Uuid>, most: u32) -> Result<Vec<Promotion>, StorageError> {
        let after = after.map_or(String::new(), |id| id.to_string());
        rows!(self, OPEN_ALL, &after, limit(most))
    }

    /// Open promotions whose time is over.
    pub async fn promotion_expired(&mut self, now: Timestamp, most: u32) -> Result<Vec<Promotion>, StorageError> {
        rows!(self, EXPIRED, now, limit(most))
    }

    /// Open promotions of a key that the registry applies by itself, oldest first.
    pub async fn promotion_timed_of_key(&mut self, key: &KeyId) -> Result<Vec<Promotion>, StorageError> {
        rows!(self, TIMED_OF_KEY, key)
    }

    /// Open promotions that the registry applies by itself, after one of them, oldest first.
    pub async fn promotion_timed(&mut self, after: Option<Uuid>, most: u32) -> Result<Vec<Promotion>, StorageError> {
        let after = after.map_or(String::new(), |id| id.to_string());
        rows!(self, TIMED, &after, limit(most))
    }

    /// Notes that who opened a missed promotion knows of it; false where it was not missed.
    pub async fn promotion_missed_seen(&mut self, id: Uuid) -> Result<bool, StorageError> {
        Ok(run!(self, SEEN, Id(id))? == 1)
    }

    /// What was last applied to a pointer, whatever it was.
    pub async fn promotion_last_applied(
        &mut self,
        key: &KeyId,
        environment: &Environment,
    ) -> Result<Option<Promotion>, StorageError> {
        row!(self, LAST_APPLIED, key, environment)
    }

    /// What was applied to a pointer, newest first.
    pub async fn promotion_applied_list(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        most: u32,
    ) -> Result<Vec<Promotion>, StorageError> {
        rows!(self, APPLIED_OF, key, environment, limit(most))
    }

    /// Whether a digest ever served some share of a pointer's units by an applied promotion, step, revive or rollback.
    pub async fn promotion_served(
        &mut self,
        key: &KeyId,
        environment: &Environment,
        digest: &Digest,
    ) -> Result<bool, StorageError> {
        let found: Option<(i64,)> = row!(self, SERVED, key, environment, digest)?;
        Ok(found.is_some_and(|(count,)| count > 0))
    }

    /// Promotions after which something is owed (a review, a note, a look at one that was missed), newest first.
    pub async fn promotion_owed(&mut self, before: Option<Uuid>, most: u32) -> Result<Vec<Promotion>, StorageError> {
        let before = before.map_or_else(|| ABOVE_ALL.to_owned(), |id| id.to_string());
        rows!(self, OWED, &before, limit(most))
    }

    /// A page of promotions, newest first.
    pub async fn promotion_list(&mut self, filter: &PromotionFilter) -> Result<Vec<Promotion>, StorageError> {
        let before = filter.before.map_or_else(|| ABOVE_ALL.to_owned(), |id| id.to_string());
        let state = filter.state.map_or("", PromotionState::as_str);
        let environment = filter.environment.as_ref().map_or("", Environment::as_str);
        let key = filter.key.as_ref().map_or("", KeyId::as_str);
        let change = filter.change.as_deref().unwrap_or("").replace('\0', " ");
        let sql = match (&filter.change, &filter.key, filter.state, &filter.environment) {
            (Some(_), ..) => LIST_BY_CHANGE,
            (_, Some(_), ..) => LIST_BY_KEY,
            (_, _, Some(_), _) => LIST_BY_STATE,
            (_, _, _, Some(_)) => LIST_BY_ENVIRONMENT,
            _ => LIST,
        };
        rows!(self, sql, &before, state, environment, key, &change, limit(filter.limit))
    }
}
