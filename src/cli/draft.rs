//! `draft`: content from a file, as JSON or as text with front matter.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::version::saved_text;
use crate::model::{Content, Format, KeyId};
use crate::rules::canonical;
use crate::wire::versions::CreateVersion;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A template with its variables, as help shows it.
const EXAMPLE: &str = r#"A template declares its variables (type: string, integer, number, boolean or json):

  ---
  model_pin: gpt-x-2026-08
  variables: [{"name": "customer", "type": "string", "required": true}, {"name": "tone", "type": "string", "required": false, "default": "warm"}]
  ---
  Write to {{ customer }} in a {{ tone }} voice."#;

/// Saves a version of a key
///
/// FILE is content JSON (an object with `body`), or text. Text may begin with front matter: lines `name: value` between two
/// lines `---`, for format, model_pin, parameters, fragments and variables; values are JSON, or plain words.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub struct Draft {
    /// The key
    pub key: KeyId,
    /// The file; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// Why it exists
    #[arg(long)]
    pub rationale: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

impl Draft {
    pub async fn run(self, context: &Context) -> Done {
        let content = content_of(&self.key, &self.file, &read(&self.file)?)?;
        let body = CreateVersion { content, rationale: self.rationale, imported: None };
        let key = context.idempotency(&Acts { idempotency_key: self.idempotency_key, ..Acts::default() });
        let view = context.client()?.create_version(&self.key, &body, &key).await?;
        context.out.answer(&view, saved_text)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    bytes.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
}

/// The content that a file means.
fn content_of(key: &KeyId, path: &Path, bytes: &[u8]) -> Result<Content, Failure> {
    let named = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let begins_as_json = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    let is_json = path.extension().is_some_and(|e| e == "json") || (begins_as_json && canonical::parse_strict(bytes).is_ok());
    let mut members = if is_json {
        match canonical::parse_strict(bytes).map_err(|e| named(e.to_string()))? {
            Value::Object(members) if members.contains_key("body") => members,
            // A configuration file is a body, not a content.
            body => Map::from_iter([("format".to_owned(), json!("json")), ("body".to_owned(), body)]),
        }
    } else {
        let text = std::str::from_utf8(bytes).map_err(|e| named(format!("is not UTF-8 at byte {}", e.valid_up_to())))?;
        from_text(text).map_err(named)?
    };
    members.entry("key").or_insert_with(|| json!(key));
    if !members.contains_key("format") {
        members.insert("format".into(), json!(guess(members.get("body"))));
    }
    let content: Content = serde_json::from_value(Value::Object(members)).map_err(|e| named(e.to_string()))?;
    if content.key != *key {
        return Err(named(format!("is the content of {}, not of {key}", content.key)));
    }
    Ok(content)
}

fn guess(body: Option<&Value>) -> Format {
    match body {
        Some(Value::String(text)) if ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag)) => Format::Template,
        Some(Value::String(_)) => Format::Text,
        Some(Value::Array(_)) => Format::Chat,
        _ => Format::Json,
    }
}

/// Front matter and body; the body is kept byte for byte from the line after the second `---`.
fn from_text(text: &str) -> Result<Map<String, Value>, String> {
    let mut members = Map::new();
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        members.insert("body".into(), json!(text));
        return Ok(members);
    };
    let mut read = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        read += line.len();
        let line = line.trim();
        if line == "---" {
            members.insert("body".into(), json!(rest[read..]));
            return Ok(members);
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = number + 2;
        let (name, value) = line.split_once(':').ok_or_else(|| format!("line {at} of the front matter is not `name: value`"))?;
        let (name, value) = (name.trim(), value.trim());
        if !["format", "model_pin", "parameters", "fragments", "variables"].contains(&name) {
            return Err(format!(
                "line {at} of the front matter sets {name:?}; it can set format, model_pin, parameters, fragments, variables"
            ));
        }
        let value = match canonical::parse_strict(value.as_bytes()) {
            Ok(value) => value,
            Err(e) if value.starts_with(['{', '[', '"']) => return Err(format!("line {at} of the front matter: {e}")),
            Err(_) => json!(value),
        };
        if members.insert(name.to_owned(), value).is_some() {
            return Err(format!("line {at} of the front matter sets {name} again"));
        }
    }
    Err("the front matter has no second line `---`".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Content, Failure> {
        content_of(&"support.greeting".parse().unwrap(), Path::new("a.txt"), text.as_bytes())
    }

    #[test]
    fn front_matter_sets_members_and_the_body_keeps_every_byte() {
        let text = "---\nmodel_pin: m-1\nparameters: {\"temperature\": 0.2}\nvariables: [{\"name\": \"who\", \"type\": \"string\", \"required\": true}]\n---\n\nHi {{ who }} \r\n";
        let content = read_text(text).unwrap();
        assert_eq!(content.body, json!("\nHi {{ who }} \r\n"));
        assert_eq!((content.format, content.model_pin.as_deref()), (Format::Template, Some("m-1")));
        assert_eq!(content.parameters["temperature"], json!(0.2));
        assert_eq!(content.variables[0].name, "who");
    }

    #[test]
    fn the_example_in_the_help_is_a_template_that_can_be_saved() {
        let file: Vec<&str> = EXAMPLE.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        let content = read_text(&file.join("\n")).unwrap();
        assert_eq!(content.format, Format::Template);
        crate::rules::content::check(content, &std::collections::BTreeMap::new()).unwrap();
    }

    #[test]
    fn a_file_without_front_matter_is_its_body() {
        let content = read_text("--- not front matter\nx").unwrap();
        assert_eq!((content.format, content.body), (Format::Text, json!("--- not front matter\nx")));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_file_and_the_line() {
        for (text, words) in [
            ("---\nmodel: x\n---\n", "line 2"),
            ("---\nformat: text\nformat: text\n---\n", "line 3"),
            ("---\nparameters: {\"a\": 1, \"a\": 2}\n---\n", "line 2"),
            ("---\nformat: text\n", "second line"),
            ("---\nformat\n---\n", "line 2"),
            ("---\nformat: prose\n---\n", "prose"),
        ] {
            let error = read_text(text).unwrap_err().message;
            assert!(error.contains("a.txt") && error.contains(words), "{text:?}: {error}");
        }
        let error = content_of(&"a.b".parse().unwrap(), Path::new("a.txt"), b"ab\xff").unwrap_err().message;
        assert!(error.contains("UTF-8 at byte 2"), "{error}");
    }

    #[test]
    fn json_is_a_content_or_the_body_of_one() {
        let key: KeyId = "support.limits".parse().unwrap();
        let config = content_of(&key, Path::new("a.json"), b"{\"max\": 3}").unwrap();
        assert_eq!((config.format, config.body), (Format::Json, json!({"max": 3})));
        let chat = content_of(&key, Path::new("a.json"), br#"{"body": [{"role": "system", "content": "x"}]}"#).unwrap();
        assert_eq!(chat.format, Format::Chat);
        let other = content_of(&key, Path::new("a.json"), br#"{"key": "support.other", "body": "x"}"#);
        assert!(other.unwrap_err().message.contains("support.other"));
    }
}
