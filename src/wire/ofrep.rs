//! OFREP 0.3, the OpenFeature Remote Evaluation Protocol: how stock clients ask for a key, and what they get.

use crate::model::{Content, Digest, Environment, Format, KeyId, ResolutionReason, Variable};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Why, in the protocol's closed words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "OfrepReason")]
pub enum Reason {
    /// Everybody gets this.
    Static,
    /// The unit's bucket decided.
    Split,
    /// Killed.
    Disabled,
    /// An experiment's arm.
    TargetingMatch,
    /// A unit was needed and none was given.
    Unknown,
}

/// What is wrong, in the protocol's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "OfrepErrorCode")]
pub enum ErrorCode {
    /// The body is not JSON.
    ParseError,
    /// The context, or the unit in it, is not what it should be.
    InvalidContext,
    /// No such key, or not the caller's to know.
    FlagNotFound,
    /// All else.
    General,
}

/// One evaluated key. Without `value`, the client uses the code's default.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfrepEvaluation")]
pub struct Evaluation<'a> {
    /// The key.
    pub key: &'a KeyId,
    /// What is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<FlagValue<'a>>,
    /// Why.
    pub reason: Reason,
    /// Which of the key's contents: `current`, `baseline`, `safe_default`, `none`.
    pub variant: &'static str,
    /// What telemetry wants to know.
    pub metadata: Metadata<'a>,
}

/// What is served, as clients get it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OfrepValue")]
pub enum FlagValue<'a> {
    /// The body of a `json` content, as it is.
    Json(&'a Value),
    /// A text, template or chat, whole.
    Prompt(Prompt<'a>),
}

/// A prompt: the content's eight members, whose canonical JSON has the digest `metadata.version`, and beside them the bodies of
/// the pinned fragments.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OfrepPrompt")]
pub struct Prompt<'a> {
    key: &'a KeyId,
    format: Format,
    body: &'a Value,
    model_pin: Option<&'a str>,
    parameters: &'a Map<String, Value>,
    fragments: &'a BTreeMap<String, Digest>,
    variables: &'a [Variable],
    schema: u32,
    fragment_bodies: &'a BTreeMap<String, String>,
}

/// Metadata of an evaluation. Only texts and booleans: clients drop all else.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepMetadata")]
pub struct Metadata<'a> {
    /// The digest that is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<Digest>,
    /// The environment.
    pub flag_set_id: &'a Environment,
    /// The model that the content was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_pin: Option<&'a str>,
    /// Whether the kill switch is on.
    pub killed: bool,
    /// Whether the answer is older than its budget.
    pub stale: bool,
    /// The unit's pseudonym, for those who may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
}

/// What went wrong, with one key or with all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepFailure")]
pub struct Failure {
    /// The key that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What is wrong.
    pub error_code: ErrorCode,
    /// … for people.
    pub error_details: String,
}

/// An entry of the bulk answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "OfrepEntry")]
pub enum Entry<'a> {
    /// A key that was evaluated.
    Evaluation(Evaluation<'a>),
    /// A key that was not.
    Failure(Failure),
}

/// Every key that the caller may resolve.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepBulk")]
pub struct Bulk<'a> {
    /// The keys, sorted by name.
    pub flags: Vec<Entry<'a>>,
    /// Where changes are told.
    pub event_streams: [EventStream; 1],
    /// What holds for all of them.
    pub metadata: BulkMetadata<'a>,
}

/// Metadata of the bulk answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepBulkMetadata")]
pub struct BulkMetadata<'a> {
    /// The environment.
    pub flag_set_id: &'a Environment,
    /// Whether the answer is older than its budget.
    pub stale: bool,
}

/// A channel on which changes are told.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepEventStream")]
pub struct EventStream {
    /// `sse`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Where; without an origin, the one that the client was given.
    pub endpoint: Endpoint,
    /// A client that nobody looks at lets go of the channel after so many seconds.
    pub inactivity_delay_sec: u32,
}

/// The place of a channel.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OfrepEndpoint")]
pub struct Endpoint {
    /// Path and query.
    pub request_uri: String,
}

/// What the JSON of a [`Bulk`] begins with: its entries come next.
pub const OPENING: &str = r#"{"flags":["#;

/// What the JSON of an [`Evaluation`] ends with: all that one moment or one unit tells from another that gets the same.
///
/// # Errors
/// None: it is plain data.
pub fn rest(stale: bool, context_id: Option<&str>) -> serde_json::Result<Vec<u8>> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Rest<'a> {
        stale: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        context_id: Option<&'a str>,
    }
    let mut bytes = serde_json::to_vec(&Rest { stale, context_id })?;
    bytes[0] = b',';
    bytes.push(b'}');
    Ok(bytes)
}

/// What the channel says: ask again.
pub const REFETCH: &str = r#"{"type":"refetchEvaluation"}"#;

impl Evaluation<'_> {
    /// Its JSON up to where [`rest`] goes on: the same for every moment and every unit that gets this.
    ///
    /// # Errors
    /// None: it is plain data.
    pub fn head(mut self) -> serde_json::Result<Vec<u8>> {
        (self.metadata.stale, self.metadata.context_id) = (false, None);
        let mut bytes = serde_json::to_vec(&self)?;
        bytes.truncate(bytes.len().saturating_sub(rest(false, None)?.len()));
        Ok(bytes)
    }
}

impl<'a> FlagValue<'a> {
    /// What clients get of a content: a `json` body as it is, all else whole.
    pub fn of(content: &'a Content, fragment_bodies: &'a BTreeMap<String, String>) -> Self {
        let Content { key, format, body, model_pin, parameters, fragments, variables, schema } = content;
        match format {
            Format::Json => Self::Json(body),
            Format::Text | Format::Template | Format::Chat => Self::Prompt(Prompt {
                key,
                format: *format,
                body,
                model_pin: model_pin.as_deref(),
                parameters,
                fragments,
                variables,
                schema: *schema,
                fragment_bodies,
            }),
        }
    }
}

/// The protocol's words for what was found: why, and which of the key's contents.
pub fn words(reason: ResolutionReason, served: bool) -> (Reason, &'static str) {
    use ResolutionReason as Why;
    let (word, variant) = match reason {
        Why::Static => (Reason::Static, "current"),
        Why::Rollout => (Reason::Split, "current"),
        Why::Baseline | Why::NoBaseline => (Reason::Split, "baseline"),
        Why::UnitMissing => (Reason::Unknown, "baseline"),
        Why::Killed | Why::KilledNoDefault => (Reason::Disabled, "safe_default"),
    };
    (word, if served { variant } else { "none" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_is_its_content_and_the_bodies_of_its_fragments_and_json_is_its_body() {
        let content = |format: &str, body: Value| -> Content {
            serde_json::from_value(json!({ "key": "a.b", "format": format, "body": body, "model_pin": "m" })).unwrap()
        };
        let bodies = BTreeMap::from([("tone".to_owned(), "Be kind.".to_owned())]);
        let chat = content("chat", json!([{ "role": "system", "content": "x" }]));
        let mut shown = serde_json::to_value(FlagValue::of(&chat, &bodies)).unwrap();
        assert_eq!(shown.as_object_mut().unwrap().remove("fragment_bodies"), Some(json!({ "tone": "Be kind." })));
        assert_eq!(shown, serde_json::to_value(&chat).unwrap());
        for (body, text) in
            [(json!(0.5), "0.5"), (json!(3), "3"), (json!(true), "true"), (json!([1]), "[1]"), (Value::Null, "null")]
        {
            let json = content("json", body);
            assert_eq!(serde_json::to_string(&FlagValue::of(&json, &bodies)).unwrap(), text);
        }
    }

    #[test]
    fn a_head_and_a_rest_are_one_evaluation_and_a_bulk_answer_opens_with_its_entries() {
        let (key, dev) = ("a.b".parse().unwrap(), "dev".parse().unwrap());
        let body = json!({ "stale": false, "text": ",\"stale\":false}}" });
        for (value, model_pin, killed) in [(Some(&body), Some("m"), false), (None, None, true)] {
            for (stale, context_id) in [(false, None), (true, None), (false, Some("c1")), (true, Some("c1"))] {
                let version = value.map(|_| Digest::ZERO);
                let context = context_id.map(str::to_owned);
                let metadata = Metadata { version, flag_set_id: &dev, model_pin, killed, stale, context_id: context };
                let value = value.map(FlagValue::Json);
                let whole = Evaluation { key: &key, value, reason: Reason::Static, variant: "current", metadata };
                let text = serde_json::to_vec(&whole).unwrap();
                assert_eq!([whole.head().unwrap(), rest(stale, context_id).unwrap()].concat(), text);
            }
        }
        let channel = EventStream { kind: "sse", endpoint: Endpoint { request_uri: "/".into() }, inactivity_delay_sec: 1 };
        let metadata = BulkMetadata { flag_set_id: &dev, stale: false };
        let none = Bulk { flags: Vec::new(), event_streams: [channel], metadata };
        assert!(serde_json::to_string(&none).unwrap().starts_with(&format!("{OPENING}]")));
    }

    #[test]
    fn whatever_is_found_has_the_protocols_words() {
        for reason in ResolutionReason::ALL {
            let (word, variant) = words(*reason, true);
            assert_eq!(words(*reason, false), (word, "none"));
            assert_ne!(variant, "none");
        }
        assert_eq!(serde_json::to_value(Reason::TargetingMatch).unwrap(), "TARGETING_MATCH");
        assert_eq!(serde_json::to_value(ErrorCode::FlagNotFound).unwrap(), "FLAG_NOT_FOUND");
    }
}
