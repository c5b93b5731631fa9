//! `variable`: a typed input of a template or chat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VariableType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// true or false.
    Boolean,
    /// Any JSON.
    Json,
}

impl fmt::Display for VariableType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Json => "json",
        })
    }
}

/// A declared variable as it stands in the content (its `position` is its place in the list).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// `[A-Za-z][A-Za-z0-9_]*`.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub kind: VariableType,
    /// Whether the caller must give it.
    pub required: bool,
    /// What it is when not given; null = none. Must fit the type.
    #[serde(default)]
    pub default: Value,
}
