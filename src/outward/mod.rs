//! What the server calls by itself: receivers of notices.

mod post;
pub mod webhooks;

pub use post::{Post, check_url};
