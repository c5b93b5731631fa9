//! People whom issuers know: the policy's issuers and groups of theirs, and who is in those groups now.

use super::walk::{Node, Table, is_segment};
use crate::model::oidc::{Issuer, OidcGroup, OidcSight, SigningAlgorithm};
use crate::model::{Actor, Policy, Refusal, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Seconds for which it counts what an issuer said of somebody's groups.
pub const FRESH_SECONDS: i64 = 24 * 3600;
/// Seconds by which clocks may differ, unless the policy says otherwise; and the most that it can say.
const LEEWAY: i64 = 60;
const MOST_LEEWAY: i64 = 300;

const FIELDS: &[&str] = &["url", "audience", "client", "scopes", "claim", "domain", "suffix", "groups", "algorithms", "leeway"];

/// Reads the `[issuer.NAME]` tables.
pub(super) fn issuers(document: &Table<'_>) -> Result<BTreeMap<String, Issuer>, Refusal> {
    let mut out: BTreeMap<String, Issuer> = BTreeMap::new();
    for (name, table) in document.named("issuer")? {
        let read = issuer(name, &table)?;
        if out.values().any(|other| other.url == read.url) {
            return Err(table.wrong(format_args!("another issuer has the url {:?}", read.url)));
        }
        // Else somebody at one issuer could take the name of somebody at the other.
        if let Some(other) = out.values().find(|other| other.suffix == read.suffix) {
            let what = format_args!("{name:?} and {:?} would give the same names: one needs another `suffix`", other.name);
            return Err(table.wrong(what));
        }
        out.insert(name.to_owned(), read);
    }
    Ok(out)
}

fn issuer(name: &str, table: &Table<'_>) -> Result<Issuer, Refusal> {
    table.only(FIELDS, &[])?;
    let text = |node: &Node<'_>| node.text().map(str::to_owned);
    let audience = table.need("audience")?;
    let audiences = audience.set(text)?;
    if audiences.is_empty() || audiences.iter().any(String::is_empty) {
        return Err(audience.wrong("a token must be for somebody: `audience` is empty"));
    }
    let algorithms = match table.get("algorithms") {
        Some(node) => algorithms(&node)?,
        None => vec![SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa],
    };
    let leeway = table.maybe("leeway", Node::duration)?.unwrap_or(LEEWAY);
    if leeway > MOST_LEEWAY {
        return Err(table.wrong(format_args!("`leeway` is longer than {MOST_LEEWAY} s")));
    }
    Ok(Issuer {
        name: name.to_owned(),
        url: table.need("url").and_then(|node| url(&node))?,
        audience: audiences,
        client: table.maybe("client", text)?,
        scopes: table.maybe("scopes", text)?.unwrap_or_else(|| "openid profile offline_access".to_owned()),
        claim: table.need("claim").and_then(|node| text(&node))?,
        domain: table.maybe("domain", text)?,
        suffix: table.maybe("suffix", suffix)?.unwrap_or_default(),
        groups: table.maybe("groups", text)?.unwrap_or_else(|| "groups".to_owned()),
        algorithms,
        leeway,
    })
}

fn algorithms(node: &Node<'_>) -> Result<Vec<SigningAlgorithm>, Refusal> {
    let named = node.set(Node::parsed::<SigningAlgorithm>)?;
    if named.is_empty() { Err(node.wrong("no token could be accepted: `algorithms` is empty")) } else { Ok(named) }
}

/// `https://…`, or `http://` to this very machine, without a slash at the end where the issuer has none.
fn url(node: &Node<'_>) -> Result<String, Refusal> {
    let text = node.text()?;
    if is_safe_url(text) && !text.contains('?') {
        return Ok(text.to_owned());
    }
    Err(node.wrong(format_args!("{text:?} is not https://…, nor http:// on loopback")))
}

/// Whether what comes from a URL can be trusted to come from who it names: https, or plain http that never leaves this machine.
pub fn is_safe_url(text: &str) -> bool {
    let plain = |rest: &str| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        !host.contains('@') && matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    };
    let named = |rest: &str| !rest.is_empty() && !rest.starts_with(['/', '?', '#']) && !rest.contains('@');
    let clean = text.bytes().all(|b| b.is_ascii_graphic()) && !text.contains('#');
    clean && (text.strip_prefix("https://").is_some_and(named) || text.strip_prefix("http://").is_some_and(plain))
}

fn suffix(node: &Node<'_>) -> Result<String, Refusal> {
    let text = node.text()?;
    if text.strip_prefix('.').is_some_and(is_segment) {
        return Ok(text.to_owned());
    }
    Err(node.wrong(format_args!("{text:?} is not a dot and a segment of a name, like \".partner\"")))
}

/// `oidc = "issuer:group"`.
pub(super) fn group(node: &Node<'_>, issuers: &BTreeMap<String, Issuer>) -> Result<OidcGroup, Refusal> {
    let text = node.text()?;
    let (issuer, group) = text
        .split_once(':')
        .filter(|(_, group)| !group.is_empty())
        .ok_or_else(|| node.wrong(format_args!("{text:?} is not \"issuer:group\"")))?;
    if !issuers.contains_key(issuer) {
        return Err(node.wrong(format_args!("there is no issuer {issuer:?}; it would be [issuer.{issuer}]")));
    }
    Ok(OidcGroup { issuer: issuer.to_owned(), group: group.to_owned() })
}

/// The policy with the members that issuers say now: what was said within 24 hours counts, what was said before is `lapsed`.
#[expect(clippy::needless_pass_by_value, reason = "an iterator is given away, though only its copies are used")]
pub fn with_sights<'a>(policy: &Arc<Policy>, sights: impl Iterator<Item = &'a OidcSight> + Clone, now: Timestamp) -> Arc<Policy> {
    if policy.oidc_groups.is_empty() {
        return policy.clone();
    }
    let mut next = Policy::clone(policy);
    for (name, wanted) in &policy.oidc_groups {
        let said = sights.clone().filter(|sight| sight.issuer == wanted.issuer && sight.groups.contains(&wanted.group));
        let (fresh, lapsed): (Vec<&OidcSight>, Vec<&OidcSight>) = said.partition(|sight| is_fresh(sight, now));
        let sorted = |sights: Vec<&OidcSight>| {
            let mut actors: Vec<Actor> = sights.into_iter().map(|sight| sight.actor.clone()).collect();
            actors.sort();
            actors
        };
        next.groups.insert(name.clone(), sorted(fresh));
        next.lapsed.insert(name.clone(), sorted(lapsed));
    }
    Arc::new(next)
}

/// Whether it still counts what an issuer said.
pub fn is_fresh(sight: &OidcSight, now: Timestamp) -> bool {
    now <= sight.at.plus_seconds(FRESH_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::policy::{group_members, read};

    const GOOD: &str = r#"
environment = [{ name = "dev" }]

[issuer.corp]
url = "https://id.example/realms/x"
audience = ["countersign"]
claim = "preferred_username"

[issuer.partner]
url = "http://127.0.0.1:9/p"
audience = ["a", "b"]
client = "cli"
claim = "email"
domain = "partner.example"
suffix = ".partner"
groups = "roles"
algorithms = ["ES256"]
leeway = "5s"

[group.release]
oidc = "corp:countersign:release"
[group.fixed]
members = ["person:ana"]
"#;

    #[test]
    fn issuers_and_their_groups_are_read() {
        let policy = read(GOOD).unwrap();
        let corp = &policy.issuers["corp"];
        assert_eq!((corp.leeway, &*corp.groups, &*corp.suffix, corp.client.as_deref()), (60, "groups", "", None));
        assert!(!corp.algorithms.contains(&SigningAlgorithm::Ps256));
        let partner = &policy.issuers["partner"];
        assert_eq!((partner.leeway, &*partner.groups, &*partner.suffix), (5, "roles", ".partner"));
        let want = OidcGroup { issuer: "corp".into(), group: "countersign:release".into() };
        assert_eq!(policy.oidc_groups["release"], want);
        assert!(group_members(&policy, "release").is_empty(), "nobody was seen yet");
    }

    #[test]
    fn what_is_wrong_with_an_issuer_is_refused_with_its_line() {
        for (good, bad, complaint) in [
            ("\"https://id.example/realms/x\"", "\"http://id.example\"", "line 5: \"http://id.example\" is not https://"),
            ("\"https://id.example/realms/x\"", "\"https://\"", "line 5: \"https://\" is not https://"),
            ("\"https://id.example/realms/x\"", "\"http://127.0.0.1:9/p\"", "line 9: another issuer has the url"),
            (
                "\"http://127.0.0.1:9/p\"",
                "\"http://127.0.0.1:9@evil.example/\"",
                "line 10: \"http://127.0.0.1:9@evil.example/\" is not",
            ),
            (
                "\"http://127.0.0.1:9/p\"",
                "\"http://localhost.evil.example/\"",
                "line 10: \"http://localhost.evil.example/\" is not",
            ),
            ("audience = [\"countersign\"]", "audience = []", "line 6: a token must be for somebody"),
            ("audience = [\"countersign\"]", "", "line 4: `audience` is missing"),
            ("claim = \"preferred_username\"", "", "line 4: `claim` is missing"),
            ("claim = \"preferred_username\"", "claim = \"sub\"\nsecret = \"x\"", "line 8: `secret` is unknown here"),
            ("suffix = \".partner\"\n", "", "line 9: \"partner\" and \"corp\" would give the same names"),
            ("\".partner\"", "\"partner\"", "line 15: \"partner\" is not a dot and a segment"),
            ("algorithms = [\"ES256\"]", "algorithms = [\"HS256\"]", "line 17: \"HS256\": algorithm is not one of"),
            ("algorithms = [\"ES256\"]", "algorithms = [\"none\"]", "line 17: \"none\": algorithm is not one of"),
            ("algorithms = [\"ES256\"]", "algorithms = []", "line 17: no token could be accepted"),
            ("leeway = \"5s\"", "leeway = \"1h\"", "line 9: `leeway` is longer than 300 s"),
            ("oidc = \"corp:countersign:release\"", "oidc = \"release\"", "line 21: \"release\" is not \"issuer:group\""),
            ("oidc = \"corp:countersign:release\"", "oidc = \"nobody:x\"", "line 21: there is no issuer \"nobody\""),
            ("members = [\"person:ana\"]", "members = []\noidc = \"corp:x\"", "line 22: a group has either `members` or `oidc`"),
        ] {
            assert!(GOOD.contains(good), "{good}");
            let refusal = read(&GOOD.replacen(good, bad, 1)).expect_err(bad);
            assert!(refusal.detail.starts_with(complaint), "{bad}: {complaint}\n  but: {refusal}");
        }
    }

    #[test]
    fn what_an_issuer_said_counts_for_a_day() {
        let policy = Arc::new(read(GOOD).unwrap());
        let said = |who: &str, issuer: &str, group: &str, at: i64| OidcSight {
            actor: Actor::person(who),
            issuer: issuer.into(),
            groups: vec![group.into()],
            at: Timestamp(0).plus_seconds(at),
        };
        let sights = [
            said("bea", "corp", "countersign:release", 10),
            said("ada", "corp", "countersign:release", 20),
            said("eve.partner", "partner", "countersign:release", 20),
            said("dan", "corp", "release", 20),
        ];
        let at = |seconds: i64| with_sights(&policy, sights.iter(), Timestamp(0).plus_seconds(seconds));
        assert_eq!(group_members(&at(30), "release"), [Actor::person("ada"), Actor::person("bea")]);
        let later = at(FRESH_SECONDS + 11);
        assert_eq!(group_members(&later, "release"), [Actor::person("ada")]);
        assert_eq!(later.lapsed["release"], [Actor::person("bea")]);
        assert_eq!(group_members(&later, "fixed"), [Actor::person("ana")]);
        let back = with_sights(&later, sights.iter(), Timestamp(0).plus_seconds(10 + FRESH_SECONDS));
        assert_eq!(group_members(&back, "release").len(), 2, "made from what was made before, and to the second");
    }
}
