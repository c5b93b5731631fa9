//! `key create|edit|archive`, `keys`, `show`, `versions`.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::output::{Mark, Output, Table, line, moment, note};
use crate::model::{ConfigKey, EnvironmentPointer, KeyId, KeyNames, UnitType};
use crate::wire::keys::{CreateKey, KeyHistory, KeyRow, ListKeys, UpdateKey, VersionRow};
use std::fmt::Write as _;

/// Makes and changes keys
#[derive(Debug, clap::Subcommand)]
pub enum Key {
    /// Make a key
    Create(Create),
    /// Change a key
    Edit(Edit),
    /// Hide a key from lists; it still resolves
    Archive(Archive),
}

/// Make a key
#[derive(Debug, clap::Args)]
pub struct Create {
    /// Its name, like support.greeting
    pub key: KeyId,
    /// The policy's group that owns it
    #[arg(long)]
    pub group: String,
    /// What a percentage divides: user, session or tenant
    #[arg(long, default_value_t)]
    pub unit_type: UnitType,
    /// Hide its existence from those without the right
    #[arg(long)]
    pub confidential: bool,
    /// What it is for
    #[arg(long, default_value = "")]
    pub description: String,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Change a key
#[derive(Debug, clap::Args)]
pub struct Edit {
    /// The key
    pub key: KeyId,
    /// What it is for
    #[arg(long)]
    pub description: Option<String>,
    /// Hide its existence (false takes two people of the owning group)
    #[arg(long, value_name = "true|false")]
    pub confidential: Option<bool>,
    /// A new owner (takes one person of each group)
    #[arg(long)]
    pub group: Option<String>,
    /// What a percentage divides; fixed once a pointer exists
    #[arg(long)]
    pub unit_type: Option<UnitType>,
    /// Show it in lists again (false) or hide it
    #[arg(long, value_name = "true|false")]
    pub archived: Option<bool>,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Hide a key from lists
#[derive(Debug, clap::Args)]
pub struct Archive {
    /// The key
    pub key: KeyId,
    /// Sent with the request: the same key and request act once
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

/// Lists keys
#[derive(Debug, clap::Args)]
pub struct Keys {
    /// A pattern like support.** or a part of the name
    pub pattern: Option<KeyNames>,
    /// Only keys that this environment serves
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<String>,
    /// Only keys that serve a version made for this model
    #[arg(long, value_name = "MODEL")]
    pub model_pin: Option<String>,
    /// Archived keys too
    #[arg(long)]
    pub archived: bool,
}

/// Shows a key: its pointers, versions and latest promotions
#[derive(Debug, clap::Args)]
pub struct Show {
    /// The key
    pub key: KeyId,
}

/// Lists the versions of a key
#[derive(Debug, clap::Args)]
pub struct Versions {
    /// The key
    pub key: KeyId,
}

impl Key {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let made = match self {
            Self::Create(args) => {
                let body = CreateKey {
                    key_id: args.key,
                    owning_group: args.group,
                    unit_type: args.unit_type,
                    confidential: args.confidential,
                    description: args.description,
                };
                client.create_key(&body, &context.idempotency(&acts(args.idempotency_key))).await?
            }
            Self::Edit(args) => {
                let body = UpdateKey {
                    description: args.description,
                    archived: args.archived,
                    confidential: args.confidential,
                    owning_group: args.group,
                    unit_type: args.unit_type,
                };
                if body == UpdateKey::default() {
                    return Err(
                        Failure::usage("nothing to change was given").hint("`countersign key edit --help` lists what can change")
                    );
                }
                client.update_key(&args.key, &body, &context.idempotency(&acts(args.idempotency_key))).await?
            }
            Self::Archive(args) => {
                let body = UpdateKey { archived: Some(true), ..UpdateKey::default() };
                client.update_key(&args.key, &body, &context.idempotency(&acts(args.idempotency_key))).await?
            }
        };
        context.out.answer(&made, key_text)
    }
}

fn acts(idempotency_key: Option<String>) -> Acts {
    Acts { idempotency_key, ..Acts::default() }
}

fn key_text(out: &Output, key: &ConfigKey) -> String {
    let mut text = format!(
        "{}  owned by {}, bucketed by {}",
        out.mark(Mark::Bold, key.key_id.as_str()),
        line(&key.owning_group),
        key.unit_type
    );
    for (is, word) in [(key.confidential, ", confidential"), (key.archived, ", archived")] {
        if is {
            text.push_str(word);
        }
    }
    if !key.description.is_empty() {
        let _ = write!(text, "\n{}", line(&key.description));
    }
    if let Some(digest) = &key.safe_default_digest {
        let _ = write!(text, "\nsafe default {}", digest.short());
    }
    text
}

impl Keys {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let ask = ListKeys {
            pattern: self.pattern,
            archived: self.archived.then_some(true),
            environment: self.env.clone().filter(|_| self.model_pin.is_some()),
            model_pin: self.model_pin,
            ..ListKeys::default()
        };
        let mut rows = client.all_keys(&ask).await?;
        if let Some(environment) = &self.env {
            rows.retain(|row| row.pointers.iter().any(|p| p.environment.as_str() == environment));
        }
        if rows.is_empty() {
            note("no key that you may see fits");
        }
        context.out.list(&rows, keys_text)
    }
}

fn keys_text(out: &Output, rows: &[KeyRow]) -> String {
    let mut table = Table::new(&["KEY", "VERSIONS", "OWNER", "SERVES"]);
    for row in rows {
        let serves: Vec<String> = row.pointers.iter().map(pointer_text).collect();
        table.row([row.key.key_id.to_string(), row.versions.to_string(), line(&row.key.owning_group), serves.join(", ")]);
    }
    table.text(out)
}

/// `production 3f9a… 25 %` in short, `killed` where it is.
pub fn pointer_text(pointer: &EnvironmentPointer) -> String {
    let share = if pointer.killed { "KILLED".to_owned() } else { format!("{} %", pointer.rollout_pct) };
    let held = if pointer.held { " held" } else { "" };
    format!("{} {} {share}{held}", pointer.environment, pointer.digest.short())
}

impl Show {
    pub async fn run(self, context: &Context) -> Done {
        let history = context.client()?.key_history(&self.key).await?;
        context.out.answer(&history, history_text)
    }
}

fn history_text(out: &Output, history: &KeyHistory) -> String {
    let mut text = key_text(out, &history.key);
    text.push_str("\n\n");
    let mut pointers = Table::new(&["ENVIRONMENT", "SERVES", "SHARE", "BASELINE", "SINCE", "REVISION"]);
    for p in &history.pointers {
        let share = if p.killed { "KILLED".into() } else { format!("{} %{}", p.rollout_pct, if p.held { " held" } else { "" }) };
        let baseline = p.baseline_digest.map_or("-".into(), |d| d.short());
        pointers.row([
            p.environment.to_string(),
            p.digest.short(),
            share,
            baseline,
            moment(p.updated_at),
            p.revision.to_string(),
        ]);
    }
    text.push_str(&pointers.text(out));
    text.push('\n');
    text.push_str(&versions_text(out, &history.versions));
    let mut promotions = Table::new(&["PROMOTION", "ACT", "ENVIRONMENT", "TO", "STATE", "BY", "AT"]);
    for p in &history.promotions {
        promotions.row([
            p.promotion_id.to_string(),
            p.act.to_string(),
            p.environment.to_string(),
            p.to_digest.map_or("-".into(), |d| d.short()),
            p.state.to_string(),
            line(&p.actor.to_string()),
            moment(p.at),
        ]);
    }
    text.push('\n');
    text.push_str(&promotions.text(out));
    text
}

impl Versions {
    pub async fn run(self, context: &Context) -> Done {
        let rows = context.client()?.versions(&self.key).await?;
        context.out.list(&rows, versions_text)
    }
}

fn versions_text(out: &Output, rows: &[VersionRow]) -> String {
    let mut table = Table::new(&["VERSION", "DIGEST", "STATE", "FORMAT", "AUTHOR", "AT", "SERVES", "GATES", "RATIONALE"]);
    for row in rows {
        let v = &row.version;
        let mark = if v.quarantine.is_some() { " quarantined" } else { "" };
        let gates: Vec<String> = row.gates.iter().map(|g| format!("{} {}", line(&g.gate_name), g.status)).collect();
        table.row([
            format!("v{}", v.number),
            v.digest.short(),
            format!("{}{mark}", v.state),
            v.format.to_string(),
            line(&v.author.to_string()),
            moment(v.created_at),
            line(&row.serving.join(", ")),
            gates.join(", "),
            line(v.rationale.lines().next().unwrap_or("")),
        ]);
    }
    table.text(out)
}
