//! Contents that serve or may serve at once: what the snapshot loads whole.

use super::db::Conn;
use super::error::StorageError;
use crate::model::Digest;

macro_rules! servable {
    () => {
        "(SELECT digest FROM environment_pointer UNION SELECT baseline_digest FROM environment_pointer WHERE baseline_digest IS NOT \
         NULL UNION SELECT safe_default_digest FROM config_key WHERE safe_default_digest IS NOT NULL)"
    };
}

const CONTENTS: &str = concat!(
    "SELECT v.digest, v.number, v.content, v.quarantined_at IS NOT NULL AS quarantined FROM version v WHERE v.digest IN ",
    servable!()
);
const FRAGMENTS: &str = concat!(
    "SELECT p.digest, p.name, f.body FROM version_fragment p JOIN fragment f ON f.digest = p.fragment_digest WHERE p.digest IN ",
    servable!()
);

const GET: &str =
    "SELECT v.digest, v.number, v.content, v.quarantined_at IS NOT NULL AS quarantined FROM version v WHERE v.digest = $1";

pub(super) const ALL: &[&str] = &[CONTENTS, FRAGMENTS, GET];

/// A content that may serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServableRow {
    /// Its name.
    pub digest: Digest,
    /// The version's ordinal in its key.
    pub number: i64,
    /// Its canonical bytes.
    pub content: Vec<u8>,
    /// Whether it carries the quarantine mark.
    pub quarantined: bool,
}

decode!(ServableRow, r => Ok(Self {
    digest: r.try_get("digest")?,
    number: r.try_get("number")?,
    content: r.try_get("content")?,
    quarantined: r.try_get("quarantined")?,
}));

impl Conn<'_> {
    /// Every content that a pointer, a baseline or a safe default names.
    pub async fn servable_all(&mut self) -> Result<Vec<ServableRow>, StorageError> {
        rows!(self, CONTENTS)
    }

    /// One content, whether anything names it or not.
    pub async fn servable_get(&mut self, digest: &Digest) -> Result<Option<ServableRow>, StorageError> {
        row!(self, GET, digest)
    }

    /// The fragments that those contents pin: digest of the version, name, body.
    pub async fn servable_fragments(&mut self) -> Result<Vec<(Digest, String, Vec<u8>)>, StorageError> {
        rows!(self, FRAGMENTS)
    }
}
