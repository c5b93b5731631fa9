//! What approvers sign (R9).
