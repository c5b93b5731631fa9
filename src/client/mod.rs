//! Typed calls, the stream, the verified chain: everything that a program needs to talk to a registry over HTTP.
//!
//! One method a call, one file a resource. Every content that comes in is hashed again and refused on a mismatch.

pub mod accept;
mod audit;
mod check;
mod error;
mod fragments;
mod keys;
mod mirror;
mod oidc;
mod pages;
mod patrol;
mod people;
pub mod pins;
mod pointers;
mod promotions;
mod sse;
pub mod stream;
mod transport;
mod trust;
mod verify;
mod versions;
mod webhooks;
mod world;

pub use error::ClientError;
pub use oidc::{DeviceCode, Keeper, Renewing, device_login};
pub use pins::{Pin, Pins};
pub use stream::{Followed, follow};
pub use transport::{Client, ClientOptions, Download, init_tls};
pub use verify::{Contact, Verified, VerifyError, contact, verify_all, verify_from};

/// What every call gives back.
pub type Answer<T> = Result<T, ClientError>;
