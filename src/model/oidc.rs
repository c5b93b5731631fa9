//! Issuers of identities (OpenID Connect) as the policy names them, and what they said of people's groups.

use super::promotion::words;
use super::{Actor, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

words! {
    /// How a token of an issuer may be signed (RFC 7518, RFC 8037): public keys only, so that nobody can sign with what is
    /// published.
    SigningAlgorithm ("algorithm") {
        /// RSA PKCS #1 v1.5 with SHA-256, keys of 2048 bits at least.
        Rs256 = "RS256",
        /// RSA PSS with SHA-256.
        Ps256 = "PS256",
        /// ECDSA on P-256.
        Es256 = "ES256",
        /// ECDSA on P-384.
        Es384 = "ES384",
        /// Ed25519.
        EdDsa = "EdDSA",
    }
}

/// `[issuer.NAME]`: whose tokens prove who somebody is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// The name in the policy.
    pub name: String,
    /// `iss`, letter for letter; discovery is looked for under it.
    pub url: String,
    /// A token must be for one of these.
    pub audience: Vec<String>,
    /// The public client of `login --oidc`; none = no device login.
    pub client: Option<String>,
    /// What `login --oidc` asks for, divided by spaces.
    pub scopes: String,
    /// The claim whose value is the person's name.
    pub claim: String,
    /// The claim's value must be `NAME@domain`, and NAME is the person's name.
    pub domain: Option<String>,
    /// Put behind each name: keeps the people of one issuer apart from those of the others.
    pub suffix: String,
    /// The claim that lists groups.
    pub groups: String,
    /// How tokens may be signed.
    pub algorithms: Vec<SigningAlgorithm>,
    /// Seconds by which clocks may differ.
    pub leeway: i64,
}

/// The groups of a person as an issuer said them last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcSight {
    /// The person.
    pub actor: Actor,
    /// The issuer's name in the policy.
    pub issuer: String,
    /// As the issuer names them; sorted.
    pub groups: Vec<String>,
    /// When the issuer said so (`iat`).
    pub at: Timestamp,
}

/// A group whose members an issuer says: `oidc = "issuer:group"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcGroup {
    /// The issuer's name in the policy.
    pub issuer: String,
    /// The group as the issuer names it.
    pub group: String,
}

/// What `login --oidc` needs to know of an issuer before anybody has logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginOffer {
    /// The issuer's name in the policy.
    pub name: String,
    /// Where discovery is looked for.
    pub url: String,
    /// The public client.
    pub client: String,
    /// What to ask for, divided by spaces.
    pub scopes: String,
}

/// What a login gave: kept by the client for its owner alone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// From whom.
    pub issuer: LoginOffer,
    /// The ID token that is sent.
    pub token: String,
    /// Gives the next one.
    pub refresh: Option<String>,
    /// When the token ends.
    pub until: Timestamp,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The tokens are left out.
        f.debug_struct("Session").field("issuer", &self.issuer.name).field("until", &self.until).finish_non_exhaustive()
    }
}
