//! What the server needs to prove itself to those outside.

use super::cors::Origin;
use crate::clock::Clock;
use crate::model::mirror::{Mirror, SignedMirror};
use crate::model::{ChainHead, Digest, Environment, Refusal};
use crate::rules::canonical::digest_of;
use crate::rules::checkpoint::{Checkpoint, origin};
use crate::rules::net::Range;
use crate::rules::note::{PublicKey, Signer};
use crate::snapshot::Snapshot;
use std::path::PathBuf;

/// What the server shows and sends outside.
#[derive(Debug)]
pub struct Outside {
    /// Signs checkpoints and bundles.
    pub signer: Signer,
    /// Where checkpoints are put: a folder whose files the operator cannot rewrite.
    pub checkpoint_dir: Option<PathBuf>,
    /// Addresses that receivers of notices may have beside public ones.
    pub webhook_allow: Vec<Range>,
    /// Origins whose pages may resolve.
    pub origins: Vec<Origin>,
}

impl Outside {
    /// A key that nobody knows after this process, and nothing sent.
    pub fn passing(clock: &Clock) -> Self {
        Self { signer: Signer::new(&clock.bytes()), checkpoint_dir: None, webhook_allow: Vec::new(), origins: Vec::new() }
    }

    /// The public key, under the registry's name.
    ///
    /// # Errors
    /// `not_found` where nothing has happened yet.
    pub fn key(&self, snapshot: &Snapshot) -> Result<PublicKey, Refusal> {
        Ok(self.signer.public(&origin(&registry(snapshot)?)))
    }

    /// A signed checkpoint of what this server itself committed last, with a bundle's digest where one is named.
    ///
    /// # Errors
    /// `not_found` where nothing has happened yet.
    pub fn checkpoint(&self, snapshot: &Snapshot, bundle: Option<(Environment, Digest)>) -> Result<(ChainHead, String), Refusal> {
        let checkpoint = Checkpoint { registry: registry(snapshot)?, head: snapshot.head(), bundle, mirror: None };
        Ok((checkpoint.head, checkpoint.sign(&self.signer)))
    }

    /// A mirror, signed.
    ///
    /// # Errors
    /// `not_found` where nothing has happened yet.
    pub fn sign(&self, snapshot: &Snapshot, mirror: Mirror) -> Result<SignedMirror, Refusal> {
        let digest = digest_of(&mirror);
        let (registry, head) = (registry(snapshot)?, snapshot.head());
        let checkpoint = Checkpoint { registry, head, bundle: None, mirror: Some(digest) }.sign(&self.signer);
        Ok(SignedMirror { mirror, digest, checkpoint, key: self.key(snapshot)?.to_string() })
    }
}

/// Which registry this is.
pub fn registry(snapshot: &Snapshot) -> Result<Digest, Refusal> {
    snapshot.genesis().ok_or_else(Refusal::not_found)
}
