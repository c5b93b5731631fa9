//! Signed tokens of issuers (RFC 7515, RFC 7519) and the public keys that prove them (RFC 7517). Pure: the keys and the moment
//! are given.

use super::canonical::parse_strict;
use crate::model::Timestamp;
use crate::model::oidc::SigningAlgorithm;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The longest token that is looked at, in bytes.
const LONGEST: usize = 16 * 1024;
/// Most keys of an issuer that are looked at.
const MOST_KEYS: usize = 100;

/// A public key of an issuer, for one way of signing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    id: Option<String>,
    kind: Kind,
    /// The only algorithm that it is for, where the issuer says so.
    algorithm: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct RawKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The keys of a JWK set that can prove signatures; others in it are passed over, as the standard asks.
///
/// # Errors
/// It is not a JWK set.
pub fn keys(set: &[u8]) -> Result<Vec<Key>, String> {
    let set: Value = serde_json::from_slice(set).map_err(|why| format!("the keys are not JSON: {why}"))?;
    let list = set.get("keys").and_then(Value::as_array).ok_or("the keys are not a JWK set")?;
    Ok(list.iter().take(MOST_KEYS).filter_map(key).collect())
}

fn key(value: &Value) -> Option<Key> {
    let raw = RawKey::deserialize(value).ok()?;
    if raw.usage.as_deref().is_some_and(|usage| usage != "sig") {
        return None;
    }
    let bytes = |text: &Option<String>| BASE64.decode(text.as_deref()?).ok();
    // An uncompressed point: 4, x, y.
    let point = |size: usize| {
        let (x, y) = (bytes(&raw.x)?, bytes(&raw.y)?);
        (x.len() == size && y.len() == size).then(|| [&[4], x.as_slice(), y.as_slice()].concat())
    };
    let kind = match (raw.kty.as_str(), raw.crv.as_deref()) {
        ("RSA", _) => Kind::Rsa { n: bytes(&raw.n)?, e: bytes(&raw.e)? },
        ("EC", Some("P-256")) => Kind::P256(point(32)?),
        ("EC", Some("P-384")) => Kind::P384(point(48)?),
        ("OKP", Some("Ed25519")) => Kind::Ed25519(bytes(&raw.x)?),
        _ => return None,
    };
    Some(Key { id: raw.kid, kind, algorithm: raw.alg })
}

/// A token that was taken apart. Nothing in it is proved.
#[derive(Debug, Clone)]
pub struct Unproved<'t> {
    signed: &'t str,
    signature: Vec<u8>,
    algorithm: SigningAlgorithm,
    key_id: Option<String>,
    claims: Map<String, Value>,
}

/// Why a token proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// None of the keys is the one that it names: the issuer may have new ones.
    UnknownKey,
    /// Anything else, to be read after "the token".
    Bad(&'static str),
}

/// Whether a bearer text has the form of an issuer's token: three parts divided by dots.
pub fn is_one(text: &str) -> bool {
    text.len() <= LONGEST && text.bytes().filter(|b| *b == b'.').count() == 2
}

/// Takes a token apart.
///
/// # Errors
/// It is none, or is signed in a way that nobody may sign (`none` and secret keys included).
pub fn parse(text: &str) -> Result<Unproved<'_>, Fault> {
    let form = Fault::Bad("has not the form of a JSON Web Token");
    if !is_one(text) {
        return Err(form);
    }
    let (signed, signature) = text.rsplit_once('.').ok_or(form)?;
    let (header, claims) = signed.split_once('.').ok_or(form)?;
    let object = |part: &str| match BASE64.decode(part).ok().and_then(|bytes| parse_strict(&bytes).ok()) {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(form),
    };
    let header = object(header)?;
    if header.contains_key("crit") {
        return Err(Fault::Bad("asks for something that is not known here"));
    }
    // A token of another kind, like one that tells of a logout, is no login.
    let kind = header.get("typ").map(|kind| kind.as_str().unwrap_or_default().to_ascii_lowercase());
    if !matches!(kind.as_deref(), None | Some("jwt" | "at+jwt" | "application/at+jwt")) {
        return Err(Fault::Bad("is of a kind that is no login"));
    }
    let named = header.get("alg").and_then(Value::as_str).unwrap_or_default();
    let algorithm = named.parse().map_err(|_| Fault::Bad("is signed in a way that is not accepted"))?;
    let key_id = match header.get("kid") {
        None => None,
        Some(id) => Some(id.as_str().ok_or(form)?.to_owned()),
    };
    let signature = BASE64.decode(signature).map_err(|_| form)?;
    Ok(Unproved { signed, signature, algorithm, key_id, claims: object(claims)? })
}

/// Seconds since 1970, perhaps with a fraction, which is cut.
pub fn moment(value: &Value) -> Option<Timestamp> {
    /// 1 January 10000.
    const END: f64 = 253_402_300_800.0;
    let seconds = value.as_f64().filter(|seconds| (0.0..END).contains(seconds))?;
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    Some(Timestamp(0).plus_seconds(seconds as i64))
}

impl Unproved<'_> {
    /// Who says that it issued it.
    pub fn issuer(&self) -> Option<&str> {
        self.claims.get("iss").and_then(Value::as_str)
    }

    /// When it says that it ends: of use to who holds it and knows where it came from.
    pub fn expires(&self) -> Option<Timestamp> {
        self.claims.get("exp").and_then(moment)
    }

    /// The claims, proved by one of the issuer's keys.
    ///
    /// # Errors
    /// The key is not among them, the way of signing is not among those that are `accepted`, or the signature is wrong.
    pub fn prove(&self, keys: &[Key], accepted: &[SigningAlgorithm]) -> Result<&Map<String, Value>, Fault> {
        if !accepted.contains(&self.algorithm) {
            return Err(Fault::Bad("is signed in a way that is not accepted"));
        }
        let fits = |key: &&Key| self.key_id.is_none() || key.id == self.key_id;
        let mut fitting = keys.iter().filter(fits).filter(|key| key.suits(self.algorithm));
        let (Some(key), None) = (fitting.next(), fitting.next()) else { return Err(Fault::UnknownKey) };
        if key.proves(self.algorithm, self.signed.as_bytes(), &self.signature) {
            return Ok(&self.claims);
        }
        Err(Fault::Bad("has a wrong signature"))
    }
}

impl Key {
    /// Whether it is of the kind that an algorithm takes: so a key of one kind never proves what another kind signed.
    fn suits(&self, algorithm: SigningAlgorithm) -> bool {
        let kind = match algorithm {
            SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256 => matches!(self.kind, Kind::Rsa { .. }),
            SigningAlgorithm::Es256 => matches!(self.kind, Kind::P256(_)),
            SigningAlgorithm::Es384 => matches!(self.kind, Kind::P384(_)),
            SigningAlgorithm::EdDsa => matches!(self.kind, Kind::Ed25519(_)),
        };
        kind && self.algorithm.as_deref().is_none_or(|only| only == algorithm.as_str())
    }

    fn proves(&self, algorithm: SigningAlgorithm, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match (&self.kind, algorithm) {
            (Kind::Rsa { n, e }, SigningAlgorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
            }
            (Kind::Rsa { n, e }, _) => RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            (Kind::P256(point), _) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature),
            (Kind::P384(point), _) => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(signed, signature),
            (Kind::Ed25519(public), _) => UnparsedPublicKey::new(&ED25519, public).verify(signed, signature),
        };
        checked.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
    use serde_json::json;

    const ALL: &[SigningAlgorithm] = SigningAlgorithm::ALL;

    /// The example of RFC 7515, appendix A.3: key, token.
    const ES256: (&str, &str) = (
        r#"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#,
        "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
    );
    /// The example of RFC 7515, appendix A.2.
    const RS256: (&str, &str) = (
        r#"{"keys":[{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}]}"#,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    );

    fn encoded(value: &Value) -> String {
        BASE64.encode(serde_json::to_vec(value).unwrap())
    }

    /// A key pair, and a token of a header and claims that it signs.
    fn ed25519() -> (Value, impl Fn(&Value, &Value) -> String) {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[3; 32]).unwrap();
        let public = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": BASE64.encode(pair.public_key()) });
        let sign = move |header: &Value, claims: &Value| {
            let signed = format!("{}.{}", encoded(header), encoded(claims));
            let signature = BASE64.encode(pair.sign(signed.as_bytes()));
            format!("{signed}.{signature}")
        };
        (public, sign)
    }

    fn set(list: &[&Value]) -> Vec<Key> {
        keys(json!({ "keys": list }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn the_examples_of_the_standard_are_proved_and_a_changed_byte_is_not() {
        for (set, token) in [ES256, RS256] {
            let keys = keys(set.as_bytes()).unwrap();
            let unproved = parse(token).unwrap();
            assert_eq!(unproved.issuer(), Some("joe"));
            assert_eq!(unproved.prove(&keys, ALL).unwrap()["exp"], 1_300_819_380);
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let other = format!("{signed}.{}", signature.replacen(['D', 'c'], "E", 1));
            assert_eq!(parse(&other).unwrap().prove(&keys, ALL), Err(Fault::Bad("has a wrong signature")));
        }
    }

    #[test]
    fn a_key_proves_only_what_its_kind_signs() {
        let (public, sign) = ed25519();
        let token = sign(&json!({ "alg": "EdDSA", "kid": "one" }), &json!({ "iss": "x" }));
        assert!(parse(&token).unwrap().prove(&set(&[&public]), ALL).is_ok());
        assert!(parse(&token).unwrap().prove(&set(&[&public]), &[SigningAlgorithm::Rs256]).is_err(), "not accepted");
        let lying = sign(&json!({ "alg": "ES256", "kid": "one" }), &json!({ "iss": "x" }));
        assert_eq!(parse(&lying).unwrap().prove(&set(&[&public]), ALL), Err(Fault::UnknownKey));
        let mut for_another = public.clone();
        for_another["alg"] = json!("RS256");
        assert_eq!(parse(&token).unwrap().prove(&set(&[&for_another]), ALL), Err(Fault::UnknownKey));
        let mut to_encrypt = public.clone();
        to_encrypt["use"] = json!("enc");
        assert!(set(&[&to_encrypt]).is_empty());
    }

    #[test]
    fn what_anybody_could_have_signed_is_refused_before_a_key_is_looked_for() {
        let (_, sign) = ed25519();
        let refused = |header: Value| parse(&sign(&header, &json!({ "iss": "x" }))).map(|_| ()).unwrap_err();
        for algorithm in ["none", "None", "HS256", "HS512", "", "RS1"] {
            let why = Fault::Bad("is signed in a way that is not accepted");
            assert_eq!(refused(json!({ "alg": algorithm })), why, "{algorithm}");
        }
        assert_eq!(refused(json!({})), Fault::Bad("is signed in a way that is not accepted"));
        assert!(matches!(refused(json!({ "alg": "EdDSA", "crit": ["b64"] })), Fault::Bad(_)));
        assert!(matches!(refused(json!({ "alg": "EdDSA", "typ": "logout+jwt" })), Fault::Bad(_)));
        assert!(matches!(refused(json!({ "alg": "EdDSA", "kid": 1 })), Fault::Bad(_)));
        for text in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", &"a".repeat(20_000)] {
            assert!(parse(text).is_err(), "{text:.20}");
        }
        let twice = format!("{}.{}.", BASE64.encode(r#"{"alg":"EdDSA","alg":"none"}"#), encoded(&json!({})));
        assert!(parse(&twice).is_err(), "a name that stands twice");
    }

    #[test]
    fn a_key_is_found_by_its_name_and_without_names_only_where_one_fits() {
        let (public, sign) = ed25519();
        let mut other = public.clone();
        other["kid"] = json!("two");
        let named = sign(&json!({ "alg": "EdDSA", "kid": "one" }), &json!({}));
        let unnamed = sign(&json!({ "alg": "EdDSA" }), &json!({}));
        assert!(parse(&named).unwrap().prove(&set(&[&other, &public]), ALL).is_ok());
        assert_eq!(parse(&named).unwrap().prove(&set(&[&other]), ALL), Err(Fault::UnknownKey));
        assert!(parse(&unnamed).unwrap().prove(&set(&[&public]), ALL).is_ok());
        assert_eq!(parse(&unnamed).unwrap().prove(&set(&[&public, &other]), ALL), Err(Fault::UnknownKey));
    }

    #[test]
    fn a_point_of_a_wrong_size_is_no_key() {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pair.as_ref(), &random).unwrap();
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let with = |x: &[u8]| json!({ "kty": "EC", "crv": "P-256", "x": BASE64.encode(x), "y": BASE64.encode(y) });
        assert_eq!(set(&[&with(x)]).len(), 1);
        assert!(set(&[&with(&x[1..])]).is_empty());
        assert!(keys(b"{}").is_err() && keys(b"[").is_err());
    }
}
