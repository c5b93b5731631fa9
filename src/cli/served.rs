//! `where`, `changes`: which configuration served, when, to how many, who let it.

use super::context::Context;
use super::exit::{Done, Failure};
use super::output::{Mark, Output, Table, line, moment};
use super::select::{KeyAt, When};
use crate::client::Client;
use crate::model::{Action, AuditEvent, Digest, Environment, EnvironmentPointer, KeyPattern, Verdict};
use crate::wire::versions::Served;
use crate::wire::world::ListAudit;
use std::fmt::Write as _;

/// Says where a digest served, when, to how many, and who let it
#[derive(Debug, clap::Args)]
pub struct Where {
    /// The digest that an answer carried, or KEY@SEL
    #[arg(value_name = "DIGEST")]
    pub what: String,
}

/// Lists what changed in an environment
#[derive(Debug, clap::Args)]
pub struct Changes {
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// Since when: an event like #812, a moment, or how long ago like 2h
    #[arg(long, value_name = "WHEN")]
    pub since: When,
    /// Only keys of this pattern, like support.**
    #[arg(long, value_name = "PATTERN")]
    pub namespace: Option<KeyPattern>,
}

impl Where {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let digest = self.digest(&client).await?;
        let served = client.served(&digest).await?;
        context.out.answer(&served, served_text)
    }

    async fn digest(&self, client: &Client) -> Result<Digest, Failure> {
        if let Ok(digest) = self.what.parse() {
            return Ok(digest);
        }
        let at: KeyAt = self.what.parse().map_err(|_| {
            Failure::usage(format!("{} is neither a digest nor KEY@SEL", line(&self.what)))
                .hint("an answer's digest is sha256: and 64 hex digits; in short, name its key: support.greeting@3f9ab2")
        })?;
        Ok(at.find(client).await?.version.digest)
    }
}

fn served_text(out: &Output, served: &Served) -> String {
    let v = &served.version;
    let title = format!("{} v{} {}", v.key_id, v.number, v.digest);
    let mut text = format!("{}\nby {}: {}\n\n", out.mark(Mark::Bold, &title), line(&v.author.to_string()), line(&v.rationale));
    if served.periods.is_empty() {
        text.push_str("it never served\n");
        return text;
    }
    let mut table = Table::new(&["ENVIRONMENT", "AS", "SHARE", "FROM", "UNTIL", "BY", "ACT", "WHY"]);
    for period in &served.periods {
        let until = period.until.map_or("now".into(), |until| format!("#{} {}", until.seq, moment(until.at)));
        let (by, act, why) = period.began_by.as_ref().map_or_else(
            || ("-".into(), "lift".into(), String::new()),
            |began| (line(&began.actor.to_string()), began.act.to_string(), line(&began.rationale)),
        );
        table.row([
            period.environment.to_string(),
            period.served_as.to_string(),
            format!("{} %", period.share),
            format!("#{} {}", period.from.seq, moment(period.from.at)),
            until,
            by,
            act,
            why,
        ]);
    }
    text.push_str(&table.text(out));
    for approved in &served.approved {
        let row = &approved.promotion;
        let _ = writeln!(text, "\n{} to {}: {}", row.promotion_id, row.environment, line(&row.rationale));
        for vote in &approved.approvals {
            let gate = if vote.gate.is_empty() { String::new() } else { format!(" {}", line(&vote.gate)) };
            let word =
                if vote.verdict == Verdict::Override { out.mark(Mark::Warn, "override") } else { vote.verdict.to_string() };
            let _ = writeln!(text, "  {} {word}{gate} {}: {}", line(&vote.approver.to_string()), vote.at, line(&vote.rationale));
        }
    }
    text
}

impl Changes {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let after = if let When::Seq(seq) = self.since { Some(seq) } else { None };
        let mut ask = ListAudit {
            after,
            environment: Some(self.env.to_string()),
            namespace: self.namespace,
            since: self.since.moment(context.clock.now()),
            limit: Some(1000),
            ..ListAudit::default()
        };
        let mut changes: Vec<AuditEvent> = Vec::new();
        loop {
            let page = client.audit(&ask).await?;
            changes.extend(page.items.into_iter().filter(moved));
            ask.cursor = page.next_cursor;
            if ask.cursor.is_none() {
                break;
            }
        }
        context.out.list(&changes, changes_text)
    }
}

/// Whether an event moved a pointer.
fn moved(event: &AuditEvent) -> bool {
    use Action::{
        PointerHold, PointerKill, PointerResume, PointerRevive, PointerRollback, PointerStep, PointerUndoKill, PromotionApply,
    };
    let moves =
        [PromotionApply, PointerStep, PointerHold, PointerResume, PointerRollback, PointerKill, PointerUndoKill, PointerRevive];
    event.body.as_ref().is_some_and(|body| moves.contains(&body.action))
}

fn changes_text(out: &Output, changes: &[AuditEvent]) -> String {
    if changes.is_empty() {
        return "nothing changed\n".into();
    }
    let mut table = Table::new(&["EVENT", "AT", "BY", "ACT", "KEY", "SERVES", "WHY"]);
    for event in changes {
        let Some(body) = &event.body else { continue };
        let told = |name: &str| body.detail.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
        let pointer = body.detail.get("pointer").cloned().and_then(|p| serde_json::from_value::<EnvironmentPointer>(p).ok());
        table.row([
            format!("#{}", event.seq),
            moment(event.at),
            line(&body.actor.to_string()),
            line(told("act")),
            line(told("key_id")),
            pointer.as_ref().map_or_else(|| "-".into(), super::key::pointer_text),
            line(told("rationale")),
        ]);
    }
    table.text(out)
}
