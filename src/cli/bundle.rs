//! `export`: what an environment serves, signed, into a file; and reading such a file.

use super::context::Context;
use super::exit::{Done, Exit, Failure};
use super::output::{line, note};
use super::proof::public_key;
use crate::config;
use crate::model::bundle::SignedBundle;
use crate::model::{Environment, KeyId, Resolution};
use crate::rules::bundle;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes what an environment serves into a signed file: a fallback for applications
#[derive(Debug, clap::Args)]
pub struct Export {
    /// The environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// The file; one that is there is replaced in one step
    #[arg(long, value_name = "FILE")]
    pub bundle: PathBuf,
    /// The registry's public key, or a file of it: checked before the file is written
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}

impl Export {
    pub async fn run(self, context: &Context) -> Done {
        let key = self.key.as_deref().map(public_key).transpose()?;
        let signed = context.client()?.bundle(&self.env, key.as_ref()).await?;
        let bytes = serde_json::to_vec(&signed).map_err(|why| Failure::failed(why.to_string()))?;
        config::write_private(&self.bundle, &bytes)
            .map_err(|why| Failure::failed(format!("{}: {why}", self.bundle.display())))?;
        if key.is_none() {
            note(&format!("signed by {}; give --key to check that it is the registry's", line(&signed.key)));
        }
        let summary = serde_json::json!({
            "environment": signed.bundle.environment, "keys": signed.bundle.keys.len(), "seq": signed.bundle.seq, "digest": signed.digest,
        });
        context.out.answer(&summary, |_, _| {
            format!("{} keys of {} as of #{}, {}", signed.bundle.keys.len(), self.env, signed.bundle.seq, signed.digest)
        })
    }
}

/// Reads and checks a bundle.
pub fn read(file: &Path, key: Option<&str>) -> Result<SignedBundle, Failure> {
    let key = key.map(public_key).transpose()?;
    let bytes = fs::read(file).map_err(|why| Failure::failed(format!("{}: {why}", file.display())))?;
    let damaged = |why: String| Failure::new(Exit::Integrity, format!("{}: {why}", file.display()));
    let signed: SignedBundle = serde_json::from_slice(&bytes).map_err(|why| damaged(why.to_string()))?;
    bundle::check(&signed, key.as_ref()).map_err(damaged)?;
    Ok(signed)
}

/// What a key serves to a reader without a unit, by a bundle.
pub fn resolve(signed: &SignedBundle, key: &KeyId, environment: &Environment) -> Result<Resolution, Failure> {
    let bundle = &signed.bundle;
    if bundle.environment != *environment {
        return Err(Failure::new(Exit::NotFound, format!("the bundle is of {}, not of {environment}", bundle.environment)));
    }
    let served = bundle.keys.get(key).ok_or_else(|| Failure::new(Exit::NotFound, format!("the bundle has no key {key}")))?;
    let content = served.digest.and_then(|digest| bundle.contents.get(&digest));
    let body = |digest| bundle.fragments.get(digest).map(|fragment| fragment.body.clone()).unwrap_or_default();
    Ok(Resolution {
        key_id: key.clone(),
        environment: environment.clone(),
        digest: served.digest,
        reason: served.reason,
        variant: None,
        content: content.cloned(),
        fragments: content
            .map(|c| c.fragments.iter().map(|(name, digest)| (name.clone(), body(digest))).collect())
            .unwrap_or_default(),
        revision: served.revision,
        killed: served.killed,
        stale: true,
        bucket: None,
        unit_hash: None,
        steps: Vec::new(),
    })
}
