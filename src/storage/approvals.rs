//! Rows of `approval`; only ever added.

use super::codec::{AsJson, Id};
use super::db::Conn;
use super::error::StorageError;
use crate::model::approval::HiddenSpan;
use crate::model::{Actor, Approval, Digest, Environment, Timestamp, Verdict};
use uuid::Uuid;

const PUT: &str = "INSERT INTO approval (approval_id, promotion_id, approver, gate, verdict, at, rationale, statement, head, \
    acknowledged_hidden, groups, login_method, anchor, reply_to, owner, position) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
    $13, $14, $15, (SELECT COUNT(*) FROM approval WHERE promotion_id = $2))";
pub(super) const LIST: &str = "SELECT approval_id, promotion_id, approver, gate, verdict, at, rationale, statement, head, acknowledged_hidden, \
    groups, login_method, anchor, reply_to, owner FROM approval WHERE promotion_id = $1 ORDER BY position";
const BEFORE: &str = "SELECT p.environment, a.at FROM approval a JOIN promotion p ON p.promotion_id = a.promotion_id \
    WHERE a.approver = $1 AND a.verdict = 'approve' AND p.to_digest = $2 AND p.promotion_id <> $3 ORDER BY a.at DESC LIMIT 1";

const OPEN_VOTES: &str = "SELECT a.promotion_id, a.approver, a.gate, a.verdict FROM approval a \
    JOIN promotion p ON p.promotion_id = a.promotion_id WHERE p.state = 'open' AND p.promotion_id >= $1 AND p.promotion_id <= $2 \
    AND a.verdict <> 'comment' ORDER BY a.promotion_id, a.position";

pub(super) const ALL: &[&str] = &[PUT, LIST, BEFORE, OPEN_VOTES];

/// What one row says, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// The promotion.
    pub promotion_id: Uuid,
    /// Who.
    pub approver: Actor,
    /// On which gate.
    pub gate: String,
    /// What.
    pub verdict: Verdict,
}

decode!(Vote, r => Ok(Self {
    promotion_id: r.try_get::<Id, _>("promotion_id")?.0,
    approver: r.try_get("approver")?,
    gate: r.try_get("gate")?,
    verdict: r.try_get("verdict")?,
}));

decode!(Approval, r => Ok(Self {
    approval_id: r.try_get::<Id, _>("approval_id")?.0,
    promotion_id: r.try_get::<Id, _>("promotion_id")?.0,
    approver: r.try_get("approver")?,
    gate: r.try_get("gate")?,
    verdict: r.try_get("verdict")?,
    at: r.try_get("at")?,
    rationale: r.try_get("rationale")?,
    statement: r.try_get("statement")?,
    head: r.try_get("head")?,
    acknowledged_hidden: r.try_get::<AsJson<Vec<HiddenSpan>>, _>("acknowledged_hidden")?.0,
    groups: r.try_get::<AsJson<Vec<String>>, _>("groups")?.0,
    login_method: r.try_get("login_method")?,
    anchor: r.try_get("anchor")?,
    reply_to: r.try_get::<Option<Id>, _>("reply_to")?.map(|id| id.0),
    owner: r.try_get("owner")?,
}));

impl Conn<'_> {
    /// Adds a row after all others of its promotion.
    pub async fn approval_put(&mut self, a: &Approval) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            Id(a.approval_id),
            Id(a.promotion_id),
            &a.approver,
            &a.gate,
            a.verdict,
            a.at,
            &a.rationale,
            a.statement,
            a.head,
            AsJson(&a.acknowledged_hidden),
            AsJson(&a.groups),
            &a.login_method,
            a.anchor,
            a.reply_to.map(Id),
            &a.owner
        )
        .map(drop)
    }

    /// Every row of a promotion, oldest first.
    pub async fn approval_list(&mut self, promotion: Uuid) -> Result<Vec<Approval>, StorageError> {
        rows!(self, LIST, Id(promotion))
    }

    /// Verdicts on open promotions from one id to another, both included: by promotion, oldest first.
    pub async fn approval_open_votes(&mut self, from: Uuid, to: Uuid) -> Result<Vec<Vote>, StorageError> {
        rows!(self, OPEN_VOTES, Id(from), Id(to))
    }

    /// Where and when an approver last approved a digest by another promotion than `but`.
    pub async fn approval_before(
        &mut self,
        approver: &Actor,
        digest: &Digest,
        but: Uuid,
    ) -> Result<Option<(Environment, Timestamp)>, StorageError> {
        row!(self, BEFORE, approver, digest, Id(but))
    }
}
