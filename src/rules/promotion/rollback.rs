//! Where a rollback goes: back to what served everybody before, never to what was rolled away (R12).

use super::is_undo;
use crate::model::{Act, BasisPoints, Code, Digest, Promotion, Refusal};

/// Whether a digest reached 100 % by an applied promotion of `history` (one pointer's, oldest first).
pub fn reached_all(history: &[Promotion], digest: &Digest) -> bool {
    history.iter().any(|row| serves_all(row) && row.to_digest == Some(*digest))
}

fn serves_all(row: &Promotion) -> bool {
    let moves = matches!(row.act, Act::Promote | Act::Step | Act::Rollback | Act::Revive) && !is_undo(row);
    moves && row.rollout_pct == BasisPoints::ALL
}

/// Whether a rollback left this digest: the walk goes past it.
pub fn rolled_away(history: &[Promotion], digest: &Digest) -> bool {
    history.iter().any(|row| row.act == Act::Rollback && row.from_digest == Some(*digest))
}

/// Whether this digest was killed and has not come to serve again since, by a promotion, a revive or an undone kill.
pub fn killed_away(history: &[Promotion], digest: &Digest) -> bool {
    let last = |found: &dyn Fn(&Promotion) -> bool| history.iter().rposition(found);
    let killed = last(&|row| row.act == Act::Kill && row.from_digest == Some(*digest));
    let back = last(&|row| matches!(row.act, Act::Promote | Act::Revive) && row.to_digest == Some(*digest));
    killed > back
}

/// The digest that a rollback goes to: `named`, or by walking back from before the first apply of `current`, past those that are
/// `unfit` (quarantined, discarded). Whether it may serve is for `may_serve` to say.
///
/// # Errors
/// `no_history` where the walk finds nothing or the named digest never served everybody here; `no_change` for the digest that
/// serves; `wrong_state` for one that was killed.
pub fn rollback_target(
    history: &[Promotion],
    current: &Digest,
    named: Option<Digest>,
    unfit: &dyn Fn(&Digest) -> bool,
) -> Result<Digest, Refusal> {
    let Some(named) = named else { return walk(history, current, unfit) };
    if named == *current {
        return Err(Refusal::new(Code::NoChange, "this is the digest that serves now"));
    }
    if !reached_all(history, &named) {
        return Err(Refusal::new(Code::NoHistory, "this digest never served everybody here")
            .hint("open a promotion to serve it, or leave the digest out to go back to what served before"));
    }
    if killed_away(history, &named) {
        return Err(Refusal::new(Code::WrongState, "this digest was killed here and not revived since")
            .hint("serving it again takes a promotion with its approvals"));
    }
    Ok(named)
}

fn walk(history: &[Promotion], current: &Digest, unfit: &dyn Fn(&Digest) -> bool) -> Result<Digest, Refusal> {
    let first = history.iter().position(|row| row.act != Act::Kill && row.to_digest == Some(*current));
    let before = &history[..first.unwrap_or(0)];
    let served = before.iter().rev().filter(|row| serves_all(row)).filter_map(|row| row.to_digest);
    let good =
        |digest: &Digest| digest != current && !unfit(digest) && !rolled_away(history, digest) && !killed_away(history, digest);
    served.into_iter().find(good).ok_or_else(|| {
        Refusal::new(Code::NoHistory, "nothing that is still good served everybody here before this digest")
            .hint("name a digest that did, promote another one, or kill")
    })
}
