//! What came must hash to its digest and be what was asked for; what does not is never shown as reviewable.

use super::{Answer, ClientError};
use crate::model::{Content, Digest, Fragment, Promotion, Resolution};
use crate::rules::{canonical, statement::Statement};
use crate::wire::versions::VersionView;
use std::collections::BTreeMap;

fn broken<T>(text: String) -> Answer<T> {
    Err(ClientError::Integrity(text))
}

/// The digest that came is the one that was asked for.
pub(super) fn asked_for(asked: &Digest, came: &Digest) -> Answer<()> {
    if asked == came { Ok(()) } else { broken(format!("asked for {asked}, got {came}")) }
}

/// A version's content, columns and fragments agree with its digest.
pub(super) fn version(view: VersionView) -> Answer<VersionView> {
    let row = &view.version;
    view.fragment_bodies.iter().try_for_each(fragment)?;
    let Some(content) = &view.content else { return Ok(view) };
    hashes_to(content, &row.digest)?;
    if content.key != row.key_id || content.format != row.format || content.model_pin != row.model_pin {
        return broken(format!("the columns of {} differ from its content", row.digest));
    }
    for (name, pinned) in &content.fragments {
        if !view.fragment_bodies.iter().any(|f| f.name == *name && f.digest == *pinned) {
            return broken(format!("{} pins the fragment {name} at {pinned}, which did not come with it", row.digest));
        }
    }
    Ok(view)
}

/// A fragment's name and text hash to its digest.
pub(super) fn fragment(found: &Fragment) -> Answer<()> {
    let computed = canonical::fragment_digest(&found.name, &found.body);
    if computed == found.digest {
        return Ok(());
    }
    broken(format!("the fragment {} hashes to {computed}, not to {}", found.name, found.digest))
}

/// What a resolution serves hashes to the digest that it names, fragments included.
pub(super) fn resolution(answer: Resolution) -> Answer<Resolution> {
    match (&answer.content, &answer.digest) {
        (None, _) => Ok(answer),
        (Some(_), None) => broken("a content came without a digest".into()),
        (Some(content), Some(digest)) => {
            hashes_to(content, digest)?;
            served_fragments(content, &answer.fragments)?;
            Ok(answer)
        }
    }
}

fn served_fragments(content: &Content, bodies: &BTreeMap<String, String>) -> Answer<()> {
    for (name, pinned) in &content.fragments {
        let Some(body) = bodies.get(name) else { return broken(format!("the fragment {name} did not come")) };
        let computed = canonical::fragment_digest(name, body);
        if computed != *pinned {
            return broken(format!("the fragment {name} hashes to {computed}, not to {pinned}"));
        }
    }
    Ok(())
}

/// A promotion's statement is the one that its fields give.
pub(super) fn statement(promotion: &Promotion) -> Answer<()> {
    let computed = Statement::of(promotion).digest();
    if computed == promotion.statement {
        return Ok(());
    }
    let (id, stated) = (promotion.promotion_id, promotion.statement);
    broken(format!("promotion {id} states {stated}, but its fields give {computed}"))
}

fn hashes_to(content: &Content, digest: &Digest) -> Answer<()> {
    let computed = canonical::content_digest(content);
    if computed == *digest { Ok(()) } else { broken(format!("the content of {digest} hashes to {computed}")) }
}
