//! `audit tail`, `audit verify`; the rest of `audit` is in `proof`.

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, line, moment, note};
use super::proof;
use crate::client::{Client, Followed, VerifyError, follow, verify_all};
use crate::model::{Action, Actor, AuditEvent, Timestamp};
use crate::wire::world::ListAudit;
use futures_util::StreamExt as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// The audit trail
#[derive(Debug, clap::Subcommand)]
pub enum Audit {
    /// Print the newest events
    Tail(Tail),
    /// Verify the whole chain, also against what this machine saw before
    Verify(Verify),
    Checkpoint(proof::CheckpointArgs),
    Export(proof::Export),
    Report(proof::Report),
    AcceptHead(proof::AcceptHead),
}

/// Verify the whole chain, also against what this machine saw before
#[derive(Debug, clap::Args)]
pub struct Verify {
    /// An export in place of the registry: nobody is asked
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
    #[command(flatten)]
    pub signed: proof::Signed,
}

/// Print the newest events
#[derive(Debug, clap::Args)]
pub struct Tail {
    /// How many
    #[arg(short = 'n', long, default_value_t = 20)]
    pub lines: u32,
    /// Go on as events happen, each verified
    #[arg(short, long)]
    pub follow: bool,
    /// Only about this, like key:support.greeting
    #[arg(long)]
    pub subject: Option<String>,
    /// Only by this actor, like person:ana
    #[arg(long)]
    pub actor: Option<Actor>,
    /// Only this action, like pointer.kill
    #[arg(long)]
    pub action: Option<Action>,
    /// Not before this moment
    #[arg(long)]
    pub since: Option<Timestamp>,
}

impl Audit {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Self::Tail(args) => args.run(context, context.client()?).await,
            Self::Verify(args) => args.run(context).await,
            Self::Checkpoint(args) => args.run(context).await,
            Self::Export(args) => args.run(context).await,
            Self::Report(args) => args.run(context).await,
            Self::AcceptHead(args) => args.run(context).await,
        }
    }
}

impl Verify {
    async fn run(self, context: &Context) -> Done {
        match &self.export {
            Some(export) => proof::verify_export(context, export, &self.signed),
            None => verify(context, &context.client()?, &self.signed).await,
        }
    }
}

async fn verify(context: &Context, client: &Client, signed: &proof::Signed) -> Done {
    let checkpoints = signed.read()?;
    let bar = progress();
    let verified = verify_all(client, Some(&context.pins()), |at, of| {
        bar.set_length(of);
        bar.set_position(at.seq);
        proof::compare(&checkpoints, at)
    })
    .await;
    bar.finish_and_clear();
    let verified = verified?;
    if let Some(last) = checkpoints.keys().next_back().filter(|last| **last > verified.head.seq) {
        let first = verified.head.seq + 1;
        let why = format!("the audit chain is broken at #{first}: it was there when the checkpoint of #{last} was signed");
        return Err(Failure::new(Exit::Integrity, why));
    }
    if context.out.is_json() {
        return context.out.json(&serde_json::json!({
            "events": verified.events,
            "head": verified.head,
            "seen_before": verified.seen_before,
        }));
    }
    let pinned = match verified.seen_before {
        Some(seq) => format!("agrees with #{seq}, seen before"),
        None => format!("pinned from #{}", verified.head.seq),
    };
    context.out.text(&format!("verified {} events, head {}\n{pinned}", verified.events, verified.head.event_id))
}

/// A progress bar on stderr, where that is a terminal.
pub fn progress() -> indicatif::ProgressBar {
    if !std::io::stderr().is_terminal() {
        return indicatif::ProgressBar::hidden();
    }
    let bar = indicatif::ProgressBar::new(0);
    if let Ok(style) = indicatif::ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    bar
}

impl Tail {
    async fn run(self, context: &Context, client: Client) -> Done {
        // Followed from before the list is read, so that nothing falls between; what comes twice is left out.
        let stream = self.follow.then(|| follow(client.clone(), Some(context.pins())));
        let ask = ListAudit {
            before: Some(u64::MAX >> 12),
            subject: self.subject.clone(),
            actor: self.actor.clone(),
            action: self.action,
            since: self.since,
            limit: Some(self.lines.clamp(1, 1000)),
            ..ListAudit::default()
        };
        let page = client.audit(&ask).await?;
        let mut printed = page.items.last().map_or(0, |e| e.seq);
        if context.out.is_json() && stream.is_none() {
            return context.out.list(&page.items, |_, _| String::new());
        }
        for event in &page.items {
            print(&context.out, event)?;
        }
        let Some(mut stream) = stream else { return Ok(()) };
        if std::io::stderr().is_terminal() {
            note("following: each event is told as it happens, verified; ctrl-c leaves");
        }
        while let Some(told) = stream.next().await {
            match told {
                Followed::Audit(event) if event.seq > printed && self.wants(&event) => {
                    printed = event.seq;
                    print(&context.out, &event)?;
                }
                Followed::Lost { retry_in, error } => {
                    note(&format!("lost: {}; again in {} ms", line(&error.to_string()), retry_in.as_millis()));
                }
                Followed::Broken(at) => {
                    return Err(VerifyError::Broken(at).into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn wants(&self, event: &AuditEvent) -> bool {
        let Some(body) = &event.body else { return self.subject.is_none() && self.actor.is_none() && self.action.is_none() };
        self.subject.as_ref().is_none_or(|s| *s == body.subject.0)
            && self.actor.as_ref().is_none_or(|a| *a == body.actor)
            && self.action.is_none_or(|a| a == body.action)
    }
}

fn print(out: &Output, event: &AuditEvent) -> Done {
    if out.is_json() {
        return out.json(event);
    }
    out.text(&event_text(out, event))
}

fn event_text(out: &Output, event: &AuditEvent) -> String {
    let number = out.mark(Mark::Bold, &format!("#{}", event.seq));
    let Some(body) = &event.body else { return format!("{number}  {}  (withheld)", moment(event.at)) };
    let why = ["rationale", "reason"].iter().find_map(|m| body.detail.get(*m)).and_then(serde_json::Value::as_str).unwrap_or("");
    let why = if why.is_empty() { String::new() } else { format!("  {}", line(why)) };
    format!("{number}  {}  {}  {}  {}{why}", moment(event.at), line(&body.actor.to_string()), body.said(), line(&body.subject.0))
}
