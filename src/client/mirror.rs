//! The call of a relay: the registry's mirror.

use super::{Answer, Client, ClientError};
use crate::model::mirror::SignedMirror;
use crate::rules::mirror;
use crate::rules::note::PublicKey;
use crate::wire::paths;

/// The largest mirror that is read, in bytes.
const LARGEST: usize = 2 << 30;

impl Client {
    /// All that a relay needs, signed; checked, with the registry's own word for its key unless one is given.
    pub async fn mirror(&self, key: Option<&PublicKey>) -> Answer<SignedMirror> {
        let mut download = self.download(&paths::mirror(), &()).await?;
        let mut bytes = Vec::new();
        while let Some(piece) = download.next().await? {
            if bytes.len() + piece.len() > LARGEST {
                return Err(ClientError::Protocol(format!("the mirror is larger than {LARGEST} bytes")));
            }
            bytes.extend_from_slice(&piece);
        }
        let key = key.cloned();
        // Every content is hashed again: that takes long where there are many.
        let checked = tokio::task::spawn_blocking(move || {
            let signed: SignedMirror = serde_json::from_slice(&bytes)
                .map_err(|e| ClientError::Protocol(format!("{e} in a mirror of {} bytes", bytes.len())))?;
            mirror::check(&signed, key.as_ref()).map_err(ClientError::Integrity)?;
            Ok(signed)
        });
        checked.await.unwrap_or_else(|why| Err(ClientError::Protocol(format!("the mirror could not be read: {why}"))))
    }
}
