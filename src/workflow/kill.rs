//! The kill switch (R13): works whatever else is broken.

use crate::model::{Environment, KeyId};
use crate::wire::pointers as wire;

/// POST /v1/keys/{key}/pointers/{environment}/kill.
#[derive(Debug, Clone)]
pub struct KillPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Kill,
}
