//! `policy show|check|apply`.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::output::{Mark, lines};
use crate::model::{Environment, KeyId};
use crate::rules::{canonical, policy};
use crate::wire::world::ApplyPolicy;
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

async fn apply(context: &Context, file: &Path, rationale: String, acts: &Acts) -> Done {
    let source = read(file)?;
    policy::read(&source).map_err(|e| Failure::failed(format!("{}: {e}", file.display())))?;
    context.confirm(true, "put this policy in force for everybody", "policy", acts)?;
    let body = ApplyPolicy { source, rationale, dry_run: acts.dry_run };
    let applied = context.client()?.apply_policy(&body, &context.idempotency(acts)).await?;
    context.out.answer(&applied, |out, applied| {
        let verb = if acts.dry_run { "would be in force" } else { "in force" };
        format!("{verb}: {}", out.mark(Mark::Bold, &applied.digest.to_string()))
    })
}
