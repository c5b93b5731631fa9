//! `init DIR`: a policy, a database, the unit pepper, the first admin's token.

use super::context::Context;
use super::exit::{Done, Failure};
use std::path::{Path, PathBuf};

/// Makes a registry in an empty directory
#[derive(Debug, clap::Args)]
pub struct Init {
    /// The directory: made where missing, refused where a registry is in it
    pub dir: PathBuf,
}

/// What was made.
#[derive(Debug)]
pub struct Made {
    /// The admin's token; also in `DIR/admin-token`, mode 0600.
    pub admin_token: String,
}

/// Makes policy, database, pepper and the admin's token in `dir`.
///
/// `policy` is the TOML to begin with, applied as the first event; `admin` the person who gets the token (`ana`).
///
/// # Errors
/// A directory that holds a registry already, a policy that does not read (with the line), a disk that does not write.
pub async fn create(_dir: &Path, _policy: &str, _admin: &str) -> Result<Made, Failure> {
    Err(Failure::failed("not there yet"))
}

/// Runs the command.
pub async fn run(_context: &Context, _args: Init) -> Done {
    Err(Failure::failed("not there yet"))
}
