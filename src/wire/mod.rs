//! What crosses the network beside the model: paths, envelopes, problems, stream events.

pub mod keys;
pub mod langfuse;
pub mod ofrep;
pub mod page;
pub mod paths;
pub mod people;
pub mod pointers;
pub mod problem;
pub mod promotions;
pub mod stream;
pub mod versions;
pub mod webhooks;
pub mod world;

pub use page::Page;
pub use problem::Problem;
