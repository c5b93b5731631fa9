//! Differences of structure between two contents.

use super::hidden::Bodies;
use crate::model::Content;
use crate::model::diff::ContentDiff;

/// The whole difference of two contents of a key, with the bodies of the fragments that each pins; `from` is `None` where
/// there was nothing before.
pub fn content_diff(_from: Option<&Content>, _to: &Content, _from_bodies: &Bodies, _to_bodies: &Bodies) -> ContentDiff {
    unimplemented!()
}
