//! `login`, `logout`, `whoami`, `paths`: who one is to a registry, and what is kept of it on this machine.

use super::context::{Context, ask};
use super::exit::{Done, Exit, Failure};
use super::output::{Mark, Output, line, note};
use crate::client::{Client, ClientError, ClientOptions, DeviceCode, Keeper, Renewing, device_login};
use crate::clock::Clock;
use crate::config::{Config, Secret, Tokens};
use crate::model::Timestamp;
use crate::model::oidc::{LoginOffer, Session};
use crate::tui::secret;
use crate::wire::people::Me;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

/// The signal that ctrl-c sends where the terminal is not raw.
const SIGINT: u8 = 2;

/// Keeps a token for the registry on this machine, or logs in with an issuer
///
/// The first registry becomes the one of commands that name none: `server = "URL"` in config.toml.
#[derive(Debug, clap::Args)]
pub struct Login {
    /// Log in with an issuer that the registry's policy names, in a browser of any device; the name may be left out where there is
    /// one
    #[arg(long, value_name = "ISSUER", num_args = 0..=1, default_missing_value = "")]
    pub oidc: Option<String>,
}

impl Login {
    /// Runs the command.
    pub async fn run(self, context: &Context) -> Done {
        match self.oidc {
            Some(issuer) => {
                let server = context.server_or_hint()?.to_owned();
                let offer = offer(context, &server, Some(issuer.as_str()).filter(|name| !name.is_empty())).await?;
                let session = log_in(&offer).await?;
                // Not renewed before it is kept: what renews it may work once only.
                let options = ClientOptions { token: Some(session.token.clone()), ..context.client_options(&server)? };
                let me = Client::with(options)?.me().await?;
                keep(context, &server, session)?;
                context.out.answer(&me, me_text)
            }
            None => keep_token(context).await,
        }
    }
}

/// The issuer to log in with: the named one, else the only one.
async fn offer(context: &Context, server: &str, name: Option<&str>) -> Result<LoginOffer, Failure> {
    let offers = Client::with(context.client_options(server)?)?.login_offers().await?.issuers;
    let names: Vec<String> = offers.iter().map(|offer| line(&offer.name)).collect();
    let known = || format!("it has: {}", names.join(", "));
    match (name, offers.len()) {
        (_, 0) => Err(Failure::failed("the registry's policy names no issuer for logging in")
            .hint("`countersign login` keeps a token that an admin made")),
        (None, 1) => Ok(offers[0].clone()),
        (None, _) => Err(Failure::usage("the registry has more than one issuer").hint(known())),
        (Some(name), _) => offers
            .iter()
            .find(|offer| offer.name == name)
            .cloned()
            .ok_or_else(|| Failure::usage(format!("the registry has no issuer {name:?}")).hint(known())),
    }
}

/// Has the person confirm a code in a browser.
async fn log_in(offer: &LoginOffer) -> Result<Session, Failure> {
    let show = |code: &DeviceCode| {
        note(&format!("log in with {} ({})", line(&offer.name), line(&offer.url)));
        note(&format!("  open   {}", line(&code.verification_uri)));
        note(&format!("  enter  {}", line(&code.user_code)));
        if let Some(whole) = code.verification_uri_complete.as_deref().filter(|whole| whole.starts_with(&code.verification_uri)) {
            note(&format!("  or open {}", line(whole)));
        }
    };
    let waited = tokio::select! {
        session = device_login(offer, show) => session?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::new(Exit::Signal(SIGINT), "nothing was kept")),
    };
    Ok(waited)
}

fn keep(context: &Context, server: &str, session: Session) -> Done {
    let file = context.paths.tokens_file();
    let mut tokens = Tokens::read(&file)?;
    tokens.set_session(server, session);
    tokens.write(&file)?;
    note(&format!("kept in {}", file.display()));
    keep_server(context, server)
}

/// Makes the registry the one of commands that name none, unless the settings name one.
fn keep_server(context: &Context, server: &str) -> Done {
    let file = context.paths.config_file();
    match context.config.server.as_deref() {
        None => {
            Config::keep_server(&file, server)?;
            note(&format!("commands go to {} from now on ({})", line(server), file.display()));
        }
        Some(other) if other.trim_end_matches('/') != server.trim_end_matches('/') => {
            note(&format!("commands go to {} unless --server says otherwise ({})", line(other), file.display()));
        }
        Some(_) => {}
    }
    Ok(())
}

/// A login that is kept in the tokens' file.
struct Kept {
    file: PathBuf,
    server: String,
    clock: Clock,
}

impl Kept {
    fn of(context: &Context, server: &str) -> Self {
        Self { file: context.paths.tokens_file(), server: server.to_owned(), clock: context.clock.clone() }
    }
}

impl Keeper for Kept {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn kept(&self) -> Option<Session> {
        Tokens::read(&self.file).ok()?.session(&self.server).cloned()
    }

    fn keep(&self, session: &Session) {
        // A login that was forgotten meanwhile stays so; one that cannot be written is renewed again next time.
        let Ok(mut tokens) = Tokens::read(&self.file) else { return };
        if tokens.session(&self.server).is_some() {
            tokens.set_session(&self.server, session.clone());
            let _ = tokens.write(&self.file);
        }
    }
}

/// The login that is kept for a registry; it renews itself.
pub fn kept(context: &Context, server: &str) -> Result<Option<Arc<Renewing>>, Failure> {
    let tokens = Tokens::read(&context.paths.tokens_file())?;
    Ok(tokens.session(server).map(|session| Renewing::new(session.clone(), Box::new(Kept::of(context, server)))))
}

/// Before the terminal opens: lets a person who has nothing to show log in, where the registry has an issuer for it.
pub async fn before_terminal(context: &Context) -> Done {
    let server = context.server_or_hint()?.to_owned();
    if !context.can_ask() || context.token(&server)?.is_some() || kept(context, &server)?.is_some() {
        return Ok(());
    }
    let Ok(offer) = offer(context, &server, None).await else { return Ok(()) };
    let session = log_in(&offer).await?;
    keep(context, &server, session)
}

/// Keeps a token for the registry, after asking the registry whose it is.
async fn keep_token(context: &Context) -> Done {
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
    let options = ClientOptions { token: Some(token.clone()), ..context.client_options(&server)? };
    let me = Client::with(options)?.me().await.map_err(refused)?;
    let file = context.paths.tokens_file();
    let mut tokens = Tokens::read(&file)?;
    tokens.set(&server, Secret::new(token));
    tokens.write(&file)?;
    note(&format!("kept in {}", file.display()));
    keep_server(context, &server)?;
    context.out.answer(&me, me_text)
}

/// A token that the registry does not take is not kept.
fn refused(error: ClientError) -> Failure {
    let failure = Failure::from(error);
    if failure.exit != Exit::Denied {
        return failure;
    }
    failure.hint("nothing was kept; whoever made the token can make another: `countersign token create --actor person:YOU`")
}

/// Forgets the token of the registry on this machine.
pub fn logout(context: &Context) -> Done {
    let server = context.server_or_hint()?;
    let file = context.paths.tokens_file();
    let mut tokens = Tokens::read(&file)?;
    if !tokens.forget(server) {
        return Err(Failure::new(Exit::NotFound, format!("no token or login is kept for {server}")));
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
    let actor = out.mark(Mark::Bold, &line(&me.actor.to_string()));
    let mut text = match me.login.strip_prefix("oidc:") {
        Some(issuer) => format!("{actor}  logged in with {}", line(issuer)),
        None => format!("{actor}  token {}, {} scope", line(&me.token_id), me.scope),
    };
    if let Some(environment) = &me.environment {
        let _ = write!(text, ", in {environment} alone");
    }
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
