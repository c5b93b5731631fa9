//! Back to what served everybody before (R12).

use crate::model::{Environment, KeyId};
use crate::wire::pointers as wire;

/// POST /v1/keys/{key}/pointers/{environment}/rollback.
#[derive(Debug, Clone)]
pub struct RollbackPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Rollback,
}
