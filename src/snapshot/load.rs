//! Reads a whole snapshot from the database, in one read transaction: one consistent state.

use super::doubts::Doubts;
use super::{HeldToken, KeyState, Keys, Pepper, Servable, Snapshot};
use crate::model::{ConfigKey, Digest, Environment, EnvironmentPointer, KeyId};
use crate::rules::policy;
use crate::storage::{Conn, Db, ServableRow, StorageError};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Tokens read at once.
const CHUNK: u32 = 1000;

/// Loads what serves now. Nobody is in a group by the word of an issuer yet: [`Snapshot::at`] says who is.
///
/// # Errors
/// The database is away, or holds what does not read.
pub async fn load(db: &Db, pepper: Pepper) -> Result<Snapshot, StorageError> {
    let mut tx = db.read().await?;
    let mut conn = tx.conn();
    let mut snapshot = Snapshot::empty(pepper);
    snapshot.head = conn.audit_head().await?;
    snapshot.moved = super::change::Moved::all(snapshot.head.seq);
    snapshot.genesis = conn.audit_after(0, 1).await?.first().map(|event| event.event_id);
    if let Some(name) = conn.meta_get(crate::storage::meta::NAME).await? {
        snapshot.name = name.into();
    }
    snapshot.read_only = conn.meta_get(crate::storage::meta::READ_ONLY).await?.filter(|why| !why.is_empty()).map(Into::into);
    if let Some(row) = conn.policy_get().await? {
        let read = policy::read(&row.source).map_err(|why| StorageError::Corrupt(format!("the policy in force: {why}")))?;
        snapshot.policy = Arc::new(read);
        snapshot.policy_digest = row.digest;
    }
    snapshot.tokens = tokens(&mut conn).await?;
    let sights = conn.sight_all().await?.into_iter();
    snapshot.sights = sights.map(|sight| (sight.actor.clone(), Arc::new(sight))).collect();
    let mut doubts = Doubts::default();
    let mut contents = contents(&mut conn, &mut doubts).await?;
    let (keys, rows) = (conn.key_all().await?, conn.pointer_all().await?);
    let pointers = doubts.pointers(rows, conn.move_last_all().await?);
    if !doubts.0.is_empty() {
        add_missing(&mut conn, &pointers, &mut contents).await?;
    }
    let distrusted = conn.applied_distrusted_all().await?;
    snapshot.keys = keyed(keys, pointers, contents, distrusted);
    snapshot.doubts = doubts.0.len();
    for what in &doubts.0 {
        tracing::error!("ALARM: the database was changed by another hand: {what}");
    }
    Ok(snapshot)
}

/// Adds the contents that only the audit trail names, as far as they are what their digests say.
async fn add_missing(
    conn: &mut Conn<'_>,
    pointers: &[EnvironmentPointer],
    contents: &mut Vec<Servable>,
) -> Result<(), StorageError> {
    let named = pointers.iter().flat_map(|pointer| std::iter::once(pointer.digest).chain(pointer.baseline_digest));
    let held: HashSet<Digest> = contents.iter().map(|content| content.digest).collect();
    let missing: BTreeSet<Digest> = named.filter(|digest| !held.contains(digest)).collect();
    for digest in missing {
        // What was found not to hold is told of already.
        let mut told = Doubts::default();
        let Some(row) = conn.servable_get(&digest).await?.filter(|row| told.holds(row)) else { continue };
        let fragments = conn.version_fragment_list(&digest).await?.into_iter().map(|f| (f.name, f.body)).collect();
        contents.extend(Some(Servable { fragments, ..read(row)? }).filter(|content| told.whole(content)));
    }
    Ok(())
}

async fn tokens(conn: &mut Conn<'_>) -> Result<imbl::HashMap<String, Arc<HeldToken>>, StorageError> {
    let mut held = imbl::HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let found = conn.token_list(after.as_deref(), CHUNK).await?;
        let Some(last) = found.last() else { return Ok(held) };
        after = Some(last.token.token_id.clone());
        held.extend(found.into_iter().map(|stored| {
            let id = stored.token.token_id.clone();
            (id, Arc::new(HeldToken { token: stored.token, hash: stored.secret_hash }))
        }));
    }
}

/// The contents that may serve, but for those that are not what their digests say.
async fn contents(conn: &mut Conn<'_>, doubts: &mut Doubts) -> Result<Vec<Servable>, StorageError> {
    let mut fragments: HashMap<Digest, BTreeMap<String, String>> = HashMap::new();
    for (version, name, body) in conn.servable_fragments().await? {
        // What is no text has no digest.
        if let Ok(body) = String::from_utf8(body) {
            fragments.entry(version).or_default().insert(name, body);
        }
    }
    let mut held = Vec::new();
    for row in conn.servable_all().await? {
        if doubts.holds(&row) {
            let fragments = fragments.remove(&row.digest).unwrap_or_default();
            held.extend(Some(Servable { fragments, ..read(row)? }).filter(|content| doubts.whole(content)));
        }
    }
    Ok(held)
}

/// A content without the bodies of the fragments that it pins.
fn read(row: ServableRow) -> Result<Servable, StorageError> {
    let ServableRow { digest, number, content, quarantined } = row;
    let content =
        serde_json::from_slice(&content).map_err(|why| StorageError::Corrupt(format!("the content of {digest}: {why}")))?;
    Ok(Servable { digest, number, content, fragments: BTreeMap::new(), quarantined })
}

fn keyed(
    keys: Vec<ConfigKey>,
    pointers: Vec<EnvironmentPointer>,
    contents: Vec<Servable>,
    distrusted: Vec<(KeyId, Environment)>,
) -> Keys {
    let mut states: HashMap<KeyId, KeyState> =
        keys.into_iter().map(|key| (key.key_id.clone(), KeyState::new(Arc::new(key)))).collect();
    for pointer in pointers {
        if let Some(state) = states.get_mut(&pointer.key_id) {
            state.pointers.push(Arc::new(pointer));
        }
    }
    for content in contents {
        if let Some(state) = states.get_mut(&content.content.key) {
            state.contents.push(Arc::new(content));
        }
    }
    for (key, environment) in distrusted {
        if let Some(state) = states.get_mut(&key) {
            state.distrusted.push(environment);
        }
    }
    states.into_values().collect()
}

/// A content with its fragments' bodies, as [`super::Change::Content`] publishes it; none where there is no such version.
///
/// # Errors
/// The database is away, or holds what does not read.
pub async fn servable(conn: &mut Conn<'_>, digest: &Digest) -> Result<Option<Servable>, StorageError> {
    let Some(row) = conn.servable_get(digest).await? else { return Ok(None) };
    let read = read(row)?;
    if read.content.fragments.is_empty() {
        return Ok(Some(read));
    }
    let fragments = conn.version_fragment_list(digest).await?.into_iter().map(|f| (f.name, f.body)).collect();
    Ok(Some(Servable { fragments, ..read }))
}
