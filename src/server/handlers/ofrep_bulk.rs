//! OFREP's bulk answer, put together from pieces: what an entry says to everybody who gets it is written once, and kept with its
//! key as long as nothing about that key changes.
//!
//! Each piece has its SHA-256, so that the answer's tag takes a digest of digests instead of one of all the bytes, and who has
//! the answer already costs no answer.

use crate::model::{Digest, Refusal, UnitType};
use crate::rules::canonical::{Hashing, sha256};
use crate::server::respond::{json, written};
use crate::snapshot::Piece;
use crate::wire::ofrep::{Bulk, Evaluation, Failure, OPENING, rest};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::OnceLock;

/// Longer pieces are written each time.
const MOST_BYTES: usize = 16 * 1024;
/// Where there are more keys, nothing is kept: memory is for what serves.
const MOST_KEYS: usize = 5_000;

/// The units of one context, by type.
pub struct Units([Unit; 3]);

/// The unit of one type.
pub struct Unit {
    /// Its pseudonym, where the context has such a unit; or what is wrong with it.
    pub pseudonym: Result<Option<String>, String>,
    /// What each evaluation for it ends with.
    rest: Piece,
}

impl Units {
    /// The units whose pseudonyms are `pseudonym`'s to find; `shown`, they are told.
    pub fn of(pseudonym: impl Fn(UnitType) -> Result<Option<String>, String>, stale: bool, shown: bool) -> Result<Self, Refusal> {
        let unit = |unit_type| -> Result<Unit, Refusal> {
            let pseudonym = pseudonym(unit_type);
            let told = pseudonym.as_ref().ok().and_then(Option::as_deref).filter(|_| shown);
            let rest = Piece::of(written(rest(stale, told))?);
            Ok(Unit { pseudonym, rest })
        };
        Ok(Self([unit(UnitType::User)?, unit(UnitType::Session)?, unit(UnitType::Tenant)?]))
    }

    /// The unit of a type.
    pub fn get(&self, unit_type: UnitType) -> &Unit {
        let Self([user, session, tenant]) = self;
        match unit_type {
            UnitType::User => user,
            UnitType::Session => session,
            UnitType::Tenant => tenant,
        }
    }
}

/// The entries of a bulk answer, each in two pieces.
pub struct Entries<'a> {
    pieces: Vec<(Cow<'a, Piece>, Option<&'a Piece>)>,
    keeps: bool,
}

impl<'a> Entries<'a> {
    /// None yet, of a registry with so many keys.
    pub fn of(keys: usize) -> Self {
        Self { pieces: Vec::with_capacity(keys), keeps: keys <= MOST_KEYS }
    }

    /// A key that could not be evaluated.
    pub fn fail(&mut self, failure: &Failure) -> Result<(), Refusal> {
        let piece = Piece::of(written(serde_json::to_vec(failure))?);
        self.pieces.push((Cow::Owned(piece), None));
        Ok(())
    }

    /// A key that was evaluated for a unit; `room` is where what was written of the same evaluation stands, or will.
    pub fn add(
        &mut self,
        room: Option<&'a OnceLock<Piece>>,
        evaluation: impl FnOnce() -> Evaluation<'a>,
        unit: &'a Unit,
    ) -> Result<(), Refusal> {
        let head = if let Some(kept) = room.and_then(OnceLock::get) {
            Cow::Borrowed(kept)
        } else {
            let piece = Piece::of(written(evaluation().head())?);
            match room.filter(|_| self.keeps && piece.bytes.len() <= MOST_BYTES) {
                Some(room) => Cow::Borrowed(room.get_or_init(|| piece)),
                None => Cow::Owned(piece),
            }
        };
        self.pieces.push((head, Some(&unit.rest)));
        Ok(())
    }

    /// The answer, or 304 for who has it already; `around` is the answer without its entries. The tag covers the context too: the
    /// same values are no proof of the same unit.
    pub fn answer(&self, headers: &HeaderMap, context: &Map<String, Value>, around: &Bulk<'_>) -> Result<Response, Refusal> {
        let around = written(serde_json::to_vec(around))?;
        let tag = self.tag(&written(serde_json::to_vec(context))?, &around);
        let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
        let mut response = if known.split(',').map(str::trim).any(|one| one.trim_start_matches("W/") == tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            json(self.body(&around))
        };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        Ok(response)
    }

    /// SHA-256 of the digests of all that the answer is made of: of the context, of what lies around the entries, and of both
    /// pieces of each entry, in order. So it is the same for the same context and bytes alone.
    fn tag(&self, context: &[u8], around: &[u8]) -> String {
        let mut hashing = Hashing::default();
        for part in [context, around] {
            hashing.add(&sha256(part).0);
        }
        for (head, rest) in &self.pieces {
            hashing.add(&head.digest.0);
            hashing.add(&rest.map_or(Digest::ZERO, |rest| rest.digest).0);
        }
        format!("\"{}\"", hashing.end().hex())
    }

    fn body(&self, around: &[u8]) -> Vec<u8> {
        let (opening, ending) = around.split_at(OPENING.len().min(around.len()));
        let length =
            |(head, rest): &(Cow<'_, Piece>, Option<&Piece>)| head.bytes.len() + rest.map_or(0, |rest| rest.bytes.len()) + 1;
        let mut body = Vec::with_capacity(around.len() + self.pieces.iter().map(length).sum::<usize>());
        body.extend_from_slice(opening);
        for (at, (head, rest)) in self.pieces.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            body.extend_from_slice(&head.bytes);
            body.extend_from_slice(rest.map_or(&[], |rest| &rest.bytes));
        }
        body.extend_from_slice(ending);
        body
    }
}

#[cfg(test)]
mod tests;
