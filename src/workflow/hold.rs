//! Holding a rollout: safe, at once.

use crate::model::{Environment, KeyId};
use crate::wire::pointers as wire;

/// POST /v1/keys/{key}/pointers/{environment}/hold.
#[derive(Debug, Clone)]
pub struct HoldPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Act,
}
