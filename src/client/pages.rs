//! All pages of a list, joined.

use super::{Answer, ClientError};
use crate::wire::Page;

/// Fetches page after page with `fetch(cursor)` until there is none, and joins the items.
///
/// # Errors
/// Whatever `fetch` gives; [`ClientError::Protocol`] when the server hands out the same cursor twice in a row.
pub(super) async fn all<T, F>(mut fetch: impl FnMut(Option<String>) -> F) -> Answer<Vec<T>>
where
    F: Future<Output = Answer<Page<T>>>,
{
    let mut items = Vec::new();
    let mut cursor = None;
    loop {
        let page = fetch(cursor.clone()).await?;
        items.extend(page.items);
        match page.next_cursor {
            None => return Ok(items),
            next if next == cursor => return Err(ClientError::Protocol("the list never ends".into())),
            next => cursor = next,
        }
    }
}

/// The query of a page whose list takes nothing but a cursor.
pub(super) fn at(cursor: Option<String>) -> Vec<(&'static str, String)> {
    cursor.into_iter().map(|c| ("cursor", c)).collect()
}
