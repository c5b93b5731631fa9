//! `fragment create|list|show|users`.

use super::context::{Acts, Context};
use super::exit::{Done, Failure};
use super::output::{Table, line, lines, moment};
use crate::model::{Digest, Fragment};
use crate::wire::versions::CreateFragment;
use std::path::PathBuf;

/// Named texts that versions pin
#[derive(Debug, clap::Subcommand)]
pub enum FragmentCommand {
    /// Save a revision of a fragment
    Create {
        /// Its name
        name: String,
        /// The file with its text; - reads standard input
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
        /// The policy's group that owns it
        #[arg(long)]
        group: String,
        /// Sent with the request: the same key and request act once
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
    },
    /// List all revisions
    List,
    /// Print a revision's text
    Show {
        /// Its digest, or a name for the newest revision
        #[arg(value_name = "DIGEST|NAME")]
        which: String,
    },
    /// List the versions that pin it
    Users {
        /// Its name
        name: String,
    },
}

impl FragmentCommand {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        match self {
            Self::Create { name, file, group, idempotency_key } => {
                let body = read(&file)?;
                let key = context.idempotency(&Acts { idempotency_key, ..Acts::default() });
                let made = client.create_fragment(&CreateFragment { name, body, owning_group: group }, &key).await?;
                context.out.answer(&made, |_, f| format!("{}  {}", line(&f.name), f.digest))
            }
            Self::List => {
                let all = client.fragments().await?;
                context.out.list(&all, |out, all| {
                    let mut table = Table::new(&["FRAGMENT", "DIGEST", "OWNER", "AUTHOR", "AT"]);
                    for f in all {
                        table.row([
                            line(&f.name),
                            f.digest.short(),
                            line(&f.owning_group),
                            line(&f.author.to_string()),
                            moment(f.created_at),
                        ]);
                    }
                    table.text(out)
                })
            }
            Self::Show { which } => {
                let found = match which.parse::<Digest>() {
                    Ok(digest) => client.fragment(&digest).await?,
                    Err(_) => newest(client.fragments().await?, &which)?,
                };
                context.out.answer(&found, |_, f| lines(&f.body))
            }
            Self::Users { name } => {
                let users = client.fragment_users(&name).await?;
                context.out.list(&users, |out, users| {
                    let mut table = Table::new(&["VERSION", "DIGEST", "PINS", "NEWEST", "SERVES"]);
                    for u in users {
                        let newest = if u.newest { "yes" } else { "an older one" };
                        let name = format!("{}@v{}", u.version.key_id, u.version.number);
                        table.row([
                            name,
                            u.version.digest.short(),
                            u.fragment_digest.short(),
                            newest.into(),
                            line(&u.serving.join(", ")),
                        ]);
                    }
                    table.text(out)
                })
            }
        }
    }
}

fn newest(all: Vec<Fragment>, name: &str) -> Result<Fragment, Failure> {
    let named = all.into_iter().filter(|f| f.name == name);
    named
        .max_by_key(|f| f.created_at)
        .ok_or_else(|| Failure::new(super::exit::Exit::NotFound, format!("no fragment is named {name:?}")))
}

fn read(path: &std::path::Path) -> Result<String, Failure> {
    let text =
        if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin().lock()) } else { std::fs::read_to_string(path) };
    text.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
}
