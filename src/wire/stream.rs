//! Events of GET /v1/stream (text/event-stream).

use crate::model::{AuditEvent, ChainHead, EnvironmentPointer};

/// One event; the SSE `event` field names it. Only `audit` carries an `id` (its seq), so that a resume asks for audit.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// `audit`: a new link of the chain.
    Audit(Box<AuditEvent>),
    /// `pointer`: a pointer as it is now, just before its audit event.
    Pointer(Box<EnvironmentPointer>),
    /// `heartbeat`, each second: the head.
    Heartbeat(ChainHead),
}

/// SSE `event` name of [`StreamEvent::Audit`].
pub const AUDIT: &str = "audit";
/// SSE `event` name of [`StreamEvent::Pointer`].
pub const POINTER: &str = "pointer";
/// SSE `event` name of [`StreamEvent::Heartbeat`].
pub const HEARTBEAT: &str = "heartbeat";
