//! A ticket for one change channel: what stands in a URL in place of a token, since browsers open channels without headers.
//!
//! It names a token and an environment, proves that the registry wrote it, and opens nothing but the channel. It holds for as
//! long as its token does.

use crate::model::Environment;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

/// The ticket of a token for an environment: `TOKEN_ID.ENVIRONMENT.MAC`, the MAC 64 lower-case hex digits of
/// HMAC-SHA-256(pepper, "ticket:" TOKEN_ID "." ENVIRONMENT).
pub fn ticket(pepper: &[u8; 32], token_id: &str, environment: &Environment) -> String {
    format!("{token_id}.{environment}.{}", mac(pepper, token_id, environment.as_str()))
}

/// The token's id and the environment that a ticket names, where the registry wrote it.
pub fn read(pepper: &[u8; 32], ticket: &str) -> Option<(String, Environment)> {
    let (named, given) = ticket.rsplit_once('.')?;
    let (token_id, environment) = named.split_once('.')?;
    let genuine = bool::from(mac(pepper, token_id, environment).as_bytes().ct_eq(given.as_bytes()));
    genuine.then(|| environment.parse().ok().map(|environment| (token_id.to_owned(), environment))).flatten()
}

/// No unit type is called `ticket`, so that no unit's pseudonym is ever a ticket.
#[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
fn mac(pepper: &[u8; 32], token_id: &str, environment: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(pepper).expect("HMAC takes a key of any length");
    for part in ["ticket:", token_id, ".", environment] {
        mac.update(part.as_bytes());
    }
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_reads_back_only_whole_and_only_with_its_pepper() {
        let environment: Environment = "production".parse().unwrap();
        let whole = ticket(&[7; 32], "cs_aaaaaaaaaa", &environment);
        assert_eq!(read(&[7; 32], &whole), Some(("cs_aaaaaaaaaa".to_owned(), environment)));
        assert_eq!(read(&[8; 32], &whole), None);
        for forged in [
            String::new(),
            ".".into(),
            "cs_aaaaaaaaaa.production.".into(),
            whole.replace("aaaaaaaaaa", "bbbbbbbbbb"),
            whole.replace("production", "staging"),
            whole[..whole.len() - 1].to_owned(),
            format!("{whole}0"),
            whole.to_uppercase(),
        ] {
            assert_eq!(read(&[7; 32], &forged), None, "{forged}");
        }
    }
}
