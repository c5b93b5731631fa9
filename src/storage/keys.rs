//! Rows of `config_key`.

use super::codec::limit;
use super::db::Conn;
use super::error::StorageError;
use crate::model::{ConfigKey, Digest, KeyId, KeyNames, KeyPattern, Timestamp};

macro_rules! columns {
    () => {
        "k.key_id, k.namespace, k.owning_group, k.unit_type, k.confidential, k.safe_default_digest, k.description, k.archived, k.created_at"
    };
}

pub(super) const GET: &str = concat!("SELECT ", columns!(), " FROM config_key k WHERE k.key_id = $1");
const PUT: &str = "INSERT INTO config_key (key_id, namespace, owning_group, unit_type, confidential, safe_default_digest, \
    description, archived, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const UPDATE: &str = "UPDATE config_key SET owning_group = $2, unit_type = $3, confidential = $4, description = $5, archived = $6 \
    WHERE key_id = $1";
const SAFE_DEFAULT: &str = "UPDATE config_key SET safe_default_digest = $2 WHERE key_id = $1";
const SAFE_DEFAULT_OF: &str =
    concat!("SELECT ", columns!(), " FROM config_key k WHERE k.key_id = $1 AND k.safe_default_digest = $2");
const SUMMARY: &str = concat!(
    "SELECT ",
    columns!(),
    ", (SELECT COUNT(*) FROM version v WHERE v.key_id = k.key_id AND NOT v.discarded) AS versions, \
     (SELECT MAX(v.created_at) FROM version v WHERE v.key_id = k.key_id) AS saved_at, \
     (SELECT MAX(p.updated_at) FROM environment_pointer p WHERE p.key_id = k.key_id) AS moved_at \
     FROM config_key k WHERE k.key_id = $1"
);
/// Bounds first, so that the primary key's index is walked from the page's start and stops at its limit.
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    ", (SELECT COUNT(*) FROM version v WHERE v.key_id = k.key_id AND NOT v.discarded) AS versions, \
     (SELECT MAX(v.created_at) FROM version v WHERE v.key_id = k.key_id) AS saved_at, \
     (SELECT MAX(p.updated_at) FROM environment_pointer p WHERE p.key_id = k.key_id) AS moved_at \
     FROM config_key k WHERE k.key_id > $1 AND k.key_id >= $2 AND k.key_id < $3 AND k.key_id LIKE $4 ESCAPE '!' \
     AND k.key_id NOT LIKE $5 ESCAPE '!' AND (k.archived = $6 OR k.archived = FALSE) ORDER BY k.key_id LIMIT $7"
);
const ALL_KEYS: &str = concat!("SELECT ", columns!(), " FROM config_key k ORDER BY k.key_id");
const COUNT: &str = "SELECT COUNT(*) FROM config_key";

pub(super) const ALL: &[&str] = &[GET, PUT, UPDATE, SAFE_DEFAULT, SAFE_DEFAULT_OF, SUMMARY, LIST, ALL_KEYS, COUNT];

decode!(ConfigKey, r => Ok(Self {
    key_id: r.try_get("key_id")?,
    namespace: r.try_get("namespace")?,
    owning_group: r.try_get("owning_group")?,
    unit_type: r.try_get("unit_type")?,
    confidential: r.try_get("confidential")?,
    safe_default_digest: r.try_get("safe_default_digest")?,
    description: r.try_get("description")?,
    archived: r.try_get("archived")?,
    created_at: r.try_get("created_at")?,
}));

/// A key as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySummary {
    /// The row.
    pub key: ConfigKey,
    /// How many versions it has, discarded ones left out.
    pub versions: i64,
    /// When a version was last saved or a pointer last moved.
    pub changed_at: Timestamp,
}

decode!(KeySummary, r => {
    let key: ConfigKey = sqlx::FromRow::from_row(r)?;
    let saved: Option<Timestamp> = r.try_get("saved_at")?;
    let moved: Option<Timestamp> = r.try_get("moved_at")?;
    let changed_at = [saved, moved].into_iter().flatten().fold(key.created_at, Timestamp::max);
    Ok(Self { versions: r.try_get("versions")?, changed_at, key })
});

/// How a list meets a pattern: lowest name, first name above, what it must not be like.
pub(super) fn bounds(pattern: &KeyPattern) -> (String, String, String) {
    // '/' follows '.', and no name reaches '~'; no name has a space or `!` in it.
    let above = |prefix: &str| format!("{}/", prefix.strip_suffix('.').unwrap_or(prefix));
    match pattern {
        KeyPattern::All => (String::new(), "~".into(), " ".into()),
        KeyPattern::Under(prefix) => (prefix.clone(), above(prefix), " ".into()),
        KeyPattern::Direct(prefix) => (prefix.clone(), above(prefix), format!("{}%.%", escaped(prefix))),
        KeyPattern::Key(key) => (key.to_string(), format!("{key}!"), " ".into()),
    }
}

/// A text with LIKE's own letters escaped by `!`; U+0000, which no name holds and PostgreSQL refuses, becomes a space.
fn escaped(text: &str) -> String {
    text.replace('!', "!!").replace('%', "!%").replace('_', "!_").replace('\0', " ")
}

/// What a page of keys asks for. Ordered by key_id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyFilter {
    /// Which names.
    pub names: KeyNames,
    /// Archived ones too.
    pub archived: bool,
    /// Only after this name.
    pub after: Option<KeyId>,
    /// At most so many.
    pub limit: u32,
}

impl KeyFilter {
    /// Whether it covers a key: what the table answers, without asking it.
    pub fn covers(&self, key: &ConfigKey) -> bool {
        self.names.covers(key.key_id.as_str())
            && (self.archived || !key.archived)
            && self.after.as_ref().is_none_or(|after| key.key_id > *after)
    }
}

impl Conn<'_> {
    /// One key.
    pub async fn key_get(&mut self, key: &KeyId) -> Result<Option<ConfigKey>, StorageError> {
        row!(self, GET, key)
    }

    /// Adds a key.
    pub async fn key_put(&mut self, key: &ConfigKey) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            &key.key_id,
            &key.namespace,
            &key.owning_group,
            key.unit_type,
            key.confidential,
            key.safe_default_digest,
            &key.description,
            key.archived,
            key.created_at
        )
        .map(drop)
    }

    /// Writes owner, unit type, confidentiality, description and archive mark; whether the key exists.
    pub async fn key_update(&mut self, key: &ConfigKey) -> Result<bool, StorageError> {
        let set =
            run!(self, UPDATE, &key.key_id, &key.owning_group, key.unit_type, key.confidential, &key.description, key.archived);
        Ok(set? == 1)
    }

    /// Moves the safe default; whether the key exists.
    pub async fn key_safe_default_set(&mut self, key: &KeyId, digest: Option<Digest>) -> Result<bool, StorageError> {
        Ok(run!(self, SAFE_DEFAULT, key, digest)? == 1)
    }

    /// The key, where `digest` is its safe default.
    pub async fn key_with_safe_default(&mut self, key: &KeyId, digest: &Digest) -> Result<Option<ConfigKey>, StorageError> {
        row!(self, SAFE_DEFAULT_OF, key, digest)
    }

    /// One key as lists show it.
    pub async fn key_summary(&mut self, key: &KeyId) -> Result<Option<KeySummary>, StorageError> {
        row!(self, SUMMARY, key)
    }

    /// A page of keys, by name.
    pub async fn key_list(&mut self, filter: &KeyFilter) -> Result<Vec<KeySummary>, StorageError> {
        let (like, pattern) = match &filter.names {
            KeyNames::Pattern(pattern) => ("%".to_owned(), pattern),
            KeyNames::Part(part) => (format!("%{}%", escaped(part)), &KeyPattern::All),
        };
        let (from, to, unlike) = bounds(pattern);
        let after = filter.after.as_ref().map_or(String::new(), ToString::to_string);
        rows!(self, LIST, &after, &from, &to, &like, &unlike, filter.archived, limit(filter.limit))
    }

    /// Every key, by name: what the snapshot loads.
    pub async fn key_all(&mut self) -> Result<Vec<ConfigKey>, StorageError> {
        rows!(self, ALL_KEYS)
    }

    /// How many keys there are.
    pub async fn key_count(&mut self) -> Result<i64, StorageError> {
        let found: Option<(i64,)> = row!(self, COUNT)?;
        Ok(found.map_or(0, |(count,)| count))
    }
}
