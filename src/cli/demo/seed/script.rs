//! What the demo's files say: fragments, keys, versions and how far each went. Read with `fixtures/demo/*.toml` beside it.

use crate::cli::exit::Failure;
use crate::model::{Content, Digest, Environment, Format, KeyId, KillReason, UnitType, Variable};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One team's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Fragments, made before all else.
    #[serde(default)]
    pub fragment: Vec<FragmentScript>,
    /// Keys in order.
    pub key: Vec<KeyScript>,
}

/// A fragment and its revisions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FragmentScript {
    pub name: String,
    pub group: String,
    pub revisions: Vec<String>,
}

/// A key and what became of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyScript {
    pub id: KeyId,
    pub group: String,
    pub unit: UnitType,
    pub description: String,
    #[serde(default)]
    pub confidential: bool,
    /// Number of the version that is the safe default.
    pub safe_default: usize,
    pub version: Vec<VersionScript>,
    pub killed: Option<KilledScript>,
}

/// How far a version went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Road {
    /// Saved.
    Draft,
    /// Submitted.
    Review,
    /// Serves in dev.
    Dev,
    /// … and in staging.
    Staging,
    /// … and to a part of production.
    Rollout,
    /// … and to all of it.
    Production,
}

/// A version: what changes since the one before, and its fate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionScript {
    pub why: String,
    pub format: Option<Format>,
    pub body: Option<Value>,
    /// Pairs of old and new text; the old one stands exactly once in the body before.
    #[serde(default)]
    pub edits: Vec<(String, String)>,
    /// Members of a JSON body by pointer.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    pub model: Option<String>,
    pub variables: Option<Vec<Variable>>,
    pub parameters: Option<Map<String, Value>>,
    /// Pinned fragments by number of their revision, from 1.
    pub fragments: Option<BTreeMap<String, usize>>,
    pub road: Road,
    /// For `rollout`: the share that it reached.
    pub rollout: Option<f64>,
    /// What the evaluations found.
    #[serde(default)]
    pub scores: BTreeMap<String, f64>,
    /// Evaluations that still run, with what they say.
    #[serde(default)]
    pub pending: BTreeMap<String, String>,
    pub open: Option<OpenScript>,
}

/// A promotion that waits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenScript {
    pub why: String,
    /// Production unless said.
    pub environment: Option<Environment>,
    pub change: Option<String>,
    /// Who approved which gate, and why.
    pub approvals: Vec<(String, String, String)>,
    /// The same by someone who acknowledged the hidden characters.
    pub hidden_by: Option<(String, String, String)>,
    #[serde(default)]
    pub comments: Vec<(String, String)>,
}

/// A kill, and the wish to serve again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KilledScript {
    pub environment: Environment,
    pub reason: KillReason,
    pub note: String,
    pub revive: ReviveScript,
}

/// The wish to serve again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviveScript {
    pub version: usize,
    pub percent: f64,
    pub why: String,
    pub change: String,
    pub approvals: Vec<(String, String, String)>,
}

impl Script {
    /// Reads a file.
    ///
    /// # Errors
    /// What TOML or the shapes above do not allow, with the line.
    pub fn read(source: &str) -> Result<Self, Failure> {
        toml::from_str(source).map_err(|e| Failure::failed(format!("the demo's content: {e}")))
    }
}

impl VersionScript {
    /// The content of this version, from that of the one before and the digests of fragment revisions.
    ///
    /// # Errors
    /// An edit whose old text does not stand exactly once, a pointer or a revision that is not there.
    pub fn content(
        &self,
        key: &KeyId,
        before: Option<&Content>,
        revisions: &BTreeMap<String, Vec<Digest>>,
    ) -> Result<Content, Failure> {
        let mut content = before.cloned().unwrap_or_else(|| empty(key));
        if let Some(body) = &self.body {
            content.body = body.clone();
        }
        for (old, new) in &self.edits {
            if edit(&mut content.body, old, new) != 1 {
                return Err(Failure::failed(format!("{key}: {old:?} does not stand exactly once in the version before")));
            }
        }
        for (pointer, value) in &self.set {
            put(&mut content.body, pointer, value).ok_or_else(|| Failure::failed(format!("{key}: nothing at {pointer}")))?;
        }
        if let Some(pins) = &self.fragments {
            let pinned = pins.iter().map(|(name, revision)| {
                let digest = revisions.get(name).and_then(|all| all.get(revision.checked_sub(1)?));
                digest.map(|digest| (name.clone(), *digest)).ok_or_else(|| Failure::failed(format!("{key}: no fragment {name}")))
            });
            content.fragments = pinned.collect::<Result<_, _>>()?;
        }
        content.format = self.format.unwrap_or(content.format);
        content.model_pin = self.model.clone().or(content.model_pin);
        content.variables = self.variables.clone().unwrap_or(content.variables);
        content.parameters = self.parameters.clone().unwrap_or(content.parameters);
        Ok(content)
    }
}

fn empty(key: &KeyId) -> Content {
    Content {
        key: key.clone(),
        format: Format::Text,
        body: Value::Null,
        model_pin: None,
        parameters: Map::new(),
        fragments: BTreeMap::new(),
        variables: Vec::new(),
        schema: 1,
    }
}

/// Replaces `old` in every text of a body; how often it stood there.
fn edit(body: &mut Value, old: &str, new: &str) -> usize {
    match body {
        Value::String(text) => {
            let times = text.matches(old).count();
            *text = text.replace(old, new);
            times
        }
        Value::Array(items) => items.iter_mut().map(|item| edit(item, old, new)).sum(),
        Value::Object(members) => members.values_mut().map(|member| edit(member, old, new)).sum(),
        _ => 0,
    }
}

/// Sets the member that a JSON pointer names; the object around it must be there.
fn put(body: &mut Value, pointer: &str, value: &Value) -> Option<()> {
    let (around, name) = pointer.rsplit_once('/')?;
    body.pointer_mut(around)?.as_object_mut()?.insert(name.to_owned(), value.clone());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::{POLICY, TEAMS};
    use super::*;
    use crate::model::{Actor, Fragment, Timestamp};
    use crate::rules::canonical::fragment_digest;
    use crate::rules::{content, policy};

    #[test]
    fn every_version_of_the_demo_is_a_content_with_five_versions_a_key_at_least() {
        let read = policy::read(POLICY).unwrap();
        let mut keys = 0;
        for team in TEAMS {
            let script = Script::read(team).unwrap();
            let mut fragments = BTreeMap::new();
            let mut revisions: BTreeMap<String, Vec<Digest>> = BTreeMap::new();
            for fragment in &script.fragment {
                for body in &fragment.revisions {
                    let row = Fragment {
                        fragment_id: uuid::Uuid::nil(),
                        digest: fragment_digest(&fragment.name, body),
                        name: fragment.name.clone(),
                        owning_group: fragment.group.clone(),
                        body: body.clone(),
                        author: Actor::person("dee"),
                        created_at: Timestamp(0),
                    };
                    revisions.entry(fragment.name.clone()).or_default().push(row.digest);
                    fragments.insert(row.digest, row);
                }
            }
            for key in &script.key {
                keys += 1;
                assert!(key.version.len() >= 5, "{}", key.id);
                assert!(!policy::group_members(&read, &key.group).is_empty(), "{}", key.group);
                let mut before = None;
                let mut digests = std::collections::BTreeSet::new();
                for version in &key.version {
                    let made = version.content(&key.id, before.as_ref(), &revisions).unwrap();
                    let checked = content::check(made.clone(), &fragments);
                    let checked = checked.unwrap_or_else(|e| panic!("{} {:?}: {e}", key.id, version.why));
                    assert_eq!(checked.warnings, Vec::<String>::new(), "{} {:?}", key.id, version.why);
                    assert!(digests.insert(checked.digest), "{} {:?} changes nothing", key.id, version.why);
                    before = Some(made);
                }
            }
        }
        assert!((8..=14).contains(&keys), "{keys}");
    }
}
