//! Whether a content is one: formats, variables, fragments.

use crate::model::{Content, Digest, Fragment, Refusal};
use std::collections::BTreeMap;

/// A content that was found to be one.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The content.
    pub content: Content,
    /// Its canonical JSON: what is stored and hashed.
    pub bytes: Vec<u8>,
    /// Its digest: the version's name.
    pub digest: Digest,
    /// Things worth knowing that stop nothing: unused variables.
    pub warnings: Vec<String>,
}

/// Checks a content against its format, and its template against its variables and pinned fragments.
///
/// `fragments` are the revisions that the registry has, by digest; those that `content.fragments` pins must be among them.
///
/// # Errors
/// `invalid` with the JSON pointer of the place in the content; for templates line and column stand in the detail.
pub fn check(content: Content, fragments: &BTreeMap<Digest, Fragment>) -> Result<Checked, Refusal> {
    unimplemented!("{content:?} {fragments:?}")
}
