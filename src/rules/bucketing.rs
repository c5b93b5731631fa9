//! Unit hashes and buckets (R15, R16).

use crate::model::{BasisPoints, Digest, Environment, KeyId, Refusal, UnitType};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// What a bucket decides; one hash never serves two decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Inside a rollout's share, or outside; salt: [`rollout_salt`].
    Rollout,
    /// Which arm of an experiment; salt: the experiment's, 32 lower-case hex digits.
    Variant,
    /// Which slice of an exclusion group; salt: the group's name, or the experiment's salt.
    Exclusion,
}

impl Domain {
    fn as_str(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Variant => "variant",
            Self::Exclusion => "exclusion",
        }
    }
}

/// A unit's pseudonym: 64 lower-case hex digits of HMAC-SHA-256(pepper, unit_type ":" unit), the unit's UTF-8 as it is.
///
/// # Errors
/// `invalid` at `/unit` for an empty unit or one of more than 512 bytes.
#[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
pub fn unit_hash(pepper: &[u8; 32], unit_type: UnitType, unit: &str) -> Result<String, Refusal> {
    if unit.is_empty() || unit.len() > 512 {
        return Err(Refusal::invalid("/unit", format!("the unit has {} bytes; it must have 1 to 512", unit.len())));
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(pepper).expect("HMAC takes a key of any length");
    mac.update(unit_type.to_string().as_bytes());
    mac.update(b":");
    mac.update(unit.as_bytes());
    Ok(hex::encode(mac.finalize().into_bytes()))
}

/// The bucket, 0 to 9999: (first 8 bytes, big-endian, of SHA-256(domain 0x00 salt 0x00 unit_hash) x 10000) >> 64.
pub fn bucket(domain: Domain, salt: &str, unit_hash: &str) -> u16 {
    let mut hash = Sha256::new();
    for part in [domain.as_str().as_bytes(), b"\0", salt.as_bytes(), b"\0", unit_hash.as_bytes()] {
        hash.update(part);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&hash[..8]);
    let scaled = (u128::from(u64::from_be_bytes(first)) * 10_000) >> 64;
    u16::try_from(scaled).unwrap_or(9_999)
}

/// The salt of a rollout: key_id "/" environment "/" to_digest, so that each rollout draws anew.
pub fn rollout_salt(key: &KeyId, environment: &Environment, to: &Digest) -> String {
    format!("{key}/{environment}/{to}")
}

/// Whether a bucket lies inside a share: nobody at 0 %, everybody at 100 %, and raising never removes (R16).
pub fn inside(bucket: u16, share: BasisPoints) -> bool {
    bucket < share.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_unit_has_one_to_512_bytes() {
        for (unit, ok) in [(String::new(), false), ("x".into(), true), ("x".repeat(512), true), ("é".repeat(257), false)] {
            let hash = unit_hash(&[0; 32], UnitType::User, &unit);
            assert_eq!(hash.is_ok(), ok, "{} bytes", unit.len());
            assert!(hash.is_ok() || hash.unwrap_err().path.as_deref() == Some("/unit"));
        }
    }

    #[test]
    fn no_two_decisions_share_a_hash() {
        let hash = unit_hash(&[0; 32], UnitType::User, "u").unwrap();
        let drawn = [Domain::Rollout, Domain::Variant, Domain::Exclusion].map(|domain| bucket(domain, "salt", &hash));
        assert!(drawn[0] != drawn[1] && drawn[1] != drawn[2] && drawn[0] != drawn[2], "{drawn:?}");
        // The separators keep salt and hash apart.
        assert_ne!(bucket(Domain::Rollout, "ab", "c"), bucket(Domain::Rollout, "a", "bc"));
    }

    proptest! {
        #[test]
        fn nobody_at_0_everybody_at_100_and_raising_never_removes(unit in ".{1,60}", low in 0_u16..=10_000, high in 0_u16..=10_000) {
            let (low, high) = (low.min(high), low.max(high));
            let hash = unit_hash(&[7; 32], UnitType::Tenant, &unit).unwrap();
            let drawn = bucket(Domain::Rollout, "a.b/production/sha256:0", &hash);
            let inside = |points| inside(drawn, BasisPoints::new(points).unwrap());
            prop_assert!(drawn < 10_000);
            prop_assert!(!inside(0) && inside(10_000));
            prop_assert!(!inside(low) || inside(high));
        }
    }
}
