//! Lists in pages: limits, and cursors that say nothing to their holder.

use crate::model::Refusal;
use crate::wire::Page;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Items per page unless asked.
pub const USUAL: u32 = 100;
/// The most items per page.
pub const MOST: u32 = 1000;

/// How many items a page shall have.
///
/// # Errors
/// Not 1 to 1000.
pub fn limit(asked: Option<u32>) -> Result<usize, Refusal> {
    match asked.unwrap_or(USUAL) {
        limit @ 1..=MOST => Ok(limit as usize),
        other => Err(Refusal::invalid("limit", format!("{other} is not between 1 and {MOST}"))),
    }
}

/// Where the page before ended.
///
/// # Errors
/// The cursor was not given by this list.
pub fn after<P: DeserializeOwned>(cursor: Option<&str>) -> Result<Option<P>, Refusal> {
    let Some(cursor) = cursor else { return Ok(None) };
    let place = hex::decode(cursor).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    place.map(Some).ok_or_else(|| Refusal::invalid("cursor", "is not one that this list gave"))
}

/// A page; `place` says where an item stands, for the next page's cursor. One item more than `limit` says that there is one.
pub fn page<T, P: Serialize>(mut items: Vec<T>, limit: usize, place: impl Fn(&T) -> P) -> Page<T> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| more).and_then(|item| cursor(&place(item)));
    Page { items, next_cursor }
}

/// The cursor of the page after a place.
pub fn cursor(place: &impl Serialize) -> Option<String> {
    serde_json::to_vec(place).ok().map(hex::encode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_to_the_whole_list() {
        let all: Vec<u32> = (0..10).collect();
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let from = after::<u32>(cursor.as_deref()).unwrap();
            let rest = all.iter().copied().filter(|n| from.is_none_or(|from| *n > from)).take(4).collect();
            let page = page(rest, 3, |n| *n);
            seen.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
    }

    #[test]
    fn limits_and_cursors_from_elsewhere_are_refused_by_name() {
        assert_eq!(limit(Some(0)).unwrap_err().path.as_deref(), Some("limit"));
        assert_eq!(limit(Some(1001)).unwrap_err().path.as_deref(), Some("limit"));
        assert_eq!((limit(None), limit(Some(1000))), (Ok(100), Ok(1000)));
        for bad in ["zz", "00", "7b7d"] {
            assert_eq!(after::<u32>(Some(bad)).unwrap_err().path.as_deref(), Some("cursor"));
        }
    }
}
