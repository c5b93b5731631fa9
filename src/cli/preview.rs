//! `preview`: who would move, and who loses what, before a promotion is opened.

use super::context::Context;
use super::exit::{Done, Failure};
use super::output::{Mark, Output, Table, line};
use super::select::KeyAt;
use crate::model::{BasisPoints, Digest, Environment};
use crate::wire::promotions::{AskPreview, Preview as Answer, UnitFlow};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Unit hashes sent at once.
const CHUNK: usize = 10_000;

/// Says which units a change would move, and what they would get and lose; changes nothing
#[derive(Debug, clap::Args)]
pub struct Preview {
    /// The version that would serve; KEY@ENVIRONMENT for another share of what serves
    #[arg(value_name = "KEY@SEL")]
    pub at: KeyAt,
    /// Where
    #[arg(long, value_name = "ENVIRONMENT")]
    pub env: Environment,
    /// To this share of units; everybody unless given
    #[arg(long, value_name = "P")]
    pub percent: Option<BasisPoints>,
    /// Count these units: a file with a unit hash on each line (64 hex digits)
    #[arg(long, value_name = "FILE")]
    pub units: Option<PathBuf>,
}

impl Preview {
    pub async fn run(self, context: &Context) -> Done {
        let client = context.client()?;
        let hashes = self.hashes()?;
        let to = self.at.find(&client).await?.version.digest;
        let mut ask = AskPreview {
            key_id: self.at.key.clone(),
            environment: self.env.clone(),
            to_digest: Some(to),
            percent: self.percent,
            unit_hashes: Vec::new(),
        };
        let mut counted: BTreeMap<(Option<Digest>, Option<Digest>), u64> = BTreeMap::new();
        let mut answer = None;
        for chunk in hashes.chunks(CHUNK).chain(hashes.is_empty().then_some(&[][..])) {
            ask.unit_hashes = chunk.to_vec();
            let part = client.preview(&ask).await?;
            for flow in &part.units {
                *counted.entry((flow.from, flow.to)).or_default() += flow.units;
            }
            answer = Some(part);
        }
        let Some(mut answer) = answer else { return Ok(()) };
        answer.units = counted.into_iter().map(|((from, to), units)| UnitFlow { from, to, units }).collect();
        context.out.answer(&answer, text)
    }

    /// The unit hashes of the file, blank lines left out.
    fn hashes(&self) -> Result<Vec<String>, Failure> {
        let Some(file) = &self.units else { return Ok(Vec::new()) };
        let named = |why: String| Failure::failed(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|e| named(e.to_string()))?;
        let mut hashes = Vec::new();
        for (number, hash) in text.lines().enumerate().map(|(number, hash)| (number + 1, hash.trim())) {
            let whole = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
            match (hash.is_empty(), whole) {
                (true, _) => {}
                (_, true) => hashes.push(hash.to_owned()),
                _ => {
                    return Err(
                        named(format!("line {number} is not a unit hash: {}", line(hash))).hint("64 lower-case hex digits")
                    );
                }
            }
        }
        Ok(hashes)
    }
}

fn text(out: &Output, answer: &Answer) -> String {
    let named = |digest: Option<Digest>| digest.map_or("no value".into(), |digest| digest.short());
    let now = answer.before.as_ref().map_or("nothing".into(), super::key::pointer_text);
    let mut text = format!("now    {now}\nafter  {}\n\n", super::key::pointer_text(&answer.after));
    let counted = !answer.units.is_empty();
    let mut table = Table::new(if counted { &["NOW", "AFTER", "EXPECTED", "UNITS"][..] } else { &["NOW", "AFTER", "EXPECTED"] });
    for flow in &answer.expected {
        let units = answer.units.iter().find(|u| (u.from, u.to) == (flow.from, flow.to)).map_or(0, |u| u.units);
        let row = [named(flow.from), named(flow.to), format!("{} %", flow.percent)];
        table.row(row.into_iter().chain(counted.then(|| units.to_string())));
    }
    text.push_str(&table.text(out));
    let moved: u64 = answer.units.iter().filter(|flow| flow.from != flow.to).map(|flow| flow.units).sum();
    if counted {
        let all: u64 = answer.units.iter().map(|flow| flow.units).sum();
        let _ = writeln!(text, "\n{} of {all} units move", out.mark(Mark::Bold, &moved.to_string()));
    }
    let _ = writeln!(text, "resolved {} times a minute", answer.reach.per_minute);
    text
}
