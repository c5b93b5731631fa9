//! Where a rollback goes: back to what served everybody before, never to what was rolled away or killed (R12).

use crate::model::{Code, Digest, Refusal, Standing};

/// Whether a digest served everybody here and was neither rolled away nor killed since: units may get it as the baseline of a
/// revive.
pub fn proven(standing: Standing) -> bool {
    standing.reached_all && !standing.rolled_away && !standing.killed_away
}

/// The digest that a person names. Whether it may serve is for `may_serve` to say.
///
/// # Errors
/// `no_change` for the digest that serves; `no_history` where it never served everybody here; `wrong_state` where it was killed.
pub fn rollback_named(current: &Digest, named: Digest, standing: Standing) -> Result<Digest, Refusal> {
    if named == *current {
        return Err(Refusal::new(Code::NoChange, "this is the digest that serves now"));
    }
    if !standing.reached_all {
        return Err(Refusal::new(Code::NoHistory, "this digest never served everybody here")
            .hint("open a promotion to serve it, or leave the digest out to go back to what served before"));
    }
    if standing.killed_away {
        return Err(Refusal::new(Code::WrongState, "this digest was killed here and not revived since")
            .hint("serving it again takes a promotion with its approvals"));
    }
    Ok(named)
}

/// The digest that a walk back through what served everybody found.
///
/// # Errors
/// `no_history` where it found none.
pub fn rollback_walked(found: Option<Digest>) -> Result<Digest, Refusal> {
    found.ok_or_else(|| {
        Refusal::new(Code::NoHistory, "nothing that is still good served everybody here before this digest")
            .hint("name a digest that did, promote another one, or kill")
    })
}
