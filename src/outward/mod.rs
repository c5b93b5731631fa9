//! What the server calls by itself: receivers of notices, issuers of identities.

mod fetch;
mod oidc;
mod post;
pub mod webhooks;

pub use oidc::Issuers;
pub use post::{Post, check_url};
