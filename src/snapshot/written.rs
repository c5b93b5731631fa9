//! A content with its JSON written once, since every answer carries it.

use super::Servable;
use serde_json::value::RawValue;

/// A content that may serve, with the JSON of `content` and `fragments` as answers hold them.
#[derive(Debug, Clone)]
pub struct Written {
    servable: Servable,
    content: Box<RawValue>,
    fragments: Box<RawValue>,
}

impl Written {
    /// Writes a content.
    pub fn new(servable: Servable) -> Self {
        let content = serde_json::value::to_raw_value(&servable.content).unwrap_or_default();
        let fragments = serde_json::value::to_raw_value(&servable.fragments).unwrap_or_default();
        Self { servable, content, fragments }
    }
    /// The content itself.
    pub fn servable(&self) -> &Servable {
        &self.servable
    }
    /// JSON of the content.
    pub fn content_json(&self) -> &RawValue {
        &self.content
    }
    /// JSON of the fragments' bodies by name.
    pub fn fragments_json(&self) -> &RawValue {
        &self.fragments
    }
    pub(super) fn mark(&mut self, quarantined: bool) {
        self.servable.quarantined = quarantined;
    }
}

impl std::ops::Deref for Written {
    type Target = Servable;
    fn deref(&self) -> &Servable {
        &self.servable
    }
}
