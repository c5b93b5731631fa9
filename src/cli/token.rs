//! `login`, `logout`, `whoami`, `paths`, `token create|list|revoke`.

use super::context::{Acts, Context, ask};
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, Table, line, note};
use crate::client::{Client, ClientOptions};
use crate::config::{Secret, Tokens};
use crate::model::{Actor, Environment, Scope, Token};
use crate::tui::secret;
use crate::wire::people::{CreateToken, Me};
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::Duration;

/// The signal that ctrl-c sends where the terminal is not raw.
const SIGINT: u8 = 2;

/// API tokens
#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Make a token; its secret is printed once
    Create {
        /// For whom: yourself, or a service, like service:ci
        #[arg(long)]
        actor: Actor,
        /// full, read, kill, service (only resolves) or public (for browsers)
        #[arg(long, default_value = "full")]
        scope: Scope,
        /// The only environment in which it acts and resolves
        #[arg(long = "env", value_name = "ENVIRONMENT")]
        environment: Option<Environment>,
        /// Days until it expires, 1 to 3650; 90 unless given
        #[arg(long, value_name = "DAYS")]
        expires_days: Option<u32>,
        /// What it is for
        #[arg(long, default_value = "")]
        note: String,
        /// Sent with the request: the same key and request act once
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
    },
    /// List tokens
    List,
    /// End a token
    Revoke {
        /// Its id, cs_…
        token_id: String,
        /// Sent with the request: the same key and request act once
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
    },
}

impl TokenCommand {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let idempotency = |key| context.idempotency(&Acts { idempotency_key: key, ..Acts::default() });
        match self {
            Self::Create { actor, scope, environment, expires_days, note: words, idempotency_key } => {
                let body = CreateToken { actor, scope, environment, expires_days, note: words };
                let made = client.create_token(&body, &idempotency(idempotency_key)).await?;
                note(&format!(
                    "{} for {}, {} scope{}, until {}",
                    made.token.token_id,
                    made.token.actor,
                    made.token.scope,
                    made.token.environment.as_ref().map_or_else(String::new, |only| format!(" in {only} alone")),
                    made.token.expires_at
                ));
                context.out.answer(&made, |_, made| line(&made.secret))
            }
            Self::List => context.out.list(&client.tokens().await?, tokens_text),
            Self::Revoke { token_id, idempotency_key } => {
                let ended = client.revoke_token(&token_id, &idempotency(idempotency_key)).await?;
                context.out.answer(&ended, |_, t| format!("{} is revoked", line(&t.token_id)))
            }
        }
    }
}

fn tokens_text(out: &Output, tokens: &[Token]) -> String {
    let mut table = Table::new(&["TOKEN", "ACTOR", "OWNER", "SCOPE", "ENVIRONMENT", "EXPIRES", "NOTE"]);
    for t in tokens {
        let until = t.revoked_at.map_or_else(|| t.expires_at.to_string(), |at| format!("revoked {at}"));
        table.row([
            line(&t.token_id),
            line(&t.actor.to_string()),
            line(&t.owner.to_string()),
            t.scope.to_string(),
            t.environment.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string),
            until,
            line(&t.note),
        ]);
    }
    table.text(out)
}

/// Keeps a token for the registry, after asking the registry whose it is.
pub async fn login(context: &Context) -> Done {
    let server = context.server_or_hint()?.to_owned();
    let token = match context.globals.token.clone().filter(|t| !t.is_empty()) {
        Some(token) => token,
        None if std::io::stdin().is_terminal() && context.globals.no_input => {
            return Err(
                Failure::usage("no token is given").hint("give --token or COUNTERSIGN_TOKEN, or send it to standard input")
            );
        }
        None if std::io::stdin().is_terminal() => {
            let asked = tokio::task::spawn_blocking(|| secret::ask("token (it is not shown): ")).await;
            let left = || Failure::new(Exit::Signal(SIGINT), "nothing was kept");
            asked.map_err(anyhow::Error::from)??.ok_or_else(left)?
        }
        None => ask("")?,
    };
    let token = token.trim().to_owned();
    let options = ClientOptions {
        base_url: server.clone(),
        token: Some(token.clone()),
        insecure_http: context.globals.insecure_http || context.config.insecure_http,
        timeout: Duration::from_secs(30),
    };
    let me = Client::with(options)?.me().await?;
    let file = context.paths.tokens_file();
    let mut tokens = Tokens::read(&file)?;
    tokens.set(&server, Secret::new(token));
    tokens.write(&file)?;
    note(&format!("kept in {}", file.display()));
    context.out.answer(&me, me_text)
}

/// Forgets the token of the registry on this machine.
pub fn logout(context: &Context) -> Done {
    let server = context.server_or_hint()?;
    let file = context.paths.tokens_file();
    let mut tokens = Tokens::read(&file)?;
    if !tokens.forget(server) {
        return Err(Failure::new(Exit::NotFound, format!("no token is kept for {server}")));
    }
    tokens.write(&file)?;
    note("forgotten on this machine; `countersign token revoke` ends a token everywhere");
    Ok(())
}

/// Says who the caller is.
pub async fn whoami(context: &Context) -> Done {
    let me = context.client()?.me().await?;
    context.out.answer(&me, me_text)
}

fn me_text(out: &Output, me: &Me) -> String {
    let mut text =
        format!("{}  token {}, {} scope", out.mark(Mark::Bold, &line(&me.actor.to_string())), line(&me.token_id), me.scope);
    if !me.groups.is_empty() {
        let _ = write!(text, "\ngroups {}", line(&me.groups.join(", ")));
    }
    for grant in &me.roles {
        let (namespace, environment) = (grant.namespace.as_deref().unwrap_or("everywhere"), grant.environment.as_deref());
        let environment = environment.map_or(String::new(), |e| format!(" in {e}"));
        let _ = write!(text, "\n{} {}{}", grant.role, line(namespace), line(&environment));
    }
    text
}

/// Prints where files are kept.
pub fn paths(context: &Context) -> Done {
    let paths = &context.paths;
    let all = [
        ("config", paths.config_file()),
        ("tokens", paths.tokens_file()),
        ("data", paths.data_dir.clone()),
        ("demo", paths.demo_dir()),
    ];
    let body: serde_json::Map<_, _> =
        all.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string().into())).collect();
    context
        .out
        .answer(&body, |_, _| all.iter().map(|(name, path)| format!("{name:8}{}", path.display())).collect::<Vec<_>>().join("\n"))
}
