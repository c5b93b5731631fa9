//! Checkpoints: the head of the audit chain, signed (R27).
//!
//! The text has the form of a C2SP tlog-checkpoint (<https://c2sp.org/tlog-checkpoint>): the origin, the number of events, 32
//! bytes in base64, then lines of our own. The chain is linear: where a transparency log has the root of its Merkle tree, the
//! `event_id` of the newest event stands, which every event before it goes into.
//!
//! ```text
//! countersign/<64 hex digits of the first event's event_id>
//! 412
//! <base64 of the 32 bytes of event #412's event_id>
//! at 2026-11-30T12:00:00.000000Z
//! bundle production sha256:…          (only where a bundle is signed with it)
//! mirror sha256:…                     (only where a relay's mirror is)
//! ```

use super::chain::Break;
use super::note::{NoteError, PublicKey, Signer};
use crate::model::{ChainHead, Digest, Environment};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A head that is, or is to be, signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// `event_id` of the first event: which registry this is.
    pub registry: Digest,
    /// The newest event.
    pub head: ChainHead,
    /// What is signed together with it: the environment and the digest of its bundle.
    pub bundle: Option<(Environment, Digest)>,
    /// The digest of a relay's mirror that is signed together with it.
    pub mirror: Option<Digest>,
}

/// Under which name a registry signs.
pub fn origin(registry: &Digest) -> String {
    format!("countersign/{}", registry.hex())
}

/// The registry that signs under a name.
pub fn registry_of(origin: &str) -> Option<Digest> {
    format!("sha256:{}", origin.strip_prefix("countersign/")?).parse().ok()
}

impl Checkpoint {
    /// The text that is signed.
    fn text(&self) -> String {
        let Self { registry, head, bundle, mirror } = self;
        let root = STANDARD.encode(head.event_id.0);
        let bundle = bundle.as_ref().map(|(environment, digest)| format!("bundle {environment} {digest}\n")).unwrap_or_default();
        let mirror = mirror.as_ref().map(|digest| format!("mirror {digest}\n")).unwrap_or_default();
        format!("{}\n{}\n{root}\nat {}\n{bundle}{mirror}", origin(registry), head.seq, head.at)
    }

    /// The signed note.
    pub fn sign(&self, signer: &Signer) -> String {
        signer.sign(&origin(&self.registry), &self.text())
    }

    /// The checkpoint of a note that `key` signed.
    ///
    /// # Errors
    /// Not a checkpoint, not of this key, or changed since.
    pub fn open(note: &str, key: &PublicKey) -> Result<Self, NoteError> {
        let text = key.open(note)?;
        let read = Self::read(text).filter(|read| read.text() == text && origin(&read.registry) == key.name);
        read.ok_or(NoteError::Form("checkpoint of an audit chain"))
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let registry = registry_of(lines.next()?)?;
        let seq = lines.next()?.parse().ok()?;
        let event_id = Digest(STANDARD.decode(lines.next()?).ok()?.try_into().ok()?);
        let at = lines.next()?.strip_prefix("at ")?.parse().ok()?;
        let (mut bundle, mut mirror) = (None, None);
        for line in lines {
            match line.split_once(' ')? {
                ("bundle", named) => {
                    let (environment, digest) = named.split_once(' ')?;
                    bundle = Some((environment.parse().ok()?, digest.parse().ok()?));
                }
                ("mirror", digest) => mirror = Some(digest.parse().ok()?),
                _ => return None,
            }
        }
        Some(Self { registry, head: ChainHead { seq, event_id, at }, bundle, mirror })
    }

    /// Compares a verified event with the checkpoint.
    ///
    /// # Errors
    /// It is the checkpoint's number and another event, or the first event of another registry.
    pub fn agrees(&self, at: &ChainHead) -> Result<(), Break> {
        let seq = at.seq;
        if seq == 1 && at.event_id != self.registry {
            let why = format!("the checkpoint is of another registry, which begins with {}", self.registry);
            return Err(Break { seq, why });
        }
        if seq == self.head.seq && at.event_id != self.head.event_id {
            return Err(Break {
                seq,
                why: format!("its hash is {}, the signed checkpoint says {}", at.event_id, self.head.event_id),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Timestamp;

    fn checkpoint() -> Checkpoint {
        let head = ChainHead { seq: 412, event_id: Digest([9; 32]), at: Timestamp(1_000_000) };
        Checkpoint { registry: Digest([4; 32]), head, bundle: None, mirror: None }
    }

    #[test]
    fn a_checkpoint_is_a_signed_note_in_the_form_of_transparency_logs() {
        let signer = Signer::new(&[7; 32]);
        let note = checkpoint().sign(&signer);
        let lines: Vec<&str> = note.lines().collect();
        let root = STANDARD.encode([9; 32]);
        assert_eq!(lines[..4], [&*format!("countersign/{}", "04".repeat(32)), "412", &*root, "at 1970-01-01T00:00:01.000000Z"]);
        assert!(lines[4].is_empty() && lines[5].starts_with(&format!("\u{2014} {} ", lines[0])), "{note}");
        let key = signer.public(lines[0]);
        assert_eq!(Checkpoint::open(&note, &key), Ok(checkpoint()));
        let bundle = Some(("production".parse().unwrap(), Digest([3; 32])));
        let with = Checkpoint { bundle, ..checkpoint() };
        assert_eq!(Checkpoint::open(&with.sign(&signer), &key), Ok(with));
        let mirror = Checkpoint { mirror: Some(Digest([3; 32])), ..checkpoint() };
        assert_eq!(Checkpoint::open(&mirror.sign(&signer), &key), Ok(mirror));
    }

    #[test]
    fn what_another_registry_signed_or_what_says_more_is_no_checkpoint_of_ours() {
        let signer = Signer::new(&[7; 32]);
        let name = origin(&Digest([4; 32]));
        let key = signer.public(&name);
        let text = checkpoint().text();
        for odd in [
            format!("{text}more\n"),
            format!("{text}more of it\n"),
            format!("{text}mirror {}\nmirror {}\n", Digest([3; 32]), Digest([3; 32])),
            text.replace("412", "0412"),
            text.replace("412", "+412"),
            text.replace(&name, &origin(&Digest([5; 32]))),
            text.replace("at 1970-01-01T00:00:01.000000Z", "at 1970-01-01T00:00:01Z"),
        ] {
            assert!(Checkpoint::open(&signer.sign(&name, &odd), &key).is_err(), "{odd}");
        }
    }

    #[test]
    fn an_event_that_a_checkpoint_contradicts_is_named() {
        let signed = checkpoint();
        let event = |seq, byte| ChainHead { seq, event_id: Digest([byte; 32]), at: Timestamp(0) };
        for (at, bad) in [
            (event(1, 4), None),
            (event(1, 5), Some(1)),
            (event(411, 1), None),
            (event(412, 9), None),
            (event(412, 8), Some(412)),
        ] {
            assert_eq!(signed.agrees(&at).err().map(|broken| broken.seq), bad, "{at:?}");
        }
    }
}
