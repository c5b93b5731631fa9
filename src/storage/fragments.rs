//! Rows of `fragment` and `version_fragment`.

use super::codec::{Id, limit};
use super::db::Conn;
use super::error::StorageError;
use crate::model::{Actor, Digest, Fragment};

macro_rules! columns {
    () => {
        "f.fragment_id, f.digest, f.name, f.owning_group, f.body, f.author, f.created_at"
    };
}

const GET: &str = concat!("SELECT ", columns!(), " FROM fragment f WHERE f.digest = $1");
const PUT: &str = "INSERT INTO fragment (fragment_id, digest, name, owning_group, body, author, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";
const LIST: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM fragment f WHERE f.name > $1 OR (f.name = $1 AND (f.created_at < $2 OR (f.created_at = $2 AND f.fragment_id < $3))) \
     ORDER BY f.name, f.created_at DESC, f.fragment_id DESC LIMIT $4"
);
const AFTER: &str = concat!("SELECT ", columns!(), " FROM fragment f WHERE f.digest > $1 ORDER BY f.digest LIMIT $2");
const NEWEST: &str =
    concat!("SELECT ", columns!(), " FROM fragment f WHERE f.name = $1 ORDER BY f.created_at DESC, f.fragment_id DESC LIMIT 1");
pub(super) const OF_VERSION: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM version_fragment p JOIN fragment f ON f.digest = p.fragment_digest WHERE p.digest = $1 ORDER BY p.name"
);
const PIN: &str = "INSERT INTO version_fragment (digest, name, fragment_digest) VALUES ($1, $2, $3)";
const PIN_AUTHORS: &str = "SELECT DISTINCT f.author FROM version_fragment p JOIN fragment f ON f.digest = p.fragment_digest \
    WHERE p.digest = $1";
const USERS: &str = "SELECT p.digest, p.fragment_digest FROM version_fragment p WHERE p.name = $1 AND p.digest > $2 \
    ORDER BY p.digest LIMIT $3";

pub(super) const ALL: &[&str] = &[GET, PUT, LIST, AFTER, NEWEST, OF_VERSION, PIN, PIN_AUTHORS, USERS];

decode!(Fragment, r => {
    let body: Vec<u8> = r.try_get("body")?;
    Ok(Self {
        fragment_id: r.try_get::<Id, _>("fragment_id")?.0,
        digest: r.try_get("digest")?,
        name: r.try_get("name")?,
        owning_group: r.try_get("owning_group")?,
        body: String::from_utf8(body).map_err(|e| sqlx::Error::Decode(Box::new(e)))?,
        author: r.try_get("author")?,
        created_at: r.try_get("created_at")?,
    })
});

/// That a version pins a revision of a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentPin {
    /// The version.
    pub digest: Digest,
    /// The revision.
    pub fragment_digest: Digest,
}

impl Conn<'_> {
    /// One revision by its digest.
    pub async fn fragment_get(&mut self, digest: &Digest) -> Result<Option<Fragment>, StorageError> {
        row!(self, GET, digest)
    }

    /// Revisions after a digest, by digest (`None`: from the first).
    pub async fn fragment_after(&mut self, after: Option<Digest>, most: u32) -> Result<Vec<Fragment>, StorageError> {
        rows!(self, AFTER, after.map_or(String::new(), |digest| digest.to_string()), limit(most))
    }

    /// Adds a revision.
    pub async fn fragment_put(&mut self, fragment: &Fragment) -> Result<(), StorageError> {
        run!(
            self,
            PUT,
            Id(fragment.fragment_id),
            fragment.digest,
            &fragment.name,
            &fragment.owning_group,
            fragment.body.as_bytes(),
            &fragment.author,
            fragment.created_at
        )
        .map(drop)
    }

    /// Revisions after one (name ascending, newest revision first within a name).
    pub async fn fragment_list(&mut self, after: Option<&Fragment>, most: u32) -> Result<Vec<Fragment>, StorageError> {
        let name = after.map_or("", |f| f.name.as_str());
        let at = after.map_or(0, |f| f.created_at.0);
        let id = after.map_or(String::new(), |f| f.fragment_id.to_string());
        rows!(self, LIST, name, at, &id, limit(most))
    }

    /// The newest revision of a name.
    pub async fn fragment_newest(&mut self, name: &str) -> Result<Option<Fragment>, StorageError> {
        row!(self, NEWEST, name.replace('\0', " "))
    }

    /// Records that a version pins a fragment under a name.
    pub async fn version_fragment_put(&mut self, version: &Digest, name: &str, pin: &Digest) -> Result<(), StorageError> {
        run!(self, PIN, version, name, pin).map(drop)
    }

    /// The fragments that a version pins, by name.
    pub async fn version_fragment_list(&mut self, version: &Digest) -> Result<Vec<Fragment>, StorageError> {
        rows!(self, OF_VERSION, version)
    }

    /// Authors of the fragments that a version pins: they cannot approve it. Sorted.
    pub async fn version_fragment_authors(&mut self, version: &Digest) -> Result<Vec<Actor>, StorageError> {
        let found: Vec<(Actor,)> = rows!(self, PIN_AUTHORS, version)?;
        let mut authors: Vec<Actor> = found.into_iter().map(|(author,)| author).collect();
        authors.sort();
        Ok(authors)
    }

    /// Versions that pin any revision of a name, by digest.
    pub async fn version_fragment_users(
        &mut self,
        name: &str,
        after: Option<&Digest>,
        most: u32,
    ) -> Result<Vec<FragmentPin>, StorageError> {
        let after = after.map_or(String::new(), ToString::to_string);
        let found: Vec<(Digest, Digest)> = rows!(self, USERS, name.replace('\0', " "), &after, limit(most))?;
        Ok(found.into_iter().map(|(digest, fragment_digest)| FragmentPin { digest, fragment_digest }).collect())
    }
}
