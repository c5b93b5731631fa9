//! The template subset: checked on the syntax tree, rendered strictly.

use crate::model::{Content, Refusal, Variable};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a template uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Used {
    /// Declared variables that it reads.
    pub variables: BTreeSet<String>,
    /// Fragments that it includes.
    pub fragments: BTreeSet<String>,
}

/// Checks that a template stays in the subset and uses only declared variables and pinned fragments.
///
/// # Errors
/// `invalid` with line and column in the detail; the caller sets the path.
pub fn check(source: &str, variables: &[Variable], fragment_names: &BTreeSet<String>) -> Result<Used, Refusal> {
    unimplemented!("{source} {variables:?} {fragment_names:?}")
}

/// Renders a content with the bodies of its fragments and the values of its variables; the text of `text`, the rendering of
/// `template`; for `chat` the rendered messages, and for `json` the body, as JSON text.
///
/// # Errors
/// `invalid` for a missing or ill-typed variable, or a template that does too much work.
pub fn render(content: &Content, fragments: &BTreeMap<String, String>, vars: &Map<String, Value>) -> Result<String, Refusal> {
    unimplemented!("{content:?} {fragments:?} {vars:?}")
}
