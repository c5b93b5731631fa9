//! `token create|list|revoke`.

use super::context::{Acts, Context};
use super::exit::Done;
use super::output::{Output, Table, line, moment, note};
use crate::model::{Actor, Environment, Scope, Token};
use crate::wire::people::CreateToken;

/// API tokens
#[derive(Debug, clap::Subcommand)]
pub enum TokenCommand {
    /// Make a token; its secret is printed once
    Create {
        /// For whom: yourself, or a service, like service:ci; an admin also for other people, whose work whoever made their token
        /// cannot approve
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
        let until = t.revoked_at.map_or_else(|| moment(t.expires_at), |at| format!("revoked {}", moment(at)));
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
