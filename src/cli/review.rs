//! `inbox`, `review`: what waits for you, and everything that a reviewer needs, printed.

use super::context::Context;
use super::diff::{between, diff_text};
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, Table, line, lines, moment};
use super::promote::{promotion_text, readiness_text};
use super::select::{plan_text, promotion_id};
use crate::client::Client;
use crate::model::approval::HiddenSpan;
use crate::model::diff::ContentDiff;
use crate::model::{Digest, PromotionState, Verdict};
use crate::rules::statement::{Statement, policy_digest};
use crate::wire::promotions::{ListPromotions, PromotionView};
use crate::wire::versions::VersionView;
use std::fmt::Write as _;
use uuid::Uuid;

/// Lists what waits for you
#[derive(Debug, clap::Args)]
pub struct Inbox {
    /// Only this environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<String>,
    /// All open promotions, not only yours to act on
    #[arg(long)]
    pub all: bool,
}

/// Prints a promotion with its change, gates and votes
#[derive(Debug, clap::Args)]
pub struct Review {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// Unchanged paragraphs too
    #[arg(long)]
    pub expand: bool,
}

impl Inbox {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        context.out.list(&self.waiting(&client).await?, inbox_text)
    }

    /// What waits for the caller, or all that is open.
    async fn waiting(self, client: &Client) -> Result<Vec<PromotionView>, Failure> {
        let me = || Some("me".to_owned());
        let open = ListPromotions {
            state: Some(PromotionState::Open.to_string()),
            awaiting: if self.all { None } else { me() },
            environment: self.env.clone(),
            ..ListPromotions::default()
        };
        let mut waiting = client.all_promotions(&open).await?;
        if !self.all {
            let owed = ListPromotions { owed: me(), environment: self.env, ..ListPromotions::default() };
            waiting.extend(client.all_promotions(&owed).await?);
        }
        Ok(waiting)
    }
}

/// The Inbox, then each change that waits for the caller, as plain text from top to bottom. What is confidential is named and
/// not read: its reading would be recorded without having been asked for.
pub async fn linear(context: &Context, client: &Client) -> Done {
    let out = Output { color: false, ..context.out.clone() };
    let waiting = Inbox { env: None, all: false }.waiting(client).await?;
    out.text(&inbox_text(&out, &waiting))?;
    for (number, view) in waiting.iter().enumerate() {
        let p = &view.promotion;
        let mut text = format!("\n{} of {}: {} {} in {}\n", number + 1, waiting.len(), p.act, p.key_id, p.environment);
        if view.confidential {
            let _ = write!(text, "confidential: `countersign review {}` shows it, and the reading is recorded", p.promotion_id);
        } else {
            text.push_str(&Shown::fetch(client, p.promotion_id).await?.text(&out, false));
        }
        if let Some(why) = &view.mine.approve_refused {
            let _ = write!(text, "\nyou cannot approve it: {}", line(why));
        } else if !view.mine.can_approve.is_empty() {
            let _ = write!(text, "\nto approve: countersign approve {} --rationale WHY", p.promotion_id);
        }
        out.text(text.trim_end())?;
    }
    Ok(())
}

fn inbox_text(out: &Output, items: &[PromotionView]) -> String {
    if items.is_empty() {
        return "nothing waits for you".into();
    }
    let mut table = Table::new(&["PROMOTION", "ACT", "KEY", "ENVIRONMENT", "WAITS FOR", "BY", "RATIONALE"]);
    for view in items {
        let p = &view.promotion;
        table.row([
            p.promotion_id.to_string(),
            p.act.to_string(),
            p.key_id.to_string(),
            p.environment.to_string(),
            line(&waits_for(view)),
            line(&p.actor.to_string()),
            line(p.rationale.lines().next().unwrap_or("")),
        ]);
    }
    table.text(out)
}

/// What the caller can do about it, in a few words.
fn waits_for(view: &PromotionView) -> String {
    let mine = &view.mine;
    let mut can = Vec::new();
    if !mine.can_approve.is_empty() {
        can.push(format!("your approval ({})", mine.can_approve.join(", ")));
    }
    if mine.owes_note {
        can.push("your note".into());
    }
    if mine.can_review && view.promotion.review_owed {
        can.push("your review afterwards".into());
    }
    if view.promotion.missed && mine.opened {
        can.push("you to renew it or to let it go: the registry could not apply it".into());
    }
    if mine.can_apply && !view.promotion.is_timed() && view.promotion.state == PromotionState::Open && view.readiness.is_ready() {
        can.push("you to apply it".into());
    }
    if can.is_empty() {
        let unmet: Vec<String> = view.readiness.unmet().map(|i| i.name.clone()).collect();
        return if unmet.is_empty() { "nothing".into() } else { unmet.join(", ") };
    }
    can.join("; ")
}

impl Review {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let shown = Shown::fetch(&client, self.id).await?;
        context.out.answer(&shown.view, |out, _| shown.text(out, self.expand))
    }
}

/// Everything that a reviewer is shown about a promotion; what an approval is computed from.
#[derive(Debug)]
pub struct Shown {
    /// The promotion as the registry gave it.
    pub view: PromotionView,
    /// What would serve, its content verified.
    to: Option<VersionView>,
    /// What serves now.
    from: Option<VersionView>,
    /// The difference, computed here.
    diff: Option<ContentDiff>,
}

impl Shown {
    /// Fetches a promotion and both contents.
    pub async fn fetch(client: &Client, id: Uuid) -> Result<Self, Failure> {
        let view = client.promotion(id).await?;
        let to = version(client, view.promotion.to_digest.as_ref()).await?;
        let from = version(client, view.promotion.from_digest.as_ref()).await?;
        let diff = match &to {
            Some(to) if to.content.is_some() && from.as_ref().is_none_or(|f| f.content.is_some()) => {
                Some(between(from.as_ref(), to)?)
            }
            _ => None,
        };
        Ok(Self { view, to, from, diff })
    }

    /// The statement of what [`Self::text`] shows.
    ///
    /// # Errors
    /// A text that could not be shown; a rule that is no longer the one that was signed; fields that do not give the
    /// promotion's own statement.
    pub fn statement(&self) -> Result<Digest, Failure> {
        if self.diff.is_none() {
            return Err(Failure::new(Exit::Denied, "its text could not be shown, so it cannot be approved from here"));
        }
        let p = &self.view.promotion;
        let statement = Statement {
            act: p.act,
            key: p.key_id.clone(),
            environment: p.environment.clone(),
            from: self.from.as_ref().map(|v| v.version.digest),
            to: self.to.as_ref().map(|v| v.version.digest),
            policy_digest: policy_digest(&self.view.rule),
            ..Statement::of(p)
        };
        if statement.policy_digest != p.policy_digest {
            return Err(Failure::new(Exit::Conflict, "the policy changed since this was opened")
                .hint("open it anew: countersign promote --renew ID"));
        }
        Ok(statement.digest())
    }

    /// Hidden characters in what is added.
    pub fn hidden(&self) -> &[HiddenSpan] {
        self.diff.as_ref().map_or(&[], |d| &d.hidden)
    }

    /// The whole review.
    pub fn text(&self, out: &Output, expand: bool) -> String {
        let p = &self.view.promotion;
        let mut text = promotion_text(out, p);
        let _ = writeln!(text, "\nstatement {}", p.statement);
        for (name, version) in [("from", &self.from), ("to", &self.to)] {
            if let Some(view) = version {
                let v = &view.version;
                let _ = writeln!(
                    text,
                    "{name} v{} {} by {}: {}",
                    v.number,
                    v.digest,
                    line(&v.author.to_string()),
                    line(&v.rationale)
                );
            }
        }
        for (name, digest) in [("others get", p.baseline_digest), ("safe default", p.safe_default_digest)] {
            let _ = writeln!(text, "{name} {}", digest.map_or("no value: the code's default".into(), |d| d.to_string()));
        }
        let _ = writeln!(text, "plan {}", plan_text(&p.plan));
        let _ = writeln!(text, "policy {}", p.policy_digest);
        let reach = &self.view.reach;
        let by = if reach.services.is_empty() { String::new() } else { format!(", by {}", line(&reach.services.join(", "))) };
        let _ = writeln!(text, "{} resolves a minute{by}", reach.per_minute);
        let _ = writeln!(text, "\n{}", out.mark(Mark::Bold, "Change"));
        match &self.diff {
            Some(diff) => text.push_str(&diff_text(out, diff, expand)),
            None if self.to.is_none() => text.push_str("nothing would serve\n"),
            None => text.push_str("its text is not yours to read\n"),
        }
        let _ = writeln!(text, "\n{}", out.mark(Mark::Bold, "Requirements"));
        text.push_str(&readiness_text(out, &self.view.readiness));
        self.gates(out, &mut text);
        self.votes(out, &mut text);
        text
    }

    fn gates(&self, out: &Output, text: &mut String) {
        for (number, v) in self.view.verdicts.iter().enumerate() {
            if number == 0 {
                let _ = writeln!(text, "\n{}", out.mark(Mark::Bold, "Gates"));
            }
            let score = v.score.map_or(String::new(), |s| format!(" {s}"));
            let _ = writeln!(
                text,
                "{} {}{score} by {} at {}",
                line(&v.gate_name),
                v.status,
                line(&v.reporter.to_string()),
                moment(v.at)
            );
            if !v.summary.is_empty() {
                let _ = writeln!(text, "{}", indented(&v.summary));
            }
        }
    }

    fn votes(&self, out: &Output, text: &mut String) {
        for (number, a) in self.view.approvals.iter().enumerate() {
            if number == 0 {
                let _ = writeln!(text, "\n{}", out.mark(Mark::Bold, "Votes and comments"));
            }
            let gate = if a.gate.is_empty() { String::new() } else { format!(" {}", line(&a.gate)) };
            let old = match (a.verdict, a.statement) {
                (Verdict::Approve | Verdict::Override, Some(s)) if s != self.view.promotion.statement => {
                    " (for another statement: does not count)"
                }
                _ => "",
            };
            let _ = writeln!(text, "{} {}{gate}{old} at {}", line(&a.approver.to_string()), a.verdict, moment(a.at));
            let _ = writeln!(text, "{}", indented(&a.rationale));
        }
    }
}

fn indented(text: &str) -> String {
    lines(text).split('\n').map(|l| format!("  {l}")).collect::<Vec<_>>().join("\n")
}

async fn version(client: &Client, digest: Option<&Digest>) -> Result<Option<VersionView>, Failure> {
    match digest {
        Some(digest) => Ok(Some(client.version(digest).await?)),
        None => Ok(None),
    }
}
