//! Everything stored that readiness judges by, read in one go.

use super::db::Conn;
use super::error::StorageError;
use super::{applied, approvals, fragments, pointers, verdicts, versions};
use crate::model::{Actor, Approval, Digest, Environment, EnvironmentPointer, Fragment, GateVerdict, KeyId, Standing, Version};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Owners of the tokens of everybody who had a hand in version `$1`, and of `$2`; of such an owner's own tokens, too.
const OWNERS: &str = "WITH RECURSIVE owned (actor, owner) AS (SELECT t.actor, t.owner FROM token t WHERE t.actor IN (\
    SELECT author FROM version WHERE digest = $1 \
    UNION SELECT submitter FROM version WHERE digest = $1 \
    UNION SELECT author FROM version_author WHERE digest = $1 \
    UNION SELECT f.author FROM version_fragment p JOIN fragment f ON f.digest = p.fragment_digest WHERE p.digest = $1 \
    UNION SELECT reporter FROM gate_verdict WHERE digest = $1 \
    UNION SELECT CAST($2 AS TEXT)) \
    UNION SELECT o.actor, t.owner FROM owned o JOIN token t ON t.actor = o.owner) SELECT actor, owner FROM owned";

pub(super) const ALL: &[&str] = &[OWNERS];

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Sought<'a> {
    /// The key.
    pub key: &'a KeyId,
    /// What would come to serve.
    pub to: &'a Digest,
    /// What it is compared with.
    pub from: Option<Digest>,
    /// The key's safe default.
    pub safe_default: Option<Digest>,
    /// The promotion, where there is one, and who opened it.
    pub promotion: Option<(Uuid, &'a Actor)>,
    /// The environment that must have held `to` before.
    pub before: Option<&'a Environment>,
}

/// A content as it is stored, and the fragments that it pins.
pub type StoredContent = (Vec<u8>, Vec<Fragment>);

/// What was found.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The key's pointers, by environment.
    pub pointers: Vec<EnvironmentPointer>,
    /// Rows of the promotion, oldest first.
    pub approvals: Vec<Approval>,
    /// The newest report of each gate on `to`, by gate.
    pub verdicts: Vec<GateVerdict>,
    /// Canonical bytes of `to`, and the fragments that it pins, by name.
    pub to: Option<StoredContent>,
    /// The same of `from`.
    pub from: Option<StoredContent>,
    /// The version that is the key's safe default.
    pub safe_default: Option<Version>,
    /// What became of `to` in the environment before.
    pub before: Standing,
    /// Who owns a token of whom, of all that had a hand in it.
    pub owners: BTreeMap<Actor, Vec<Actor>>,
}

impl Conn<'_> {
    /// Reads the ground on which `may_serve` stands.
    ///
    /// # Errors
    /// The database is away, or a row does not read.
    pub async fn ground(&mut self, sought: &Sought<'_>) -> Result<Ground, StorageError> {
        let Sought { key, to, from, safe_default, promotion, before } = sought;
        let (id, opener) = promotion.map_or((None, None), |(id, opener)| (Some(super::codec::Id(id)), Some(opener)));
        let mut found = batch!(
            self,
            pointers::BY_KEY, *key;
            approvals::LIST, id;
            verdicts::NEWEST, *to;
            versions::CONTENT, *to;
            fragments::OF_VERSION, *to;
            versions::CONTENT, from;
            fragments::OF_VERSION, from;
            versions::GET, safe_default;
            versions::AUTHOR_LIST, safe_default;
            applied::STANDING, *key, *before, *to;
            OWNERS, *to, opener
        )?;
        let pointers = found.rows()?;
        let approvals = found.rows()?;
        let verdicts = found.rows()?;
        let mut content = || -> Result<Option<StoredContent>, StorageError> {
            let bytes: Option<(Vec<u8>,)> = found.row()?;
            let pinned = found.rows()?;
            Ok(bytes.map(|(bytes,)| (bytes, pinned)))
        };
        let (to, from) = (content()?, content()?);
        let safe_default = versions::read(&mut found)?;
        let before = found.row()?.unwrap_or_default();
        let mut owners: BTreeMap<Actor, Vec<Actor>> = BTreeMap::new();
        for (actor, owner) in found.rows::<(Actor, Actor)>()? {
            owners.entry(actor).or_default().push(owner);
        }
        Ok(Ground { pointers, approvals, verdicts, to, from, safe_default, before, owners })
    }
}
