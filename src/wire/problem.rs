//! RFC 9457 problems: the one shape of every error.

use crate::model::{Code, ReadinessItem, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `urn:countersign:problem:CODE`
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened, for people.
    pub detail: String,
    /// The machine code.
    pub code: Code,
    /// What to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<ReadinessItem>,
    /// The state that won.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<serde_json::Value>,
    /// JSON pointer of the bad input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)?;
        if let Some(path) = &self.path {
            write!(f, " (at {path})")?;
        }
        Ok(())
    }
}

impl Problem {
    /// The problem of a refusal, with the status that the server gives it.
    pub fn of(refusal: Refusal, status: u16) -> Self {
        let Refusal { code, detail, hint, unmet, current, path } = refusal;
        let kind = format!("urn:countersign:problem:{code}");
        Self { kind, title: code.as_str().replace('_', " "), status, detail, code, hint, unmet, current, path }
    }
}
