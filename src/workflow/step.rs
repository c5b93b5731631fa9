//! The next share of an approved plan, or a smaller one at once (R28).

use crate::model::{Environment, KeyId};
use crate::wire::pointers as wire;

/// POST /v1/keys/{key}/pointers/{environment}/step.
#[derive(Debug, Clone)]
pub struct StepPointer {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::StepTo,
}
