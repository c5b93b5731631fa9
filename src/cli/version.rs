//! `cat`, `submit`, `discard`, `quarantine`, `lift`, `verdict`.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::output::{Mark, Output, line, lines};
use super::select::KeyAt;
use crate::model::{Content, Environment, Format, GateStatus, Version};
use crate::wire::versions::{Reason, RecordVerdict, Submit, Submitted, VersionView};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Prints a version's text
#[derive(Debug, clap::Args)]
pub struct Cat {
    /// The version, like support.greeting@v3 or support.greeting@production
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// The text byte for byte; only into a file or pipe
    #[arg(long)]
    pub raw: bool,
}

/// Sends a draft to review
#[derive(Debug, clap::Args)]
pub struct SubmitArgs {
    /// The version
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// Open a promotion to this environment as well
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<Environment>,
    /// The promotion's reason; the version's unless given
    #[arg(long, requires = "env")]
    pub rationale: Option<String>,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// A version and why
#[derive(Debug, clap::Args)]
pub struct Because {
    /// The version
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// Why
    #[arg(long, default_value = "")]
    pub rationale: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// What to do with a version.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// Hide.
    Discard,
    /// Mark.
    Quarantine,
    /// Unmark.
    Lift,
}

/// Reports what an evaluation gate found
#[derive(Debug, clap::Args)]
pub struct VerdictArgs {
    /// The version
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// The gate
    #[arg(long)]
    pub gate: String,
    /// What was measured
    #[arg(long, allow_negative_numbers = true, required_unless_present_any = ["pending", "error"])]
    pub score: Option<f64>,
    /// The evaluation runs
    #[arg(long, conflicts_with = "score")]
    pub pending: bool,
    /// The evaluation broke
    #[arg(long, conflicts_with_all = ["score", "pending"])]
    pub error: bool,
    /// The threshold that was judged by; refused unless it is the policy's
    #[arg(long, allow_negative_numbers = true)]
    pub threshold: Option<f64>,
    /// A file with a summary for people, 4 kB at most
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Where the evidence is (https)
    #[arg(long, value_name = "URL")]
    pub details_url: Option<String>,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

fn acts(idempotency_key: Option<String>) -> Acts {
    Acts { idempotency_key, ..Acts::default() }
}

impl Cat {
    pub async fn run(self, context: &Context) -> Done {
        if self.raw && context.out.terminal {
            return Err(Failure::usage("--raw writes the text as it is, which could drive a terminal")
                .hint("send it into a file or a pipe"));
        }
        let view = self.at.find(&context.client()?).await?;
        if context.out.is_json() {
            return context.out.json(&view);
        }
        let Some(content) = &view.content else {
            return Err(Failure::new(super::exit::Exit::Denied, "its text is not yours to read"));
        };
        if self.raw {
            return context.out.raw(body_text(content).as_bytes());
        }
        context.out.text(&lines(&body_text(content)))
    }
}

/// A body as people read it: text as it is, chat as messages, JSON indented.
pub fn body_text(content: &Content) -> String {
    match (&content.body, content.format) {
        (Value::String(text), Format::Text | Format::Template) => text.clone(),
        (Value::Array(messages), Format::Chat) => messages.iter().map(message_text).collect::<Vec<_>>().join("\n\n"),
        (other, _) => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn message_text(message: &Value) -> String {
    let member = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
    match message.get("placeholder").and_then(Value::as_str) {
        Some(name) => format!("[{name}]"),
        None => format!("[{}]\n{}", member("role"), member("content")),
    }
}

impl SubmitArgs {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let view = self.at.find(&client).await?;
        let body = Submit { environment: self.env, rationale: self.rationale };
        let answer =
            client.submit_version(&view.version.digest, &body, &context.idempotency(&acts(self.idempotency_key))).await?;
        context.out.answer(&answer, submitted_text)
    }
}

fn submitted_text(out: &Output, answer: &Submitted) -> String {
    let mut text = version_text(out, &answer.version);
    if let Some(promotion) = &answer.promotion {
        let _ = write!(text, "\npromotion {} to {} is {}", promotion.promotion_id, promotion.environment, promotion.state);
    }
    text
}

/// A version in one line.
pub fn version_text(out: &Output, version: &Version) -> String {
    let name = format!("{}@v{}", version.key_id, version.number);
    let mut text = format!("{}  {}  {}", out.mark(Mark::Bold, &name), version.digest.short(), version.state);
    if let Some(mark) = &version.quarantine {
        let _ = write!(text, ", quarantined by {}: {}", line(&mark.by.to_string()), line(&mark.reason));
    }
    if version.discarded {
        text.push_str(", discarded");
    }
    text
}

/// A saved version, with what is worth knowing about it on stderr.
pub fn saved_text(out: &Output, view: &VersionView) -> String {
    for warning in &view.warnings {
        super::output::note(&format!("warning: {}", line(warning)));
    }
    version_text(out, &view.version)
}

impl Because {
    pub async fn run(self, fate: Fate, context: &Context) -> Done {
        let client = context.client()?;
        let digest = self.at.find(&client).await?.version.digest;
        let body = Reason { rationale: self.rationale };
        let key = context.idempotency(&acts(self.idempotency_key));
        let version = match fate {
            Fate::Discard => client.discard_version(&digest, &body, &key).await?,
            Fate::Quarantine => client.quarantine_version(&digest, &body, &key).await?,
            Fate::Lift => client.lift_version(&digest, &body, &key).await?,
        };
        context.out.answer(&version, version_text)
    }
}

impl VerdictArgs {
    pub async fn run(self, context: &Context) -> Done {
        let summary = match &self.summary {
            Some(path) => std::fs::read_to_string(path).map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?,
            None => String::new(),
        };
        if self.score.is_some_and(|score| !score.is_finite()) {
            return Err(Failure::usage("a score is a finite number").hint("report --error where there is none"));
        }
        let status = if self.pending { Some(GateStatus::Pending) } else { self.error.then_some(GateStatus::Error) };
        let client = context.client()?;
        let digest = self.at.find(&client).await?.version.digest;
        let body = RecordVerdict {
            gate: self.gate,
            score: self.score,
            status,
            threshold: self.threshold,
            summary,
            details_url: self.details_url,
        };
        let verdict = client.record_verdict(&digest, &body, &context.idempotency(&acts(self.idempotency_key))).await?;
        context.out.answer(&verdict, |_, v| {
            let score = v.score.map_or(String::new(), |s| format!(" with {s}"));
            format!("{} {}{score} on {}, report {}", line(&v.gate_name), v.status, v.digest.short(), v.attempt)
        })
    }
}
