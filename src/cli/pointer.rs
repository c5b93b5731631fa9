//! `step`, `hold`, `resume`, `rollout status`, `rollback`, `kill`, `undo-kill`.

use super::context::{Acts, Context};
use super::exit::{Done, Exit, Failure, exit_of};
use super::output::{Mark, Output, line, note};
use super::promote::{act_failed, is_protected, moved_as, moved_text};
use super::select::{Span, plan_text, version_of, which};
use crate::client::{Client, ClientError, Followed, VerifyError, follow};
use crate::model::{BasisPoints, Environment, KeyId, KeyPattern, KillReason};
use crate::wire::pointers::{Act, Kill, KillMany, KillOutcome, ListPointers, NextStep, PointerView, Rollback, StepTo};
use crate::wire::promotions::Moved;
use futures_util::StreamExt as _;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

/// A pointer: a key in an environment
#[derive(Debug, Clone, clap::Args)]
pub struct At {
    /// The key
    pub key: KeyId,
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
}

/// Takes the next step of a rollout, or one down
#[derive(Debug, clap::Args)]
pub struct Step {
    #[command(flatten)]
    pub at: At,
    /// Down instead of up
    #[arg(long)]
    pub down: bool,
    /// To this share, which stands in the plan (down: any lower one)
    #[arg(long, value_name = "P")]
    pub to: Option<BasisPoints>,
    /// Why
    #[arg(long)]
    pub rationale: String,
    #[command(flatten)]
    pub acts: Acts,
}

/// Holds a rollout
#[derive(Debug, clap::Args)]
pub struct HoldArgs {
    #[command(flatten)]
    pub at: At,
    /// Why, where there is more to say
    #[arg(long, default_value = "", hide_default_value = true)]
    pub rationale: String,
    #[command(flatten)]
    pub acts: Acts,
}

/// Lets a rollout go on, or takes a kill back
#[derive(Debug, clap::Args)]
pub struct Plain {
    #[command(flatten)]
    pub at: At,
    /// Why
    #[arg(long)]
    pub rationale: String,
    #[command(flatten)]
    pub acts: Acts,
}

/// Which plain act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlainAct {
    /// Steps are held.
    Hold,
    /// Steps go on.
    Resume,
    /// One's own kill is taken back.
    UndoKill,
}

/// Goes back to what served before
#[derive(Debug, clap::Args)]
pub struct RollbackArgs {
    #[command(flatten)]
    pub at: At,
    /// To this version; the one before unless given
    #[arg(long, value_name = "SEL")]
    pub to: Option<String>,
    /// Why
    #[arg(long)]
    pub rationale: String,
    #[command(flatten)]
    pub acts: Acts,
}

/// Stops serving at once: everybody gets the safe default
#[derive(Debug, clap::Args)]
pub struct KillArgs {
    /// The keys, or one pattern like support.**
    #[arg(required = true, value_name = "KEY")]
    pub keys: Vec<String>,
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// outage, quality, safety, cost or test
    #[arg(long)]
    pub reason: KillReason,
    /// What happened; owed within 24 h when left out
    #[arg(long)]
    pub note: Option<String>,
    #[command(flatten)]
    pub acts: Acts,
}

/// Rollouts
#[derive(Debug, clap::Subcommand)]
pub enum Rollout {
    /// Show where a rollout stands
    Status {
        #[command(flatten)]
        at: At,
        /// Print each change until it serves everybody or is killed
        #[arg(long)]
        watch: bool,
        /// How long to watch at most
        #[arg(long, default_value = "24h")]
        timeout: Span,
    },
}

impl Step {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let At { key, env } = &self.at;
        let to = self.to.map_or(String::new(), |to| format!(" to {to} %"));
        let what = format!("step {key} {}{to} in {env}", if self.down { "down" } else { "up" });
        context.confirm(is_protected(&client, key, env).await, &what, key.last_segment(), &self.acts)?;
        let body =
            StepTo { to: self.to, down: self.down, rationale: self.rationale, seen_revision: None, dry_run: self.acts.dry_run };
        let idempotency = context.idempotency(&self.acts);
        let answer = client.step(key, env, &body, &idempotency).await;
        let moved = self.at.answer(&client, answer, &idempotency).await?;
        context.out.answer(&moved, |out, moved| moved_as(moved.promotion.act.as_str(), self.acts.dry_run, out, moved))
    }
}

impl HoldArgs {
    pub async fn run(self, context: &Context) -> Done {
        let Self { at, rationale, acts } = self;
        Plain { at, rationale, acts }.run(PlainAct::Hold, context).await
    }
}

impl Plain {
    pub async fn run(self, act: PlainAct, context: &Context) -> Done {
        let client = context.client()?;
        let At { key, env } = &self.at;
        if act != PlainAct::Hold {
            let verb = if act == PlainAct::Resume { "resume" } else { "take the kill back of" };
            context.confirm(
                is_protected(&client, key, env).await,
                &format!("{verb} {key} in {env}"),
                key.last_segment(),
                &self.acts,
            )?;
        }
        let body = Act { rationale: self.rationale, seen_revision: None, dry_run: self.acts.dry_run };
        let idempotency = context.idempotency(&self.acts);
        let answer = match act {
            PlainAct::Hold => client.hold(key, env, &body, &idempotency).await,
            PlainAct::Resume => client.resume(key, env, &body, &idempotency).await,
            PlainAct::UndoKill => client.undo_kill(key, env, &body, &idempotency).await,
        };
        let moved = self.at.answer(&client, answer, &idempotency).await?;
        let word = match act {
            PlainAct::Hold => "hold",
            PlainAct::Resume => "resume",
            PlainAct::UndoKill => "undo-kill",
        };
        context.out.answer(&moved, |out, moved| moved_as(word, self.acts.dry_run, out, moved))
    }
}

impl RollbackArgs {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let At { key, env } = &self.at;
        let to_digest = match &self.to {
            Some(selector) => Some(version_of(&client, key, selector).await?.version.digest),
            None => None,
        };
        let what = format!("roll {key} back in {env}");
        context.confirm(is_protected(&client, key, env).await, &what, env.as_str(), &self.acts)?;
        let body = Rollback { to_digest, rationale: self.rationale, seen_revision: None, dry_run: self.acts.dry_run };
        let idempotency = context.idempotency(&self.acts);
        let answer = client.rollback(key, env, &body, &idempotency).await;
        let moved = self.at.answer(&client, answer, &idempotency).await?;
        context.out.answer(&moved, |out, moved| moved_as(moved.promotion.act.as_str(), self.acts.dry_run, out, moved))
    }
}

impl At {
    /// What moved; or why nothing did: where it is unknown whether something did, with how to send it again.
    async fn answer(&self, client: &Client, answer: Result<Moved, ClientError>, idempotency: &str) -> Result<Moved, Failure> {
        match answer {
            Ok(moved) => Ok(moved),
            Err(error) => Err(act_failed(self.which(client, error).await, idempotency)),
        }
    }

    async fn which(&self, client: &Client, error: ClientError) -> Failure {
        which(client, &self.key, error, &format!("{} serves nothing in {}", self.key, self.env)).await
    }
}

impl KillArgs {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let patterns = self.keys.iter().filter(|k| k.contains('*')).count();
        if patterns > 0 && self.keys.len() > 1 {
            return Err(Failure::usage("a pattern stands alone; name keys or one pattern"));
        }
        if patterns == 1 {
            return self.pattern(context, &client).await;
        }
        let names: Vec<String> = self.keys.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let only = if let [name] = &names[..] { Some(name.parse::<KeyId>()?) } else { None };
        let what = format!("kill {} in {}: everybody gets the safe default at once", line(&names.join(", ")), self.env);
        context.confirm(true, &what, self.env.as_str(), &self.acts)?;
        match only {
            Some(key) => self.one(context, &client, &key).await,
            None if self.acts.dry_run => self.each_dry(context, &client, &names).await,
            None => {
                let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
                self.many(context, &client, self.body(names, None, count)).await
            }
        }
    }

    async fn one(&self, context: &Context, client: &Client, key: &KeyId) -> Done {
        let idempotency = context.idempotency(&self.acts);
        let at = At { key: key.clone(), env: self.env.clone() };
        let answer = client.kill(key, &self.env, &self.kill(context), &idempotency).await;
        let moved = at.answer(client, answer, &idempotency).await?;
        context.out.answer(&moved, |out, moved| moved_as(moved.promotion.act.as_str(), self.acts.dry_run, out, moved))
    }

    fn kill(&self, context: &Context) -> Kill {
        Kill {
            reason: self.reason,
            note: self.note.clone(),
            issued_at: Some(context.clock.now()),
            seen_revision: None,
            dry_run: self.acts.dry_run,
        }
    }

    /// What would become of each: like the kill itself, it goes on where one of them fails.
    async fn each_dry(&self, context: &Context, client: &Client, names: &[String]) -> Done {
        let mut failed = Vec::new();
        for name in names {
            let done = match name.parse::<KeyId>() {
                Ok(key) => self.one(context, client, &key).await,
                Err(why) => Err(why.into()),
            };
            if let Err(failure) = done {
                note(&format!("{}: {}", line(name), failure.message));
                failed.push(failure);
            }
        }
        let message = format!("{} of {} keys would not be killed", failed.len(), names.len());
        failed.first().map_or(Ok(()), |first| Err(Failure::new(first.exit, message)))
    }

    async fn pattern(&self, context: &Context, client: &Client) -> Done {
        let pattern: KeyPattern = self.keys[0].parse()?;
        let ask =
            ListPointers { environment: Some(self.env.to_string()), namespace: Some(pattern.clone()), ..ListPointers::default() };
        let found = client.all_pointers(&ask).await?;
        let count = u32::try_from(found.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return Err(Failure::new(Exit::NotFound, format!("{} serves no key of {pattern}", self.env)));
        }
        for view in &found {
            note(&format!("  {}", view.pointer.key_id));
        }
        if self.acts.dry_run {
            return self.each_dry(context, client, &found.iter().map(|v| v.pointer.key_id.to_string()).collect::<Vec<_>>()).await;
        }
        let what = format!("kill these {count} keys in {}: everybody gets the safe default at once", self.env);
        context.confirm(true, &what, &format!("{count} keys"), &self.acts)?;
        self.many(context, client, self.body(Vec::new(), Some(pattern), count)).await
    }

    fn body(&self, keys: Vec<String>, namespace: Option<KeyPattern>, expected_count: u32) -> KillMany {
        KillMany { environment: self.env.clone(), keys, namespace, expected_count, reason: self.reason, note: self.note.clone() }
    }

    async fn many(&self, context: &Context, client: &Client, body: KillMany) -> Done {
        let idempotency = context.idempotency(&self.acts);
        let outcomes = client.kill_many(&body, &idempotency).await.map_err(|e| act_failed(e.into(), &idempotency))?;
        context.out.list(&outcomes, |out, all| all.iter().map(|o| outcome_text(out, o)).collect::<Vec<_>>().join("\n"))?;
        let failed: Vec<_> = outcomes.iter().filter_map(|o| o.problem.as_ref()).collect();
        match failed.first() {
            None => Ok(()),
            Some(first) => {
                let message = format!("{} of {} keys were not killed", failed.len(), outcomes.len());
                Err(Failure::new(exit_of(first.code), message))
            }
        }
    }
}

fn outcome_text(out: &Output, outcome: &KillOutcome) -> String {
    match (&outcome.moved, &outcome.problem) {
        (Some(moved), _) => moved_text(out, moved),
        (None, Some(problem)) => out.mark(Mark::Removed, &format!("{}: {}", line(&outcome.key_id), line(&problem.to_string()))),
        (None, None) => line(&outcome.key_id),
    }
}

impl Rollout {
    pub async fn run(self, context: &Context) -> Done {
        let Self::Status { at, watch, timeout } = self;
        let client = context.client()?;
        let first = match client.pointer(&at.key, &at.env).await {
            Ok(first) => first,
            Err(error) => return Err(at.which(&client, error).await),
        };
        context.out.answer(&first, status_text)?;
        if !watch || is_over(&first) {
            return Ok(());
        }
        if std::io::stderr().is_terminal() {
            note("watching: each change is told, until 100 % or a kill; ctrl-c leaves");
        }
        let over = tokio::time::timeout(timeout.0, watch_until_over(context, &client, &at, first.pointer.revision)).await;
        over.unwrap_or_else(|_| Err(Failure::failed("the rollout is not over after this time")))
    }
}

async fn watch_until_over(context: &Context, client: &Client, at: &At, mut shown: i64) -> Done {
    let mut stream = follow(client.clone(), Some(context.pins()));
    loop {
        // Asked again also when the stream is silent about it: a change may fall between two connections.
        let told = tokio::time::timeout(Duration::from_secs(30), stream.next()).await;
        let concerns = match told {
            Ok(Some(Followed::Pointer(p))) => p.key_id == at.key && p.environment == at.env,
            Ok(Some(Followed::Connected(_))) | Err(_) => true,
            Ok(Some(Followed::Broken(at))) => return Err(VerifyError::Broken(at).into()),
            _ => false,
        };
        if !concerns {
            continue;
        }
        let view = client.pointer(&at.key, &at.env).await?;
        if view.pointer.revision != shown {
            shown = view.pointer.revision;
            context.out.answer(&view, change_text)?;
        }
        if is_over(&view) {
            return Ok(());
        }
    }
}

fn is_over(view: &PointerView) -> bool {
    view.pointer.killed || view.pointer.rollout_pct == BasisPoints::ALL
}

/// A change of a pointer that is watched, in one line.
fn change_text(_: &Output, view: &PointerView) -> String {
    let p = &view.pointer;
    let by = view.moved_by.as_ref().map_or(String::new(), |by| format!("  {}", line(by)));
    let next = p.next_step_at.map_or(String::new(), |at| format!("  next step from {at}"));
    format!("{}  {}  revision {}{by}{next}", p.updated_at, super::key::pointer_text(p), p.revision)
}

fn status_text(_: &Output, view: &PointerView) -> String {
    let p = &view.pointer;
    let mut text = format!("{} {}  revision {}", p.key_id, super::key::pointer_text(p), p.revision);
    if !p.plan.is_empty() {
        let _ = write!(text, "\nplan {}", plan_text(&p.plan));
    }
    match &view.next {
        Some(next) if next.auto && !next.waits.is_empty() => {
            let _ = write!(text, ", paused before {} %:", next.to);
            for item in &next.waits {
                let _ = write!(text, "\n  {}: {}", item.kind, line(&item.reason));
            }
        }
        Some(NextStep { to, at: Some(at), auto: true, .. }) => {
            let _ = write!(text, ", the registry goes on to {to} % at {at}");
        }
        Some(NextStep { to, at: Some(at), .. }) => {
            let _ = write!(text, ", next step to {to} % from {at}");
        }
        _ => {}
    }
    let others = if p.rollout_pct == BasisPoints::ALL { None } else { Some(p.baseline_digest) };
    if let Some(baseline) = others {
        let _ = write!(text, "\nothers get {}", baseline.map_or("no value: the code's default".into(), |d| d.short()));
    }
    if let Some(safe) = view.safe_default_digest {
        let _ = write!(text, "\nsafe default {}", safe.short());
    }
    let _ = write!(text, "\n{} resolves a minute", view.reach.per_minute);
    text
}
