//! Lists come in pages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageOf{T}")]
pub struct Page<T> {
    /// The items, in the list's documented order.
    pub items: Vec<T>,
    /// What to send as `cursor` for the next page; null at the end.
    pub next_cursor: Option<String>,
}
