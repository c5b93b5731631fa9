//! Saving what was found, oldest first: keys where missing, then one version for each content that is new.

use crate::cli::audit::progress;
use crate::cli::context::Context;
use crate::cli::exit::{Done, Exit, Failure};
use crate::cli::output::{line, note, plural};
use crate::client::{Client, ClientError};
use crate::model::{
    Actor, Code, Content, Digest, Environment, Format, KeyId, PromotionState, Timestamp, UnitType, Variable, VariableType,
};
use crate::rules::{canonical, content, template};
use crate::wire::keys::CreateKey;
use crate::wire::promotions::{ListPromotions, OpenPromotion};
use crate::wire::versions::{CreateVersion, Imported};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// One content of a file at one moment.
#[derive(Debug, Clone)]
pub struct Found {
    /// The file, as people know it.
    pub path: String,
    /// Its key.
    pub key: KeyId,
    /// Who wrote it.
    pub author: Actor,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub rationale: String,
    /// Its text.
    pub text: String,
}

/// Where to and how.
#[derive(Debug, Clone, clap::Args)]
pub struct Target {
    /// What keys begin with, like fabric
    #[arg(long, value_name = "NAMESPACE")]
    pub namespace: String,
    /// The policy's group that owns new keys; your only group unless given
    #[arg(long)]
    pub group: Option<String>,
    /// Only files that fit, like *.md or prompts/**/*.txt
    #[arg(long)]
    pub glob: Option<String>,
    /// Open a promotion of each key's newest version to this environment
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<Environment>,
}

/// A file, or a content of one, that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What an import did.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Files that became keys.
    pub files: usize,
    /// Their keys.
    pub keys: usize,
    /// Their distinct contents.
    pub versions: usize,
    /// Those that were not there before.
    pub new_versions: usize,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// Promotions that were opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<usize>,
}

/// Saves everything that is new, in the order given, and prints what was done.
///
/// `faults` are files that should have been imported and could not be: they are reported, and the command fails after
/// everything else was saved.
pub async fn load(
    context: &Context,
    target: &Target,
    found: Vec<Found>,
    mut skipped: Vec<Skipped>,
    faults: Vec<Skipped>,
) -> Done {
    let client = context.client()?;
    let (wanted, unfit) = contents(found);
    skipped.extend(unfit);
    let keys: BTreeSet<KeyId> = wanted.iter().map(|w| w.found.key.clone()).collect();
    let files = wanted.iter().map(|w| w.found.path.as_str()).collect::<BTreeSet<_>>().len();
    let mut report = Report { files, keys: keys.len(), versions: wanted.len(), ..Report::default() };
    let there = ready_keys(context, &client, target, &keys).await?;
    let bar = progress();
    bar.set_length(wanted.len() as u64);
    for want in &wanted {
        bar.set_message(want.found.key.to_string());
        if !there.contains(&want.digest) {
            save(context, &client, want).await.map_err(|e| stopped(e, want, &report))?;
            report.new_versions += 1;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(environment) = &target.env {
        report.opened = Some(open_newest(context, &client, environment, &wanted).await?);
    }
    let broken = faults.len();
    for fault in &faults {
        note(&format!("error: {}: {}", line(&fault.path), line(&fault.reason)));
    }
    skipped.extend(faults);
    report.skipped = skipped;
    context.out.answer(&report, |_, report| report_text(report))?;
    if broken > 0 {
        return Err(Failure::failed(format!("{broken} contents could not be imported; everything else was")));
    }
    Ok(())
}

fn report_text(report: &Report) -> String {
    let [files, keys, versions] =
        [(report.files, "file"), (report.keys, "key"), (report.versions, "version")].map(|(count, what)| plural(count, what));
    let mut text = format!("{files}, {keys}, {versions}, {} new", report.new_versions);
    if let Some(opened) = report.opened {
        let _ = write!(text, ", {} opened", plural(opened, "promotion"));
    }
    for skipped in &report.skipped {
        let _ = write!(text, "\nskipped {}: {}", line(&skipped.path), line(&skipped.reason));
    }
    text
}

fn stopped(failure: Failure, want: &Wanted, report: &Report) -> Failure {
    let place = format!("{} of {}", line(&want.found.path), want.found.at);
    let message = format!("{place}: {}; new versions that were saved before it: {}", failure.message, report.new_versions);
    Failure { message, ..failure }
}

/// A content to be saved.
struct Wanted {
    found: Found,
    content: Content,
    digest: Digest,
}

/// Each distinct content once, where it first stands; and what no key can hold.
fn contents(found: Vec<Found>) -> (Vec<Wanted>, Vec<Skipped>) {
    let (mut seen, mut as_text) = (BTreeSet::new(), BTreeSet::new());
    let (mut wanted, mut unfit) = (Vec::new(), Vec::new());
    for found in found {
        let content = content_of(&found.key, &found.text);
        if content.format == Format::Text && has_tag(&found.text) {
            as_text.insert(found.path.clone());
        }
        let digest = canonical::content_digest(&content);
        if !seen.insert(digest) {
            continue;
        }
        match content::check(content.clone(), &BTreeMap::new()) {
            Ok(_) => wanted.push(Wanted { found, content, digest }),
            Err(refusal) => unfit.push(Skipped { path: found.path, reason: refusal.to_string() }),
        }
    }
    for path in as_text {
        note(&format!("{}: has tags that are more than {{{{name}}}}, so it is imported as text, not as template", line(&path)));
    }
    (wanted, unfit)
}

fn has_tag(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|tag| text.contains(tag))
}

/// A template only where there is a tag and every one is a bare `{{name}}` (declared in the order of first use); else text.
fn content_of(key: &KeyId, text: &str) -> Content {
    let mut content = Content {
        key: key.clone(),
        format: Format::Text,
        body: Value::String(text.to_owned()),
        model_pin: None,
        parameters: Map::new(),
        fragments: BTreeMap::new(),
        variables: Vec::new(),
        schema: 1,
    };
    let names = template::bare_names(text).unwrap_or_default();
    if names.is_empty() {
        return content;
    }
    let variable = |name: String| Variable { name, kind: VariableType::String, required: true, default: Value::Null };
    let as_template =
        Content { format: Format::Template, variables: names.into_iter().map(variable).collect(), ..content.clone() };
    // A name that the template language keeps for itself makes it text too.
    if content::check(as_template.clone(), &BTreeMap::new()).is_ok() {
        content = as_template;
    }
    content
}

/// Makes the keys that are missing; the digests that are there already.
async fn ready_keys(
    context: &Context,
    client: &Client,
    target: &Target,
    keys: &BTreeSet<KeyId>,
) -> Result<BTreeSet<Digest>, Failure> {
    let mut there = BTreeSet::new();
    let mut group = target.group.clone();
    for key in keys {
        match client.versions(key).await {
            Ok(rows) => there.extend(rows.into_iter().filter(|r| !r.version.discarded).map(|r| r.version.digest)),
            Err(e) if e.code() == Some(Code::NotFound) => {
                if group.is_none() {
                    group = Some(only_group(client).await?);
                }
                let body = CreateKey {
                    key_id: key.clone(),
                    owning_group: group.clone().unwrap_or_default(),
                    unit_type: UnitType::default(),
                    confidential: false,
                    description: String::new(),
                };
                retried(async || client.create_key(&body, &context.clock.uuid().to_string()).await).await?;
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(there)
}

async fn only_group(client: &Client) -> Result<String, Failure> {
    let me = client.me().await?;
    match &me.groups[..] {
        [only] => Ok(only.clone()),
        groups => {
            let why = if groups.is_empty() { "you are in no group".into() } else { format!("you are in {}", groups.join(", ")) };
            Err(Failure::usage(format!("who shall own the new keys? {why}")).hint("give --group GROUP"))
        }
    }
}

async fn save(context: &Context, client: &Client, want: &Wanted) -> Result<(), Failure> {
    let imported = Imported { author: want.found.author.clone(), created_at: want.found.at };
    let body = CreateVersion { content: want.content.clone(), rationale: want.found.rationale.clone(), imported: Some(imported) };
    let idempotency = context.clock.uuid().to_string();
    let saved = retried(async || client.create_version(&want.found.key, &body, &idempotency).await).await?;
    if saved.version.digest != want.digest {
        return Err(Failure::new(
            Exit::Integrity,
            format!("the registry names it {}, not {}", saved.version.digest, want.digest),
        ));
    }
    Ok(())
}

/// Sends once more (with the same idempotency key) where it is unknown whether it took effect.
async fn retried<T>(mut call: impl AsyncFnMut() -> Result<T, ClientError>) -> Result<T, Failure> {
    match call().await {
        Err(e) if e.outcome_unknown() => Ok(call().await?),
        other => Ok(other?),
    }
}

/// Opens (never applies) a promotion of each key's newest content, unless it serves there or is open already.
async fn open_newest(context: &Context, client: &Client, environment: &Environment, wanted: &[Wanted]) -> Result<usize, Failure> {
    let newest: BTreeMap<&KeyId, &Wanted> = wanted.iter().map(|w| (&w.found.key, w)).collect();
    let mut opened = 0;
    for (key, want) in newest {
        let ask = ListPromotions {
            state: Some(PromotionState::Open.to_string()),
            environment: Some(environment.to_string()),
            key: Some(key.clone()),
            ..ListPromotions::default()
        };
        let waiting = client.all_promotions(&ask).await?;
        if waiting.iter().any(|v| v.promotion.to_digest == Some(want.digest)) {
            continue;
        }
        let body = OpenPromotion {
            key_id: key.clone(),
            environment: environment.clone(),
            to_digest: want.digest,
            rationale: format!("newest of the import: {}", want.found.rationale.lines().next().unwrap_or_default()),
            percent: None,
            plan: None,
            supersedes: None,
            change: None,
            revive: false,
            baseline: None,
            at_time: None,
            when_ready: false,
            break_glass: false,
            dry_run: false,
        };
        match client.open_promotion(&body, &context.clock.uuid().to_string()).await {
            Ok(_) => opened += 1,
            Err(e) if e.code() == Some(Code::NoChange) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_only_what_has_bare_names_alone() {
        let key: KeyId = "a.b".parse().unwrap();
        for (text, names) in [
            ("plain", None),
            ("Hi {{who}}, {{ what }} and {{who}}", Some(vec!["who", "what"])),
            ("{{ a.b }}", None),
            ("{{a}} {% if a %}x{% endif %}", None),
            ("{{a}} {# note #}", None),
            ("{{a|upper}}", None),
            ("{{_a}}", None),
            ("{{}}", None),
            ("{{a", None),
            ("{ \"a\": {} }", None),
            ("{{-a}}", None),
            ("{{true}}", None),
        ] {
            let content = content_of(&key, text);
            let declared: Vec<&str> = content.variables.iter().map(|v| v.name.as_str()).collect();
            match names {
                Some(names) => assert_eq!((content.format, declared), (Format::Template, names), "{text}"),
                None => assert_eq!(content.format, Format::Text, "{text}"),
            }
            assert_eq!(content.body, Value::String(text.into()));
        }
    }

    #[test]
    fn the_same_content_counts_once_for_a_key() {
        let found = |key: &str, text: &str| Found {
            path: format!("{key}.md"),
            key: format!("n.{key}").parse().unwrap(),
            author: "git:A".parse().unwrap(),
            at: Timestamp(0),
            rationale: "x".into(),
            text: text.into(),
        };
        let (wanted, unfit) = contents(vec![found("a", "1"), found("a", "2"), found("a", "1"), found("b", "1")]);
        assert_eq!((wanted.len(), unfit.len()), (3, 0));
    }
}
