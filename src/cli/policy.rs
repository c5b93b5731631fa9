//! `policy show|check|explain|apply`.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::output::{Mark, Output, Table, line, lines};
use super::promote::readiness_text;
use super::select::{duration_text, plan_text};
use crate::model::{Environment, KeyId, Plan};
use crate::rules::{canonical, policy};
use crate::wire::world::{ApplyPolicy, ExplainPolicy, PolicyExplained};
use serde::Deserialize as _;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The policy
#[derive(Debug, clap::Subcommand)]
pub enum PolicyCommand {
    /// Print the policy in force, or the merged rule for a key
    Show {
        /// The key
        #[arg(requires = "env")]
        key: Option<KeyId>,
        /// The environment
        #[arg(long, value_name = "ENVIRONMENT", requires = "key")]
        env: Option<Environment>,
    },
    /// Check a file without a registry
    Check {
        /// The TOML
        file: PathBuf,
    },
    /// Print what the policy says about a key: the rule and where it comes from, who may do what, what a promotion would need
    Explain {
        /// The key
        key: KeyId,
        /// The environment, or @safe-default
        #[arg(long, value_name = "ENVIRONMENT")]
        env: Environment,
        /// The version whose promotion is looked at; the newest unless given
        #[arg(long, value_name = "SEL")]
        to: Option<String>,
    },
    /// Put a file in force
    Apply {
        /// The TOML
        file: PathBuf,
        /// Why
        #[arg(long)]
        rationale: String,
        #[command(flatten)]
        acts: Acts,
    },
}

impl PolicyCommand {
    pub async fn run(self, context: &Context) -> Done {
        match self {
            Self::Show { key: Some(key), env: Some(environment) } => {
                let rule = context.client()?.policy_rule(&key, &environment).await?;
                context.out.answer(&rule, |_, rule| lines(&serde_json::to_string_pretty(rule).unwrap_or_default()))
            }
            Self::Show { .. } => {
                let text = context.client()?.policy().await?;
                context.out.answer(&text, |_, text| lines(&text.source))
            }
            Self::Check { file } => check(context, &file),
            Self::Explain { key, env, to } => explain(context, key, env, to).await,
            Self::Apply { file, rationale, acts } => apply(context, &file, rationale, &acts).await,
        }
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|e| Failure::failed(format!("{}: {e}", file.display())))
}

fn check(context: &Context, file: &Path) -> Done {
    let source = read(file)?;
    let read = policy::read(&source).map_err(|e| Failure::failed(format!("{}: {e}", file.display())))?;
    let environments: Vec<&str> = read.environments.iter().map(|e| e.name.as_str()).collect();
    let digest = canonical::sha256(source.as_bytes());
    let found = serde_json::json!({ "digest": digest, "environments": environments });
    context.out.answer(&found, |_, _| format!("good: {digest}, environments {}", environments.join(", ")))
}

async fn explain(context: &Context, key: KeyId, environment: Environment, to: Option<String>) -> Done {
    let client = context.client()?;
    let to_digest = match &to {
        Some(selector) => Some(client.version_by_selector(&key, selector).await?.version.digest),
        None => None,
    };
    let explained = client.explain_policy(&ExplainPolicy { key, environment, to_digest }).await?;
    context.out.answer(&explained, explained_text)
}

/// A field's value as the policy's author writes it: durations and plans are seconds in the rule.
fn value_text(field: &str, value: &Value) -> String {
    let told = match field {
        "soak" | "expires" => value.as_i64().map(duration_text),
        "plan" => Plan::deserialize(value).ok().map(|plan| plan_text(&plan)),
        _ => None,
    };
    told.unwrap_or_else(|| value.to_string())
}

fn explained_text(out: &Output, found: &PolicyExplained) -> String {
    let mut text = format!("{} in {}\n\n", out.mark(Mark::Bold, found.key.as_str()), found.environment);
    let mut rule = Table::new(&["FIELD", "VALUE", "FROM", "LINE"]);
    for field in &found.fields {
        rule.row([
            field.field.clone(),
            line(&value_text(&field.field, &field.value)),
            line(&field.section),
            field.line.to_string(),
        ]);
    }
    text.push_str(&rule.text(out));
    text.push_str("\n\n");
    let mut may = Table::new(&["MAY", "WHO"]);
    for act in &found.may {
        let who: Vec<String> = act.who.iter().map(ToString::to_string).collect();
        may.row([act.act.clone(), if who.is_empty() { "nobody".to_owned() } else { line(&who.join(", ")) }]);
    }
    text.push_str(&may.text(out));
    match &found.to_digest {
        Some(digest) => {
            let _ = write!(text, "\n\na promotion of {} would need\n{}", digest.short(), readiness_text(out, &found.readiness));
        }
        None => text.push_str("\n\nthe key has no version yet"),
    }
    text
}

async fn apply(context: &Context, file: &Path, rationale: String, acts: &Acts) -> Done {
    let source = read(file)?;
    policy::read(&source).map_err(|e| Failure::failed(format!("{}: {e}", file.display())))?;
    context.confirm(true, "put this policy in force for everybody", "policy", acts)?;
    let body = ApplyPolicy { source, rationale, dry_run: acts.dry_run };
    let applied = context.client()?.apply_policy(&body, &context.idempotency(acts)).await?;
    context.out.answer(&applied, |out, applied| {
        if let Some(until) = applied.waits_until {
            let digest = &applied.digest;
            return format!("recorded: {digest} is in force once a second admin applies the same file, until {until}");
        }
        let verb = if acts.dry_run { "would be in force" } else { "in force" };
        format!("{verb}: {}", out.mark(Mark::Bold, &applied.digest.to_string()))
    })
}
