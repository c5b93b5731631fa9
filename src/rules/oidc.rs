//! Who a proved token of an issuer says its bearer is.

use super::jwt;
use crate::model::oidc::{Issuer, OidcSight};
use crate::model::{Actor, Policy, Timestamp};
use serde_json::{Map, Value};

/// Most groups of a person that are kept, and most bytes of a group's name.
const MOST_GROUPS: usize = 500;
const LONGEST_GROUP: usize = 256;

/// The person whom claims are about, and the groups that the issuer says. The claims must have been proved.
///
/// # Errors
/// Why they prove nobody here, to be read after "the token".
pub fn identity(policy: &Policy, issuer: &Issuer, claims: &Map<String, Value>, now: Timestamp) -> Result<OidcSight, String> {
    check_address(issuer, claims)?;
    let at = check_times(issuer, claims, now)?;
    let name = name(policy, issuer, claims)?;
    let actor: Actor = format!("person:{name}").parse().map_err(|_| {
        format!("names {name:?} as {}, which is no name here: lower-case letters, digits, `_`, `-` and dots", issuer.claim)
    })?;
    Ok(OidcSight { actor, issuer: issuer.name.clone(), groups: groups(issuer, claims)?, at })
}

/// From this issuer, for us, and a login.
fn check_address(issuer: &Issuer, claims: &Map<String, Value>) -> Result<(), String> {
    if claims.get("iss").and_then(Value::as_str) != Some(&issuer.url) {
        return Err(format!("is not from {}", issuer.url));
    }
    let for_us = |audience: &Value| audience.as_str().is_some_and(|one| issuer.audience.iter().any(|ours| ours == one));
    let fits = match claims.get("aud") {
        Some(Value::Array(several)) => several.iter().any(for_us),
        Some(one) => for_us(one),
        None => false,
    };
    if !fits {
        return Err(format!("is for somebody else; it must be for {}", issuer.audience.join(" or ")));
    }
    // Security events, like a logout, have the same issuer and audience.
    if claims.contains_key("events") {
        return Err("tells of an event; it is no login".to_owned());
    }
    Ok(())
}

/// Neither expired nor from the future; when it was issued.
fn check_times(issuer: &Issuer, claims: &Map<String, Value>, now: Timestamp) -> Result<Timestamp, String> {
    let moment = |claim: &str| match claims.get(claim) {
        None => Ok(None),
        Some(value) => jwt::moment(value).map(Some).ok_or_else(|| format!("has no time as {claim}")),
    };
    let expires = moment("exp")?.ok_or("never expires, which is not accepted")?;
    let issued = moment("iat")?.ok_or("does not say when it was issued")?;
    let (early, late) = (now.plus_seconds(-issuer.leeway), now.plus_seconds(issuer.leeway));
    if expires <= early {
        return Err("has expired".to_owned());
    }
    if issued > late || moment("nbf")?.is_some_and(|not_before| not_before > late) {
        return Err("is from the future: the clocks differ".to_owned());
    }
    Ok(issued.min(now))
}

fn name(policy: &Policy, issuer: &Issuer, claims: &Map<String, Value>) -> Result<String, String> {
    let claim = &issuer.claim;
    let value = claims.get(claim).and_then(Value::as_str).ok_or_else(|| format!("has no text as {claim}"))?;
    if claim == "email" && claims.get("email_verified") != Some(&Value::Bool(true)) {
        return Err("has an e-mail address that nobody verified".to_owned());
    }
    let value = match &issuer.domain {
        None => value,
        Some(domain) => value
            .strip_suffix(domain.as_str())
            .and_then(|rest| rest.strip_suffix('@'))
            .ok_or_else(|| format!("is for nobody at {domain}"))?,
    };
    let others = policy.issuers.values().filter(|other| other.name != issuer.name && !other.suffix.is_empty());
    if issuer.suffix.is_empty() && others.into_iter().any(|other| value.ends_with(&other.suffix)) {
        return Err(format!("names {value:?}, a name that only another issuer gives"));
    }
    Ok(format!("{value}{}", issuer.suffix))
}

fn groups(issuer: &Issuer, claims: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut groups: Vec<String> = match claims.get(&issuer.groups) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(_) => return Err(format!("has no list as {}", issuer.groups)),
    };
    groups.retain(|group| !group.is_empty() && group.len() <= LONGEST_GROUP && !group.contains('\0'));
    groups.sort();
    groups.dedup();
    if groups.len() > MOST_GROUPS {
        return Err(format!("lists more than {MOST_GROUPS} groups"));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::policy::read;
    use serde_json::json;

    const POLICY: &str = r#"
environment = [{ name = "dev" }]
[issuer.corp]
url = "https://id.example"
audience = ["countersign", "other"]
claim = "preferred_username"
leeway = "30s"
[issuer.mail]
url = "https://mail.example"
audience = ["countersign"]
claim = "email"
domain = "partner.example"
suffix = ".partner"
"#;
    const NOW: i64 = 1_000_000;

    fn good() -> Value {
        json!({
            "iss": "https://id.example", "aud": "countersign", "sub": "8f", "exp": NOW + 300, "iat": NOW - 10,
            "preferred_username": "ana", "groups": ["b", "a", "b", 7, ""],
        })
    }

    fn of(name: &str, claims: &Value) -> Result<OidcSight, String> {
        let policy = read(POLICY).unwrap();
        identity(&policy, &policy.issuers[name], claims.as_object().unwrap(), Timestamp(0).plus_seconds(NOW))
    }

    /// What becomes of a good token with one claim changed (null: taken away).
    fn changed(claim: &str, value: Value) -> Result<OidcSight, String> {
        let mut claims = good();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(claim);
        } else {
            claims[claim] = value;
        }
        of("corp", &claims)
    }

    #[test]
    fn a_good_token_says_who_and_in_which_groups_since_when() {
        let sight = of("corp", &good()).unwrap();
        assert_eq!((sight.actor, sight.issuer.as_str()), (Actor::person("ana"), "corp"));
        assert_eq!(sight.groups, ["a", "b"]);
        assert_eq!(sight.at, Timestamp(0).plus_seconds(NOW - 10));
        assert!(changed("groups", Value::Null).unwrap().groups.is_empty());
        assert_eq!(changed("groups", json!("solo")).unwrap().groups, ["solo"]);
        assert!(changed("aud", json!(["x", "other"])).is_ok());
        assert!(changed("exp", json!(NOW - 29)).is_ok(), "clocks may differ");
        assert!(changed("exp", json!(1_000_000.5)).is_ok());
        assert_eq!(changed("iat", json!(NOW + 30)).unwrap().at, Timestamp(0).plus_seconds(NOW), "never seen in the future");
    }

    #[test]
    fn a_claim_that_is_not_right_proves_nobody() {
        for (claim, value, why) in [
            ("iss", json!("https://id.example/"), "is not from https://id.example"),
            ("iss", Value::Null, "is not from"),
            ("aud", json!("somebody"), "is for somebody else; it must be for countersign or other"),
            ("aud", json!([]), "is for somebody else"),
            ("aud", json!([["countersign"]]), "is for somebody else"),
            ("aud", Value::Null, "is for somebody else"),
            ("events", json!({}), "tells of an event"),
            ("exp", json!(NOW - 30), "has expired"),
            ("exp", Value::Null, "never expires"),
            ("exp", json!("tomorrow"), "has no time as exp"),
            ("exp", json!(1e300), "has no time as exp"),
            ("exp", json!(-1), "has no time as exp"),
            ("iat", json!(NOW + 31), "is from the future"),
            ("iat", Value::Null, "does not say when"),
            ("nbf", json!(NOW + 31), "is from the future"),
            ("nbf", json!("x"), "has no time as nbf"),
            ("preferred_username", Value::Null, "has no text as preferred_username"),
            ("preferred_username", json!(["ana"]), "has no text as preferred_username"),
            ("preferred_username", json!("Ana"), "names \"Ana\" as preferred_username, which is no name here"),
            ("preferred_username", json!("ana@x"), "names \"ana@x\""),
            ("preferred_username", json!(""), "names \"\""),
            ("preferred_username", json!("ana\u{0}"), "names"),
            ("preferred_username", json!("bob.partner"), "names \"bob.partner\", a name that only another issuer gives"),
            ("groups", json!(7), "has no list as groups"),
        ] {
            let refused = changed(claim, value.clone()).expect_err(claim);
            assert!(refused.starts_with(why), "{claim} {value}: {refused}");
        }
        let many: Vec<String> = (0..=MOST_GROUPS).map(|n| n.to_string()).collect();
        assert!(changed("groups", json!(many)).is_err());
    }

    #[test]
    fn an_address_names_a_person_of_its_domain_when_it_was_verified() {
        let mail = |email: &str, verified: Value| {
            let claims = json!({
                "iss": "https://mail.example", "aud": "countersign", "exp": NOW + 1, "iat": NOW, "email": email,
                "email_verified": verified,
            });
            of("mail", &claims).map(|sight| sight.actor.to_string())
        };
        assert_eq!(mail("bob@partner.example", json!(true)).unwrap(), "person:bob.partner");
        assert!(mail("bob@partner.example", json!(false)).is_err());
        assert!(mail("bob@partner.example", json!("true")).is_err());
        assert!(mail("bob@evil.example", json!(true)).is_err());
        assert!(mail("bob@evilpartner.example", json!(true)).is_err());
        assert!(mail("bob@x@partner.example", json!(true)).is_err());
    }
}
