//! Taking a kill back: the same person, within ten minutes, to exactly the earlier state (R13).

use crate::model::{Environment, KeyId};
use crate::wire::pointers as wire;

/// POST /v1/keys/{key}/pointers/{environment}/undo-kill.
#[derive(Debug, Clone)]
pub struct UndoKill {
    /// The key.
    pub key: KeyId,
    /// Where.
    pub environment: Environment,
    /// The request.
    pub body: wire::Act,
}
