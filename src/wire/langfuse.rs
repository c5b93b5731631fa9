//! A prompt as Langfuse's clients read it.

use crate::model::{Content, Digest, Format, KeyId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A prompt.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LangfusePrompt")]
pub struct Prompt {
    /// `text` or `chat`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The key.
    pub name: KeyId,
    /// The version's ordinal in its key.
    pub version: i64,
    /// A text, or a list of messages and placeholders.
    pub prompt: Value,
    /// The parameters, and the pinned model as `model`.
    pub config: Map<String, Value>,
    /// The environment that it was read for, and its alias.
    pub labels: Vec<String>,
    /// Always empty.
    pub tags: Vec<String>,
    /// Always null: a rationale is for those who review.
    pub commit_message: Option<String>,
    /// Always null: fragments are not carried.
    pub resolution_graph: Option<Value>,
    /// The digest of what was read; stock clients pass it over.
    pub digest: Digest,
}

/// What went wrong, as those clients print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LangfuseProblem")]
pub struct Problem {
    /// What is wrong, for people.
    pub message: String,
    /// The code.
    pub error: &'static str,
}

impl Prompt {
    /// A content that `rules::template::plain` lets pass.
    pub fn of(content: &Content, digest: Digest, version: i64, labels: Vec<String>) -> Self {
        let (kind, prompt) = match (content.format, &content.body) {
            (Format::Chat, Value::Array(messages)) => ("chat", messages.iter().map(message).collect()),
            (_, body) => ("text", body.clone()),
        };
        let mut config = content.parameters.clone();
        if let Some(model) = &content.model_pin {
            config.insert("model".to_owned(), model.clone().into());
        }
        Self {
            kind,
            name: content.key.clone(),
            version,
            prompt,
            config,
            labels,
            tags: Vec::new(),
            commit_message: None,
            resolution_graph: None,
            digest,
        }
    }
}

fn message(message: &Value) -> Value {
    match message.get("placeholder") {
        Some(name) => json!({ "type": "placeholder", "name": name }),
        None => json!({ "type": "chatmessage", "role": message.get("role"), "content": message.get("content") }),
    }
}
