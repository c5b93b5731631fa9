//! Signed notes: a text, and who signed it, as people and programs read it (C2SP signed-note, <https://c2sp.org/signed-note>).
//!
//! A note is its text, an empty line, and a line `— NAME BASE64` a signature. The base64 holds four bytes that name the key and
//! the 64 bytes of an Ed25519 signature (RFC 8032) over the text, its last newline included. A public key is written
//! `NAME+HEX+BASE64`: the same four bytes, then 0x01 and the 32 bytes of the key.

use super::canonical::sha256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use std::fmt;
use std::str::FromStr;

/// The number of Ed25519 among the kinds of signatures of a note.
const ED25519_KIND: u8 = 1;
/// What a signature line begins with: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// Why a note or a key is not what it should be; a lower-case fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It does not have the form.
    #[error("this is not a {0}")]
    Form(&'static str),
    /// Nobody of that key signed it.
    #[error("it is not signed by {0}")]
    Unsigned(String),
    /// The signature is not over this text.
    #[error("the signature of {0} does not fit the text: one of them was changed")]
    Forged(String),
}

/// A private key that signs notes; `Debug` shows nothing of it.
pub struct Signer(Ed25519KeyPair);

impl Signer {
    /// The key of 32 secret bytes (the seed of RFC 8032).
    #[expect(clippy::expect_used, reason = "every 32 bytes are a seed")]
    pub fn new(seed: &[u8; 32]) -> Self {
        Self(Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed has 32 bytes"))
    }

    /// The public key, under the name of who signs.
    pub fn public(&self, name: &str) -> PublicKey {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        PublicKey { name: name.to_owned(), key }
    }

    /// The note of a text, signed under a name. The text ends with a newline, the name has neither spaces nor plus signs.
    pub fn sign(&self, name: &str, text: &str) -> String {
        let mut signature = self.public(name).id().to_vec();
        signature.extend_from_slice(self.0.sign(text.as_bytes()).as_ref());
        format!("{text}\n{DASH}{name} {}\n", STANDARD.encode(signature))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer(…)")
    }
}

/// A public key under the name of who signs with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Who signs.
    pub name: String,
    /// The 32 bytes of RFC 8032.
    pub key: [u8; 32],
}

impl PublicKey {
    /// The first four bytes of SHA-256 over the name, a newline, the kind and the key.
    fn id(&self) -> [u8; 4] {
        let mut named = self.name.as_bytes().to_vec();
        named.push(b'\n');
        named.push(ED25519_KIND);
        named.extend_from_slice(&self.key);
        let [a, b, c, d, ..] = sha256(&named).0;
        [a, b, c, d]
    }

    /// The text of a note that this key signed.
    ///
    /// # Errors
    /// Not a note, not signed by this key, or changed since.
    pub fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        let form = NoteError::Form("signed note");
        let (text, signatures) = note.rsplit_once("\n\n").ok_or(form.clone())?;
        let text = &note[..=text.len()];
        if !signatures.ends_with('\n') || text.chars().any(|c| c != '\n' && c < ' ') {
            return Err(form);
        }
        for line in signatures.lines() {
            let (name, encoded) = line.strip_prefix(DASH).and_then(|rest| rest.split_once(' ')).ok_or(form.clone())?;
            let bytes = STANDARD.decode(encoded).map_err(|_| form.clone())?;
            let (id, signature) = bytes.split_at_checked(4).ok_or(form.clone())?;
            // Other people may sign the same note.
            if name != self.name || id != self.id() {
                continue;
            }
            let fits = UnparsedPublicKey::new(&ED25519, self.key).verify(text.as_bytes(), signature);
            return fits.map(|()| text).map_err(|_| NoteError::Forged(self.name.clone()));
        }
        Err(NoteError::Unsigned(self.to_string()))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut encoded = vec![ED25519_KIND];
        encoded.extend_from_slice(&self.key);
        write!(f, "{}+{}+{}", self.name, hex::encode(self.id()), STANDARD.encode(encoded))
    }
}

impl FromStr for PublicKey {
    type Err = NoteError;
    fn from_str(text: &str) -> Result<Self, NoteError> {
        let form = || NoteError::Form("public key (NAME+HEX+BASE64)");
        let mut parts = text.trim().splitn(3, '+');
        let (Some(name), Some(id), Some(encoded)) = (parts.next(), parts.next(), parts.next()) else { return Err(form()) };
        let bytes = STANDARD.decode(encoded).map_err(|_| form())?;
        let Some((&ED25519_KIND, key)) = bytes.split_first() else { return Err(form()) };
        let key = Self { name: name.to_owned(), key: key.try_into().map_err(|_| form())? };
        let named = !name.is_empty() && !name.contains(char::is_whitespace);
        if named && hex::encode(key.id()) == id { Ok(key) } else { Err(form()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the documentation of Go's `golang.org/x/mod/sumdb/note`, which the form comes from.
    const GO_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const GO_SECRET: &str = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const GO_NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\
        \n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn notes_are_those_that_others_write_and_read() {
        let key: PublicKey = GO_KEY.parse().unwrap();
        assert_eq!(key.to_string(), GO_KEY);
        let text = key.open(GO_NOTE).unwrap();
        assert!(text.ends_with("what your problem is.\n"), "{text:?}");
        let secret = STANDARD.decode(GO_SECRET).unwrap();
        let signer = Signer::new(secret[1..].try_into().unwrap());
        assert_eq!(signer.public("PeterNeumann"), key);
        assert_eq!(signer.sign("PeterNeumann", text), GO_NOTE);
    }

    #[test]
    fn a_note_that_was_changed_is_refused() {
        let key: PublicKey = GO_KEY.parse().unwrap();
        let forged = Err(NoteError::Forged("PeterNeumann".into()));
        assert_eq!(key.open(&GO_NOTE.replace("don't", "do")), forged);
        assert_eq!(key.open(&GO_NOTE.replace("x08go/ZJ", "x08go/ZK")), forged);
        let other = Signer::new(&[7; 32]).public("PeterNeumann");
        assert!(matches!(other.open(GO_NOTE), Err(NoteError::Unsigned(_))));
        let renamed = PublicKey { name: "Peter".into(), ..key.clone() };
        assert!(matches!(renamed.open(GO_NOTE), Err(NoteError::Unsigned(_))));
        for broken in ["", "text\n", "text\n\n", "text\n\nwho\n", "a\r\n\n\u{2014} a b\n", "a\n\n\u{2014} PeterNeumann x08=\n"] {
            assert!(key.open(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn signatures_of_others_stand_beside_ours() {
        let (ours, theirs) = (Signer::new(&[1; 32]), Signer::new(&[2; 32]));
        let note = ours.sign("us", "text\n");
        let line = theirs.sign("them", "text\n").lines().last().unwrap().to_owned();
        for both in [format!("{note}{line}\n"), note.replace("\u{2014} us", &format!("{line}\n\u{2014} us"))] {
            assert_eq!((ours.public("us").open(&both), theirs.public("them").open(&both)), (Ok("text\n"), Ok("text\n")));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for bad in ["", "a+b", "a+00000000+AQ==", &GO_KEY.replace("c74f", "c74e"), &GO_KEY.replace("+AR", "+AA"), "+c74f20a3+A"] {
            assert!(bad.parse::<PublicKey>().is_err(), "{bad}");
        }
        assert!(!format!("{:?}", Signer::new(&[7; 32])).contains('7'));
    }
}
