//! Whether a database holds together: the chain, the pointers that it leaves, the digest of each content and fragment.

use crate::model::{ChainHead, Digest};
use crate::rules::{canonical, chain};
use crate::storage::{Db, StorageError};
use std::collections::BTreeMap;

/// Rows read at once.
const CHUNK: u32 = 500;

/// What a database that holds together holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// `event_id` of the first event: which registry it is.
    pub registry: Digest,
    /// The newest event.
    pub head: ChainHead,
    /// How many versions.
    pub versions: u64,
    /// How many fragment revisions.
    pub fragments: u64,
    /// How many pointers.
    pub pointers: u64,
}

/// Why a database is not to be used.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Storage(#[from] StorageError),
    /// Something in it is not what it should be.
    #[error("{0}")]
    Integrity(String),
}

/// Verifies a database whole, as one state.
///
/// # Errors
/// The first thing that does not fit.
pub async fn inspect(db: &Db) -> Result<Inspection, Flaw> {
    let mut tx = db.read().await?;
    let mut conn = tx.conn();
    let (mut head, mut registry, mut pointers) = (chain::EMPTY, Digest::ZERO, BTreeMap::new());
    loop {
        let page = conn.audit_after(head.seq, CHUNK).await?;
        for event in &page {
            head = chain::verify(&head, event).map_err(|broken| Flaw::Integrity(broken.to_string()))?;
            if head.seq == 1 {
                registry = head.event_id;
            }
        }
        pointers.extend(chain::fold(&page));
        if page.is_empty() {
            break;
        }
    }
    if head != conn.audit_head().await? {
        return Err(Flaw::Integrity(format!("the noted head is not the newest event, #{}", head.seq)));
    }
    let rows = conn.pointer_all().await?;
    let count = rows.len() as u64;
    for row in rows {
        let (key, environment) = (row.key_id.clone(), row.environment.clone());
        if pointers.remove(&(key.clone(), environment.clone())).as_ref() != Some(&row) {
            return Err(Flaw::Integrity(format!("the pointer of {key} in {environment} is not what the events left")));
        }
    }
    if let Some((key, environment)) = pointers.into_keys().next() {
        return Err(Flaw::Integrity(format!("the pointer of {key} in {environment} is missing")));
    }
    let mut after = None;
    let mut versions = 0;
    loop {
        let page = conn.content_after(after, CHUNK).await?;
        let Some((last, _)) = page.last() else { break };
        after = Some(*last);
        versions += page.len() as u64;
        // The canonical bytes are what is stored.
        let wrong = page.iter().find(|(digest, bytes)| canonical::sha256(bytes) != *digest);
        if let Some((digest, _)) = wrong {
            return Err(Flaw::Integrity(format!("the content of {digest} is not what its digest says")));
        }
    }
    let fragments = fragments(&mut conn).await?;
    Ok(Inspection { registry, head, versions, fragments, pointers: count })
}

async fn fragments(conn: &mut crate::storage::Conn<'_>) -> Result<u64, Flaw> {
    let (mut after, mut count) = (None, 0);
    loop {
        let page = conn.fragment_after(after, CHUNK).await?;
        let Some(last) = page.last() else { return Ok(count) };
        after = Some(last.digest);
        count += page.len() as u64;
        if let Some(wrong) = page.iter().find(|f| canonical::fragment_digest(&f.name, &f.body) != f.digest) {
            return Err(Flaw::Integrity(format!("the fragment {} is not what its digest says", wrong.digest)));
        }
    }
}
