//! Rows to store, each with the least that its table asks for.

use countersign::model::audit::AuditBody;
use countersign::model::{
    Act, Action, Actor, AuditEvent, BasisPoints, ChainHead, ConfigKey, Content, Digest, Environment, EnvironmentPointer, Format,
    KeyId, PlanStep, Promotion, PromotionState, Subject, Timestamp, UnitType, Version, VersionState,
};
use countersign::rules::{canonical, chain};
use countersign::storage::{Conn, Db};
use uuid::Uuid;

pub fn key_id(text: &str) -> KeyId {
    text.parse().unwrap()
}

pub fn environment(text: &str) -> Environment {
    text.parse().unwrap()
}

pub fn key(name: &str) -> ConfigKey {
    let key_id = key_id(name);
    ConfigKey {
        namespace: key_id.namespace().to_owned(),
        key_id,
        owning_group: "support".into(),
        unit_type: UnitType::User,
        confidential: false,
        safe_default_digest: None,
        description: String::new(),
        archived: false,
        created_at: Timestamp(1),
    }
}

/// A version of a text, with its canonical content.
pub fn version(name: &str, number: i64, body: &str) -> (Version, Vec<u8>) {
    let content = Content {
        key: key_id(name),
        format: Format::Text,
        body: body.into(),
        model_pin: None,
        parameters: serde_json::Map::new(),
        fragments: std::collections::BTreeMap::new(),
        variables: Vec::new(),
        schema: 1,
    };
    let bytes = canonical::canonical(&content);
    let version = Version {
        digest: canonical::content_digest(&content),
        key_id: key_id(name),
        number,
        author: Actor::person("dee"),
        submitter: None,
        rationale: "a reason".into(),
        model_pin: None,
        format: Format::Text,
        state: VersionState::Draft,
        created_at: Timestamp(number),
        quarantine: None,
        discarded: false,
        authors: vec![Actor::person("dee")],
    };
    (version, bytes)
}

pub fn pointer(name: &str, place: &str, digest: Digest) -> EnvironmentPointer {
    EnvironmentPointer {
        key_id: key_id(name),
        environment: environment(place),
        digest,
        rollout_pct: BasisPoints::ALL,
        killed: false,
        updated_at: Timestamp(5),
        revision: 1,
        baseline_digest: None,
        held: false,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        next_step_at: None,
    }
}

/// The `n`th promotion: ids grow with `n`.
pub fn promotion(n: u64, name: &str, place: &str, act: Act, to: Digest) -> Promotion {
    Promotion {
        promotion_id: numbered(n),
        key_id: key_id(name),
        from_digest: None,
        to_digest: Some(to),
        environment: environment(place),
        actor: Actor::person("carol"),
        kind: act.kind(),
        at: Timestamp(10),
        act,
        state: PromotionState::Open,
        rationale: "a reason".into(),
        reason: None,
        rollout_pct: BasisPoints::ALL,
        plan: vec![PlanStep(BasisPoints::ALL, None)],
        baseline_digest: None,
        safe_default_digest: None,
        pointer_revision: 0,
        policy_digest: Digest::ZERO,
        statement: Digest::ZERO,
        supersedes: None,
        change: None,
        expires_at: Some(Timestamp(1_000)),
        applied_at: None,
        applied_by: None,
        reviewed_by: None,
        reviewed_at: None,
        review_owed: false,
        note_due_at: None,
        at_time: None,
        when_ready: false,
        break_glass: false,
        missed: false,
        closed_reason: None,
    }
}

/// A UUID that sorts by `n`.
pub fn numbered(n: u64) -> Uuid {
    Uuid::from_u128(u128::from(n))
}

/// Adds one event to the chain whose head is locked by this transaction.
pub async fn append(conn: &mut Conn<'_>, head: &ChainHead, actor: &str, action: Action, subject: &str) -> AuditEvent {
    let body = AuditBody {
        actor: actor.parse().unwrap(),
        action,
        subject: Subject(subject.into()),
        detail: serde_json::Map::from_iter([("n".to_owned(), head.seq.into())]),
        nonce: format!("{:032x}", head.seq),
    };
    let event = chain::seal(head, Timestamp(head.at.0 + 1_000), body);
    conn.audit_append(&event).await.unwrap();
    event
}

/// Writes in one transaction.
pub async fn write<T>(db: &Db, work: impl AsyncFnOnce(&mut Conn<'_>) -> T) -> T {
    let mut tx = db.begin().await.unwrap();
    tx.conn().audit_head_lock().await.unwrap();
    let done = work(&mut tx.conn()).await;
    tx.commit().await.unwrap();
    done
}

/// Reads in one transaction.
pub async fn read<T>(db: &Db, work: impl AsyncFnOnce(&mut Conn<'_>) -> T) -> T {
    let mut tx = db.read().await.unwrap();
    work(&mut tx.conn()).await
}

/// Runs SQL past every rule of ours; how the engine refuses it.
pub async fn raw(db: &Db, sql: String) -> Result<u64, String> {
    let sql = sqlx::AssertSqlSafe(sql);
    match db {
        Db::Sqlite { write, .. } => sqlx::raw_sql(sql).execute(write).await.map(|r| r.rows_affected()),
        Db::Pg(pool) => sqlx::raw_sql(sql).execute(pool).await.map(|r| r.rows_affected()),
    }
    .map_err(|e| e.to_string())
}
