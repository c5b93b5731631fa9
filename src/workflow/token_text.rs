//! The text of a token: `cs_` + 10 base32 letters of id + `_` + 52 of secret + 6 of CRC-32, which secret scanners check.

use crate::clock::Clock;
use crate::model::Digest;
use crate::rules::canonical::sha256;

/// RFC 4648 base32 in lower case.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A fresh token. `Debug` shows its id only.
pub struct Minted {
    /// `cs_` and 10 letters: not secret.
    pub token_id: String,
    /// The whole text: shown once.
    pub text: String,
    /// SHA-256 of the whole text: what is stored.
    pub hash: Digest,
}

impl std::fmt::Debug for Minted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Minted({})", self.token_id)
    }
}

/// Makes a token of 50 bits of id and 256 of secret.
pub fn mint(clock: &Clock) -> Minted {
    let id: [u8; 7] = clock.bytes();
    let secret: [u8; 32] = clock.bytes();
    let token_id = format!("cs_{}", base32(&id, 10));
    let body = format!("{token_id}_{}", base32(&secret, 52));
    let text = format!("{body}{}", checksum(&body));
    let hash = sha256(text.as_bytes());
    Minted { token_id, text, hash }
}

/// Whether a text has the form of a token and its checksum is right: catches cut and mistyped ones before a call is made.
pub fn is_whole(text: &str) -> bool {
    let Some(body_length) = text.len().checked_sub(6) else { return false };
    let (Some(body), Some(sum)) = (text.get(..body_length), text.get(body_length..)) else { return false };
    text.len() == 72 && body.starts_with("cs_") && body.as_bytes().get(13) == Some(&b'_') && checksum(body) == sum
}

/// The last 30 bits of the CRC-32 (ISO 3309, as in zlib) of a text, in 6 letters.
fn checksum(text: &str) -> String {
    let mut crc = u32::MAX;
    for byte in text.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    base32(&(!crc).to_be_bytes(), 6)
}

/// The last `letters` x 5 bits of `bytes`, with zeros before where there are fewer.
fn base32(bytes: &[u8], letters: usize) -> String {
    let bit = |at: usize| bytes.len().checked_sub(1 + at / 8).is_some_and(|byte| bytes[byte] >> (at % 8) & 1 == 1);
    let letter = |at: usize| LETTERS[(0..5).rev().fold(0, |number, low| number * 2 + usize::from(bit(at * 5 + low)))];
    (0..letters).rev().map(|at| char::from(letter(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_form_and_its_checksum_finds_a_slip() {
        let Minted { token_id, text, hash } = mint(&Clock::System);
        assert_eq!((token_id.len(), text.len()), (13, 72));
        assert!(text.starts_with(&format!("{token_id}_")));
        assert!(text.bytes().skip(14).all(|b| LETTERS.contains(&b)));
        assert_eq!(hash, sha256(text.as_bytes()));
        assert!(is_whole(&text));
        for at in 0..text.len() {
            let mut slip = text.clone().into_bytes();
            slip[at] = if slip[at] == b'a' { b'b' } else { b'a' };
            assert!(!is_whole(std::str::from_utf8(&slip).unwrap()), "at {at}");
        }
        assert!(!is_whole(&text[..71]) && !is_whole("") && !is_whole("é"));
    }

    #[test]
    fn tokens_differ_on_a_clock_that_counts() {
        let clock = Clock::fixed(crate::model::Timestamp(0));
        let (one, two) = (mint(&clock), mint(&clock));
        assert!(one.token_id != two.token_id && one.text != two.text);
    }

    #[test]
    fn the_checksum_is_the_crc_of_zlib() {
        // zlib's crc32("123456789") = cbf43926.
        assert_eq!(checksum("123456789"), "f7iojg");
    }

    #[test]
    fn nothing_of_the_secret_shows_in_debug() {
        let minted = mint(&Clock::System);
        assert!(!format!("{minted:?}").contains(&minted.text[14..]));
    }
}
