//! `init DIR`: a policy, a database, the unit pepper, the signing key, the first admin's token.

use super::context::Context;
use super::directory::{self, ADMIN_TOKEN, DATABASE, PEPPER, POLICY, SIGNING_KEY};
use super::exit::{Done, Failure};
use super::output::note;
use crate::clock::Clock;
use crate::model::Actor;
use crate::rules::access::Caller;
use crate::rules::checkpoint::origin;
use crate::rules::policy;
use crate::snapshot::Pepper;
use crate::storage::Db;
use crate::wire::people;
use crate::workflow::{CreateToken, FoundRegistry, Registry};
use std::fs;
use std::path::{Path, PathBuf};

/// The policy that a registry begins with, unless one is given. `ADMIN` is replaced by the admin's name.
const USUAL_POLICY: &str = include_str!("init_policy.toml");

/// Makes a registry in an empty directory
#[derive(Debug, clap::Args)]
pub struct Init {
    /// The directory: made where missing, refused where something is in it
    pub dir: PathBuf,
    /// The policy to begin with, instead of a small one with comments
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The person who gets the first token
    #[arg(long, value_name = "NAME", default_value = "admin")]
    pub admin: String,
    /// The registry's name, for people; the directory's unless given
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// sqlite:PATH or postgres://…, instead of the directory's own SQLite file
    #[arg(long, env = "COUNTERSIGN_DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database: Option<String>,
}

/// What was made.
#[derive(Debug)]
pub struct Made {
    /// The admin's token; also in `DIR/admin-token`, mode 0600.
    pub admin_token: String,
    /// The public key of its checkpoints.
    pub key: String,
}

/// What a registry begins with.
struct Beginning<'a> {
    dir: &'a Path,
    policy: &'a str,
    admin: &'a str,
    name: &'a str,
    database: Option<&'a str>,
}

/// Makes policy, database, pepper, signing key and the admin's token in `dir`, all readable by their owner only.
///
/// `policy` is the TOML to begin with, applied as the first event; `admin` the person who gets the token (`ana`).
///
/// # Errors
/// A directory that holds a registry already, a policy that does not read (with the line), a disk that does not write.
pub async fn create(dir: &Path, policy: &str, admin: &str) -> Result<Made, Failure> {
    begin(Beginning { dir, policy, admin, name: &name_of(dir), database: None }).await
}

/// Runs the command.
pub async fn run(context: &Context, args: Init) -> Done {
    let taken = fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some());
    if taken {
        return Err(Failure::usage(format!("{} is not empty; nothing was changed", args.dir.display()))
            .hint("name a directory that does not exist yet"));
    }
    let policy = match &args.policy {
        Some(file) => {
            fs::read_to_string(file).map_err(|why| Failure::failed(format!("failed to read {}: {why}", file.display())))?
        }
        None => USUAL_POLICY.replace("ADMIN", &args.admin),
    };
    let name = args.name.clone().unwrap_or_else(|| name_of(&args.dir));
    let beginning =
        Beginning { dir: &args.dir, policy: &policy, admin: &args.admin, name: &name, database: args.database.as_deref() };
    let made = begin(beginning).await?;
    note(&format!("made a registry in {}", args.dir.display()));
    note(&format!("the token of person:{} (kept in {}):", args.admin, args.dir.join(ADMIN_TOKEN).display()));
    context.out.text(&made.admin_token)?;
    note(&format!("its checkpoints are verified with the public key {}", made.key));
    note(&format!("next: countersign serve {}", args.dir.display()));
    Ok(())
}

fn name_of(dir: &Path) -> String {
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_path_buf());
    whole.file_name().map_or_else(|| "countersign".to_owned(), |name| name.to_string_lossy().into_owned())
}

async fn begin(beginning: Beginning<'_>) -> Result<Made, Failure> {
    let Beginning { dir, policy, admin, .. } = beginning;
    let person: Actor = format!("person:{admin}").parse().map_err(|why| Failure::usage(format!("--admin {admin:?}: {why}")))?;
    policy::read(policy)?;
    for file in [POLICY, PEPPER, SIGNING_KEY, ADMIN_TOKEN, DATABASE] {
        if dir.join(file).exists() {
            return Err(Failure::usage(format!("{} holds a registry already; nothing was changed", dir.display())));
        }
    }
    directory::make_private(dir)?;
    let made = fill(&beginning, &person).await;
    if made.is_err() {
        // What was half made would only be in the way of the next try.
        for file in [POLICY, PEPPER, SIGNING_KEY, ADMIN_TOKEN, DATABASE, "registry.db-wal", "registry.db-shm"] {
            let _ = fs::remove_file(dir.join(file));
        }
    }
    made
}

async fn fill(beginning: &Beginning<'_>, person: &Actor) -> Result<Made, Failure> {
    let Beginning { dir, policy, name, database, .. } = *beginning;
    let clock = Clock::System;
    let pepper = Pepper(clock.bytes());
    directory::write_private(&dir.join(PEPPER), &format!("{}\n", hex::encode(pepper.0)))?;
    directory::write_private(&dir.join(POLICY), policy)?;
    let (signer, _) = directory::signing_key(dir, None, &clock)?;
    let own = directory::own_database(dir);
    let failed = |why| Failure::failed(format!("failed to make the database: {why}"));
    let db = Db::open(database.unwrap_or(&own)).await.map_err(failed)?;
    db.migrate().await.map_err(failed)?;
    let registry = Registry::load(db, pepper, clock).await.map_err(failed)?;
    let system = Caller::whole(Actor::system("init"));
    let found = FoundRegistry { policy: policy.to_owned(), name: name.to_owned(), pepper: pepper.fingerprint().to_string() };
    registry.run(&system, None, found).await?;
    let body = people::CreateToken { note: "made by init".into(), ..people::CreateToken::of(person.clone()) };
    let token = registry.run(&Caller::whole(person.clone()), None, CreateToken { body }).await?;
    let admin_token = token.answer.secret;
    directory::write_private(&dir.join(ADMIN_TOKEN), &format!("{admin_token}\n"))?;
    let key = registry.snapshot.get().genesis().map(|genesis| signer.public(&origin(&genesis)).to_string()).unwrap_or_default();
    registry.db.close().await;
    Ok(Made { admin_token, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_policy_reads_and_gives_the_admin_what_one_person_needs() {
        let policy = policy::read(&USUAL_POLICY.replace("ADMIN", "ana")).unwrap();
        assert!(policy.roles.iter().any(|grant| grant.who == "person:ana" && grant.role == crate::model::Role::Admin));
        assert_eq!(policy.environments.last().unwrap().fields.protected, Some(true));
    }
}
