//! `resolve`: what a unit gets, and why.

use super::bundle;
use super::context::Context;
use super::exit::Done;
use super::output::{Mark, Output, line, lines, note};
use super::select::When;
use super::version::body_text;
use crate::client::Client;
use crate::model::{Environment, KeyId, Resolution};
use crate::wire::pointers::AsOf;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Says what an application gets
#[derive(Debug, clap::Args)]
pub struct Resolve {
    /// The key
    pub key: KeyId,
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// The user, session or tenant
    #[arg(long)]
    pub unit: Option<String>,
    /// Say why, step by step
    #[arg(long)]
    pub explain: bool,
    /// Ask this bundle in place of the registry: what a reader without a unit gets
    #[arg(long, value_name = "FILE", conflicts_with_all = ["unit", "explain", "as_of"])]
    pub bundle: Option<PathBuf>,
    /// The public key that the bundle must be signed with, or a file of it
    #[arg(long, value_name = "KEY", requires = "bundle")]
    pub signed_by: Option<String>,
    /// What it got earlier: after an event like #812, at a moment, or how long ago like 2h
    #[arg(long, value_name = "WHEN")]
    pub as_of: Option<When>,
}

impl Resolve {
    pub async fn run(self, context: &Context) -> Done {
        if let Some(file) = &self.bundle {
            let signed = bundle::read(file, self.signed_by.as_deref())?;
            let answer = bundle::resolve(&signed, &self.key, &self.env)?;
            note(&format!("from a bundle of #{}, made {}", signed.bundle.seq, signed.bundle.made_at));
            return context.out.answer(&answer, |out, answer| text(out, answer, false));
        }
        let client = context.client()?;
        if let Some(when) = self.as_of {
            return self.earlier(context, &client, when).await;
        }
        let unit = self.unit.as_deref();
        let answer = if self.explain {
            client.explain(&self.env, &self.key, unit).await?
        } else {
            client.resolve(&self.env, &self.key, unit).await?
        };
        context.out.answer(&answer, |out, answer| text(out, answer, self.explain))
    }
}

impl Resolve {
    async fn earlier(self, context: &Context, client: &Client, when: When) -> Done {
        let seq = if let When::Seq(seq) = when { Some(seq) } else { None };
        let body = AsOf { seq, time: when.moment(context.clock.now()), unit: self.unit };
        let answer = client.as_of(&self.env, &self.key, &body).await?;
        context.out.answer(&answer, |out, answer| {
            let then = format!("as of #{}, {}", answer.as_of.seq, answer.as_of.at);
            format!("{}\n{}", out.mark(Mark::Dim, &then), text(out, &answer.resolution, self.explain))
        })
    }
}

fn text(out: &Output, answer: &Resolution, explain: bool) -> String {
    let digest = answer.digest.map_or("no value: the code's default".into(), |d| d.to_string());
    let mut text = format!("{}  {}", out.mark(Mark::Bold, &digest), answer.reason);
    for (is, word) in [(answer.killed, "  KILLED"), (answer.stale, "  STALE")] {
        if is {
            text.push_str(&out.mark(Mark::Warn, word));
        }
    }
    text.push('\n');
    for step in &answer.steps {
        let _ = writeln!(text, "  {}: {}", line(&step.step), line(&step.found));
    }
    if let (Some(content), false) = (&answer.content, explain) {
        let _ = writeln!(text, "\n{}", lines(&body_text(content)));
    }
    text
}
