//! What a change would do to units, before anybody opens it.

use super::Registry;
use super::rollback::unfit;
use super::view::reach;
use crate::model::{BasisPoints, ConfigKey, Digest, EnvironmentPointer, PlanStep, Refusal, Timestamp};
use crate::rules::preview::Change;
use crate::rules::promotion::{stepped, usual_baseline};
use crate::storage::Conn;
use crate::wire::pointers::Reach;
use crate::wire::promotions::{AskPreview, ExpectedFlow, Preview, UnitFlow};
use std::collections::BTreeSet;

/// So many units are counted at once.
const UNITS: usize = 10_000;

/// A change that is asked about, with all that decides what units would get.
pub struct Previewed {
    key: ConfigKey,
    before: Option<EnvironmentPointer>,
    after: EnvironmentPointer,
    unfit: BTreeSet<Digest>,
    distrusted: bool,
    unit_hashes: Vec<String>,
    reach: Reach,
}

/// Reads what decides what would happen to units if the pointer came to the wished digest and share. Says nothing about whether it
/// may.
///
/// # Errors
/// `invalid` where there is nothing to come to, or a unit hash is none.
pub async fn preview(registry: &Registry, conn: &mut Conn<'_>, key: ConfigKey, ask: AskPreview) -> Result<Previewed, Refusal> {
    checked(&ask.unit_hashes)?;
    let before = conn.pointer_get(&key.key_id, &ask.environment).await?;
    if let Some(to) = &ask.to_digest {
        let known = conn.version_get(to).await?.is_some_and(|version| version.key_id == key.key_id);
        if !known {
            return Err(Refusal::invalid("/to_digest", format!("{} has no version {to}", key.key_id)));
        }
    }
    let after = after(&key, before.as_ref(), &ask, registry.clock.now())?;
    let named = [before.as_ref().and_then(|p| p.baseline_digest), after.baseline_digest, key.safe_default_digest];
    let unfit = unfit(conn, named.into_iter().flatten()).await?;
    let distrusted = match key.safe_default_digest {
        Some(safe) => conn.applied_distrusted(&key.key_id, &ask.environment, &safe).await?,
        None => false,
    };
    let reach = reach(registry, &key, &ask.environment);
    Ok(Previewed { key, before, after, unfit, distrusted, unit_hashes: ask.unit_hashes, reach })
}

impl Previewed {
    /// How many units there are to look at.
    pub fn units(&self) -> usize {
        self.unit_hashes.len()
    }

    /// What each of the units would get: a few microseconds a unit.
    pub fn counted(self) -> Preview {
        let Self { key, before, after, unfit, distrusted, unit_hashes, reach } = self;
        let quarantined = |digest: &Digest| unfit.contains(digest);
        let change = Change { key: &key, before: before.as_ref(), after: &after, quarantined: &quarantined, distrusted };
        let expected = change.expected().into_iter().map(|((from, to), percent)| ExpectedFlow { from, to, percent }).collect();
        let counted = change.units(unit_hashes.iter().map(String::as_str));
        let units = counted.into_iter().map(|((from, to), units)| UnitFlow { from, to, units }).collect();
        Preview { before, after, expected, units, reach }
    }
}

fn checked(unit_hashes: &[String]) -> Result<(), Refusal> {
    if unit_hashes.len() > UNITS {
        return Err(Refusal::invalid("/unit_hashes", format!("has more than {UNITS} units")).hint("send them in parts"));
    }
    let hash = |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    match unit_hashes.iter().position(|text| !hash(text)) {
        Some(place) => Err(Refusal::invalid(format!("/unit_hashes/{place}"), "is not 64 lower-case hex digits")
            .hint("unit hashes are pseudonyms that the registry makes, not the units themselves")),
        None => Ok(()),
    }
}

/// The pointer after the change, by the rules of a step where the digest stays and of a promotion where it is another.
fn after(
    key: &ConfigKey,
    before: Option<&EnvironmentPointer>,
    ask: &AskPreview,
    now: Timestamp,
) -> Result<EnvironmentPointer, Refusal> {
    let share = ask.percent.unwrap_or(BasisPoints::ALL);
    let to = ask.to_digest.or(before.map(|pointer| pointer.digest));
    let Some(to) = to else {
        return Err(Refusal::invalid("/to_digest", "is missing: nothing serves there yet"));
    };
    if let Some(same) = before.filter(|pointer| pointer.digest == to && !pointer.killed) {
        return Ok(stepped(same, share, now));
    }
    let baseline = before.and_then(|pointer| usual_baseline(key, pointer, pointer.killed));
    Ok(EnvironmentPointer {
        key_id: key.key_id.clone(),
        environment: ask.environment.clone(),
        digest: to,
        rollout_pct: share,
        killed: false,
        updated_at: now,
        revision: before.map_or(0, |pointer| pointer.revision) + 1,
        baseline_digest: baseline.filter(|_| share < BasisPoints::ALL),
        held: false,
        plan: vec![PlanStep(share, None)],
        next_step_at: None,
    })
}
