//! `audit checkpoint|export|accept-head`, and `audit verify` of an export without a registry.

use super::audit::progress;
use super::context::{Acts, Context};
use super::exit::{Done, Exit, Failure};
use super::output::{line, lines, note};
use crate::client::{Download, Pin, accept};
use crate::model::{AuditEvent, ChainHead, Environment, Timestamp};
use crate::rules::chain::{self, Break, EMPTY};
use crate::rules::checkpoint::Checkpoint;
use crate::rules::hidden::is_blank;
use crate::rules::note::PublicKey;
use crate::wire::world::{AskReport, ExportAudit};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

/// Print the signed head of the trail, or the key that signs it
#[derive(Debug, clap::Args)]
pub struct CheckpointArgs {
    /// Print the public key instead
    #[arg(long)]
    pub key: bool,
}

impl CheckpointArgs {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        if self.key {
            let key = client.audit_key().await?;
            return context.out.answer(&key, |_, key| line(&key.key));
        }
        let key = public_key(&client.audit_key().await?.key)?;
        let signed = client.audit_checkpoint().await?;
        Checkpoint::open(&signed, &key).map_err(|why| Failure::new(Exit::Integrity, why.to_string()))?;
        context.out.text(&lines(&signed))
    }
}

/// Print the whole trail, one event a line
#[derive(Debug, clap::Args)]
pub struct Export {
    /// Only events after this number
    #[arg(long, value_name = "N")]
    pub after: Option<u64>,
    /// Write a new file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl Export {
    pub async fn run(self, context: &Context) -> Done {
        let download = context.client()?.audit_export(&ExportAudit { after: self.after }).await?;
        take(context, download, self.out.as_deref()).await
    }
}

/// Print what came to serve in a time, with authors, approvers, gates and reasons, as CSV
#[derive(Debug, clap::Args)]
pub struct Report {
    /// The first day or moment: 2026-10-01, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Timestamp,
    /// The first day or moment after: 2027-01-01
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Timestamp,
    /// Only this environment; all protected ones unless given
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Option<Environment>,
    /// Write a new file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl Report {
    pub async fn run(self, context: &Context) -> Done {
        let ask = AskReport { from: self.from, to: self.to, environment: self.env };
        let download = context.client()?.audit_report(&ask).await?;
        take(context, download, self.out.as_deref()).await
    }
}

/// A moment, or the beginning of a day in UTC.
fn moment(text: &str) -> Result<Timestamp, String> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| "is neither a day like 2026-10-01 nor RFC 3339".to_owned())
}

/// Writes a long answer as it comes; a terminal gets it made visible.
async fn take(context: &Context, mut download: Download, out: Option<&Path>) -> Done {
    let mut file = match out {
        Some(path) => Some(fs::File::create_new(path).map_err(|why| named(path, &why))?),
        None => None,
    };
    while let Some(piece) = download.next().await? {
        match &mut file {
            Some(file) => file.write_all(&piece)?,
            None if context.out.terminal => {
                context.out.raw(lines(&String::from_utf8_lossy(&piece).replace('\r', "")).as_bytes())?;
            }
            None => context.out.raw(&piece)?,
        }
    }
    if let (Some(file), Some(path)) = (file, out) {
        file.sync_all()?;
        note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

/// Take the registry's present trail for the true one, after its database was put back rightfully
#[derive(Debug, clap::Args)]
pub struct AcceptHead {
    /// Why: kept on this machine beside what was seen before
    #[arg(long)]
    pub rationale: String,
    /// Do not ask
    #[arg(long)]
    pub yes: bool,
}

impl AcceptHead {
    pub async fn run(self, context: &Context) -> Done {
        if is_blank(&self.rationale) {
            return Err(Failure::usage("--rationale is blank").hint("say who put the database back, and why"));
        }
        let (client, pins) = (context.client()?, context.pins());
        let change = accept::look(&client, &pins).await?;
        let (now, before) = (&change.now, &change.before);
        if now.head.seq == 0 {
            return Err(Failure::failed("this registry has no events: there is nothing to accept"));
        }
        if before.as_ref().is_some_and(|before| before.head == now.head && before.genesis == now.genesis) {
            return context.out.answer(now, |_, _| "this is what was seen before; nothing was changed".into());
        }
        if let Some(before) = before {
            note(&format!("seen before: {}", described(before)));
        }
        note(&format!("stands now:  {}", described(now)));
        let acts = Acts { yes: self.yes, ..Acts::default() };
        context.confirm(true, "events that were seen before and are gone will raise no alarm again", "accept", &acts)?;
        accept::accept(&pins, &change, &self.rationale, context.clock.now())?;
        context.out.answer(now, |_, now| format!("accepted {}", described(now)))
    }
}

fn described(pin: &Pin) -> String {
    format!("#{} {} at {}, of the registry that begins with {}", pin.head.seq, pin.head.event_id, pin.head.at, pin.genesis)
}

/// Verifies an export against itself and against signed checkpoints, asking nobody.
pub fn verify_export(context: &Context, export: &Path, signed: &Signed) -> Done {
    let checkpoints = signed.read()?;
    let file = fs::File::open(export).map_err(|why| named(export, &why))?;
    let bar = progress();
    bar.set_length(checkpoints.last_key_value().map_or(0, |(seq, _)| *seq));
    let walked = walk(BufReader::new(file), &checkpoints, |seq| bar.set_position(seq));
    bar.finish_and_clear();
    let Walked { first, head, proven } = walked?;
    let events = head.seq.saturating_sub(first) + u64::from(head.seq != 0);
    if context.out.is_json() {
        return context.out.json(&serde_json::json!({ "events": events, "first": first, "head": head, "checkpoint": proven }));
    }
    let from = if first > 1 { format!(" from #{first}") } else { String::new() };
    let proven = match proven {
        Some(seq) => format!("agrees with the checkpoint of #{seq}, signed by the key given"),
        None => "no checkpoint was given: it holds together, and nothing says that it is the true one".to_owned(),
    };
    context.out.text(&format!("verified {events} events{from}, head {}\n{proven}", head.event_id))
}

/// What an export is compared with.
#[derive(Debug, Default, clap::Args)]
pub struct Signed {
    /// The registry's public key, or a file of it: got another way than the export
    #[arg(long, value_name = "KEY", requires = "checkpoint")]
    pub key: Option<String>,
    /// A signed checkpoint, or a directory of them
    #[arg(long, value_name = "FILE", requires = "key")]
    pub checkpoint: Vec<PathBuf>,
}

impl Signed {
    /// The checkpoints by the number that each is of.
    pub fn read(&self) -> Result<BTreeMap<u64, Checkpoint>, Failure> {
        let Some(key) = &self.key else { return Ok(BTreeMap::new()) };
        let key = public_key(key)?;
        let mut found = BTreeMap::new();
        for path in &self.checkpoint {
            for file in files(path)? {
                let text = fs::read_to_string(&file).map_err(|why| named(&file, &why))?;
                let read = Checkpoint::open(&text, &key);
                let read = read.map_err(|why| Failure::new(Exit::Integrity, format!("{}: {why}", file.display())))?;
                let other = found.insert(read.head.seq, read.clone());
                if other.is_some_and(|other: Checkpoint| other.head.event_id != read.head.event_id) {
                    let why = format!("two different trails were signed up to #{}", read.head.seq);
                    return Err(Failure::new(Exit::Integrity, why));
                }
            }
        }
        Ok(found)
    }
}

/// A file, or the checkpoints of a folder.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|why| named(path, &why))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|kind| kind == "checkpoint"));
    files.sort();
    if files.is_empty() {
        return Err(Failure::usage(format!("{} holds no file *.checkpoint", path.display())));
    }
    Ok(files)
}

/// A public key, or the one that a file holds.
pub fn public_key(text: &str) -> Result<PublicKey, Failure> {
    if let Ok(key) = text.parse() {
        return Ok(key);
    }
    let held = fs::read_to_string(text)
        .map_err(|why| Failure::usage(format!("--key {text:?} is neither a public key nor a file ({why})")))?;
    held.parse().map_err(|why| Failure::usage(format!("{text}: {why}")))
}

fn named(path: &Path, why: &std::io::Error) -> Failure {
    Failure::failed(format!("{}: {why}", path.display()))
}

/// What a walk over an export found.
struct Walked {
    first: u64,
    head: ChainHead,
    /// The last checkpoint that an event of the export is the one of.
    proven: Option<u64>,
}

fn walk(
    export: impl std::io::BufRead,
    checkpoints: &BTreeMap<u64, Checkpoint>,
    mut seen: impl FnMut(u64),
) -> Result<Walked, Failure> {
    let (mut head, mut first, mut proven) = (EMPTY, 0, None);
    for text in export.lines() {
        let text = text?;
        let event: AuditEvent = serde_json::from_str(&text).map_err(|why| {
            broken(&Break { seq: head.seq + 1, why: format!("what stands in its place is no audit event: {why}") })
        })?;
        if first == 0 {
            first = event.seq;
            if first > 1 {
                head = ChainHead { seq: first - 1, event_id: event.prev_hash, at: event.at };
            }
        }
        head = chain::verify(&head, &event).map_err(|at| broken(&at))?;
        compare(checkpoints, &head).map_err(|at| broken(&at))?;
        if checkpoints.contains_key(&head.seq) {
            proven = Some(head.seq);
        }
        seen(head.seq);
    }
    match checkpoints.last_key_value() {
        Some((last, _)) if *last > head.seq => {
            let why = format!("the signed checkpoint of #{last} says that it was there, and the export ends before it");
            Err(broken(&Break { seq: head.seq + 1, why }))
        }
        Some((last, _)) if *last < first => {
            Err(Failure::usage(format!("the export begins with #{first}, after every checkpoint given (the last is of #{last})")))
        }
        _ => Ok(Walked { first, head, proven }),
    }
}

/// Compares a verified event with the checkpoints that say something of it.
pub fn compare(checkpoints: &BTreeMap<u64, Checkpoint>, at: &ChainHead) -> Result<(), Break> {
    if at.seq == 1 {
        return checkpoints.values().try_for_each(|checkpoint| checkpoint.agrees(at));
    }
    checkpoints.get(&at.seq).map_or(Ok(()), |checkpoint| checkpoint.agrees(at))
}

fn broken(at: &Break) -> Failure {
    Failure::new(Exit::Integrity, format!("the audit chain is broken at #{}: {}", at.seq, at.why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::audit::AuditBody;
    use crate::model::{Action, Actor, Digest, Subject};
    use crate::rules::checkpoint::origin;
    use crate::rules::note::Signer;

    fn events(count: u64) -> Vec<AuditEvent> {
        let mut head = EMPTY;
        let made = (1..=count).map(|n| {
            let detail = serde_json::json!({ "n": n }).as_object().cloned().unwrap();
            let (actor, subject) = (Actor::person("ana"), Subject("key:a.b".into()));
            let body = AuditBody { actor, action: Action::KeyUpdate, subject, detail, nonce: "0".repeat(32) };
            let event = chain::seal(&head, Timestamp(1), body);
            head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
            event
        });
        made.collect()
    }

    fn export(events: &[AuditEvent]) -> String {
        events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
    }

    fn checkpoints(events: &[AuditEvent], at: &[usize]) -> BTreeMap<u64, Checkpoint> {
        let of = |event: &AuditEvent| ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
        at.iter()
            .map(|seq| {
                let head = of(&events[seq - 1]);
                (head.seq, Checkpoint { registry: events[0].event_id, head, bundle: None, mirror: None })
            })
            .collect()
    }

    fn walked(text: &str, checkpoints: &BTreeMap<u64, Checkpoint>) -> Result<(u64, u64, Option<u64>), String> {
        walk(text.as_bytes(), checkpoints, |_| ()).map(|w| (w.first, w.head.seq, w.proven)).map_err(|failure| failure.message)
    }

    #[test]
    fn an_export_is_verified_from_its_first_event_and_against_what_was_signed() {
        let all = events(6);
        assert_eq!(walked(&export(&all), &BTreeMap::new()), Ok((1, 6, None)));
        assert_eq!(walked(&export(&all), &checkpoints(&all, &[2, 5])), Ok((1, 6, Some(5))));
        assert_eq!(walked(&export(&all[3..]), &checkpoints(&all, &[2, 5])), Ok((4, 6, Some(5))));
        assert_eq!(walked("", &BTreeMap::new()), Ok((0, 0, None)));
    }

    #[test]
    fn the_first_bad_event_of_an_export_is_named() {
        let all = events(6);
        let signed = checkpoints(&all, &[5]);
        let bad = |text: &str, at: &str| {
            let said = walked(text, &signed).unwrap_err();
            assert!(said.contains(&format!("broken at #{at}:")), "{said}");
        };
        bad(&export(&all).replace("\"n\":3", "\"n\":4"), "3");
        bad(&export(&[&all[..2], &all[3..]].concat()), "3");
        bad(&export(&all[..4]), "5");
        bad(&format!("{}garbage\n", export(&all[..2])), "3");
        bad("", "1");
        let rewritten: Vec<AuditEvent> = {
            let mut other = all.clone();
            let mut head = ChainHead { seq: 3, event_id: all[2].event_id, at: all[2].at };
            for (n, event) in other.iter_mut().enumerate().skip(3) {
                let mut body = event.body.clone().unwrap();
                body.detail.insert("n".into(), (n * 100).into());
                *event = chain::seal(&head, event.at, body);
                head = ChainHead { seq: event.seq, event_id: event.event_id, at: event.at };
            }
            other
        };
        assert_eq!(walked(&export(&rewritten), &BTreeMap::new()), Ok((1, 6, None)), "it holds together by itself");
        bad(&export(&rewritten), "5");
        let other = BTreeMap::from([(5, Checkpoint { registry: Digest([1; 32]), ..signed[&5].clone() })]);
        assert!(walked(&export(&all), &other).unwrap_err().contains("broken at #1:"));
    }

    #[test]
    fn checkpoints_are_read_from_files_and_folders_and_must_be_signed_by_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let (all, signer) = (events(3), Signer::new(&[7; 32]));
        let key = signer.public(&origin(&all[0].event_id)).to_string();
        for (seq, checkpoint) in checkpoints(&all, &[1, 3]) {
            fs::write(dir.path().join(format!("{seq}.checkpoint")), checkpoint.sign(&signer)).unwrap();
        }
        let signed = |key: &str| Signed { key: Some(key.to_owned()), checkpoint: vec![dir.path().to_owned()] };
        assert_eq!(signed(&key).read().unwrap().into_keys().collect::<Vec<_>>(), [1, 3]);
        let stranger = Signer::new(&[8; 32]).public(&origin(&all[0].event_id)).to_string();
        assert_eq!(signed(&stranger).read().unwrap_err().exit, Exit::Integrity);
        let file = dir.path().join("key");
        fs::write(&file, format!("{key}\n")).unwrap();
        assert_eq!(public_key(file.to_str().unwrap()).unwrap().to_string(), key);
        assert_eq!(public_key("nonsense").unwrap_err().exit, Exit::Usage);
    }
}
