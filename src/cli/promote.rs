//! `promote`, `revive`, `apply`, `withdraw`, `wait`.

use super::context::{Acts, Context};
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, line, note};
use super::select::{KeyAt, PlanText, Span, plan_text, promotion_id, version_of};
use crate::client::Client;
use crate::model::{BasisPoints, Digest, Environment, KeyId, Promotion, PromotionState, Readiness, ReadinessStatus, Timestamp};
use crate::wire::promotions::{DryRun, Moved, OpenPromotion, PromotionView, Rationale};
use std::fmt::Write as _;
use std::time::Duration;
use uuid::Uuid;

/// Opens a promotion
#[derive(Debug, clap::Args)]
pub struct Promote {
    /// The version
    #[arg(value_name = "KEY@SEL", required_unless_present = "renew")]
    pub at: Option<KeyAt>,
    /// Where it shall serve; @safe-default moves the key's safe default
    #[arg(long, value_name = "ENVIRONMENT", required_unless_present = "renew")]
    pub env: Option<Environment>,
    /// Why
    #[arg(long)]
    pub rationale: String,
    /// To this share of units at once
    #[arg(long, value_name = "P", conflicts_with = "plan")]
    pub percent: Option<BasisPoints>,
    /// The steps, like 5:30m,25:30m,100; the policy's unless given
    #[arg(long)]
    pub plan: Option<PlanText>,
    /// A ticket
    #[arg(long)]
    pub change: Option<String>,
    /// The applied promotion whose rollout this one replaces
    #[arg(long, value_name = "ID", value_parser = promotion_id)]
    pub supersedes: Option<Uuid>,
    /// Let the registry apply it from this moment on, as soon as everything is met: 2026-12-01T08:00:00Z, or with a zone
    /// 2026-12-01T08:00[Europe/Berlin]
    #[arg(long = "at", value_name = "TIME", conflicts_with = "when_ready", value_parser = Timestamp::typed)]
    pub at_time: Option<Timestamp>,
    /// Let the registry apply it as soon as everything is met
    #[arg(long)]
    pub when_ready: bool,
    /// Override all requirements but quarantine and apply it at once; another person reviews it afterwards
    #[arg(long, conflicts_with_all = ["at_time", "when_ready"])]
    pub break_glass: bool,
    /// Open this stale or expired one anew
    #[arg(long, value_name = "ID", value_parser = promotion_id, conflicts_with_all = [
        "at", "env", "percent", "plan", "change", "supersedes", "at_time", "when_ready", "break_glass",
    ])]
    pub renew: Option<Uuid>,
    #[command(flatten)]
    pub acts: Acts,
}

/// Opens a promotion that serves again after a kill
#[derive(Debug, clap::Args)]
pub struct Revive {
    /// The version
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// Where
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// To this share of units
    #[arg(long, value_name = "P")]
    pub percent: BasisPoints,
    /// What the other units get: a selector of the same key; the safe default unless given
    #[arg(long, value_name = "SEL")]
    pub baseline: Option<String>,
    /// Why
    #[arg(long)]
    pub rationale: String,
    /// A ticket
    #[arg(long)]
    pub change: Option<String>,
    #[command(flatten)]
    pub acts: Acts,
}

/// Lets a promotion take effect
#[derive(Debug, clap::Args)]
pub struct Apply {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// Why, where there is more to say
    #[arg(long, default_value = "", hide_default_value = true)]
    pub rationale: String,
    #[command(flatten)]
    pub acts: Acts,
}

/// Takes an open promotion back
#[derive(Debug, clap::Args)]
pub struct Withdraw {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// Why
    #[arg(long, default_value = "", hide_default_value = true)]
    pub rationale: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Waits until a promotion is applied
#[derive(Debug, clap::Args)]
pub struct Wait {
    /// The promotion
    #[arg(value_parser = promotion_id)]
    pub id: Uuid,
    /// Only until nothing stands in its way
    #[arg(long)]
    pub ready: bool,
    /// How long at most
    #[arg(long, default_value = "1h")]
    pub timeout: Span,
}

/// Whether an environment asks more of dangerous acts, for a key.
pub async fn is_protected(client: &Client, key: &KeyId, environment: &Environment) -> bool {
    // What cannot be known counts as protected.
    client.policy_rule(key, environment).await.map_or(true, |rule| rule.is_protected())
}

impl Promote {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let idempotency = context.idempotency(&self.acts);
        if let Some(id) = self.renew {
            let renewed =
                client.renew(id, &Rationale { rationale: self.rationale, dry_run: self.acts.dry_run }, &idempotency).await?;
            return context.out.answer(&renewed, promotion_text);
        }
        let (Some(at), Some(environment)) = (self.at, self.env) else {
            return Err(Failure::usage("name a version and an environment"));
        };
        let body = OpenPromotion {
            to_digest: at.find(&client).await?.version.digest,
            key_id: at.key,
            environment,
            rationale: self.rationale,
            percent: self.percent,
            plan: self.plan.map(|p| p.0),
            supersedes: self.supersedes,
            change: self.change,
            revive: false,
            baseline: None,
            at_time: self.at_time,
            when_ready: self.when_ready,
            break_glass: self.break_glass,
            dry_run: self.acts.dry_run,
        };
        if body.break_glass && !body.dry_run {
            return break_glass(context, &client, body, &self.acts).await;
        }
        open(context, &client, body, &idempotency).await
    }
}

/// Opens what overrides everything and applies it in one go: who breaks the glass has no time for two commands.
async fn break_glass(context: &Context, client: &Client, body: OpenPromotion, acts: &Acts) -> Done {
    let what =
        format!("override all requirements and serve {} {} in {} now", body.key_id, body.to_digest.short(), body.environment);
    context.confirm(true, &what, body.key_id.last_segment(), acts)?;
    let idempotency = context.idempotency(acts);
    let opened = client.open_promotion(&body, &idempotency).await.map_err(|e| act_failed(e.into(), &idempotency))?;
    let because = Rationale { rationale: body.rationale, dry_run: false };
    let moved = client.apply(opened.promotion_id, &because, &idempotency).await;
    let moved =
        moved.map_err(|e| act_failed(e.into(), &idempotency).hint(format!("it is open: apply {}", opened.promotion_id)))?;
    note("the glass is broken: another person owes the review (`countersign close-review`)");
    context.out.answer(&moved, moved_text)
}

impl Revive {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let baseline = match &self.baseline {
            Some(selector) => Some(version_of(&client, &self.at.key, selector).await?.version.digest),
            None => None,
        };
        let body = OpenPromotion {
            to_digest: self.at.find(&client).await?.version.digest,
            key_id: self.at.key.clone(),
            environment: self.env.clone(),
            rationale: self.rationale.clone(),
            percent: Some(self.percent),
            plan: None,
            supersedes: None,
            change: self.change.clone(),
            revive: true,
            baseline,
            at_time: None,
            when_ready: false,
            break_glass: false,
            dry_run: self.acts.dry_run,
        };
        open(context, &client, body, &context.idempotency(&self.acts)).await
    }
}

async fn open(context: &Context, client: &Client, body: OpenPromotion, idempotency: &str) -> Done {
    if body.dry_run {
        return context.out.answer(&client.preview_promotion(&body, idempotency).await?, dry_run_text);
    }
    let opened = client.open_promotion(&body, idempotency).await.map_err(|e| act_failed(e.into(), idempotency))?;
    context.out.answer(&opened, promotion_text)
}

/// Where it is unknown whether an act took effect: how to send it again safely.
pub fn act_failed(failure: Failure, idempotency: &str) -> Failure {
    match failure.exit {
        Exit::Unreachable => failure.hint(format!("send it again with --idempotency-key {idempotency}: it acts once")),
        _ => failure,
    }
}

impl Apply {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let idempotency = context.idempotency(&self.acts);
        if self.acts.dry_run {
            let would = client.preview_apply(self.id, &idempotency).await?;
            context.out.answer(&would, dry_run_text)?;
            let unmet: Vec<_> = would.readiness.unmet().cloned().collect();
            return if unmet.is_empty() {
                Ok(())
            } else {
                Err(Failure { unmet, ..Failure::new(Exit::Unmet, "it is not ready") })
            };
        }
        let view = client.promotion(self.id).await?;
        let p = &view.promotion;
        let what = format!("apply: {} {} to {} in {}", p.act, p.key_id, target(p), p.environment);
        context.confirm(view.rule.is_protected(), &what, p.key_id.last_segment(), &self.acts)?;
        let body = Rationale { rationale: self.rationale, dry_run: false };
        let moved = client.apply(self.id, &body, &idempotency).await.map_err(|e| act_failed(e.into(), &idempotency))?;
        context.out.answer(&moved, moved_text)
    }
}

impl Withdraw {
    pub async fn run(self, context: &Context) -> Done {
        let key = context.idempotency(&Acts { idempotency_key: self.idempotency_key, ..Acts::default() });
        let body = Rationale { rationale: self.rationale, dry_run: false };
        let withdrawn = context.client()?.withdraw(self.id, &body, &key).await?;
        context.out.answer(&withdrawn, promotion_text)
    }
}

impl Wait {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let watch = async {
            loop {
                let view = client.promotion(self.id).await?;
                if self.is_over(&view) {
                    return Ok::<_, Failure>(view);
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let Ok(view) = tokio::time::timeout(self.timeout.0, watch).await else {
            let view = client.promotion(self.id).await?;
            let unmet = view.readiness.unmet().cloned().collect();
            return Err(Failure { unmet, ..Failure::new(Exit::Unmet, "it is still open after this time") });
        };
        let view = view?;
        context.out.answer(&view, |out, view| promotion_text(out, &view.promotion))?;
        let state = view.promotion.state;
        if state == PromotionState::Applied || (self.ready && state == PromotionState::Open) {
            return Ok(());
        }
        let why = view.promotion.closed_reason.as_deref().map(|w| format!(": {w}")).unwrap_or_default();
        Err(Failure::new(Exit::Conflict, format!("it became {state}{why}")))
    }

    fn is_over(&self, view: &PromotionView) -> bool {
        view.promotion.state != PromotionState::Open || (self.ready && view.readiness.is_ready())
    }
}

fn target(promotion: &Promotion) -> String {
    promotion.to_digest.as_ref().map_or("nothing".into(), Digest::short)
}

/// A promotion in a few lines.
pub fn promotion_text(out: &Output, p: &Promotion) -> String {
    let from = p.from_digest.as_ref().map_or("nothing".into(), Digest::short);
    let mut text = format!("{}  {}  {}", out.mark(Mark::Bold, &p.promotion_id.to_string()), p.act, p.state);
    let _ = write!(text, "\n{} in {}: {from} -> {}", p.key_id, p.environment, target(p));
    if !p.plan.is_empty() {
        let _ = write!(text, "\nplan {}", plan_text(&p.plan));
    }
    let why = if p.rationale.is_empty() { String::new() } else { format!(": {}", line(&p.rationale)) };
    let _ = write!(text, "\nby {}{why}", line(&p.actor.to_string()));
    if let Some(change) = &p.change {
        let _ = write!(text, "\nchange {}", line(change));
    }
    if p.break_glass {
        let mark = out.mark(Mark::Warn, "glass broken");
        let _ = write!(text, "\n{mark}: {} overrode all requirements but quarantine", line(&p.actor.to_string()));
    }
    match (p.at_time, p.state) {
        (Some(at), PromotionState::Open) => {
            let _ = write!(text, "\napplied by the registry from {at} on, as soon as everything is met");
        }
        (None, PromotionState::Open) if p.when_ready => text.push_str("\napplied by the registry as soon as everything is met"),
        _ if p.missed => {
            let id = p.promotion_id;
            let _ = write!(
                text,
                "\nmissed: the registry was to apply it; renew it (promote --renew {id}) or let it go (withdraw {id})"
            );
        }
        _ => {}
    }
    if let Some(why) = &p.closed_reason {
        let _ = write!(text, "\nended: {}", line(why));
    }
    text
}

/// Readiness, one requirement a line.
pub fn readiness_text(out: &Output, readiness: &Readiness) -> String {
    let mut text = String::new();
    for item in &readiness.0 {
        let (sign, mark) = match item.status {
            ReadinessStatus::Met => ("✓", Mark::Added),
            ReadinessStatus::Overridden => ("!", Mark::Warn),
            ReadinessStatus::Pending => ("…", Mark::Warn),
            ReadinessStatus::Unmet => ("✗", Mark::Removed),
        };
        let name = if item.name == item.kind.as_str() { String::new() } else { format!(" {}", line(&item.name)) };
        let who = if item.who.is_empty() { String::new() } else { format!("  ({})", line(&item.who.join(", "))) };
        let _ = writeln!(text, "{} {}{name}: {}{who}", out.mark(mark, sign), item.kind, line(&item.reason));
    }
    text
}

fn dry_run_text(out: &Output, would: &DryRun) -> String {
    note("dry run: nothing was changed");
    let mut text = promotion_text(out, &would.promotion);
    text.push('\n');
    text.push_str(&readiness_text(out, &would.readiness));
    if let Some(pointer) = &would.pointer {
        let _ = write!(text, "then: {}", super::key::pointer_text(pointer));
    }
    text
}

/// What moved, with the audit number.
pub fn moved_text(out: &Output, moved: &Moved) -> String {
    moved_as(moved.promotion.act.as_str(), false, out, moved)
}

/// The same by the name of the command, and in a dry run what would move.
pub fn moved_as(act: &str, dry_run: bool, out: &Output, moved: &Moved) -> String {
    let p = &moved.promotion;
    let number = moved.seq.map_or_else(|| ": nothing was changed".to_owned(), |seq| format!(" #{seq}"));
    let then = if dry_run { "then: " } else { "" };
    let after = match &moved.pointer {
        Some(pointer) => super::key::pointer_text(pointer),
        None => format!("{} {}", p.environment, target(p)),
    };
    let mut text = format!("{} {}{number}\n{then}{after}", out.mark(Mark::Bold, act), p.key_id);
    if !moved.staled.is_empty() {
        let ids: Vec<String> = moved.staled.iter().map(Uuid::to_string).collect();
        let _ = write!(text, "\nstale now: {}", ids.join(", "));
    }
    if moved.seq.is_some() && p.note_due_at.is_some() {
        let _ = write!(text, "\na note is owed: countersign note {} --note …", p.promotion_id);
    }
    text
}
