//! SQL, the only room that says `sqlx`: one text for SQLite and PostgreSQL, functions noun first, one file an entity.
//!
//! ```text
//! let mut tx = db.begin().await?;            // a write transaction; `db.read()` gives a consistent read-only one
//! let head = tx.conn().audit_head_lock().await?;
//! let key = tx.conn().key_get(&id).await?;
//! tx.commit().await?;
//! ```
//! Every function is a method of [`Conn`]: it works in read and in write transactions alike (a write through a read-only
//! one is an error of the engine).

#[macro_use]
mod batch;
#[macro_use]
mod db;
mod applied;
mod approvals;
mod audit;
mod codec;
mod dialect;
mod error;
mod experiments;
mod fragments;
mod ground;
mod idempotency;
mod journal;
mod keys;
pub mod meta;
mod moves;
mod outbox;
mod pointers;
mod policy;
mod promotions;
mod reserve;
mod servable;
mod sights;
mod tokens;
mod verdicts;
mod versions;
mod webhooks;

pub use approvals::Vote;
pub use audit::{AuditFilter, Direction};
pub use db::{Conn, Db, Engine, ServedMark, Tx};
pub use error::StorageError;
pub use fragments::FragmentPin;
pub use ground::{Ground, Sought};
pub use idempotency::{IdempotencyScope, StoredAnswer};
pub use journal::{Journal, read_journal};
pub use keys::{KeyFilter, KeySummary};
pub use moves::{MoveRow, Moving, Taken};
pub use outbox::OutboxRow;
pub use pointers::{Place, PointerFilter};
pub use policy::PolicyRow;
pub use promotions::PromotionFilter;
pub use servable::ServableRow;
pub use tokens::StoredToken;
pub use webhooks::StoredWebhook;

/// Every static statement, so that a test can PREPARE all of them on both engines.
pub const STATEMENTS: &[&[&str]] = &[
    approvals::ALL,
    audit::ALL,
    experiments::ALL,
    fragments::ALL,
    ground::ALL,
    idempotency::ALL,
    keys::ALL,
    meta::ALL,
    moves::ALL,
    outbox::ALL,
    applied::ALL,
    pointers::ALL,
    policy::ALL,
    promotions::ALL,
    servable::ALL,
    sights::ALL,
    tokens::ALL,
    verdicts::ALL,
    versions::ALL,
    webhooks::ALL,
];
