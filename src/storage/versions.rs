//! Rows of `version`, `version_author` and `variable`.

use super::batch::Answers;
use super::codec::{AsJson, Id, limit};
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, Digest, KeyId, Quarantine, Timestamp, Variable, Version, VersionState};
use std::collections::BTreeMap;
use uuid::Uuid;

macro_rules! columns {
    () => {
        "v.digest, v.key_id, v.number, v.author, v.submitter, v.rationale, v.model_pin, v.format, v.state, v.created_at, \
         v.quarantined_by, v.quarantine_reason, v.quarantined_at, v.discarded"
    };
}

pub(super) const GET: &str = concat!("SELECT ", columns!(), " FROM version v WHERE v.digest = $1");
const PUT: &str = "INSERT INTO version (digest, key_id, number, author, submitter, rationale, model_pin, format, state, created_at, \
    discarded, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const BY_NUMBER: &str = concat!("SELECT ", columns!(), " FROM version v WHERE v.key_id = $1 AND v.number = $2");
const BY_PREFIX: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM version v WHERE v.key_id = $1 AND v.digest >= $2 AND v.digest < $3 ORDER BY v.digest LIMIT 2"
);
const LIST: &str =
    concat!("SELECT ", columns!(), " FROM version v WHERE v.key_id = $1 AND v.number < $2 ORDER BY v.number DESC LIMIT $3");
const LIST_AUTHORS: &str = "SELECT a.digest, a.author FROM version_author a JOIN version v ON v.digest = a.digest \
    WHERE v.key_id = $1 AND v.number >= $2 AND v.number <= $3";
const NEWEST_NUMBER: &str = "SELECT COALESCE(MAX(number), 0) FROM version WHERE key_id = $1";
pub(super) const STATE_SET: &str = "UPDATE version SET state = $2 WHERE digest = $1";
const SUBMITTER_SET: &str = "UPDATE version SET submitter = $2 WHERE digest = $1";
const DISCARDED_SET: &str = "UPDATE version SET discarded = $2 WHERE digest = $1";
const QUARANTINE_SET: &str =
    "UPDATE version SET quarantined_by = $2, quarantine_reason = $3, quarantined_at = $4 WHERE digest = $1";
const QUARANTINED: &str = "SELECT digest FROM version WHERE quarantined_at IS NOT NULL ORDER BY digest";
pub(super) const CONTENT: &str = "SELECT content FROM version WHERE digest = $1";
const CONTENTS: &str = "SELECT digest, content FROM version WHERE digest > $1 ORDER BY digest LIMIT $2";
const AUTHOR_ADD: &str = "INSERT INTO version_author (digest, author) VALUES ($1, $2) ON CONFLICT (digest, author) DO NOTHING";
pub(super) const AUTHOR_LIST: &str = "SELECT author FROM version_author WHERE digest = $1";
const VARIABLE_PUT: &str = "INSERT INTO variable (variable_id, digest, position, name, type, required, \"default\") \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

pub(super) const ALL: &[&str] = &[
    GET,
    PUT,
    BY_NUMBER,
    BY_PREFIX,
    LIST,
    LIST_AUTHORS,
    NEWEST_NUMBER,
    STATE_SET,
    SUBMITTER_SET,
    DISCARDED_SET,
    QUARANTINE_SET,
    QUARANTINED,
    CONTENT,
    CONTENTS,
    AUTHOR_ADD,
    AUTHOR_LIST,
    VARIABLE_PUT,
];

/// The row's columns; its authors stand in `version_author` and are filled in by the functions here.
struct Bare(Version);

decode!(Bare, r => {
    let by: Option<Actor> = r.try_get("quarantined_by")?;
    let reason: Option<String> = r.try_get("quarantine_reason")?;
    let at: Option<Timestamp> = r.try_get("quarantined_at")?;
    let quarantine = match (by, reason, at) {
        (Some(by), Some(reason), Some(at)) => Some(Quarantine { by, reason, at }),
        _ => None,
    };
    Ok(Self(Version {
        digest: r.try_get("digest")?,
        key_id: r.try_get("key_id")?,
        number: r.try_get("number")?,
        author: r.try_get("author")?,
        submitter: r.try_get("submitter")?,
        rationale: r.try_get("rationale")?,
        model_pin: r.try_get("model_pin")?,
        format: r.try_get("format")?,
        state: r.try_get("state")?,
        created_at: r.try_get("created_at")?,
        quarantine,
        discarded: r.try_get("discarded")?,
        authors: Vec::new(),
    }))
});

/// The version that [`GET`] and [`AUTHOR_LIST`] found.
pub(super) fn read(found: &mut Answers) -> Result<Option<Version>, StorageError> {
    let bare: Option<Bare> = found.row()?;
    let authors = sorted(found.rows()?);
    Ok(bare.map(|Bare(version)| Version { authors, ..version }))
}

fn sorted(found: Vec<(Actor,)>) -> Vec<Actor> {
    let mut authors: Vec<Actor> = found.into_iter().map(|(author,)| author).collect();
    authors.sort();
    authors
}

impl Conn<'_> {
    async fn with_authors(&mut self, bare: Option<Bare>) -> Result<Option<Version>, StorageError> {
        let Some(Bare(mut version)) = bare else { return Ok(None) };
        version.authors = self.version_author_list(&version.digest).await?;
        Ok(Some(version))
    }

    /// One version, its authors included.
    pub async fn version_get(&mut self, digest: &Digest) -> Result<Option<Version>, StorageError> {
        read(&mut batch!(self, GET, digest; AUTHOR_LIST, digest)?)
    }

    /// Adds a version with its canonical content and its authors.
    pub async fn version_put(&mut self, version: &Version, content: &[u8]) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            version.digest,
            &version.key_id,
            version.number,
            &version.author,
            &version.submitter,
            &version.rationale,
            &version.model_pin,
            version.format,
            version.state,
            version.created_at,
            version.discarded,
            content
        )?;
        for author in version.authors.iter().chain([&version.author]) {
            self.version_author_add(&version.digest, author).await?;
        }
        Ok(())
    }

    /// `vN` of a key.
    pub async fn version_by_number(&mut self, key: &KeyId, number: i64) -> Result<Option<Version>, StorageError> {
        let bare = row!(self, BY_NUMBER, key, number)?;
        self.with_authors(bare).await
    }

    /// Versions of a key whose digest begins with these hex digits: two at most, so that the caller sees what is ambiguous.
    pub async fn version_by_prefix(&mut self, key: &KeyId, hex: &str) -> Result<Vec<Version>, StorageError> {
        if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let (from, above) = (format!("sha256:{hex}"), format!("sha256:{hex}g"));
        let found: Vec<Bare> = rows!(self, BY_PREFIX, key, &from, &above)?;
        let mut out = Vec::new();
        for bare in found {
            out.extend(self.with_authors(Some(bare)).await?);
        }
        Ok(out)
    }

    /// Versions of a key below a number, newest first (`None`: from the newest), discarded ones included.
    pub async fn version_list(&mut self, key: &KeyId, below: Option<i64>, most: u32) -> Result<Vec<Version>, StorageError> {
        let found: Vec<Bare> = rows!(self, LIST, key, below.unwrap_or(i64::MAX), limit(most))?;
        let (Some(newest), Some(oldest)) = (found.first(), found.last()) else { return Ok(Vec::new()) };
        let pairs: Vec<(Digest, Actor)> = rows!(self, LIST_AUTHORS, key, oldest.0.number, newest.0.number)?;
        let mut authors: BTreeMap<Digest, Vec<Actor>> = BTreeMap::new();
        for (digest, author) in pairs {
            authors.entry(digest).or_default().push(author);
        }
        let filled = |Bare(mut version): Bare| {
            version.authors = authors.remove(&version.digest).unwrap_or_default();
            version.authors.sort();
            version
        };
        Ok(found.into_iter().map(filled).collect())
    }

    /// The highest number of a key's versions; 0 where it has none.
    pub async fn version_newest_number(&mut self, key: &KeyId) -> Result<i64, StorageError> {
        let found: Option<(i64,)> = row!(self, NEWEST_NUMBER, key)?;
        Ok(found.map_or(0, |(number,)| number))
    }

    /// Moves a version's state; whether it exists.
    pub async fn version_state_set(&mut self, digest: &Digest, state: VersionState) -> Result<bool, StorageError> {
        Ok(run!(self, STATE_SET, digest, state)? == 1)
    }

    /// Names who submitted it; whether it exists.
    pub async fn version_submitter_set(&mut self, digest: &Digest, submitter: &Actor) -> Result<bool, StorageError> {
        Ok(run!(self, SUBMITTER_SET, digest, submitter)? == 1)
    }

    /// Hides (or, on saving the content again, shows) a version; whether it exists.
    pub async fn version_discard(&mut self, digest: &Digest, discarded: bool) -> Result<bool, StorageError> {
        Ok(run!(self, DISCARDED_SET, digest, discarded)? == 1)
    }

    /// Sets or lifts the quarantine mark; whether the version exists.
    pub async fn version_quarantine_set(&mut self, digest: &Digest, mark: Option<&Quarantine>) -> Result<bool, StorageError> {
        let (by, reason, at) = (mark.map(|m| &m.by), mark.map(|m| &m.reason), mark.map(|m| m.at));
        Ok(run!(self, QUARANTINE_SET, digest, by, reason, at)? == 1)
    }

    /// Digests that carry the mark.
    pub async fn version_quarantined(&mut self) -> Result<Vec<Digest>, StorageError> {
        let found: Vec<(Digest,)> = rows!(self, QUARANTINED)?;
        Ok(found.into_iter().map(|(digest,)| digest).collect())
    }

    /// The canonical bytes of a version's content.
    pub async fn content_get(&mut self, digest: &Digest) -> Result<Option<Vec<u8>>, StorageError> {
        let found: Option<(Vec<u8>,)> = row!(self, CONTENT, digest)?;
        Ok(found.map(|(bytes,)| bytes))
    }

    /// Contents after a digest, by digest (`None`: from the first).
    pub async fn content_after(&mut self, after: Option<Digest>, most: u32) -> Result<Vec<(Digest, Vec<u8>)>, StorageError> {
        rows!(self, CONTENTS, after.map_or(String::new(), |digest| digest.to_string()), limit(most))
    }

    /// Records another author of the same content; whether they are new.
    pub async fn version_author_add(&mut self, digest: &Digest, author: &Actor) -> Result<bool, StorageError> {
        Ok(run!(self, AUTHOR_ADD, digest, author)? == 1)
    }

    /// Everyone who saved this content; sorted.
    pub async fn version_author_list(&mut self, digest: &Digest) -> Result<Vec<Actor>, StorageError> {
        Ok(sorted(rows!(self, AUTHOR_LIST, digest)?))
    }

    /// Adds a declared variable at its place in the content.
    pub async fn variable_put(&mut self, id: Uuid, digest: &Digest, at: usize, variable: &Variable) -> Result<(), StorageError> {
        let position = i64::try_from(at).unwrap_or(i64::MAX);
        let (kind, default) = (variable.kind.to_string(), AsJson(variable.default.clone()));
        run!(self, VARIABLE_PUT, Id(id), digest, position, &variable.name, kind, variable.required, default).map(drop)
    }
}
