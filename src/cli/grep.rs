//! `grep`: which keys serve a text, and in which line.

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, line};
use super::version::body_text;
use crate::client::Client;
use crate::model::{Environment, KeyId, KeyNames, KeyPattern};
use crate::wire::keys::ListKeys;
use crate::wire::pointers::PointerView;
use serde::Serialize;

/// Finds a text in what an environment serves: bodies and fragments, letter for letter
#[derive(Debug, clap::Args)]
pub struct Grep {
    /// The text
    pub text: String,
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// Only keys of this pattern, like support.**
    #[arg(long, value_name = "PATTERN")]
    pub keys: Option<KeyPattern>,
}

/// A line of what serves.
#[derive(Debug, Serialize)]
struct Found {
    key_id: KeyId,
    digest: crate::model::Digest,
    number: i64,
    /// The fragment that it stands in; null in the body.
    fragment: Option<String>,
    line: usize,
    text: String,
}

impl Grep {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let ask = ListKeys {
            pattern: self.keys.clone().map(KeyNames::Pattern),
            text: Some(self.text.clone()),
            environment: Some(self.env.to_string()),
            ..ListKeys::default()
        };
        let mut found = Vec::new();
        for row in client.all_keys(&ask).await? {
            let pointer = client.pointer(&row.key.key_id, &self.env).await?;
            found.extend(self.lines(&client, &pointer).await?);
        }
        if found.is_empty() && !context.out.is_json() {
            return Err(Failure::new(Exit::Failed, format!("nothing that {} serves has this text", self.env)));
        }
        context.out.list(&found, |out, found| found.iter().map(|line| self.shown(out, line)).collect())
    }

    /// The lines of the pointer's digest, baseline, or (killed) safe default that hold the text.
    async fn lines(&self, client: &Client, pointer: &PointerView) -> Result<Vec<Found>, Failure> {
        let p = &pointer.pointer;
        let digests = if p.killed { [pointer.safe_default_digest, None] } else { [Some(p.digest), p.baseline_digest] };
        let mut found = Vec::new();
        for digest in digests.into_iter().flatten() {
            let view = client.version(&digest).await?;
            let body = view.content.as_ref().map(body_text).unwrap_or_default();
            let fragments = view.fragment_bodies.iter().map(|fragment| (Some(&fragment.name), fragment.body.as_str()));
            for (fragment, text) in std::iter::once((None, body.as_str())).chain(fragments) {
                for (number, text) in text.lines().enumerate().filter(|(_, text)| text.contains(&self.text)) {
                    found.push(Found {
                        key_id: p.key_id.clone(),
                        digest,
                        number: view.version.number,
                        fragment: fragment.cloned(),
                        line: number + 1,
                        text: text.to_owned(),
                    });
                }
            }
        }
        Ok(found)
    }

    fn shown(&self, out: &Output, found: &Found) -> String {
        let fragment = found.fragment.as_ref().map_or(String::new(), |name| format!(" {}", line(name)));
        let at = format!("{}@v{}{fragment}:{}", found.key_id, found.number, found.line);
        let marked: Vec<String> = found.text.split(&self.text).map(line).collect();
        format!("{}: {}\n", out.mark(Mark::Dim, &at), marked.join(&out.mark(Mark::Bold, &line(&self.text))))
    }
}
